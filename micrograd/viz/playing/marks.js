// ---- elements of SVG, heat-maps, and the look of the gradient on a line
import {thickness, WIDTHS} from "../numbers.js";
import {pretty} from "./words.js";

export const NS = "http://www.w3.org/2000/svg";

export function el(tag, attributes = {}, parent = null, text = null) {
  const element = document.createElementNS(NS, tag);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== null) element.textContent = text;
  parent?.append(element);
  return element;
}

// The class of a number by its sign, which gives its hue
export const hue = x => (+x > 0 ? "above" : +x < 0 ? "below" : +x === 0 || x === undefined ? "" : "odd");

// The class of a cell of a heat-map, by the sign of its number
export const cellClass = x => `cell ${Number.isNaN(x) ? "nan" : x > 0 ? "high" : x < 0 ? "low" : "zero"}`;
export const CELL = 5; // pixels of a cell of a heat-map on a card

export function heatMap(heat, parent, x, y, wide, tall) {
  const map = Object.assign(el("g", {}, parent), {texts: []});
  el("title", {}, map);
  for (let k = 0; k < heat.cells.length; k++) {
    el(
      "rect",
      {
        x: x + (k % heat.columns) * wide,
        y: y + Math.floor(k / heat.columns) * tall,
        width: wide - 0.7,
        height: tall - 0.7,
        "data-at": k,
      },
      map,
    );
  }
  paint(heat, map);
  return map;
}

export const tip = ({name, shape, range, zeros}) =>
  pretty(`${name}${shape ? ` ${shape}` : ""}${range ? `: ${range}` : ""}${zeros ? `, ${zeros}` : ""}`);

export function paint(heat, map) {
  map.firstChild.textContent = tip(heat);
  map.texts.forEach((text, k) => {
    text.textContent = pretty([heat.range, heat.zeros][k] ?? "");
  });
  [...heat.cells].forEach((letter, k) => {
    const cell = map.children[k + 1],
      level = letter === "?" ? NaN : letter.charCodeAt(0) - 74;
    cell.setAttribute("class", letter === " " ? "none" : cellClass(level));
    cell.setAttribute("opacity", level ? (0.12 + (0.88 * Math.abs(level)) / 9).toFixed(2) : 1);
  });
}

// The look of the gradient on a line, and the widths of its strands; keep in sync with `flowing` in carried.py
export function flowOf({part, flow}) {
  const [over, under = 0] = part === true || part === undefined ? (flow ?? []) : [+part],
    most = Math.max(over, under),
    main = Number.isNaN(over) || Math.abs(over) >= under ? over : -under;
  if (over === undefined) return null;
  if (!(main !== 0)) return {look: "dead", widths: []};
  if (Math.min(over, under) > WIDTHS.seen * most) return {look: "mixed", widths: [over, under].map(thickness)};
  return {look: hue(main), widths: [thickness(main)]};
}
