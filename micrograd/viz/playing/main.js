// ---- the beginning of a page: load the story, and listen to the pointer, to keys, and to the surrounding page
import "./tools.js";
import {host, themeAround} from "../page.js";
import {cardAt, chosen, dragged, frame, held, hit, scene, scenes, set, step, story, trail} from "./state.js";
import {$, number, say} from "./words.js";
import {isArray} from "./recompute.js";
import {el, NS} from "./marks.js";
import {engine, leafNodes, leafOf, valueOf} from "./engine.js";
import {load} from "./story.js";
import {readCell} from "./cells.js";
import {asking} from "./ask.js";
import {shaken} from "./shake.js";
import {wrap} from "./explain.js";
import {all, fit, follow, framed, open, pan, reserve, room, zoom} from "./view.js";
import {arrive, begin, by, choose, enter, pathTo, play, recall, replaceStory, show} from "./player.js";
import {grab, nudgeBy, quiz, restart, shake, type, typeAt} from "./edit.js";

// ---- wheel, fingers, mouse
const scroller = $("scroll");
const inGraph = event => {
  const box = scroller.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};

scroller.addEventListener(
  "wheel",
  event => {
    // The wheel scrolls the surrounding page
    if (framed() && !event.ctrlKey && !scroller.contains(document.activeElement)) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), ...inGraph(event));
  },
  {passive: false},
);
// The click that ends a drag chooses no card
scroller.addEventListener(
  "click",
  event => {
    if (dragged) event.stopPropagation();
  },
  true,
);

const fingers = new Map();
let byKeys = false;

scroller.addEventListener("pointerdown", event => {
  byKeys = false;
  set({dragged: false});
  if (event.button || event.target.id === "number") return;
  const card = cardAt(event);
  if (card && grab(event, card)) return;
  fingers.set(event.pointerId, [event.clientX, event.clientY]);
});
addEventListener("pointermove", event => {
  if (held?.moved) set({dragged: true});
  const from = fingers.get(event.pointerId);
  if (!from) return;
  const to = [event.clientX, event.clientY],
    [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  if (fingers.size === 1 && !dragged && Math.hypot(dx, dy) < 4) return;
  set({dragged: true});
  const second = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
  fingers.set(event.pointerId, to);
  if (!second) return pan(dx, dy);
  const apart = (/** @type {number[]} */ [x, y]) => Math.hypot(x - second[0], y - second[1]),
    box = scroller.getBoundingClientRect();
  zoom(apart(to) / Math.max(apart(from), 1), (to[0] + second[0]) / 2 - box.left, (to[1] + second[1]) / 2 - box.top);
});
addEventListener("pointerdown", event => {
  if (!$("more").contains(/** @type {any} */ (event.target))) $("more").open = false;
});
for (const name of ["pointerup", "pointercancel"]) addEventListener(name, event => fingers.delete(event.pointerId));

// ---- a card that is clicked, or has the focus
// The graph has a single tab stop: the card that had the focus last
function focus(card) {
  scene.focus?.group.setAttribute("tabindex", -1);
  scene.cards[0].group.setAttribute("tabindex", -1);
  scene.focus = card;
  card.group.setAttribute("tabindex", 0);
  if (byKeys) follow(card);
}

const onCard = {
  focusin: focus,
  click: (card, {target}) => choose(card, target),
  keydown: keysOn,
};
for (const type in onCard)
  scroller.addEventListener(type, event => {
    const card = cardAt(event);
    if (card) onCard[type](card, event);
  });

// After the first click the panels may be higher and the graph has moved, so the second click may meet another element
let firstClick;
addEventListener(
  "click",
  event => {
    if (event.detail < 2) firstClick = {card: cardAt(event), target: event.target};
  },
  true,
);
addEventListener("dblclick", event => {
  const {card, target} = firstClick ?? {card: cardAt(event), target: event.target};
  if (scene.cards.includes(card)) typeAt(card, {target});
});

// ---- keys
// The keys of the card that has the focus
function keysOn(card, event) {
  const {key} = event,
    leaf = leafOf(card) !== undefined;
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const to = k => scene.cards[Math.max(0, Math.min(scene.cards.length - 1, k))].group.focus();
  const size = leaf && isArray(leafOf(card)) ? leafOf(card).length : 1;
  const pick = () => choose(card, card.group.querySelector(".cell.lit"));
  const acts = {
    Enter: pick,
    " ": pick,
    "]": () => readCell(card, 1),
    "[": () => readCell(card, -1),
    F2: () => type(card),
    s: () => shake(card),
  };
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

// Choose another number of an array
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
              set({chosen: null});
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
    set({hit: null});
    show();
    $("hits").textContent = text ? "none" : "";
    return;
  }
  turnOfFound = (turnOfFound + forth + hits.length) % hits.length;
  const [at, card] = hits[turnOfFound];
  if (at !== scene) enter(at.index, "same", pathTo(at));
  set({hit: card});
  show();
  follow(card);
  $("hits").textContent = `${turnOfFound + 1} of ${hits.length}`;
  $("live").textContent = `${turnOfFound + 1} of ${hits.length}: ${card.group.getAttribute("aria-label")}`;
}

$("find").addEventListener("input", () => seek());
$("find").addEventListener("keydown", event => {
  if (event.key === "Enter") seek(event.shiftKey ? -1 : 1);
  if (event.key === "Escape") {
    const card = hit;
    $("find").value = "";
    seek();
    byKeys = true;
    (card ?? scene.cards[0]).group.focus();
  }
});

// ---- the visible part as a picture, and a link to this step
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

// Give a file to the reader
function download(blob, extension) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${(story.title.match(/[\p{L}\p{N}_]+/u) ?? ["graph"])[0]}-step${step}.${extension}`;
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

// ---- the surrounding page: its colours, width and height, and its messages
function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = themeAround() || (dark ? "dark" : "light");
}

function present(on) {
  set({frame: {...frame, present: on}});
  dress();
  reserve();
  open();
  show();
}

function dress() {
  $("app").className = [frame.present && "present", framed() && "framed", frame.panels === 0 && "bare"]
    .filter(Boolean)
    .join(" ");
}

addEventListener("message", ({data}) => {
  if (data?.micrograd === "story") replaceStory(data.story);
  if (data?.micrograd === "go") recall(data.place);
  if (data?.micrograd === "leaves") restart(data.leaves);
  if (data?.micrograd === "leaves" && data.reply)
    parent.postMessage({micrograd: "grads", grads: leafNodes().map(i => engine.grads[i] ?? 0)}, "*");
});

// Keep the buttons in view, if the frame is higher than the window around it
function stick() {
  const bar = $("bar"),
    around = host.ownerDocument.defaultView,
    below = host.getBoundingClientRect().top + bar.offsetTop + bar.offsetHeight - around.innerHeight;
  bar.style.transform =
    below > 0 ? `translateY(${-Math.min(below, Math.max(0, bar.offsetTop - $("stage").offsetTop - 60))}px)` : "";
}

if (host)
  for (const type of ["scroll", "resize"])
    host.ownerDocument.defaultView.addEventListener(type, stick, {passive: true, capture: true});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme);
theme();
load(JSON.parse($("story").textContent));
const address = host?.dataset.place ?? location.hash;
dress();
recall(address);
if (!/\b(scene|step)=/.test(address)) begin();
if (frame.ask && !address && !story.missing) quiz();
let opening = !address && !asking;
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
