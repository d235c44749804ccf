// The training page: the learner's own text, called again and again, and what comes of it.
import {$, Player, copied, four, linked, packed, progress, remember, remembered, state, themed, wrong} from "./common.js";
import {Network, Plane, lines} from "./pictures.js";
import {Python} from "./python.js";
import {editor} from "./vendor/editor.js";

const TYPED = 600, SLOW = 2000, SLICE = 40;  // milliseconds: after the last key, until Stop is offered, of training at a time
const {texts, kinds, still} = await (await fetch("vendor/training.json")).json();
const dashes = [[], [7, 3], [2, 3], [9, 3, 2, 3]], hues = ["--high", "--low", "--third", "--quiet"];
const plane = new Plane($("plane")), network = new Network($("network"), (neuron, name) => { looked = neuron; $("said").textContent = neuron ? `${name} says` : "The model says"; due(); });

let about = null, frame = null, losses = [], norms = [], looked = null;
let ready = false, starting = null, playing = false, waiting = false, timer = 0, slow = 0, version = "";
const speeds = {};

// ---- Python
const python = new Python({
  progress,
  failed: text => {
    state("Python cannot start");
    $("error").textContent = `Python cannot start here: ${text}. The lessons can be read without it.`;
  },
  ready: told => {
    ready = true;
    version = told.version;
    state(`Python ${version} runs in this page`);
    begin();
  },
  frame: take,
});
function watch() {  // until something is heard
  clearTimeout(slow);
  $("stop").hidden = true;
  slow = setTimeout(() => {
    $("stop").hidden = false;
    state("Still running …");
  }, SLOW);
}
function heard() {
  clearTimeout(slow);
  if (!$("stop").hidden) state(`Python ${version} runs in this page`);
  $("stop").hidden = true;
}
async function asked(...what) {
  watch();
  const answer = await python.ask(...what);
  heard();
  return answer;
}
async function begin() {  // run the text from its first line: another model, which goes on if this one was playing
  clearTimeout(timer);
  if (!ready) return python.load();
  const mine = starting = {}, ended = () => mine !== starting;  // by the next begin
  await asked("pause");
  const answer = await asked("start", edit.text, $("data").value, +$("noise").value, +$("seed").value || 0);
  if (!answer || ended()) return;
  $("out").textContent = answer.out;
  wrong(answer.error, edit);
  for (const id of ["play", "one"]) $(id).disabled = Boolean(answer.error);
  if (answer.error) {
    starting = null;
    return set(false);
  }
  started(answer);
  const first = await asked("go", 0, batch(), 1);
  if (ended()) return;
  take(first);
  starting = null;
  if (playing) play();
}
function started(found) {
  if (found.parameters !== about?.parameters) delete speeds.eager, delete speeds.compiled;  // of another network
  about = found;
  losses = [];
  norms = [];
  looked = null;
  plane.begin(about, kinds[$("data").value]);
  network.begin(about, plane);
  $("parameters").textContent = about.parameters;
  $("legend").textContent = legend[plane.kind];
  $("unknown").hidden = Boolean(about.surface);
}
function take(next) {
  if (!next) return;
  heard();
  if (next.error) {
    wrong(next.error, edit);
    return set(false);
  }
  frame = next;
  losses.push(...next.losses);
  norms.push(...next.losses.map(() => next.norms));
  if (next.out) $("out").textContent = next.out;
  speeds[about.mode] = 1000 / next.ms;
  if (playing) watch();
  due();
}

// ---- playing: `playing` is what the button says, and what Python does unless it is starting
const batch = () => +$("batch").value;
function set(on) {
  playing = on;
  $("play").textContent = on ? "Pause" : "Play";
  if (!on) heard();
}
function play() {
  set(true);
  if (!ready || starting) return python.load();
  watch();
  python.say("play", SLICE, batch());
}
async function pause() {
  if (!playing) return;
  set(false);
  if (ready) await asked("pause");
}
function stop() {
  ready = false;
  set(false);
  heard();
  $("error").textContent = "Stopped. Python starts again; change the text, or press Play.";
  python.restart();
}

