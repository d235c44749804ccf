// ---- the part of the scene that is seen: `view.x`, `view.y` and `view.scale`, in units of the scene
import "./tools.js";
import {put} from "../html.js";
import {host, themeAround} from "../page.js";
import {$, number} from "./words.js";
import {
  arrive,
  atEnd,
  begin,
  by,
  choose,
  chosen,
  draw,
  el,
  enter,
  found,
  frame,
  load,
  MARGIN,
  NS,
  pathsFrom,
  pathTo,
  play,
  recall,
  replaceStory,
  scene,
  scenes,
  setFound,
  setFrame,
  show,
  stateAt,
  step,
  story,
  trail,
  unchoose,
} from "./player.js";
import {explanationsFor, ranTo, tellPaths, wrap} from "./explain.js";
import {isArray} from "./recompute.js";
import {engine, grab, held, leafOf, nudgeBy, readCell, restart, say, setMeasuring, type, valueOf} from "./edit.js";
import {shake, shaken} from "./shake.js";
import {attention} from "./grid.js";
import {asking, quiz} from "./ask.js";
import {layOut} from "./wrap.js";

export const view = {x: 0, y: 0, scale: 1, free: false}; // free: somebody zoomed or moved it
export const LETTERS = [12, 11]; // pixels of the smallest type, as it is and where all is then seen
// A scale; where all cards are tight, type is larger
export const readable = (small, letters = scene.letters ?? LETTERS[0]) =>
  (frame.present ? 18 : letters) / (small ? 13 : 12);
const framed = () => parent !== window;
export const phone = () => innerWidth <= 760;
const room = () => [$("scroll").clientWidth || 600, $("scroll").clientHeight || 300];
const whole = () => [scene.size[0] + 2 * MARGIN, scene.size[1] + 2 * MARGIN];

// A scene begins: all of it or, if that could not be read, its end, where the result is
export function open() {
  view.free = false;
  fit();
}

const LEGEND = 24;
const LEAST = 100; // of the panels' height, where a graph needs the rest of the window
const LINE = 48; // the height of the panels at rest
let opened = false; // somebody wants to read all that the last step says
export const openPanel = on => {
  opened = on;
};

// In a window the panel is one line while nothing is asked of it: then the graph has the rest.
export const resting = () =>
  atEnd() && !chosen && !shaken && !opened && !framed() && !phone() && !frame.present && !story.missing && !attention();
const TALLEST = 860; // of a graph in a frame: that of the README in a column of 780 px

// On a phone, of the stage: the panels and the buttons are below it, in the same screen
const tallest = () => {
  const [app, stage, panels] = ["app", "stage", "panels"].map(id => $(id).offsetHeight);
  return Math.min(0.6 * innerHeight, innerHeight - app + stage + panels - LEAST);
};

// What a scene may measure, in pixels
export function space() {
  const around = $("app").offsetHeight - $("stage").offsetHeight,
    free = !frame.present;
  const tall =
    free && framed()
      ? (frame.height ? Math.max(120, frame.height - around + $("panels").offsetHeight - LEAST) : TALLEST) - LEGEND
      : free && phone()
        ? tallest() - LEGEND
        : room()[1] + Math.max(0, $("panels").offsetHeight - (frame.present || frame.panels === 0 ? LEAST : LINE));
  return [room()[0], tall];
}

