// ---- a dense layer as two tables. A cell of the gradients has the number from the right times the number above it
import "./main.js";
import {html, put} from "../html.js";
import {written} from "../numbers.js";
import {atEnd, chosen, scene, stateAt, step, story} from "./state.js";
import {$, short} from "./words.js";
import {cellClass, el, hue} from "./marks.js";
import {engine} from "./engine.js";
import {endWhole} from "./view.js";

const MOST_CELLS = 32; // rows and columns of a table, as in draw_layer.py
const MOST_SEEN = 64; // the most samples that are shown beside each other
let wantsTable = true;
let tabledCard = null;
let tabled = null;
let filled = null;
let sample = 0; // counted from 1; 0 stands for all samples
let picked = null;
const tableBox = Object.assign(document.createElement("div"), {id: "table", hidden: true, tabIndex: -1});
const tabler = Object.assign(document.createElement("button"), {type: "button", className: "tabler"});
const samples = Object.assign(document.createElement("p"), {className: "samples"});
const tables = document.createElement("div");
put(
  samples,
  html`<label for="sample">Sample</label><input id="sample" type="range" min="0" /><output
      id="seen"
      for="sample"
    ></output>`,
);
tableBox.append(samples, tables);
$("stage").append(tableBox);

// The numbers of the tables: the rows of weights, the biases and, for each sample, its inputs and its gradients
function layerOf(at, card) {
  if (!engine || story.missing) return null;
  const [only] = at.forward,
    one = card ?? (at.forward.length === 1 ? at.cards[only] : null);
  const layer = one?.call === "linear" ? linearLayer(one.node) : !card && at.layer ? neuronLayer(at.layer) : null;
  const fits = layer && layer.grads && Math.max(layer.weights.length, layer.weights[0].length) <= MOST_CELLS;
  return fits &&
    layer.grads.every((row, i) =>
      row.every((g, j) =>
        near(
          g,
          layer.inputs.reduce((sum, x, s) => sum + layer.sent[s][i] * x[j], 0),
        ),
      ),
    )
    ? layer
    : null;
}

const near = (a, b) => !(Math.abs(a - b) > 1e-9 + 1e-4 * Math.max(Math.abs(a), Math.abs(b)));
const usersOf = id =>
  story.program.nodes.flatMap((node, i) => (Array.isArray(node) && node.indexOf(id, 1) > 0 ? [i] : []));
const gradOf = id => engine.grads[id] ?? 0;

// A layer of Values: each weight has a product for each sample, and each bias has a sum
function neuronLayer(rows) {
  if (rows.some(row => row.length !== rows[0].length || row.includes(null))) return null;
  const other = (i, w) => {
    const [, a, b] = story.program.nodes[i];
    return engine.data[a === w ? b : a];
  };
  const inputs = rows.map(row => row.slice(0, -1).map(w => usersOf(w).map(i => other(i, w)))),
    sums = rows.map(row => usersOf(row.at(-1)));
  const first = inputs[0],
    many = sums[0].length,
    alike = inputs.every(
      (row, i) =>
        sums[i].length === many &&
        row.every((xs, j) => xs.length === many && xs.every((x, s) => Object.is(x, first[j][s]))),
    );
  if (!alike) return null;
  const each = f => Array.from({length: many}, (_, s) => f(s));
  return {
    weights: rows.map(row => row.slice(0, -1).map(w => engine.data[w])),
    grads: rows.map(row => row.slice(0, -1).map(gradOf)),
    biases: rows.map(row => engine.data[row.at(-1)]),
    inputs: each(s => first.map(xs => xs[s])),
    sent: each(s => sums.map(users => gradOf(users[s]))),
  };
}

const asRows = x =>
  Array.from({length: x.length / x.shape.at(-1)}, (_, i) => [...x.slice(i * x.shape.at(-1), (i + 1) * x.shape.at(-1))]);

