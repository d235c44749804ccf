// The front page: a neuron whose numbers one drags, a network that learns, and a GPT. None of them waits for Python.
import {$, four} from "./common.js";
import {SIDES, sign} from "./looks.js";
import {Plane} from "./pictures.js";
import {random} from "./names.js";
import {html, put} from "./vendor/html.js";
import * as network from "./vendor/sign.js";
import * as neuron from "./vendor/neuron.js";

const get = name => fetch(new URL(name, import.meta.url)),
  still = matchMedia("(prefers-reduced-motion: reduce)").matches;
const {numbers, batch, order, about} = await (await get("vendor/front.json")).json();

// ---- the neuron: a slider for each leaf, and a wire as thick as its gradient
const names = Object.keys(numbers),
  values = Object.values(numbers),
  ROW = 40,
  OPS = [20, 51, 86]; // pixels: how far apart the leaves, and how far to the right products, sum and tanh are
const hue = x => (x > 0 ? "var(--high)" : x < 0 ? "var(--low)" : "var(--quiet)");
const middle = k => ROW * (k + 0.5),
  products = [middle(0.5), middle(2.5)],
  joint = middle(2);
const curve = (x1, y1, x2, y2) => `M${x1} ${y1}C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${x2} ${y2}`;
const wires = [
  ...[0, 1, 2, 3].map(k => curve(0, middle(k), OPS[0], products[k >> 1])),
  curve(0, middle(4), OPS[1], joint),
];
function leaves() {
  // x1 beside w1, x2 beside w2: each pair is multiplied
  $("leaves").append(
    ...["x1", "w1", "x2", "w2", "b"].map(name => {
      const row = document.createElement("div"),
        label = document.createElement("label"),
        input = document.createElement("input");
      Object.assign(input, {type: "range", id: `leaf-${name}`, min: -8, max: 8, step: 0.01, value: numbers[name]});
      Object.assign(label, {textContent: name, htmlFor: input.id});
      input.addEventListener("input", () => {
        values[names.indexOf(name)] = +input.value;
        answer();
      });
      row.append(label, input, document.createElement("output"));
      return row;
    }),
  );
  const round = (x, y, sign) =>
      html`<rect
          x="${x - 9 - 2.5 * sign.length}"
          y="${y - 13}"
          width="${18 + 5 * sign.length}"
          height="26"
          rx="13"
        /><text x="${x}" y="${y}">${sign}</text>`,
    path = d => html`<path d="${d}" />`;
  const within = [...products.map(y => curve(OPS[0], y, OPS[1], joint)), `M${OPS[1]} ${joint}H${OPS[2]}`];
  put($("wires"), [
    ...[...wires, ...within].map(path),
    ...products.map(y => round(OPS[0], y, "×")),
    round(OPS[1], joint, "+"),
    round(OPS[2], joint, "tanh"),
  ]);
}
function answer() {
  const [out, slopes] = neuron.step({x0: values});
  [...$("leaves").children].forEach((row, k) => {
    const i = names.indexOf(row.firstChild.textContent),
      slope = slopes[i],
      [, input, said] = row.children;
    put(said, html`${values[i].toFixed(2).replace("-", "−")} <span style="color:${hue(slope)}">${four(slope)}</span>`);
    input.setAttribute("aria-valuetext", `${names[i]} ${values[i].toFixed(2)}, gradient ${four(slope)}`);
    const path = $("wires").children[k];
    path.style.stroke = hue(slope);
    path.style.strokeWidth = 1 + Math.min(7, 3 * Math.abs(slope));
  });
  $("answer").textContent = four(out);
}
leaves();
answer();

// ---- the network: a few steps for each picture of the screen
const plane = new Plane($("plane")),
  first = network.state(),
  LAST = 600,
  EACH = 4;
$("sides").replaceChildren(sign(SIDES[1]), " from ", sign(SIDES[0]));
let draw = random(1),
  steps = 0,
  learning = !still;
plane.begin(about, "sign");
function step() {
  const picked = Array.from({length: batch}, () => about.points[Math.floor(draw() * about.points.length)]);
  network.step({points: picked.map(([place]) => place), answers: picked.map(([, answer]) => answer)});
  steps += 1;
}
function show() {
  const held = network.state().p,
    p = order.map(k => held[k]);
  plane.follow({p});
  plane.draw();
  const [{right, loss: mean}] = plane.judge(p);
  $("learnt").textContent = `step ${steps}, loss ${four(mean)}, ${Math.round(100 * right)} % right`;
}
function learn() {
  if (!learning) return;
  for (let k = 0; k < EACH && steps < LAST; k++) step();
  show();
  if (steps < LAST) requestAnimationFrame(learn);
  else set(false);
}
function set(on) {
  learning = on;
  $("learn").textContent = on ? "Pause" : steps < LAST ? "Go on" : "Once more";
  if (on) learn();
}
$("learn").addEventListener("click", () => {
  if (steps >= LAST) {
    network.load(first);
    [draw, steps] = [random(Math.floor(Math.random() * 1e9)), 0];
  }
  set(!learning);
});
addEventListener("colours", show);
new MutationObserver(() => dispatchEvent(new Event("colours"))).observe(document.body, {
  attributeFilter: ["data-theme"],
});
new ResizeObserver(show).observe($("plane"));
set(learning);
performance.mark("pictured");

// ---- the GPT, which comes after the pictures: its step is larger than all else on this page
const [settings, words] = await Promise.all([
  get("vendor/gpt.json").then(found => found.json()),
  get("names.txt").then(found => found.text()),
]);
const gpt = new Worker(new URL("./namesworker.js", import.meta.url), {type: "module"}),
  MOST = 1000,
  recent = [];
let reading = false,
  read = 0;
gpt.onmessage = ({data}) => {
  if (data.begun) {
    $("read").disabled = false;
    if (!still) goes(true);
  }
  if (data.losses) recent.push(...data.losses);
  read = data.steps ?? read;
  if (data.steps !== undefined)
    $("reads").textContent = read
      ? `step ${read}, loss ${four(recent.slice(-50).reduce((a, b) => a + b) / recent.slice(-50).length)}`
      : "not trained yet";
  if (data.made)
    $("made").replaceChildren(
      ...data.made.map(({text}) => Object.assign(document.createElement("li"), {textContent: text || "·"})),
    );
  if (data.ended) {
    reading = false;
    $("read").textContent = read < MOST ? "Go on" : "1,000 steps more";
  }
};
function goes(on) {
  if (!on) return gpt.postMessage({pause: true});
  reading = true;
  $("read").textContent = "Pause";
  gpt.postMessage({steps: MOST - (read % MOST)});
}
$("read").addEventListener("click", () => goes(!reading));
gpt.postMessage({begin: words.trim().split(/\s+/), seed: 1, settings});