export function fit() {
  const before = scene.size,
    panels = $("panels");
  $("stage").style.height = $("scroll").style.bottom = "";
  const fits = layOut(scene, ...space());
  if (scene.size !== before) draw();
  const [width, height] = whole(),
    most = frame.present ? 4 : 1.6,
    spare = Math.max(
      LEAST,
      (frame.height && framed() ? frame.height - $("app").offsetHeight + $("stage").offsetHeight - LEGEND : room()[1]) +
        panels.offsetHeight -
        height,
    );
  if (resting()) panels.style.height = `${LINE}px`;
  else if (!framed() && !phone())
    panels.style.height = `${Math.min(Math.max(talk + 2, 90), Math.max(spare, (chosen ? 0.32 : 0.24) * innerHeight), 0.4 * innerHeight)}px`;
  else if (framed())
    panels.style.height = `${Math.min(Math.max(talk + 2, 90), frame.height ? Math.min(spare, 0.32 * frame.height) : 300)}px`;
  const around = $("app").offsetHeight - $("stage").offsetHeight;
  view.strip = phone() && !frame.present && !fits;
  const strip = view.strip ? mapSize()[1] + 16 : 0;
  // A frame is as high as its page
  if (framed() && !frame.present) {
    const scale = Math.min(Math.max($("scroll").clientWidth / width, readable(scene.small)), 1.15);
    $("stage").style.height =
      `${frame.height ? Math.max(120, frame.height - around) : Math.min(Math.ceil(height * scale) + LEGEND + strip, TALLEST)}px`;
  } else if (phone() && !frame.present) $("stage").style.height = `${Math.min(height + LEGEND + strip, tallest())}px`;
  if (phone() && !framed())
    panels.style.height = `${Math.max(LEAST, innerHeight - $("app").offsetHeight + panels.offsetHeight)}px`;
  if (strip) $("scroll").style.bottom = `${strip}px`;
  stand(most);
}

// The panels end below a whole line: their lower edge covers the rest
export function endWhole() {
  const panels = $("panels"),
    range = document.createRange();
  panels.style.borderBottomWidth = "";
  range.selectNodeContents(panels);
  const top = panels.getBoundingClientRect().top - panels.scrollTop,
    lines = [...range.getClientRects()].filter(({height}) => height < 34);
  let end = panels.clientHeight;
  for (let cut = lines; cut.length;) {
    cut = lines.filter(line => line.top - top < end && line.bottom - top > end);
    end = Math.min(end, ...cut.map(line => line.top - top - 2));
  }
  if (end > 40) panels.style.borderBottomWidth = `${panels.clientHeight - end}px`;
}

// At the first step one sees the leaves, at the last all that fits
export function stand(most = frame.present ? 4 : 1.6) {
  if (view.free) return apply();
  const [width, height] = whole(),
    [wide, tall] = room();
  view.scale = Math.min(Math.max(Math.min(wide / width, tall / height), readable(scene.small)), most);
  // A phone begins at the leaves, which one drags
  const begins = !step || (phone() && !frame.present && !view.ended);
  view.x = begins ? -Infinity : Infinity;
  const results = scene.cards.filter(card => (begins ? !card.computes : card.computes && !card.out.length)),
    ends = results.length ? results : scene.cards.slice(-1);
  view.y = ends.reduce((sum, {box}) => sum + box[1] + box[3] / 2, 0) / ends.length - tall / view.scale / 2;
  apply();
}

export function apply() {
  const [wide, tall] = room(),
    [width, height] = whole(),
    [w, h] = [wide / view.scale, tall / view.scale];
  const clamped = (at, size, all) =>
    size >= all ? (all - size) / 2 - MARGIN : Math.min(Math.max(at, -MARGIN), all - MARGIN - size);
  view.x = clamped(view.x, w, width);
  view.y = clamped(view.y, h, height);
  const svg = $("graph");
  svg.setAttribute("viewBox", `${view.x} ${view.y} ${w} ${h}`);
  svg.style.touchAction = h >= height - 1 ? "pan-y" : "none";
  drawMap(
    w,
    h,
    scene.cards.some(
      ({box: [x, y, wide, tall]}) =>
        x < view.x - 1 || y < view.y - 1 || x + wide > view.x + w + 1 || y + tall > view.y + h + 1,
    ),
  );
}

// About a point of the window
function zoom(factor, px = room()[0] / 2, py = room()[1] / 2) {
  const scale = Math.min(Math.max(view.scale * factor, 0.15), 5);
  view.x += px / view.scale - px / scale;
  view.y += py / view.scale - py / scale;
  view.scale = scale;
  view.free = true;
  apply();
}