// A layer of arrays: the rows of the batch are its samples, and each call has its own batch
function linearLayer(node) {
  const [, , weight, bias] = story.program.nodes[node] ?? [],
    calls = usersOf(weight).filter(i => story.program.nodes[i][2] === weight && story.program.nodes[i][3] === bias);
  if (bias === undefined || !engine.grads[weight] || calls.some(i => !engine.grads[i])) return null;
  return {
    weights: asRows(engine.data[weight]),
    grads: asRows(engine.grads[weight]),
    biases: [...engine.data[bias]],
    inputs: calls.flatMap(i => asRows(engine.data[story.program.nodes[i][1]])),
    sent: calls.flatMap(i => asRows(engine.grads[i])),
  };
}

// ---- drawing
const AROUND = 8; // between a table and its edges
const NAME = 88; // the width of a name beside the row
const NUMBERED = {width: 54, height: 20}; // the least cell that holds a number
const FIGURE = 300; // the least width of a table and its words, as in layer.css
const BETWEEN = 36;
const largest = rows => Math.max(...rows.flat().map(Math.abs).filter(Number.isFinite)) || 1;
const sumOf = (layer, x, i) => layer.weights[i].reduce((sum, w, j) => sum + w * x[j], layer.biases[i]);

// The size of a cell, and of a cell at the edges. Cells have numbers if a row of them has room, however many rows there
// are. At the edges all cells have numbers, or all are strips
function sizesOf(rows, columns, seen, many) {
  const wide = tableBox.clientWidth - 32,
    stacked = wide < 2 * FIGURE + BETWEEN,
    across = (stacked ? wide : (wide - BETWEEN) / 2) - AROUND - 4;
  const down = Math.max(stacked ? 330 : 0, tableBox.clientHeight - (many > 1 ? 186 : 148)),
    most = [across / (columns + seen), down / (rows + seen)];
  const numbered = columns * NUMBERED.width + NAME < across,
    alike = numbered && most[0] >= NUMBERED.width && (seen < 2 || most[1] >= NUMBERED.height);
  const edge = seen > 1 ? Math.max(4, Math.min(numbered ? 6 : 16, 110 / seen)) : 0,
    beside = Math.max(NAME, edge * seen);
  if (numbered) {
    const cell = Math.floor(Math.min(66, alike ? most[0] : (across - beside) / columns)),
      height = Math.floor(Math.max(NUMBERED.height, Math.min(36, alike ? most[1] : (down - edge * seen) / rows)));
    return {cell, height, wide: alike ? cell : edge, tall: alike ? height : edge, numbered};
  }
  const cell = Math.max(
    9,
    Math.floor(Math.min(34, (across - beside) / columns, (down - edge * seen) / (rows + !edge))),
  );
  return {cell, height: cell, wide: edge || cell, tall: edge || cell, numbered};
}

function drawTable(layer) {
  const {weights, inputs, sent} = layer,
    many = inputs.length,
    seen = sample ? [sample - 1] : many <= MOST_SEEN ? [...inputs.keys()] : [];
  const [rows, columns] = [weights.length, weights[0].length],
    sizes = sizesOf(rows, columns, seen.length, many);
  const place = {
    seen,
    rows,
    columns,
    ...sizes,
    top: seen.length * sizes.tall + (seen.length && AROUND),
    right: columns * sizes.cell + AROUND,
  };
  const grads = sample ? sent[sample - 1].map(g => inputs[sample - 1].map(x => g * x)) : layer.grads,
    results = inputs.map(x => weights.map((_, i) => sumOf(layer, x, i)));
  // A new slider would slip from the pointer that drags it
  const slider = $("sample"),
    said = sample ? `${sample} of ${many}` : `all ${many}, added up`;
  samples.hidden = many < 2;
  Object.assign(slider, {max: many, value: sample});
  slider.setAttribute("aria-valuetext", said);
  $("seen").textContent = said;
  const focused = document.activeElement,
    kept = focused?.closest("#table svg") ? `[data-way=${focused.dataset.way}]` : "";
  const product =
    many > 1 && !sample
      ? html`Each cell: its products, one for each sample, added up: <b>g.T @ x</b>.`
      : "Each cell: the number from the right × the number above.";
  const figures = [
    [
      "forward",
      "Forward: a row of weights for each neuron",
      "Each weight × the number above it, added up, plus the bias.",
      "sum",
      weights,
      results,
    ],
    ["backward", "Backward: a column times a row", product, "from the right", grads, sent],
  ];
  put(tables, html`${figures.map(figure => figureOf(...figure, inputs, place))}`);
  filled = {layer, grads, place};
  if (kept) tables.querySelector(kept)?.focus();
  const [i, j] = picked ?? strongestCell(grads);
  pick(Math.min(i, rows - 1), Math.min(j, columns - 1));
}

