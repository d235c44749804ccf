// ---- touch: a leaf is dragged, typed or stepped, and the program computes everything again
import {$, number, plural, thousands} from "./words.js";
import {
  addGradientFromOutside,
  chosen,
  el,
  FOLDED,
  hue,
  paint,
  remember,
  rootName,
  scene,
  scenes,
  setStep,
  show,
  step,
  story,
  tip,
} from "./player.js";
import {array, isArray, power, Program} from "./recompute.js";
import {calmDown, shake, shaken} from "./shake.js";
import {isFinal} from "./ask.js";
import {beginDrag, openPanel, resting} from "./view.js";

export let engine = null;
export let touched = false;
export let losses = [];
// The numbers are the program's, no longer Python's
export const moved = () => engine && (touched || story.leaves);

// After a story was loaded, or other numbers for its leaves
export function startEngine(afresh = false) {
  if (afresh) engine = null;
  engine ??= typeof story.program === "object" ? Program(story.program, story.missing) : null;
  touched = false;
  losses = [];
  if (engine) {
    engine.reset(story.leaves);
    engine.run();
  }
  $("descend").setAttribute("aria-disabled", !engine);
  $("touch").title = engine ? "" : story.program;
}

let saying = 0;

// For a while, and to screen readers
export function say(text) {
  if (!text) return;
  for (const name of ["live", "caption", "said"]) $(name).textContent = text;
  clearTimeout(saying);
  saying = setTimeout(() => {
    $("said").textContent = "";
  }, 8000);
}

// Why a card neither opens nor can be changed
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

export const leafOf = card =>
  engine && card.node !== undefined && engine.isLeaf(card.node) ? engine.leaves[card.node] : undefined;
const single = x => (isArray(x) && x.length === 1 ? x[0] : x);

// What a line into a folded box carries, where the box and all that goes in are single numbers
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