function pan(dx, dy) {
  view.x -= dx / view.scale;
  view.y -= dy / view.scale;
  view.free = true;
  apply();
}

// Move the view if these cards are not in it: as many of them as fit, the first in any case
export function follow(...cards) {
  const [w, h] = room().map(x => x / view.scale),
    edge = 20;
  const around = cards => {
    const all = cards.map(({box: [x, y, width, height], badge = 0}) => [x - badge / 2, y, x + width, y + height]);
    return [0, 1].flatMap(k => [
      Math.min(...all.map(box => box[k])) - edge,
      Math.max(...all.map(box => box[k + 2])) + edge,
    ]);
  };
  const seen = cards.reduce((kept, card) => {
    const [left, right, top, low] = around([...kept, card]);
    return kept.length && (right - left > w || low - top > h) ? kept : [...kept, card];
  }, []);
  const [left, right, top, low] = around(seen);
  if (left < view.x || right > view.x + w) view.x = (left + right - w) / 2;
  if (top < view.y || low > view.y + h) view.y = (top + low - h) / 2;
  apply();
}

// On a phone a strip below the graph
function mapSize() {
  const [width, height] = whole(),
    most = view.strip ? [room()[0] - 16, 96] : [180, 90],
    wide = Math.min(most[0], (most[1] * width) / height);
  return [wide, Math.max(12, (wide * height) / width)];
}

// Needed while a card is cut
function drawMap(w, h, needed) {
  const map = $("map"),
    [width, height] = whole();
  map.toggleAttribute("hidden", !needed);
  if (!needed) return;
  map.setAttribute("viewBox", `${-MARGIN} ${-MARGIN} ${width} ${height}`);
  const [wide, tall] = mapSize(),
    [across, down] = [room()[0] - wide - 8, room()[1] - tall - 8];
  const shared = (a, long, b, other) => Math.max(0, Math.min(a + long, b + other) - Math.max(a, b));
  const covers = (/** @type {number[]} */ [left, top]) =>
    scene.cards.reduce(
      (sum, {box: [x, y, width, height]}) =>
        sum +
        shared(view.x + left / view.scale, wide / view.scale, x, width) *
          shared(view.y + top / view.scale, tall / view.scale, y, height),
      0,
    );
  const corners = [
    [across, down],
    [8, down],
    [across, 8],
    [8, 8],
  ].sort((a, b) => covers(a) - covers(b));
  const [left, top] = view.strip ? [8, room()[1] + 8] : corners[0];
  Object.assign(map.style, {
    left: `${left}px`,
    top: `${$("scroll").offsetTop + top}px`,
    width: `${wide}px`,
    height: `${tall}px`,
  });
  map.replaceChildren();
  for (const {line} of scene.wires) if (line) el("path", {d: line.getAttribute("d")}, map);
  for (const {
    box: [x, y, width, height],
    group,
  } of scene.cards) {
    const look = ["forward", "backward"].some(kind => group.classList.contains(kind))
      ? "now"
      : group.classList.contains("waiting")
        ? "waiting"
        : "";
    el("rect", {class: `at ${look}`, x, y, width, height}, map);
  }
  el("rect", {class: "seen", x: view.x, y: view.y, width: w, height: h}, map);
}

// ---- wheel, fingers, mouse
const scroller = $("scroll");
const inGraph = event => {
  const box = scroller.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};

scroller.addEventListener(
  "wheel",
  event => {
    // The page around it scrolls
    if (framed() && !event.ctrlKey && !scroller.contains(document.activeElement)) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), ...inGraph(event));
  },
  {passive: false},
);
const fingers = new Map();
export let dragged = false;
export let byKeys = false;
export const beginDrag = () => {
  dragged = true;
};

