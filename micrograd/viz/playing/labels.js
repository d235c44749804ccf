// ---- labels: the factor of a line stands beside it, where the line is flat and has room. The number that travels at a
// step is in a box on the line
import {cardAt, chosen, held, pathsFrom, reach, scene} from "./state.js";
import {$, isName, short} from "./words.js";
import {el, flowOf} from "./marks.js";
import {shaken} from "./shake.js";

const HIGH = 13; // the height of a label
const NEAR_BY = 4; // between two points of a line
const FULL = {label: 90, card: 300, line: 14, near: 3}; // the cost of a place that covers one of these

// The local derivative as text; on a folded box with its name, if this is short
function slopeOf({head, tail, local, folded}) {
  const named = `d${head.name}/d${tail.name} = ${short(local)}`;
  return folded && isName(head.name) && isName(tail.name) && named.length < 14
    ? named
    : local === undefined
      ? ""
      : `× ${short(local)}`;
}

// The factor of a line as text; a line without a text multiplies by 1
export const factor = wire => (wire.local === undefined || short(wire.local) === "1.00" ? "" : slopeOf(wire));
export const labelWidth = (text, small) => text.length * (small ? 7.85 : 7.25) + 4;

// Points along the line that `curve` draws
function pointsOf(route) {
  return route.slice(1).flatMap(([x1, y1], k) => {
    const [x0, y0] = route[k],
      straight = x0 === x1 || y0 === y1,
      many = Math.max(1, Math.ceil(Math.hypot(x1 - x0, y1 - y0) / NEAR_BY));
    return Array.from({length: many + 1}, (_, i) => {
      const t = i / many,
        late = 3 * t * t - 2 * t * t * t,
        middle = 1.5 * t * (1 - t) + t * t * t;
      return straight ? [x0 + (x1 - x0) * t, y0 + (y1 - y0) * t] : [x0 + (x1 - x0) * middle, y0 + (y1 - y0) * late];
    });
  });
}

const cellOf = (x, y) => `${Math.floor(x / 24)} ${Math.floor(y / 24)}`;

// Note where the lines of the scene are, and place their labels
export function survey() {
  scene.ground = new Map();
  for (const wire of scene.wires) {
    wire.points = pointsOf(wire.route);
    wire.spot = null;
    for (const point of wire.points) {
      const cell = cellOf(...point);
      if (!scene.ground.has(cell)) scene.ground.set(cell, []);
      scene.ground.get(cell).push(point);
    }
  }
  for (const wire of scene.wires) place(wire);
}

// The text of a line's label; a label that grew gets a new place
function place(wire) {
  const text = wire.pill && !scene.crowded && factor(wire),
    width = text && labelWidth(text, scene.small);
  if (text && !(width <= wire.spot?.[2])) wire.spot = spotBeside(wire, width);
  return text;
}

// The cost of a label at this place
function costOf(/** @type {number[]} */ [x, y, width, height], wire) {
  let cost = x < -8 || y < -8 || x + width > scene.size[0] + 8 || y + height > scene.size[1] + 8 ? 200 : 0;
  for (const other of scene.wires)
    if (other !== wire && other.spot && covers([x, y, width, height], other.spot)) cost += FULL.label;
  for (const {
    box: [left, top, wide, tall],
    badge = 0,
  } of scene.cards) {
    if (
      covers([x, y - 1, width, height + 2], [left, top, wide, tall]) ||
      covers([x, y - 1, width, height + 2], [left - badge / 2, top + tall / 2 - 16, badge, 32])
    )
      cost += FULL.card;
  }
  for (let i = Math.floor((x - 6) / 24); i <= (x + width + 6) / 24; i++)
    for (let j = Math.floor((y - 6) / 24); j <= (y + height + 6) / 24; j++) {
      for (const [px, py] of scene.ground.get(`${i} ${j}`) ?? []) {
        const off = Math.max(x - px, px - x - width, y - py, py - y - height);
        cost += off < 2 ? FULL.line : off < 6 ? FULL.near : 0;
      }
    }
  return cost;
}

// The best of the places above, below and at the sides of the points of a line
function spotBeside(wire, width) {
  const {points} = wire,
    half = width / 2,
    high = HIGH / 2,
    clear = 3 + (flowOf(wire)?.widths[0] ?? 2) / 2,
    many = points.length;
  let best = null,
    least = Infinity;
  points.forEach(([x, y], k) => {
    if (many > 6 && (k < 2 || k > many - 3)) return;
    for (const dx of [0, -0.25, 0.25, -0.5, 0.5, -1, 1])
      for (const dy of [-1, 1, 0]) {
        if (!dy && dx * dx < 1) continue;
        const spot = [x + dx * (half + clear) - half, y + dy * (high + clear) - high, width, HIGH],
          far = 2 * Math.abs(dx) + (dy > 0 ? 0.5 : 0) + 20 * Math.abs(k / many - 0.5);
        const cost = far < least ? far + costOf(spot, wire) : far;
        if (cost < least) [best, least] = [spot, cost];
      }
  });
  return best;
}

