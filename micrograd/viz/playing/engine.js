// ---- the numbers: the program computes them again from changed leaves
import {FOLDED, scene, scenes, story} from "./state.js";
import {$, isFinal, number, thousands} from "./words.js";
import {array, isArray, Program} from "./recompute.js";
import {paint} from "./marks.js";

export let engine = null;
export let touched = false;
export const losses = [];
// True if the numbers come from the program, and no longer from Python
export const moved = () => engine && (touched || story.leaves);

// Called when a story was loaded, and when its leaves have other numbers
export function startEngine(afresh = false) {
  if (afresh) engine = null;
  engine ??= typeof story.program === "object" ? Program(story.program, story.missing) : null;
  touched = false;
  losses.length = 0;
  if (engine) {
    engine.reset(story.leaves);
    engine.run();
  }
  $("descend").setAttribute("aria-disabled", !engine);
  $("touch").title = engine ? "" : story.program;
}

// The reason why a card neither opens nor can be changed, or ""
export function refusal({name, kind, node, opens, outside, times}) {
  if (opens !== undefined || engine?.isLeaf(node)) return "";
  if (FOLDED.includes(kind))
    return outside
      ? `${name} belongs to the picture around this one: Esc leads there.`
      : kind === "repeat"
        ? `${name} does not open: it stands for ${times ? `${thousands(times)} operations` : "operations"} of one kind.`
        : `${name} does not open: the page has as many cards as it can hold. Show a part of the graph instead.`;
  return !engine && ["input", "parameter", "constant"].includes(kind) ? story.program : "";
}

// The number of a leaf, or its array; undefined for another card
export const leafOf = card =>
  engine && card.node !== undefined && engine.isLeaf(card.node) ? engine.leaves[card.node] : undefined;
// The nodes that are leaves, in the order in which the surrounding page counts them
export const leafNodes = () => [...engine.leaves.keys()].filter(engine.isLeaf);
const single = x => (isArray(x) && x.length === 1 ? x[0] : x);

// The derivative and the gradient on each line into a folded box, if the box and all its operands are single numbers
export function carry(scene) {
  const number = ({node, data}) => node !== undefined && data !== undefined && !isArray(engine.data[node]);
  for (const card of scene.cards) {
    const folded = card.into.filter(wire => !wire.use);
    if (
      !folded.length ||
      engine.grads[card.node] === undefined ||
      !number(card) ||
      !card.into.every(wire => number(wire.tail))
    )
      continue;
    const slopes = engine.slopes(
      card.node,
      card.into.map(wire => wire.tail.node),
    );
    for (const wire of folded)
      if (slopes[wire.tail.node] !== undefined && wire.tail.grad !== undefined) {
        wire.local = slopes[wire.tail.node];
        wire.part = wire.local * engine.grads[card.node];
        wire.folded = true;
      }
  }
}

// The part of a card's gradient that comes from outside of this scene
export function addGradientFromOutside(card) {
  const known = !card.hooked && card.gifts.every(wire => typeof wire.part === "number");
  if (!card.gifts.length || !card.elsewhere) card.rest = +card.grad;
  // Otherwise it is unknown
  else if (known) card.rest = card.grad - card.gifts.reduce((sum, wire) => sum + wire.part, 0);
}

// Put the program's numbers on the cards and lines of this scene
export function refresh() {
  const {data, grads} = engine;
  for (const card of scene.cards) {
    if (card.node !== undefined && card.data !== undefined) card.data = single(data[card.node]);
    if (card.node !== undefined && card.grad !== undefined) card.grad = single(grads[card.node] ?? 0);
    card.heats.forEach((heat, k) => reheat(heat, card.maps[k]));
  }
  for (const wire of scene.wires) {
    if (!wire.use || wire.part === undefined) continue;
    const [i, k] = wire.use;
    if (wire.local !== undefined) wire.local = single(engine.sent(i, k, 1));
    if (typeof wire.part !== "boolean" && grads[i] !== undefined) wire.part = single(engine.sent(i, k));
  }
  carry(scene);
  scene.cards.forEach(addGradientFromOutside);
}

// Called after a leaf changed
export function computeAgain() {
  touched = true;
  engine.run();
  refresh();
}

// The Euclidean lengths of the positive parts, with nan among them, and of the negative parts
const massesOf = parts => [x => !(x <= 0), x => x < 0].map(kept => Math.hypot(...parts.filter(kept)));

// How much gradient flows through a line that carries many numbers, for each sign
export function measure() {
  for (const wire of engine ? scene.wires : []) {
    const uses = wire.uses.filter(([i]) => engine.grads[i] !== undefined);
    // A line into or out of a folded box
    if (uses.length) {
      const parts = uses.map(use => engine.sent(...use) ?? 0);
      wire.flow = parts.every(part => typeof part === "number") ? massesOf(parts) : undefined;
    }
    if (wire.part !== true || !wire.use || engine.grads[wire.use[0]] === undefined) continue;
    const sent = engine.sent(...wire.use);
    wire.flow = massesOf(isArray(sent) ? sent : [sent]);
  }
}