scroller.addEventListener("pointerdown", event => {
  byKeys = false;
  dragged = false;
  if (event.button || event.target.id === "number") return;
  const group = event.target.closest(".card"),
    card = group && scene.cards.find(card => card.group === group);
  if (card && grab(event, card)) return;
  fingers.set(event.pointerId, [event.clientX, event.clientY]);
});
addEventListener("pointermove", event => {
  if (held?.moved) dragged = true;
  const from = fingers.get(event.pointerId);
  if (!from) return;
  const to = [event.clientX, event.clientY],
    [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  if (fingers.size === 1 && !dragged && Math.hypot(dx, dy) < 4) return;
  dragged = true;
  const others = [...fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
  fingers.set(event.pointerId, to);
  if (!others.length) return pan(dx, dy);
  const apart = at => Math.hypot(at[0] - others[0][0], at[1] - others[0][1]),
    box = scroller.getBoundingClientRect();
  zoom(
    apart(to) / Math.max(apart(from), 1),
    (to[0] + others[0][0]) / 2 - box.left,
    (to[1] + others[0][1]) / 2 - box.top,
  );
});
addEventListener("pointerdown", event => {
  if (!$("more").contains(/** @type {any} */ (event.target))) $("more").open = false;
});
for (const name of ["pointerup", "pointercancel"]) addEventListener(name, event => fingers.delete(event.pointerId));
// A drag chooses nothing
scroller.addEventListener(
  "click",
  event => {
    if (dragged) event.stopPropagation();
  },
  true,
);
$("map").addEventListener("pointerdown", event => {
  const toHere = event => {
    const box = $("map").getBoundingClientRect(),
      [width, height] = whole(),
      [wide, tall] = room();
    view.x = ((event.clientX - box.left) / box.width) * width - MARGIN - wide / view.scale / 2;
    view.y = ((event.clientY - box.top) / box.height) * height - MARGIN - tall / view.scale / 2;
    view.free = true;
    apply();
  };
  event.stopPropagation();
  $("map").setPointerCapture(event.pointerId);
  toHere(event);
  $("map").onpointermove = toHere;
  $("map").onpointerup = () => {
    $("map").onpointermove = null;
  };
});
$("closer").addEventListener("click", () => zoom(1.25));
$("wider").addEventListener("click", () => zoom(0.8));
$("whole").addEventListener("click", all);

// All of it, however small
function all() {
  const [width, height] = whole(),
    [wide, tall] = room();
  view.scale = Math.min(wide / width, tall / height, 1.6);
  view.free = true;
  apply();
}

// ---- keys
// A card has the focus
export function keysOn(card, event) {
  const {key} = event,
    leaf = leafOf(card) !== undefined;
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const to = k => scene.cards[Math.max(0, Math.min(scene.cards.length - 1, k))].group.focus();
  const size = leaf && isArray(leafOf(card)) ? leafOf(card).length : 1;
  const pick = () => choose(card, card.group.querySelector(".cell.lit")),
    acts = {Enter: pick, " ": pick, "]": () => readCell(card, 1), "[": () => readCell(card, -1)};
  acts.F2 = () => type(card);
  acts.s = () => shake(card);
  if (leaf)
    Object.assign(acts, {
      ArrowUp: () => nudgeBy(card, 10),
      ArrowDown: () => nudgeBy(card, -10),
      PageUp: () => nudgeBy(card, 100),
      PageDown: () => nudgeBy(card, -100),
      "]": () => pickCell(card, 1, size),
      "[": () => pickCell(card, -1, size),
    });
  if (byKeys)
    Object.assign(acts, {
      ArrowRight: () => to(card.i + 1),
      ArrowLeft: () => to(card.i - 1),
      Home: () => to(0),
      End: () => to(Infinity),
    });
  const act = acts[key] ?? (/^[1-9.]$/.test(key) || (leaf && /^[0-]$/.test(key)) ? () => type(card, key) : null);
  if (!act) return;
  event.preventDefault();
  event.stopPropagation();
  act();
}

// Another number of an array
function pickCell(card, by, size) {
  card.cell = ((card.cell ?? 0) + by + size) % size;
  $("live").textContent = `Number ${card.cell + 1} of ${size}: ${number(valueOf(card, card.cell))}`;
}

addEventListener("keydown", event => {
  if (event.key === "Tab") byKeys = true;
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.matches?.("input:not([type=range])")) return;
  const button = event.target.closest?.("button, summary, a");
  const arrows = {ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60]};
  const acts =
    event.shiftKey && arrows[event.key]
      ? {[event.key]: () => pan(...arrows[event.key])}
      : {
          ArrowRight: () => by(1),
          ArrowLeft: () => by(-1),
          Home: () => by(-Infinity),
          End: () => by(Infinity),
          " ": button && button.id !== "play" ? null : play,
          "+": () => zoom(1.25),
          "=": () => zoom(1.25),
          "-": () => zoom(0.8),
          0: all,
          "/": () => {
            $("more").open = true;
            $("find").focus();
          },
          p: () => present(!frame.present),
          Escape: () => {
            if ($("more").open) {
              $("more").open = false;
              $("more").firstElementChild.focus();
            } else if (shaken) shake(shaken);
            else if (chosen) {
              unchoose();
              show();
            } else if (trail.length > 1) enter(trail.at(-2).index, "same");
            else if (frame.present) present(false);
          },
        };
  const act = acts[event.key];
  if (!act) return;
  event.preventDefault();
  event.stopPropagation();
  act();
});