const boxOf = ({label, at}) => (label.firstElementChild ? at : null); // the place and size of a line's label
const covers = ([x, y, width, height], [left, top, wide, tall]) =>
  x < left + wide && left < x + width && y < top + tall && top < y + height;

// Spread the boxes of a step, so that none covers another or leaves the scene, and remove the labels that they cover
export function spread(wires) {
  const active = wires.filter(boxOf).sort((a, b) => a.pill[1] - b.pill[1]),
    tall = wire => boxOf(wire)[3] + 3;
  if (active.some((wire, k) => k && covers(boxOf(wire), boxOf(active[k - 1])))) {
    const half = active.reduce((sum, wire) => sum + tall(wire), 0) / 2,
      middle = active.reduce((sum, {pill}) => sum + pill[1], 0) / active.length;
    let top = Math.max(half - 14, Math.min(scene.size[1] + 14 - half, middle)) - half;
    for (const wire of active) {
      const high = tall(wire),
        down = top + high / 2 - wire.pill[1];
      wire.at[1] += down;
      wire.label.setAttribute("transform", `translate(0 ${down})`);
      top += high;
    }
  }
  const taken = active.map(boxOf);
  for (const wire of scene.wires)
    if (!active.includes(wire) && boxOf(wire) && taken.some(box => covers(boxOf(wire), box)))
      wire.label.replaceChildren();
}

export const pillBox = wire => (boxOf(wire) ? [{box: boxOf(wire)}] : []); // in the form of a card, which the view can follow
const pillWidth = (line, {looks, small}) => line.length * (small ? 7.85 : 7.35) + (looks ? 8 : 14);

// Draw lines of text in a box around a point; returns the place and size of the box
function drawBox([x, y], lines, into) {
  const width = Math.max(...lines.map(line => pillWidth(line, scene))),
    height = lines.length * 16 + 6,
    at = [x - width / 2, y - height / 2, width, height];
  el("rect", {x: at[0], y: at[1], width, height, rx: 8}, into);
  lines.forEach((line, k) => el("text", {x, y: at[1] + 15 + 16 * k, class: k ? "second" : "first"}, into, line));
  return at;
}

// Empty the label of a line
function clear({label}, look) {
  label.replaceChildren();
  label.removeAttribute("transform");
  label.setAttribute("class", `pill ${look}`);
}

// Show the number that travels along a line
export function showPill(wire, look, lines) {
  clear(wire, look);
  if (wire.pill && lines) wire.at = drawBox(wire.pill, lines, wire.label);
}

// Show the factor of a line
export function showFactor(wire, look) {
  const text = place(wire);
  clear(wire, `beside ${look}`);
  if (!text) return;
  wire.at = [...wire.spot];
  el("text", {x: wire.at[0] + wire.at[2] / 2, y: wire.at[1] + HIGH - 2.5}, wire.label, text);
}

// ---- under the mouse: the product that a line sends, or the paths that lead on from a card
export const productOf = wire => [`${short(wire.head.grad)} × ${short(wire.local)}`, `= ${short(wire.part)}`];
let pointed = null;
export const pointNowhere = () => {
  pointed = null;
};

function pointAt(at) {
  if (at === pointed) return;
  pointed = at;
  const hint = $("hint"),
    paths = at?.gifts && !chosen && !shaken ? reach(at) : null;
  hint.replaceChildren();
  if (at?.route && at.local !== undefined && at.group.classList.contains("flows"))
    drawBox(at.pill ?? at.points[at.points.length >> 1], productOf(at), hint);
  fade(chosen ? pathsFrom(chosen) : paths);
}

// Fade all lines that are not on these paths, if there are paths
export function fade(paths) {
  for (const wire of scene.wires)
    for (const part of [wire.group, wire.label])
      part.classList.toggle("off", !!paths?.onPath.size && !paths.onPath.has(wire));
}

$("scroll").addEventListener("pointerover", event => {
  if (event.pointerType !== "mouse" || held) return;
  const line = event.target.closest(".wire");
  pointAt(cardAt(event) ?? (line && scene.wires.find(({group}) => group === line)));
});
$("scroll").addEventListener("pointerleave", () => pointAt(null));