// The numbers of this scene, from the program
export function refresh() {
  const {data, grads} = engine;
  for (const card of scene.cards) {
    if (card.node !== undefined && card.data !== undefined) card.data = single(data[card.node]);
    if (card.node !== undefined && card.grad !== undefined) card.grad = single(grads[card.node] ?? 0);
    (card.heats ?? []).forEach((heat, k) => reheat(heat, card.maps[k]));
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

// ---- in each leaf a curve: the result as that number alone varies; where it is now, and the slope there
export const POINTS = 33;
export const WIDE = 56;
export const TALL = 24;
export const CURVES = 200000; // the most numbers of all curves of a scene together
export const hasSlope = card =>
  engine && engine.size() <= 300 && card.grad !== undefined && typeof leafOf(card) === "number";

export function drawSlope(card, x, y, width, height) {
  card.slope = el(
    "svg",
    {class: "slope", x, y, width, height, viewBox: "0 0 100 100", preserveAspectRatio: "none"},
    card.group,
  );
  el("title", {}, card.slope, `${rootName} as ${card.name} alone varies`);
  for (const kind of ["ground", "curve", "tangent", "point"]) card.slope[kind] = el("path", {class: kind}, card.slope);
  card.slope.ground.setAttribute("d", "M0 0h100v100h-100z");
}

let curves = null;

export function showSlopes(state) {
  const drawn = scene.cards.filter(card => card.slope),
    cards = drawn
      .filter(card => Number.isFinite(result()) && Number.isFinite(valueOf(card)))
      .slice(0, Math.floor(CURVES / POINTS / (engine?.size() ?? 1)));
  for (const card of drawn) {
    const seen = cards.includes(card) && state.grads.get(card.i)?.whole;
    card.slope.style.visibility = seen ? "visible" : "hidden";
    for (const dot of card.dots) dot.style.visibility = seen && card.instead ? "hidden" : "visible";
  }
  if (!cards.length || (curves?.tests === engine.tests && curves.scene === $("graph").firstChild)) return;
  const before = held?.moved && curves; // in a drag the scale stays
  curves = {tests: engine.tests, scene: $("graph").firstChild};
  const scratch = [],
    leaves = engine.leaves.slice(),
    heights = [];
  for (const card of cards) {
    const x = valueOf(card),
      reach = 2 * Math.max(1, power(x));
    // Dragging slides along it
    if (!(Math.abs(x - card.middle) < 0.9 * reach && card.reach === reach)) Object.assign(card, {middle: x, reach});
    card.ys = Array.from({length: POINTS}, (_, k) => {
      leaves[card.node] = card.middle + reach * ((2 * k) / (POINTS - 1) - 1);
      return engine.number(engine.forward(leaves, scratch));
    });
    leaves[card.node] = x;
    heights.push(...card.ys.filter(Number.isFinite));
  }
  // One scale for all: most of what they reach, but what is flat stays flat, and what is steep is seen
  heights.sort((a, b) => a - b);
  const now = result(),
    at = part => heights[Math.floor(part * (heights.length - 1))] ?? now,
    [low, high] = [Math.min(at(0.1), now), Math.max(at(0.9), now)];
  const size = Math.max(1, Math.abs(now)),
    most = Math.max(Math.min(0.7 * (high - low), 20 * size), 0.1 * size);
  const own = {middle: Math.min(Math.max((low + high) / 2, now - 0.6 * most), now + 0.6 * most), half: most};
  const {middle, half} = Object.assign(
    curves,
    Math.abs(now - before?.middle) < before?.half ? {middle: before.middle, half: before.half} : own,
  );
  const down = y => 50 - 50 * Math.max(-20, Math.min(20, (y - middle) / half));
  for (const {slope, ys, reach, grad, node, middle: start} of cards) {
    const [x, y] = [50 + (50 * (engine.leaves[node] - start)) / reach, down(now)],
      steep = (-grad * reach) / half;
    const [wide, tall] = [slope.width.baseVal.value, slope.height.baseVal.value],
      long = (0.28 * wide) / Math.hypot(wide / 100, (steep * tall) / 100);
    slope.curve.setAttribute(
      "d",
      ys
        .map((y, k) =>
          Number.isFinite(y)
            ? `${k && Number.isFinite(ys[k - 1]) ? "L" : "M"}${((100 * k) / (POINTS - 1)).toFixed(1)} ${down(y).toFixed(1)}`
            : "",
        )
        .join(""),
    );
    slope.tangent.setAttribute("class", `tangent ${hue(grad)}`);
    slope.tangent.setAttribute(
      "d",
      Number.isFinite(+grad) ? `M${x - long} ${y - steep * long}L${x + long} ${y + steep * long}` : "",
    );
    slope.point.setAttribute("d", `M${x} ${y}h0`);
  }
}

// Positive, negative
const massesOf = parts => [x => !(x <= 0), x => x < 0].map(kept => Math.hypot(...parts.filter(kept)));

// How much flows through a line that carries many numbers: the lengths of its two signs
export function measure() {
  for (const wire of engine ? scene.wires : []) {
    const uses = wire.uses.filter(([i]) => engine.grads[i] !== undefined);
    // In or out of a folded box
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

// The nodes of a group by the size of their gradients, as heat_of_group in heat.py does it
function arrange(heat) {
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

// ---- a cell of a heat-map: its number; and where it is a weight, the line that it is on
function ofCell(heat, at) {
  if (heat.among && engine && !heat.of) arrange(heat);
  return Array.isArray(heat.of) ? (heat.of[at] ?? undefined) : undefined;
}

function saidOfCell(heat, at) {
  const from = ["grad", "gradients"].includes(heat.name) ? engine?.grads : engine?.data,
    node = ofCell(heat, at);
  const x =
    !engine || heat.of === undefined
      ? undefined
      : node !== undefined
        ? (from[node] ?? 0)
        : heat.rows * heat.columns === from[heat.of]?.length
          ? from[heat.of][at]
          : undefined;
  return x === undefined
    ? tip(heat)
    : `${heat.name}, row ${Math.floor(at / heat.columns) + 1}, column ${(at % heat.columns) + 1}: ${number(x)}`;
}

// The cells and the line of a weight, or one cell
function light(node, only = null) {
  for (const wire of scene.wires) wire.group.classList.toggle("lit", node !== undefined && wire.weight === node);
  for (const card of scene.cards)
    (card.heats ?? []).forEach((heat, k) => {
      for (let at = 0; at < heat.cells.length; at++) {
        const cell = card.maps[k].children[at + 1];
        cell.classList.toggle("lit", cell === only || (node !== undefined && ofCell(heat, at) === node));
      }
    });
}

$("scroll").addEventListener("pointerover", event => {
  const at = event.target.dataset?.at,
    wire = scene.wires.find(wire => wire.weight !== undefined && wire.group.contains(event.target));
  const card = at && scene.cards.find(card => card.group.contains(event.target)),
    k = card ? card.maps.findIndex(map => map.contains(event.target)) : -1;
  if (k >= 0) card.maps[k].firstChild.textContent = saidOfCell(card.heats[k], at);
  if (wire && engine)
    wire.group.querySelector("title").textContent =
      `${wire.tail.name} → ${wire.head.name}: weight ${number(engine.data[wire.weight])}`;
  if (k >= 0 || wire || document.querySelector(".lit"))
    light(wire ? wire.weight : k >= 0 ? ofCell(card.heats[k], at) : undefined);
});

// The scene and the card of the number that a cell shows, in another scene
export function cardOfCell(card, cell) {
  const k = card.maps.findIndex(map => map.contains(cell)),
    node = k < 0 ? undefined : ofCell(card.heats[k], cell.dataset.at);
  const found =
    node === undefined
      ? []
      : scenes
          .filter(at => at !== scene)
          .flatMap(at => at.cards.filter(inner => inner.node === node && !inner.outside).map(inner => [at, inner]));
  return found[0] ?? [];
}

// With the keys: through all cells of a card
export function readCell(card, by) {
  const all = (card.heats ?? []).flatMap((heat, k) =>
    [...heat.cells].flatMap((letter, at) => (letter === " " ? [] : [[heat, at, card.maps[k]]])),
  );
  if (!all.length) return;
  card.read = ((card.read ?? (by > 0 ? -1 : 0)) + by + all.length) % all.length;
  const [heat, at, map] = all[card.read];
  light(ofCell(heat, at), map.children[at + 1]);
  $("live").textContent = saidOfCell(heat, at);
}

// Something moved
function again() {
  touched = true;
  engine.run();
  refresh();
  if (step === 0) {
    setStep(scene.steps.length - 1);
    remember();
  }
  show();
}

function change(card, x, cell = 0) {
  const before = engine.leaves[card.node];
  if (isArray(before)) before[cell] = x;
  else engine.leaves[card.node] = x;
  losses = [];
  again();
  if (parent !== window)
    parent.postMessage(
      {
        micrograd: "leaf",
        leaf: [...engine.leaves.keys()].filter(engine.isLeaf).indexOf(card.node),
        name: card.name,
        value: x,
      },
      "*",
    );
}

export const valueOf = (card, cell = 0) => {
  const x = engine.leaves[card.node];
  return isArray(x) ? x[cell] : x;
};

const tidy = x => +x.toPrecision(12);
export const result = () => engine.number(engine.data[engine.root]);

// The rate or, where its step does not lower the result, the largest half, quarter, ... that does
export function loweringRate() {
  const rates = Array.from({length: 40}, (_, k) => +(+$("rate").value / 2 ** k).toPrecision(3));
  return rates.find(rate => afterStep(rate) < result());
}

function descend() {
  if (!engine) return say(story.program);
  const asked = +$("rate").value,
    rate = loweringRate();
  if (rate === undefined)
    return say(`No step against the gradient lowers ${rootName}: it is at a minimum, flat, or not finite here.`);
  if (rate < asked) {
    $("rate").value = rate;
    say(`At rate ${asked} the step would have raised ${rootName}: it was halved to ${rate}.`);
  }
  if (!losses.length) losses = [result()];
  for (const i of story.program.moves) {
    const x = engine.leaves[i],
      g = engine.grads[i];
    if (g === undefined) continue;
    if (isArray(x))
      x.forEach((_, k) => {
        x[k] -= rate * g[k];
      });
    else engine.leaves[i] = x - rate * g;
  }
  again();
  losses.push(result());
  show();
}

// The result after a step of gradient descent
export function afterStep(rate) {
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
  return engine.number(engine.forward(leaves, []));
}

const NUDGED = 20; // the most leaves of a scene
const WORK = 30000; // the most numbers of all their graphs together
export const canNudge = ({node}) =>
  node !== undefined && engine?.isLeaf(node) && engine.grads[node] !== undefined && engine.leaves[node].length !== 0;
export const nudged = () =>
  scene.cards.filter(canNudge).slice(-Math.max(1, Math.min(NUDGED, Math.floor(WORK / engine?.size()))));
let measuring = false; // how much room the panels need: that is the same for any numbers
export const setMeasuring = on => {
  measuring = on;
};

const TYPICAL = {step: 0.001, moved: -0.001, slope: -1, agrees: true, at: 0};
export const nudgeOf = ({node, grad}) =>
  measuring ? TYPICAL : (engine.tests[node] ??= engine.nudge(node, grad === undefined ? undefined : +grad));
let bent = {};
export const strongest = found => found.filter(([, x]) => isFinal(x)).sort(([, x], [, y]) => Math.abs(y) - Math.abs(x));
export const homeOf = node =>
  [scene, ...scenes].flatMap(at =>
    at.cards.filter(card => card.node === node && !card.outside).map(card => [card, at]),
  )[0];

// The two leaves that move the gradient of another most, and how far for each 1
export function bendsOf(card) {
  if (measuring || typeof leafOf(card) !== "number") return [];
  if (bent.tests === engine.tests && bent.card === card) return bent.found;
  bent = {card, tests: engine.tests, found: strongest([...engine.bends(card.node).entries()]).slice(0, 2)};
  return bent.found;
}

export function showHistory() {
  $("reset").hidden = !touched;
  const svg = $("history"),
    shown = losses.slice(-60);
  svg.toggleAttribute("hidden", losses.length < 2);
  $("loss").textContent =
    losses.length < 2
      ? ""
      : `${plural(losses.length - 1, "step")}: ${rootName} ${number(losses[0])} → ${number(losses.at(-1))}`;
  if (losses.length < 2) return;
  const low = Math.min(...shown),
    high = Math.max(...shown),
    y = x => (high > low ? 26 - (22 * (x - low)) / (high - low) : 15);
  svg.replaceChildren();
  el(
    "path",
    {
      d: shown
        .map((x, k) => `${k ? "L" : "M"}${(4 + (92 * k) / (shown.length - 1)).toFixed(1)} ${y(x).toFixed(1)}`)
        .join(""),
    },
    svg,
  );
  el("circle", {cx: 96, cy: y(shown.at(-1)), r: 3}, svg);
}

$("descend").addEventListener("click", descend);

// From the story's leaves, or from those of the surrounding page
export function restart(leaves) {
  story.leaves = leaves;
  startEngine();
  if (engine) refresh();
  show();
}

$("reset").addEventListener("click", () => restart(story.leaves));
// The panel is written again: the focus stays
$("panels").addEventListener("click", ({target}) => {
  const rest = resting();
  if (target.matches(".shake")) shake(chosen);
  else if (target.matches(".step")) descend();
  else if (target.matches(".undo")) restart(story.leaves);
  else if (target.matches(".whole")) {
    openPanel(true);
    show();
  } else return;
  (rest && resting() ? $("rest") : $("why")).querySelector(".step")?.focus();
});

// ---- a leaf under the pointer, and its keyboard
export let held = null;

// True if a leaf's number was taken hold of
export function grab(event, card) {
  const cell = event.target.classList.contains("cell") ? +event.target.dataset.at : 0,
    map = card.heats?.length && card.maps.findIndex(map => map.contains(event.target));
  const x = leafOf(card);
  if (
    x === undefined ||
    (isArray(x) && x.length > 1 && !(map === 0 && cells(card) && event.target.classList.contains("cell")))
  )
    return false;
  const from = valueOf(card, cell);
  held = {card, cell, from, x: event.clientX, unit: power(from) / 100, moved: false};
  held.wait = setTimeout(() => {
    if (!held.moved && typeof x === "number") {
      held.shakes = true;
      beginDrag();
      calmDown();
      shake(card);
    }
  }, 450);
  return true;
}

export function typeAt(card, {target}) {
  const at = target.classList.contains("cell");
  if (at && leafOf(card) !== undefined && !cells(card))
    say(`A cell of ${card.name} is the mean of several numbers: ] chooses one, F2 types it.`);
  else if (card.opens === undefined) type(card, null, at ? +target.dataset.at : 0);
}

// Not averaged
const cells = card => {
  const heat = card.heats[0];
  return heat.rows * heat.columns === engine.leaves[card.node].length;
};

addEventListener("pointermove", event => {
  if (!held) return;
  const by = event.clientX - held.x;
  if (held.shakes || (!held.moved && Math.abs(by) < 4)) return;
  held.moved = true;
  held.next = tidy(held.from + Math.round(by) * held.unit * (event.shiftKey ? 0.1 : 1));
  if (held.frame) return;
  held.frame = requestAnimationFrame(() => {
    held.frame = 0;
    change(held.card, held.next, held.cell);
  });
});

function letGo() {
  if (held?.frame) {
    cancelAnimationFrame(held.frame);
    change(held.card, held.next, held.cell);
  }
  const moved = held?.moved;
  clearTimeout(held?.wait);
  if (held?.shakes && shaken) shake(shaken);
  held = null;
  return moved;
}

addEventListener("pointerup", letGo, true);
addEventListener("pointercancel", letGo);

// With the arrow keys
export function nudgeBy(card, units) {
  const cell = card.cell ?? 0,
    x = valueOf(card, cell);
  change(card, tidy(x + (units * power(x)) / 100), cell);
}

// A number, over the card
export function type(card, first = null, cell = card.cell ?? 0) {
  if (leafOf(card) === undefined) return say(refusal(card) || `${card.name} is computed: change what goes into it.`);
  const input = $("number"),
    box = (card.slots.data ?? card.group).getBoundingClientRect(),
    around = $("scroll").getBoundingClientRect(),
    whole = card.group.getBoundingClientRect();
  input.hidden = false;
  input.value = first ?? String(valueOf(card, cell));
  input.setAttribute(
    "aria-label",
    `${card.name}${isArray(engine.leaves[card.node]) ? `, number ${cell + 1}` : ""}: a number`,
  );
  Object.assign(input.style, {
    left: `${whole.left - around.left}px`,
    top: `${box.top - around.top - 6}px`,
    width: `${Math.max(whole.width, 90)}px`,
  });
  input.removeAttribute("aria-invalid");
  input.focus();
  if (first === null) input.select();
  input.onkeydown = event => {
    event.stopPropagation();
    if (event.key === "Escape") {
      input.onblur = null;
      input.hidden = true;
      card.group.focus();
    }
    if (event.key === "Enter") card.group.focus();
  };
  input.onblur = () => {
    const text = input.value.trim().replace("−", "-"),
      x = text === "" ? NaN : Number(text);
    input.hidden = true;
    if (Number.isFinite(x)) change(card, x, cell);
    else say(`‘${text}’ is not a number; ${card.name} stays ${number(valueOf(card, cell))}.`);
  };
}