// ---- search by name, through all scenes
let sought = "";
let turnOfFound = -1;

function seek(forth = 1) {
  const text = $("find").value.trim().toLowerCase();
  const hits = text
    ? scenes.flatMap(at =>
        at.cards.filter(card => !card.outside && card.name.toLowerCase().includes(text)).map(card => [at, card]),
      )
    : [];
  if (text !== sought)
    turnOfFound =
      Math.max(
        0,
        hits.findIndex(([at]) => at === scene),
      ) - forth;
  sought = text;
  if (!hits.length) {
    setFound(null);
    show();
    $("hits").textContent = text ? "none" : "";
    return;
  }
  turnOfFound = (turnOfFound + forth + hits.length) % hits.length;
  const [at, card] = hits[turnOfFound];
  if (at !== scene) enter(at.index, "same", pathTo(at));
  setFound(card);
  show();
  follow(card);
  $("hits").textContent = `${turnOfFound + 1} of ${hits.length}`;
  $("live").textContent = `${turnOfFound + 1} of ${hits.length}: ${card.group.getAttribute("aria-label")}`;
}

$("find").addEventListener("input", () => seek());
$("find").addEventListener("keydown", event => {
  if (event.key === "Enter") seek(event.shiftKey ? -1 : 1);
  if (event.key === "Escape") {
    const card = found;
    $("find").value = "";
    seek();
    byKeys = true;
    (card ?? scene.cards[0]).group.focus();
  }
});

// ---- what is seen, as a picture; a link to it
function asSeen() {
  const [wide, tall] = room(),
    svg = $("graph").cloneNode(true),
    ground = getComputedStyle($("stage")).backgroundColor;
  for (const [name, value] of Object.entries({
    xmlns: NS,
    width: wide,
    height: tall,
    "data-theme": document.documentElement.dataset.theme,
  }))
    svg.setAttribute(name, value);
  const [x, y, w, h] = svg.getAttribute("viewBox").split(" ");
  svg.prepend(
    el("style", {}, null, document.querySelector("style").textContent),
    el("rect", {x, y, width: w, height: h, style: `fill:${ground}`}),
  );
  return new XMLSerializer().serializeToString(svg);
}

// To the user, as a file
function download(blob, kind) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${(story.title.match(/[\p{L}\p{N}_]+/u) ?? ["graph"])[0]}-step${step}.${kind}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

