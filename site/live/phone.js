// A model that was trained when the site was built, run by onnxruntime: what it says of every place, and of one.
import {$, four, state, themed} from "./common.js";
import {SIDES} from "./looks.js";
import {Plane, REACH} from "./pictures.js";
import {places} from "./surface.js";
import * as ort from "./vendor/onnxruntime-web/ort.wasm.bundle.min.mjs";

themed();
ort.env.wasm.numThreads = 1; // more need headers that few hosts send
const vendor = name => new URL(`vendor/${name}`, import.meta.url);
const plane = new Plane($("plane"));
let session,
  points,
  asking = Promise.resolve();

async function scores(rows) {
  // one answer for each row of two coordinates
  const batch = new ort.Tensor("float32", Float32Array.from(rows.flat()), [rows.length, 2]);
  const results = await session.run({[session.inputNames[0]]: batch});
  return results[session.outputNames[0]].data;
}
async function begin() {
  const [model, told] = await Promise.all([
    fetch(vendor("moons.onnx")).then(found => found.arrayBuffer()),
    fetch(vendor("moons.json")).then(found => found.json()),
  ]);
  ({points} = told);
  session = await ort.InferenceSession.create(model);
  plane.begin({points, surface: null, parameters: 0}, "sign");
  const [xs, ys] = places(2, plane.side, REACH),
    rows = Array.from(xs, (x, k) => [x, ys[k]]);
  await scores(rows.slice(0, 1)); // the first run prepares the rest
  const began = performance.now();
  plane.scores = [await scores(rows)];
  const took = performance.now() - began,
    answers = await scores(points.map(([place]) => place));
  $("size").textContent = `${(model.byteLength / 1000).toFixed(1)} kB`;
  $("took").textContent = `${rows.length.toLocaleString("en")} in ${took.toFixed(1)} ms`;
  $("right").textContent = `${points.filter(([, answer], k) => answers[k] * answer > 0).length} of ${points.length}`;
  state("The model runs in this page");
  draw();
}
function draw() {
  if (!plane.scores) return;
  plane.draw();
  const size = plane.canvas.clientWidth,
    drawing = plane.canvas.getContext("2d"),
    [x, y] = [+$("x").value, +$("y").value];
  drawing.strokeStyle = getComputedStyle(document.body).color;
  drawing.lineWidth = 2.5;
  drawing.beginPath();
  drawing.arc((size * (x / REACH + 1)) / 2, (size * (1 - y / REACH)) / 2, 11, 0, 7);
  drawing.stroke();
  $("xis").textContent = x.toFixed(2);
  $("yis").textContent = y.toFixed(2);
  asking = asking.then(async () => {
    const [score] = await scores([[x, y]]);
    $("said").textContent =
      `At (${x.toFixed(2)}, ${y.toFixed(2)}) the model says ${four(score)}: ${score > 0 ? "blue" : "orange"}, as of the ${SIDES[+(score > 0)].name}.`.replaceAll(
        "-",
        "−",
      );
  });
}
function touched(event) {
  if (event.type === "pointermove" && !event.buttons) return;
  const box = plane.canvas.getBoundingClientRect();
  $("x").value = REACH * ((2 * (event.clientX - box.left)) / box.width - 1);
  $("y").value = REACH * (1 - (2 * (event.clientY - box.top)) / box.height);
  draw();
}
for (const id of ["x", "y"]) $(id).addEventListener("input", draw);
for (const kind of ["pointerdown", "pointermove"]) plane.canvas.addEventListener(kind, touched);
addEventListener("colours", draw);
addEventListener("resize", draw);
begin().catch(error => {
  state("The model cannot run here");
  $("error").textContent = `The model cannot run here: ${error.message ?? error}. The guide can be read without it.`;
});