// ---- pictures: the newest frame, once for each that the screen shows
function due() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    if (frame) draw();
  });
}
const legend = {
  sign: "▲ should be above 0 (blue), ● below (orange); it says 0 where the colours meet. Click a point to see its loss.",
  classes: "▲ ● ■ are the three classes, and a place has the colour of its largest score. Click a point to see its loss.",
  number: "● are the points, and the line is what the model says. Click a point to see its loss.",
};
function draw() {
  const right = plane.follow(frame);
  plane.draw(looked);
  network.draw(frame.p);
  lines($("loss"), [{at: losses, hue: "--ink"}]);
  const layers = frame.norms.map((_, k) => ({at: norms.map(each => each[k]), hue: hues[k % 4], dash: dashes[k % 4]}));
  lines($("norms"), layers, {log: true});
  const number = plane.kind === "number";
  $("steps").textContent = frame.steps;
  $("lossis").textContent = four(losses.at(-1));
  $("rightname").textContent = number ? "mean squared error" : "right answers";
  $("right").textContent = right === null ? "–" : number ? four(right) : `${(100 * right).toFixed(0)} %`;
  $("modename").textContent = `${about.mode} steps a second`;
  const other = about.mode === "eager" ? "compiled" : "eager", known = speeds[other] ? ` (${other}: ${Math.round(speeds[other])})` : "";
  $("mode").textContent = `${Math.round(speeds[about.mode]) || "–"}${known}`;  // of this browser
  if (!playing) {
    $("loss").setAttribute("aria-label", `Loss over ${frame.steps} steps: from ${four(losses[0])} to ${four(losses.at(-1))}`);
    $("norms").setAttribute("aria-label", `Length of the gradient by layer, now ${frame.norms.map(four).join(", ")}`);
    $("plane").setAttribute("aria-label", `What the model says of each place; ${$("rightname").textContent}: ${$("right").textContent}`);
  }
  if (norms.length) $("normlegend").replaceChildren(...frame.norms.map((_, k) => {
    const item = document.createElement("span"), stroke = dashes[k % 4].join(" ");
    item.innerHTML = `<svg width="26" height="8" aria-hidden="true"><line x2="26" y1="4" y2="4" stroke="var(${hues[k % 4]})" stroke-width="2" stroke-dasharray="${stroke}"/></svg> ${frame.norms.length > 1 ? `layer ${k + 1}` : "all parameters"}`;
    return item;
  }));
}

