// ---- a curve on each leaf: the result as only this leaf varies, with its present point and the slope there
import {held, rootName, scene} from "./state.js";
import {$, number, plural} from "./words.js";
import {power} from "./recompute.js";
import {el, hue} from "./marks.js";
import {engine, leafOf, losses, result, touched, valueOf} from "./engine.js";

const POINTS = 33;
export const WIDE = 56;
export const TALL = 24;
const CURVES = 200000; // the most numbers that all curves of a scene compute together
export const hasSlope = card =>
  engine && engine.size() <= 300 && card.grad !== undefined && typeof leafOf(card) === "number";

export function drawSlope(card, x, y, width, height) {
  card.slope = el(
    "svg",
    {class: "slope", x, y, width, height, viewBox: "0 0 100 100", preserveAspectRatio: "none"},
    card.group,
  );
  el("title", {}, card.slope, `${rootName} as ${card.name} alone varies`);
  for (const name of ["ground", "curve", "tangent", "point"]) card.slope[name] = el("path", {class: name}, card.slope);
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
    // A drag moves the point along the curve: the curve changes only when the point nears an end
    if (!(Math.abs(x - card.middle) < 0.9 * reach && card.reach === reach)) Object.assign(card, {middle: x, reach});
    card.ys = Array.from({length: POINTS}, (_, k) => {
      leaves[card.node] = card.middle + reach * ((2 * k) / (POINTS - 1) - 1);
      return engine.number(engine.forward(leaves, scratch));
    });
    leaves[card.node] = x;
    heights.push(...card.ys.filter(Number.isFinite));
  }
  // One scale for all curves: most of their values fit, a flat curve looks flat, and a steep curve stays visible
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

// ---- the result at each step of gradient descent
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