const spaced = side => (side > 5 ? side - 1 : side);
const strongestCell = grads =>
  grads
    .flatMap((row, i) => row.map((g, j) => [i, j, Math.abs(g)]))
    .reduce((best, cell) => (cell[2] > best[2] ? cell : best), [0, 0, 0]);

function figureOf(
  way,
  title,
  words,
  beside,
  numbers,
  column,
  inputs,
  {seen, rows, columns, cell, height, wide, tall, numbered, top, right},
) {
  const [across, down] = [right + Math.max(seen.length * wide, NAME), top + rows * height];
  const svg = el("svg", {
    tabindex: 0,
    role: "img",
    "data-way": way,
    width: across + 4,
    height: down + 4,
    viewBox: `-2 -2 ${across + 4} ${down + 4}`,
    "aria-label": `${title}: ${rows} neurons, ${columns} inputs; arrows read the cells`,
  });
  const addCell = (x, y, wide, tall, number, most, at) => {
    const holds = numbered && wide >= NUMBERED.width && tall >= NUMBERED.height;
    const shade = number
      ? (holds ? 0.08 + (0.42 * Math.abs(number)) / most : 0.12 + (0.88 * Math.abs(number)) / most).toFixed(2)
      : 1;
    el(
      "rect",
      {
        x,
        y,
        width: spaced(wide),
        height: spaced(tall),
        rx: 2,
        class: cellClass(number),
        "fill-opacity": shade,
        ...at,
      },
      svg,
    );
    if (holds)
      el("text", {class: "inside", x: x + wide / 2 - 0.5, y: y + tall / 2 + 4}, svg, written(number, "short", 6));
  };
  const edges = [largest(seen.map(s => inputs[s])), largest(seen.map(s => column[s]))],
    most = largest(numbers);
  seen.forEach((s, k) => {
    for (let j = 0; j < columns; j++)
      addCell(j * cell, k * tall, cell, tall, inputs[s][j], edges[0], {"data-above": j});
    for (let i = 0; i < rows; i++)
      addCell(right + k * wide, top + i * height, wide, height, column[s][i], edges[1], {"data-right": i});
  });
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++)
      addCell(j * cell, top + i * height, cell, height, numbers[i][j], most, {"data-cell": `${i},${j}`});
  if (seen.length) el("text", {x: right, y: Math.max(12, top - AROUND - 4)}, svg, beside);
  el("path", {class: "thread"}, svg);
  return html`<figure>
    <figcaption>${title}</figcaption>
    <p class="way">${words}</p>
    ${svg}
    <p class="told" id="told-${way}"></p>
  </figure>`;
}

const times = (a, b) => `${short(a)} × ${short(b)}`;
const colouredOf = x => html`<b class="${hue(x)}">${short(x)}</b>`;