// ---- controls that are numbers of the text
const RATE = /\blr\s*=\s*([0-9.]+(?:e-?\d+)?)/, SIZES = /\bMLP\(\s*\d+\s*,\s*\[([\d\s,]*)\]/d;
let dragging = false;
function controls() {
  const rate = RATE.exec(edit.text), sizes = hidden();
  $("rate").disabled = !rate;
  $("rateis").textContent = rate ? rate[1] : "not in the text";
  if (rate && document.activeElement !== $("rate")) $("rate").value = Math.log10(+rate[1]);
  $("layers").replaceChildren(...(sizes ?? []).map((size, k) => group(`${size}`, `Layer ${k + 1}`, () => change(sizes.with(k, size - 1)), () => change(sizes.with(k, size + 1)), size > 1, size < 16)));
  const more = group("", "Hidden layers", () => change(sizes.slice(0, -1)), () => change([...sizes, sizes.at(-1) ?? 4]), sizes?.length > 0, sizes && sizes.length < 4);
  more.firstChild.textContent = "− layer";
  more.lastChild.textContent = "+ layer";
  $("layers").append(more);
}
function group(text, name, less, more, canLess, canMore) {
  const whole = document.createElement("span"), shown = document.createElement("output");
  whole.className = "stepper";
  whole.setAttribute("role", "group");
  whole.setAttribute("aria-label", name);
  shown.textContent = text;
  const button = (sign, word, act, can) => {
    const made = Object.assign(document.createElement("button"), {type: "button", textContent: sign, disabled: !can});
    made.setAttribute("aria-label", `${name}: ${word}`);
    made.addEventListener("click", act);
    return made;
  };
  whole.append(button("−", "fewer", less, canLess), ...(text ? [shown] : []), button("+", "more", more, canMore));
  return whole;
}
function hidden() {
  const found = SIZES.exec(edit.text)?.[1].split(",").map(Number);
  return found?.length && found.every(size => size > 0) ? found.slice(0, -1) : null;
}
function change(sizes) {
  const {1: old, indices} = SIZES.exec(edit.text), out = old.split(",").at(-1).trim();
  edit.replace(...indices[1], [...sizes, out].join(", "));
  edit.mark(null);
  begin();
}
function drag() {
  const found = /\blr\s*=\s*([0-9.]+(?:e-?\d+)?)/d.exec(edit.text), rate = +(10 ** +$("rate").value).toPrecision(2);
  edit.replace(...found.indices[1], String(rate), dragging);
  dragging = true;
  $("rateis").textContent = rate;
  if (ready && about !== still) python.ask("set_rate", rate);
}

// ---- the text
const written = () => remember("training", edited() ? JSON.stringify({data: $("data").value, code: edit.text}) : "");
const plain = text => text.replace(RATE, "lr").replace(SIZES, "MLP");
const edited = () => !Object.values(texts).some(text => plain(text) === plain(edit.text));
function typed(byPage) {
  controls();
  written();
  if (byPage) return;
  clearTimeout(timer);
  timer = setTimeout(begin, TYPED);
  python.load();
}
function choose(event) {
  const kind = kinds[$("data").value], text = texts[kind];
  const fits = kind === chosen;
  if (!fits && (!edited() || confirm("These points need another loss. Replace your text by one that has it?"))) edit.text = text;
  chosen = kind;
  begin();
}
themed();
for (const name in kinds) $("data").append(new Option(name));
const link = await linked(), kept = JSON.parse(remembered("training") || "null");
for (const name of ["data", "noise", "batch", "seed"]) if (link.has(name)) $(name).value = link.get(name);
if (!link.has("code") && kept) $("data").value = kept.data;
if (!$("data").value) $("data").value = Object.keys(kinds)[0];
let chosen = kinds[$("data").value];
const given = link.get("code") ?? kept?.code ?? texts[chosen];
const edit = editor($("editor"), given, {label: "Python", run: begin, changed: typed});
const shown = () => { $("noiseis").textContent = (+$("noise").value).toFixed(2); $("batchis").textContent = batch(); };
shown();
controls();
if (given === texts.sign && $("data").value === "moons" && !link.size) {  // trained when the site was built
  started(still.about);
  about = still.about;
  frame = still.frame;
  losses = still.losses;
  norms = still.norms;
  draw();
  state("Trained when this page was made: press Play to do it yourself");
} else if (link.has("code") && edited()) state("This text came with a link: read it, then press Play");
else begin();

for (const id of ["play", "one", "again"]) $(id).disabled = false;
$("play").addEventListener("click", () => playing ? pause() : play());
$("one").addEventListener("click", async () => {
  if (!ready) return python.load();
  await pause();
  take(await asked("go", 0, batch(), 1));
});
$("again").addEventListener("click", begin);
$("stop").addEventListener("click", stop);
$("data").addEventListener("change", choose);
for (const id of ["noise", "seed"]) $(id).addEventListener("change", begin);
for (const id of ["noise", "batch"]) $(id).addEventListener("input", shown);
$("batch").addEventListener("input", () => playing && ready && python.say("settings", SLICE, batch()));
$("rate").addEventListener("input", drag);
$("rate").addEventListener("change", () => { dragging = false; edit.mark(null); });
$("link").addEventListener("click", async event => {
  const settings = ["data", "noise", "batch", "seed"].map(id => `${id}=${encodeURIComponent($(id).value)}`);
  history.replaceState(null, "", `#${[...settings, await packed(edit.text)].join("&")}`);
  copied(event.target, location.href);
});
new ResizeObserver(() => { network.arrange(); due(); }).observe($("plane"));
addEventListener("colours", due);
addEventListener("hashchange", () => location.reload());

// ---- one point, and the graph of its loss
const player = new Player($("player"));
async function look(k) {
  if (!ready || about === still.about) { state("Press Play first: then there is a graph to look at"); return python.load(); }
  await pause();
  const answer = await asked("point", k);
  if (!answer) return;
  wrong(answer.error, edit);
  if (answer.error) return;
  const [place, wanted] = about.points[k];
  $("pointis").textContent = `The loss of the point (${place.map(x => x.toFixed(2)).join(", ")}), whose answer is ${+wanted.toFixed(2)}: ${four(answer.loss)}, after ${frame.steps} steps`;
  $("one-point").showModal();
  player.show(answer.story);
}
$("plane").addEventListener("click", event => { const k = plane.points ? plane.nearest(event) : -1; if (k >= 0) look(k); });
$("worst").addEventListener("click", () => look(plane.worst()));
$("close").addEventListener("click", () => $("one-point").close());
