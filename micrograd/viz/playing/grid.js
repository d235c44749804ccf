// ---- a chosen array and its gradient as large grids, with letters on the axes, and arcs over the word
import {html} from "../html.js";
import {scene, story} from "./state.js";
import {$, bdi, number} from "./words.js";
import {cellClass, el, hue} from "./marks.js";
import {engine} from "./engine.js";

const CELLS = 24; // the most rows and columns of an array
const LONGEST = 4; // the most matrices of an array
const sideOf = rows => Math.max(16, Math.min(32, Math.floor(150 / rows))); // of a cell, in pixels
// The card whose grids open without a click: a softmax of shape (..., T, T)
export const attention = () =>
  story.letters &&
  scene.cards.find(({call, node}) => {
    const shape = engine?.data[node]?.shape ?? [];
    return call === "softmax" && shape.length > 1 && shape.at(-1) === shape.at(-2) && letterOf(shape.at(-1), 0);
  });
const letterOf = (n, k) => story.letters?.find(word => [...word].length === n)?.[k] ?? "";

export function grids(card) {
  const x = card.heats.length && engine?.data[card.node];
  if (!x?.shape || x.shape.length < 2) return "";
  const [rows, columns] = x.shape.slice(-2),
    many = Math.min(LONGEST, x.length / rows / columns);
  if (!(rows <= CELLS && columns <= CELLS)) return "";
  const pairs = [
    ["data", x],
    ["grad", engine.grads[card.node]],
  ].filter(([, all]) => all);
  return html`<div class="grids">
    ${pairs.flatMap(([name, all]) => Array.from({length: many}, (_, k) => gridOf(card, name, all, k, rows, columns)))}
  </div>`;
}

function gridOf(card, name, all, k, rows, columns) {
  const most = Math.max(...all.map(Math.abs)),
    SIDE = sideOf(rows),
    square = rows === columns,
    high = square && letterOf(rows, 0) ? 34 : 0,
    left = letterOf(rows, 0) ? 14 : 0;
  const title = `${name}${all.length > rows * columns ? ` ${k + 1} of ${all.length / rows / columns}` : ""}`,
    [wide, tall] = [left + columns * SIDE, high + rows * SIDE];
  const svg = el("svg", {
    class: "grid",
    tabindex: 0,
    role: "img",
    "aria-label": `${card.name}.${title}: ${rows} rows, ${columns} columns; arrows read the rows`,
    width: wide + 2,
    height: tall + 2,
    viewBox: `-1 -1 ${wide + 2} ${tall + 2}`,
    "data-at": [card.node, name, k, rows, columns, high, left],
  });
  el("g", {class: "arcs"}, svg);
  for (let i = 0; i < rows; i++)
    if (left) el("text", {x: 10, y: high + i * SIDE + SIDE / 2 + 4, class: "end"}, svg, letterOf(rows, i));
  for (let j = 0; j < columns; j++)
    if (high) el("text", {x: left + j * SIDE + SIDE / 2, y: high - 3, class: "letter"}, svg, letterOf(rows, j));
  for (let n = 0; n < rows * columns; n++) {
    const y = all[k * rows * columns + n],
      i = Math.floor(n / columns),
      j = n % columns;
    const cell = el(
      "rect",
      {
        x: left + j * SIDE,
        y: high + i * SIDE,
        width: SIDE - 1,
        height: SIDE - 1,
        "data-row": i,
        class: cellClass(y),
        opacity: y ? (0.1 + (0.9 * Math.abs(y)) / most).toFixed(2) : 1,
      },
      svg,
    );
    el(
      "title",
      {},
      cell,
      `${letterOf(rows, i) || `row ${i + 1}`}, ${(square && letterOf(rows, j)) || `column ${j + 1}`}: ${number(y)}`,
    );
  }
  return html`<figure>
    <figcaption>${bdi(card.name)}.${title}</figcaption>
    ${svg}
  </figure>`;
}

// Draw arcs from a letter of the word to the letters that its row looks at; returns the row as text
function readRow(svg, i) {
  const [node, name, ...at] = svg.dataset.at.split(","),
    [k, rows, columns, high, left] = at.map(Number),
    SIDE = sideOf(rows),
    from = engine[name === "data" ? "data" : "grads"][node];
  const row = [...from.slice((k * rows + i) * columns, (k * rows + i + 1) * columns)],
    most = Math.max(...from.map(Math.abs)),
    middle = j => left + j * SIDE + SIDE / 2;
  svg.dataset.row = i;
  svg.firstChild.replaceChildren(
    ...(high
      ? row.map((x, j) =>
          el("path", {
            d: `M${middle(i)} ${high - 14}Q${(middle(i) + middle(j)) / 2} ${high - 14 - Math.min(36, 8 + 9 * Math.abs(i - j))} ${middle(j)} ${high - 14}`,
            class: hue(x),
            style: `stroke-width:${((4 * Math.abs(x)) / most).toFixed(1)}`,
          }),
        )
      : []),
  );
  for (const cell of svg.querySelectorAll(".cell")) cell.classList.toggle("lit", +cell.dataset.row === i);
  return `${letterOf(rows, i) || `Row ${i + 1}`}: ${row.map((x, j) => `${(rows === columns && letterOf(rows, j)) || j + 1} ${number(x, "short")}`).join(", ")}`;
}

$("why").addEventListener("pointerover", ({target}) => {
  if (target.dataset.row && target.closest(".grid")) readRow(target.closest(".grid"), +target.dataset.row);
});
$("why").addEventListener("keydown", event => {
  const by = {ArrowDown: 1, ArrowUp: -1}[event.key],
    svg = event.target.closest(".grid");
  if (!by || !svg) return;
  event.preventDefault();
  event.stopPropagation();
  const rows = +svg.dataset.at.split(",")[3];
  $("live").textContent = readRow(svg, Math.max(0, Math.min(rows - 1, +(svg.dataset.row ?? -1) + by)));
});