function reheat(heat, map) {
  if (heat.of === undefined && !heat.among) return;
  const from = ["grad", "gradients"].includes(heat.name) ? engine.grads : engine.data,
    group = heat.among && arrange(heat);
  const {rows, columns} = heat,
    sums = Array(rows * columns).fill(null),
    many = sums.map(() => 0);
  const add = (cell, x) => {
    sums[cell] += x;
    many[cell]++;
  };
  if (Array.isArray(heat.of))
    heat.of.forEach((i, cell) => {
      if (i !== null) add(cell, from[i] ?? 0);
    });
  else {
    const x = from[heat.of],
      wide = x.shape.at(-1) ?? 1,
      tall = x.length / wide,
      bucket = (i, most, n) => Math.floor(((i + 1) * most - 1) / n);
    x.forEach((y, n) => add(bucket(Math.floor(n / wide), rows, tall) * columns + bucket(n % wide, columns, wide), y));
  }
  const cells = sums.map((sum, k) => (many[k] ? sum / many[k] : null));
  const most = Math.max(0, ...cells.filter(x => x !== null && Number.isFinite(x)).map(Math.abs));
  heat.cells = cells
    .map(x =>
      x === null
        ? " "
        : Number.isNaN(x)
          ? "?"
          : String.fromCharCode(74 + (most ? Math.round(9 * Math.max(-1, Math.min(1, x / most))) : Math.sign(x))),
    )
    .join("");
  const all = group
      ? group.map(i => from[i] ?? 0)
      : Array.isArray(heat.of)
        ? cells.filter(x => x !== null)
        : [...from[heat.of]],
    dead = all.filter(x => x === 0).length;
  const [low, high] = [Math.min(...all), Math.max(...all)].map(x => number(x));
  heat.range = low === high ? low : `${low} to ${high}`;
  heat.zeros = dead ? `${thousands(dead)} of ${thousands(all.length)} are 0` : "";
  if (map) paint(heat, map);
}

// The nodes of a group, sorted by the size of their gradients; keep in sync with heat_of_group in heat.py
export function arrange(heat) {
  const [first, ...steps] = heat.among,
    all = [first],
    size = i => {
      const x = Math.abs(engine.grads[i] ?? 0);
      return Number.isNaN(x) ? Infinity : x;
    };
  for (let k = 0; k < steps.length; k += 2) for (let n = 0; n < steps[k + 1]; n++) all.push(all.at(-1) + steps[k]);
  all.sort((a, b) => size(a) - size(b));
  const every = Math.max(1, (all.length - 1) / (heat.columns - 1 || 1));
  heat.of = Array.from({length: heat.columns}, (_, k) => all[Math.round(k * every)]);
  return all;
}

export const valueOf = (card, cell = 0) => {
  const x = engine.leaves[card.node];
  return isArray(x) ? x[cell] : x;
};

export const result = () => engine.number(engine.data[engine.root]);

// The reader's rate or, if a step at this rate does not lower the result, the largest half, quarter, ... that lowers it
export function loweringRate() {
  const rates = Array.from({length: 40}, (_, k) => +(+$("rate").value / 2 ** k).toPrecision(3));
  return rates.find(rate => afterStep(rate) < result());
}

// The leaves after a step of gradient descent
export function steppedLeaves(rate) {
  const leaves = engine.leaves.slice();
  for (const i of story.program.moves) {
    const x = leaves[i],
      g = engine.grads[i];
    if (g !== undefined)
      leaves[i] = isArray(x)
        ? array(
            x.map((y, k) => y - rate * g[k]),
            x.shape,
          )
        : x - rate * g;
  }
  return leaves;
}

export const afterStep = rate => engine.number(engine.forward(steppedLeaves(rate), []));

const NUDGED = 20; // the most leaves of a scene that are nudged
const WORK = 30000; // the most numbers that their nudges compute together
export const canNudge = ({node}) =>
  node !== undefined && engine?.isLeaf(node) && engine.grads[node] !== undefined && engine.leaves[node].length !== 0;
export const nudged = () =>
  scene.cards.filter(canNudge).slice(-Math.max(1, Math.min(NUDGED, Math.floor(WORK / engine?.size()))));
let measuring = false; // while the panels are measured, since their size depends little on the numbers
export const setMeasuring = on => {
  measuring = on;
};

const TYPICAL = {step: 0.001, moved: -0.001, slope: -1, agrees: true, at: 0};
export const nudgeOf = ({node, grad}) =>
  measuring ? TYPICAL : (engine.tests[node] ??= engine.nudge(node, grad === undefined ? undefined : +grad));
let bent = {};
// Nodes with their derivatives, those of the largest derivatives first
export const strongest = slopes =>
  slopes.filter(([, x]) => isFinal(x)).sort(([, x], [, y]) => Math.abs(y) - Math.abs(x));
export const homeOf = node =>
  [scene, ...scenes].flatMap(at =>
    at.cards.filter(card => card.node === node && !card.outside).map(card => [card, at]),
  )[0];

// The two leaves that would change this leaf's gradient most, with the change for each 1
export function bendsOf(card) {
  if (measuring || typeof leafOf(card) !== "number") return [];
  if (bent.tests === engine.tests && bent.card === card) return bent.leaves;
  bent = {card, tests: engine.tests, leaves: strongest([...engine.bends(card.node).entries()]).slice(0, 2)};
  return bent.leaves;
}
