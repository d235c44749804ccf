// The page is a function of the frame number: `show` draws a frame, everything else only selects it.
import "./fit.js";
import {Inside} from "./inside.js";
import {html, put} from "../html.js";
import {host} from "../page.js";
import {thickness, written} from "../numbers.js";

const film = JSON.parse(document.getElementById("film").textContent);
const last = film.frames.length - 1;
const root = document.documentElement;
const one = selector => document.querySelector(selector);
const all = selector => document.querySelectorAll(selector);
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const speeds = [1, 2, 4, 0.5];
const shades = one(".shades image");
const rows = shades?.getAttribute("height") / film.frames.length;
let now = 0;
let playing = false;
let speed = 0;
let due = 0;

// ---------------------------------------------------------------------------------------------- one frame
function show(n) {
  now = Math.min(Math.max(n, 0), last);
  const frame = film.frames[now];
  if (shades)
    shades.parentElement.setAttribute(
      "viewBox",
      `0.5 ${now * rows + 0.5} ${shades.getAttribute("width") - 1} ${rows - 1}`,
    );
  all(".boundary > .line").forEach((line, i) => line.setAttribute("d", frame.lines[i]));
  const [x, y] = frame.at;
  one(".so-far").setAttribute("width", 10 * x);
  for (const end of ["x1", "x2"]) one(".cursor").setAttribute(end, `${x}%`);
  one(".dot").setAttribute("cx", `${x}%`);
  one(".dot").setAttribute("cy", `${y}%`);
  showBars(frame);
  if (one(".network")) drawLines();
  all(".network use").forEach(answer => answer.setAttribute("y", -12 * now)); // THUMB in neurons.py
  all(".network .dead").forEach((text, i) => {
    text.textContent = frame.dead[i];
  });
  for (const name of ["right", "loss", "step", "says"]) if (one("#" + name)) one("#" + name).textContent = frame[name];
  const track = one("#frame");
  track.max = last;
  track.value = now;
  track.setAttribute("aria-valuetext", frame.says);
  inside.turn(now);
  if (host) host.dataset.frame = String(now); // notebooks may reload the page when it scrolls back into view
}

// The histograms of the chosen quantity: weights, gradients, or a part of the optimizer's state
function showBars(frame) {
  const [reach, tallest, counts] = film.histograms[one("select#quantity")?.value ?? "weights"] ?? [];
  all(".layer").forEach((layer, i) => {
    const paths = bars(counts[now][i]);
    const texts = {".least": `\u2212${reach}`, ".most": reach, ".note": frame.notes[i]};
    // BINS in panels.py
    layer.querySelector(".bars").setAttribute("viewBox", `0 ${-tallest[i]} 28 ${tallest[i]}`);
    layer.querySelectorAll(".bars path").forEach((path, half) => path.setAttribute("d", paths[half]));
    for (const place in texts) layer.querySelector(place).textContent = texts[place];
  });
}

// The bars below and above zero, one unit per bin and per count. Keep in sync with `bars` in panels.py.
function bars(counts) {
  const paths = counts.map((n, i) => (n ? `M${i + 0.1} 0v-${n}h.8v${n}z` : ""));
  return [paths.slice(0, counts.length / 2).join(""), paths.slice(counts.length / 2).join("")];
}

// The lines of the network: a letter is a weight in ninths of the largest. Keep in sync with `lines` in network_svg.py.
function weights(letters) {
  const pathOf = {};
  [...letters].forEach((letter, i) => {
    pathOf[letter] = (pathOf[letter] ?? "") + film.ends[i];
  });
  return Object.entries(film.looks)
    .filter(([letter]) => pathOf[letter])
    .map(([letter, [look, wide]]) => html`<path class="w ${look}" style="--wide:${wide}" d="${pathOf[letter]}" />`);
}

