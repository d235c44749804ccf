// ---- the visible part of the scene: `view.x`, `view.y` and `view.scale`, in units of the scene
import {put} from "../html.js";
import {atEnd, chosen, frame, MARGIN, pathsFrom, scene, stateAt, step, story} from "./state.js";
import {$} from "./words.js";
import {el} from "./marks.js";
import {setMeasuring} from "./engine.js";
import {draw} from "./draw.js";
import {layOut, readable} from "./wrap.js";
import {attention} from "./grid.js";
import {shaken} from "./shake.js";
import {explanationsFor, ranTo, tellPaths, wrap} from "./explain.js";

export const view = {x: 0, y: 0, scale: 1, free: false}; // free: the reader zoomed or moved the view
export const framed = () => parent !== window;
export const phone = () => innerWidth <= 760;
export const room = () => [$("scroll").clientWidth || 600, $("scroll").clientHeight || 300];
export const whole = () => [scene.size[0] + 2 * MARGIN, scene.size[1] + 2 * MARGIN];

// A scene opens whole or, if it could then not be read, at its end, where the result is
export function open() {
  view.free = false;
  fit();
}

const LEGEND = 24;
const LEAST = 100; // the least height of the panels, if a graph needs the rest of the window
const LINE = 48; // the height of the panels at rest
let opened = false; // true if the reader opened the panels at the last step
export const openPanel = on => {
  opened = on;
};

// True if the panels are a single line, so that the graph has the rest of the window: at the last step, with no choice
export const resting = () =>
  atEnd() && !chosen && !shaken && !opened && !framed() && !phone() && !frame.present && !story.missing && !attention();
const TALLEST = 860; // the most height of a graph in a frame: the README's graph in a column of 780 px

// The most height of the stage on a phone, where the panels and the buttons are below it on the same screen
const tallest = () => {
  const [app, stage, panels] = ["app", "stage", "panels"].map(id => $(id).offsetHeight);
  return Math.min(0.6 * innerHeight, innerHeight - app + stage + panels - LEAST);
};

// The width and height that a scene may have, in pixels
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
  // A frame gets the height of its page
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

// The panels end below a whole line of text: their lower border covers the rest
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

// Move the view to the leaves at the first step, else to the results
export function stand(most = frame.present ? 4 : 1.6) {
  if (view.free) return apply();
  const [width, height] = whole(),
    [wide, tall] = room();
  view.scale = Math.min(Math.max(Math.min(wide / width, tall / height), readable(scene.small)), most);
  // A phone opens at the leaves, which can be dragged
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

// Zoom about a point of the window
export function zoom(factor, px = room()[0] / 2, py = room()[1] / 2) {
  const scale = Math.min(Math.max(view.scale * factor, 0.15), 5);
  view.x += px / view.scale - px / scale;
  view.y += py / view.scale - py / scale;
  view.scale = scale;
  view.free = true;
  apply();
}

export function pan(dx, dy) {
  view.x -= dx / view.scale;
  view.y -= dy / view.scale;
  view.free = true;
  apply();
}

// Show the whole graph, however small
export function all() {
  const [width, height] = whole(),
    [wide, tall] = room();
  view.scale = Math.min(wide / width, tall / height, 1.6);
  view.free = true;
  apply();
}

// Move the view to as many of these cards as fit, and to the first in any case
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

// The width and height of the map, which on a phone is a strip below the graph
function mapSize() {
  const [width, height] = whole(),
    most = view.strip ? [room()[0] - 16, 96] : [180, 90],
    wide = Math.min(most[0], (most[1] * width) / height);
  return [wide, Math.max(12, (wide * height) / width)];
}

// The map is shown while a card is cut off, in the corner where it covers least
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
    const look = ["forward", "backward"].some(phase => group.classList.contains(phase))
      ? "now"
      : group.classList.contains("waiting")
        ? "waiting"
        : "";
    el("rect", {class: `at ${look}`, x, y, width, height}, map);
  }
  el("rect", {class: "seen", x: view.x, y: view.y, width: w, height: h}, map);
}

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

// ---- the room that the panels need
let reserved = "";
let talk = 0;

// Reserve the height of the longest explanation of any step, so that the page does not jump between steps
export function reserve() {
  const panels = $("panels"),
    key = `${scene.index} ${panels.offsetWidth} ${innerHeight} ${story.title}`;
  if (key === reserved || !panels.offsetWidth) return;
  reserved = key;
  const every = Math.ceil(scene.steps.length / 30),
    copies = [];
  setMeasuring(true);
  for (let k = scene.last; k >= 0; k -= every) {
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
  panels.after(...copies); // measured together, since each alone would lay out the page again
  wrap(copies);
  talk = Math.max(...copies.map(copy => copy.offsetHeight));
  for (const copy of copies) copy.remove();
}