$("svg").addEventListener("click", () => download(new Blob([asSeen()], {type: "image/svg+xml"}), "svg"));
$("png").addEventListener("click", () => {
  const image = new Image(),
    [wide, tall] = room(),
    canvas = Object.assign(document.createElement("canvas"), {width: 2 * wide, height: 2 * tall});
  image.onload = () => {
    canvas.getContext("2d").drawImage(image, 0, 0, 2 * wide, 2 * tall);
    canvas.toBlob(blob => download(blob, "png"), "image/png");
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(asSeen())}`;
});
$("link").addEventListener("click", async () => {
  const text = host ? `#${host.dataset.place}` : location.href;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = Object.assign(document.createElement("textarea"), {value: text});
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say("The link is copied.");
});

// ---- the surrounding page: colours, width, height; and what it may say
function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = themeAround() || (dark ? "dark" : "light");
}

function present(on) {
  setFrame({...frame, present: on});
  dress();
  reserve();
  open();
  show();
}

function dress() {
  $("app").className = [frame.present ? "present" : "", framed() ? "framed" : "", frame.panels === 0 ? "bare" : ""]
    .filter(Boolean)
    .join(" ");
}

let reserved = "";
let talk = 0;

// For the most that the panels say at any step, so that nothing jumps
export function reserve() {
  const panels = $("panels"),
    key = `${scene.index} ${panels.offsetWidth} ${innerHeight} ${story.title}`;
  if (key === reserved || !panels.offsetWidth) return;
  reserved = key;
  const every = Math.ceil(scene.steps.length / 30),
    copies = [];
  setMeasuring(true);
  for (let k = scene.steps.length - 1; k >= 0; k -= every) {
    const copy = panels.cloneNode(true),
      state = stateAt(scene, k),
      [, why, ran] = explanationsFor(k, scene.cards[scene.steps[k].card], state);
    copy.className = "";
    copy.style.cssText = `position: absolute; visibility: hidden; width: ${panels.offsetWidth}px`;
    put(copy.children[0], chosen ? tellPaths(state, pathsFrom(chosen)) : why);
    put(copy.children[1], chosen ? ranTo(chosen, state) : ran);
    copies.push(copy);
  }
  setMeasuring(false);
  panels.after(...copies); // measured together: each alone would lay out the page again
  wrap(copies);
  talk = Math.max(...copies.map(copy => copy.offsetHeight));
  for (const copy of copies) copy.remove();
}

addEventListener("message", ({data}) => {
  if (data?.micrograd === "story") replaceStory(data.story);
  if (data?.micrograd === "go") recall(data.place);
  if (data?.micrograd === "leaves") restart(data.leaves);
  if (data?.micrograd === "leaves" && data.reply)
    parent.postMessage(
      {micrograd: "grads", grads: [...engine.leaves.keys()].filter(engine.isLeaf).map(i => engine.grads[i] ?? 0)},
      "*",
    );
});

// The buttons of a frame that is higher than the window around it are in view
function stick() {
  const bar = $("bar"),
    around = host.ownerDocument.defaultView,
    below = host.getBoundingClientRect().top + bar.offsetTop + bar.offsetHeight - around.innerHeight;
  bar.style.transform =
    below > 0 ? `translateY(${-Math.min(below, Math.max(0, bar.offsetTop - $("stage").offsetTop - 60))}px)` : "";
}

if (host)
  for (const kind of ["scroll", "resize"])
    host.ownerDocument.defaultView.addEventListener(kind, stick, {passive: true, capture: true});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme);
theme();
load(JSON.parse($("story").textContent));
const asked = host?.dataset.place ?? location.hash;
dress();
recall(asked);
if (!/\b(scene|step)=/.test(asked)) begin();
if (frame.ask && !asked && !story.missing) quiz();
let opening = !asked && !asking;
new ResizeObserver(() => {
  reserve();
  fit();
  wrap([$("panels")]);
  show();
  if (chosen) follow(chosen);
  const height = frame.present ? Math.round((innerWidth * 9) / 16) : $("app").offsetHeight;
  if (host) host.style.height = `${height}px`;
  else if (framed()) parent.postMessage({micrograd: "size", height}, "*");
  if (host) stick();
  if (opening) arrive();
  opening = false;
}).observe($("app"));