// Choose a cell: its factors light up in both tables, and a sentence says its product
function pick(i, j) {
  const {
      layer,
      grads,
      place: {seen, cell, height, tall, numbered, top, right},
    } = filled,
    many = layer.inputs.length,
    only = sample ? sample - 1 : many > 1 ? null : 0;
  for (const svg of tableBox.querySelectorAll("svg")) {
    svg.dataset.at = `${i},${j}`;
    for (const rect of svg.querySelectorAll("rect"))
      rect.classList.toggle(
        "lit",
        rect.dataset.cell === `${i},${j}` || +rect.dataset.above === j || +rect.dataset.right === i,
      );
    if (seen.length && !numbered)
      svg
        .querySelector(".thread")
        .setAttribute(
          "d",
          `M${(j + 0.5) * cell} ${seen.length * tall}V${top + i * height}M${(j + 1) * cell} ${top + (i + 0.5) * height}H${right}`,
        );
  }
  const w = layer.weights[i][j],
    x = layer.inputs[only ?? 0][j],
    neuron = `of neuron ${i + 1}`;
  const parts = layer.inputs
    .map((x, s) => [layer.sent[s][i], x[j]])
    .filter(([a, b], s) => (only === null ? a * b !== 0 : s === only))
    .sort(([a, b], [c, d]) => Math.abs(c * d) - Math.abs(a * b));
  const sum =
    parts
      .slice(0, 3)
      .map(part => times(...part))
      .join(" + ") + (parts.length > 3 ? ` + ${parts.length - 3} more` : "");
  put(
    $("told-forward"),
    only === null
      ? html`${colouredOf(w)}<span>weight ${j + 1} ${neuron}</span>`
      : html`${times(w, x)} = ${colouredOf(w * x)}<span
            >what input ${j + 1} adds to the sum ${neuron}, ${short(sumOf(layer, layer.inputs[only], i))}</span
          >`,
  );
  put(
    $("told-backward"),
    html`${sum && `${sum} = `}${colouredOf(grads[i][j])}<span
        >the gradient of weight ${j + 1}
        ${neuron}${sample ? `, for sample ${sample} alone` : sum ? "" : ": each of its products is 0"}</span
      >`,
  );
}

// ---- when the tables are shown
function showTable() {
  const card = chosen?.call === "linear" ? chosen : null,
    own = !chosen && atEnd() && layerOf(scene),
    offered = card && stateAt(scene, step).grads.get(card.i)?.whole ? layerOf(scene, card) : own;
  tabled = offered && (card ? tabledCard === card : wantsTable) ? offered : null;
  const changed = $("stage").classList.contains("tabled") === !tabled;
  $("stage").classList.toggle("tabled", !!tabled);
  tableBox.hidden = !tabled;
  tabler.remove();
  if (offered) {
    tabler.textContent = tabled
      ? card
        ? "Show the graph"
        : `Show the ${scene.layer ? "neurons" : "graph"}`
      : "Show as two tables";
    if (card) $("why").prepend(tabler);
    else $("app").append(tabler);
  }
  if (changed || card) endWhole();
  if (!tabled) return;
  sample = Math.min(sample, tabled.inputs.length > 1 ? tabled.inputs.length : 0);
  drawTable(tabled);
}

addEventListener("shown", showTable);
addEventListener("resize", () => {
  if (tabled) drawTable(tabled);
});
tabler.addEventListener("click", event => {
  event.stopPropagation();
  const focused = document.activeElement === tabler;
  if (chosen) tabledCard = tabledCard === chosen ? null : chosen;
  else wantsTable = !wantsTable;
  picked = null;
  showTable();
  if (focused) tabler.focus();
});
tableBox.addEventListener("pointerover", ({target}) => {
  const at = target.dataset?.cell;
  if (at) pick(...(picked = at.split(",").map(Number)));
});
tableBox.addEventListener("keydown", event => {
  const by = {ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1]}[event.key],
    svg = event.target.closest("svg");
  if (event.target.id === "sample" || (by && svg)) event.stopPropagation();
  if (!by || !svg) return;
  event.preventDefault();
  const {rows, columns} = filled.place,
    within = (x, n) => Math.max(0, Math.min(n - 1, x)),
    at = svg.dataset.at.split(",").map(Number);
  picked = [within(at[0] + by[0], rows), within(at[1] + by[1], columns)];
  pick(...picked);
  $("live").textContent = $(`told-${svg.dataset.way}`).textContent;
});
tableBox.addEventListener("input", ({target}) => {
  sample = +target.value;
  drawTable(tabled);
});