// The lines as the gradients of one point's loss, or as the changes of a step; the width is absolute, as in the player.
async function drawLines(flows = false) {
  const what = one("#lines")?.value ?? "weights",
    frame = now,
    flow = one("#flow");
  if (flow) flow.hidden = what === "weights";
  if (what === "weights") {
    put(one(".network .lines"), weights(film.frames[now].net));
    return;
  }
  const columns = await inside.lines(what, frame);
  if (frame !== now || what !== one("#lines").value) return;
  const all = columns.flatMap((column, c) => column.flatMap((neuron, k) => neuron.map((g, j) => ({g, c, k, j}))));
  put(
    one(".network .lines"),
    all.map(
      ({g, c}, i) =>
        html`<path
          class="w ${g > 0 ? "above" : g < 0 ? "below" : "zero"}"
          pathLength="1"
          style="stroke-width:${g ? thickness(g).toFixed(1) : 0.4}px;--late:${columns.length - 1 - c}"
          d="${film.ends[i]}"
        />`,
    ),
  );
  one(".network .lines").classList.toggle("flows", flows && what === "gradients");
  const {g, c, k, j} = all.reduce((most, line) => (Math.abs(line.g) > Math.abs(most.g) ? line : most));
  const line = `of input ${j + 1} of neuron ${k + 1} in layer ${c + 1}`,
    point = `Point ${inside.point()}`;
  const [some, none] =
    what === "changes"
      ? [`This step changes most the weight ${line}: by ${written(g)}.`, "Nothing changes after the last frame."]
      : [`${point}: the largest dloss/dw is ${written(g)}, ${line}.`, `${point}: every dloss/dw is 0.`];
  one("#largest").textContent = g ? some : none;
}

one("#lines")?.addEventListener("change", () => drawLines(true));

// ---------------------------------------------------------------------------------------------- selecting a frame
function play(on) {
  playing = on && last > 0;
  if (playing && now === last) show(0);
  root.classList.toggle("playing", playing);
  one("#play").setAttribute("aria-label", playing ? "Pause" : "Play");
  // Ten sentences a second are useless to listen to
  one("#says").setAttribute("aria-live", playing ? "off" : "polite");
  due = 0;
  if (playing) requestAnimationFrame(tick);
}

function tick(time) {
  if (!playing) return;
  due ||= time + pause();
  if (time >= due) {
    due = Math.max(due, time - pause()) + pause();
    show(now + 1);
    if (now === last) return play(false);
  }
  requestAnimationFrame(tick);
}

const pause = () => (calm.matches ? 600 : 100) / speeds[speed]; // milliseconds per frame

function setSpeed(n) {
  speed = n % speeds.length;
  one("#speed").textContent = `${speeds[speed]}\u00d7`;
  one("#speed").setAttribute("aria-label", `Speed ${speeds[speed]}\u00d7`);
}

function seek(n) {
  play(false);
  show(n);
}

const keys = {
  ArrowLeft: () => seek(now - 1),
  ArrowRight: () => seek(now + 1),
  Home: () => seek(0),
  End: () => seek(last),
  " ": () => play(!playing),
};

addEventListener("keydown", event => {
  const key = keys[event.key];
  if (event.target.closest("select, input[type=number]")) return;
  // The space bar already presses it
  const pressed = event.key === " " && event.target.closest("button, .unit");
  if (!key || pressed || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  key();
});
one("#play").addEventListener("click", () => play(!playing));
one("#back").addEventListener("click", () => seek(now - 1));
one("#next").addEventListener("click", () => seek(now + 1));
one("#quantity")?.addEventListener("change", () => show(now));
one("#speed").addEventListener("click", () => setSpeed(speed + 1));
one("#frame").addEventListener("input", event => seek(Number(event.target.value)));
addEventListener("hashchange", () => seek(frameOfHash() ?? now));

// 12 of #frame=12, or null
function frameOfHash() {
  const match = /^#frame=(\d+)$/.exec(location.hash);
  return match && Number(match[1]);
}

const inside = Inside(
  film.inside,
  film.closed,
  // With gradients or changes on the lines, a chosen point does not open
  () => {
    const picks = one("#lines") && one("#lines").value !== "weights";
    if (picks) drawLines(true);
    return picks;
  },
  // While the player of a point is open, the network shows its gradients
  open => {
    const lines = one("#lines");
    if (!lines || lines.value !== (open ? "weights" : "gradients")) return drawLines(open);
    lines.value = open ? "gradients" : "weights";
    drawLines(open);
  },
);
setSpeed(0);
show(frameOfHash() ?? Number(host?.dataset.frame ?? last)); // the trained model; Play begins with the first frame
