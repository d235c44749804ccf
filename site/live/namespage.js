// The GPT page: what the worker trains, as it comes: the loss, made-up names, chances of the next letter, attention.
import {$, four, remember, remembered, state, themed} from "./common.js";
import {wordsOf} from "./names.js";
import {listed} from "./own.js";
import {letters, lines} from "./pictures.js";

const STEPS = 1000, SHOWN = 8;
const get = name => fetch(new URL(name, import.meta.url));
const [settings, ours] = await Promise.all([get("vendor/gpt.json").then(found => found.json()), get("names.txt").then(found => found.text())]);
let losses = [], look = null, map = null, playing = false, waiting = false, words = [];

// ---- the worker
const script = `import ${JSON.stringify(new URL("./namesworker.js", import.meta.url))}`;  // from a blob, it has the page's policy
const worker = new Worker(URL.createObjectURL(new Blob([script], {type: "text/javascript"})), {type: "module"});
worker.onerror = event => {
  event.preventDefault();
  state("The model cannot start");
  $("error").textContent = `The model cannot start here: ${event.message || "its files could not be loaded, or this browser has no module workers"}.`;
};
worker.onmessage = ({data}) => {
  if (data.begun) {
    losses = [];
    state("The model runs in this page");
    for (const id of ["train", "again"]) $(id).disabled = false;
  }
  if (data.losses) {
    losses.push(...data.losses);
    $("steps").textContent = data.steps;
    $("speed").textContent = data.steps ? Math.round(1000 * data.steps / data.spent) : "–";
  }
  if (data.ended) set(false);
  if (data.look) look = data.look;
  if (data.made) made(data.made);
  map = data.map ?? map;
  due();
};
function set(on) {
  playing = on;
  $("train").textContent = on ? "Pause" : `Train ${STEPS.toLocaleString("en")} steps`;
}
function begin() {
  set(false);
  worker.postMessage({begin: words, seed: Math.trunc(+$("seed").value) || 0, settings});
}
function ask() {
  const text = wordsOf($("text").value.replaceAll(",", " ").trimStart(), settings);
  $("error").textContent = text.bad.length ? `${text.bad[0].why}, which the model does not know.` : "";
  $("temperatureis").textContent = (+$("temperature").value).toFixed(2);
  if (!text.bad.length) worker.postMessage({asked: {text: text.words[0] ?? "", temperature: +$("temperature").value}});
}

// ---- pictures, once for each that the screen shows
function due() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    draw();
  });
}
const spelled = letter => letter === " " ? "␣" : letter, percent = x => Math.round(100 * x);
function draw() {
  const recent = losses.slice(-50);
  $("lossis").textContent = recent.length ? four(recent.reduce((a, b) => a + b) / recent.length) : "–";
  lines($("loss"), [{at: losses, hue: "--ink"}]);
  if (!playing) $("loss").setAttribute("aria-label", losses.length ? `Loss over ${losses.length} steps: from ${four(losses[0])} to ${$("lossis").textContent}, the mean of the last 50` : "Loss by step: not trained yet");
  if (map) letters($("map"), map, [...settings.letters].map(spelled));
  if (map && !playing) $("map").setAttribute("aria-label", `The letters in a plane. ${[..."aeiou"].map(near).join(", ")}.`);
  if (look) {
    chances();
    grid();
  }
}
function near(letter) {
  const k = settings.letters.indexOf(letter), away = map.map(([x, y], i) => i === k ? Infinity : Math.hypot(x - map[k][0], y - map[k][1]));
  return `next to ${letter} lies ${spelled(settings.letters[away.indexOf(Math.min(...away))])}`;
}
function made(list) {
  $("made").replaceChildren(...list.map(({text, known}) => Object.assign(document.createElement("li"), {textContent: `${text || "·"}${known ? " *" : ""}`})));
}
function chances() {
  const best = look.chances.map((chance, k) => [settings.letters[k], chance]).sort((a, b) => b[1] - a[1]).slice(0, SHOWN);
  $("chances").replaceChildren(...best.map(([letter, chance]) => {
    const item = document.createElement("li"), bar = document.createElement("span");
    bar.className = "share";
    bar.style.width = `${Math.max(1, 60 * chance)}%`;
    item.append(Object.assign(document.createElement("b"), {textContent: letter === "." ? "end" : spelled(letter)}), bar, ` ${percent(chance)} %`);
    return item;
  }));
}
function grid() {
  const letters = [".", ...look.text].map(spelled), head = +(document.querySelector("#heads input:checked")?.value ?? 0), shares = look.heads[head];
  const row = (cells, kind) => { const made = document.createElement("tr"); made.append(...cells.map((text, k) => Object.assign(document.createElement(k && kind === "td" ? "td" : "th"), {textContent: text}))); return made; };
  const all = [row(["", ...letters], "th"), ...shares.map((shares, k) => row([letters[k], ...shares.map((share, j) => j > k ? "" : percent(share))], "td"))];
  all[0].firstChild.replaceWith(document.createElement("td"));
  all.slice(1).forEach((line, k) => {
    line.firstChild.scope = "row";
    [...line.children].slice(1).forEach((cell, j) => { if (j <= k) cell.style.setProperty("--share", `${percent(shares[k][j])}%`); });
  });
  $("grid").replaceChildren(Object.assign(document.createElement("caption"), {textContent: `Head ${head + 1}: the row looks at the column, percent`}), ...all);
}

// ---- the list
function learn(text, kept = true) {
  const found = wordsOf(text, settings);
  $("guessed").textContent = found.words.length ? listed(found.bad) : "";
  $("error").textContent = found.words.length ? "" : `There is nothing to learn: write names of ${settings.letters.slice(1).replace(" ", "space ")}, one a line. ${listed(found.bad)}`;
  if (!found.words.length) return false;
  words = found.words;
  $("counted").textContent = `${words.length} names`;
  if (kept) remember("names", text);
  begin();
  return true;
}
const OURS = ours.trim().split(/\s+/).join("\n");
themed();
$("heads").append(...Array.from({length: settings.heads}, (_, k) => {
  const label = document.createElement("label"), input = Object.assign(document.createElement("input"), {type: "radio", name: "head", value: k, checked: !k});
  label.append(input, `head ${k + 1}`);
  return label;
}));
$("parameters").textContent = settings.parameters.toLocaleString("en");
$("guess").textContent = `A guess without any learning has a loss of ${Math.log(settings.letters.length).toFixed(2)}.`;
$("words").value = remembered("names") || OURS;
if (!learn($("words").value, false)) learn(OURS, false);
ask();
$("train").addEventListener("click", () => {
  if (playing) return worker.postMessage({pause: true});  // the button says Pause until it is answered
  worker.postMessage({steps: STEPS});
  set(true);
  if (innerWidth <= 960) $("made").scrollIntoView({block: "center"});
});
$("again").addEventListener("click", begin);
$("seed").addEventListener("change", begin);
$("heads").addEventListener("change", due);
for (const id of ["text", "temperature"]) $(id).addEventListener("input", ask);
$("use").addEventListener("click", () => learn($("words").value));
$("ours").addEventListener("click", () => { $("words").value = OURS; remember("names", ""); learn(OURS, false); });
new ResizeObserver(due).observe($("loss"));
addEventListener("colours", due);
