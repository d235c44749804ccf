// The GPT page: what the worker trains, as it comes: the loss, made-up names, chances of the next letter, attention.
import {$, four, remember, remembered, state, themed} from "./common.js";
import {wordsOf} from "./names.js";
import {listed} from "./own.js";
import {letters, lines, pixels, spots} from "./pictures.js";
import {html, put as fill} from "./vendor/html.js";

const STEPS = 1000,
  SHOWN = 8;
// The page is one file: the build writes into it the settings, our names, the script of the thread, and the player's page.
const {settings, ours, thread, player} = JSON.parse($("given").textContent);
const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
let losses = [],
  look = null,
  map = null,
  playing = false,
  waiting = false,
  words = [];

// ---- the worker
const worker = new Worker(URL.createObjectURL(new Blob([thread], {type: "text/javascript"})));
worker.onerror = event => {
  event.preventDefault();
  state("The model cannot start");
  $("error").textContent = `The model cannot start here: ${event.message || "this browser starts no thread"}.`;
};
worker.onmessage = ({data}) => {
  if (data.begun) {
    losses = [];
    state("The model runs in this page");
    if ($("train").disabled && !still) train(); // the first time
    for (const id of ["train", "again"]) $(id).disabled = false;
  }
  if (data.losses) {
    losses.push(...data.losses);
    $("steps").textContent = data.steps;
    $("speed").textContent = data.steps ? Math.round((1000 * data.steps) / data.spent) : "–";
  }
  if (data.ended) set(false);
  if (data.look) look = data.look;
  if (data.made) made(data.made);
  map = data.map ?? map;
  if (data.leaves) show(data.leaves);
  due();
};
function set(on) {
  playing = on;
  $("train").textContent = on ? "Pause" : `Train ${STEPS.toLocaleString("en")} steps`;
}
function train() {
  worker.postMessage({steps: STEPS});
  set(true);
}
function begin() {
  set(false);
  worker.postMessage({begin: words, seed: Math.trunc(+$("seed").value) || 0, settings, asked: asked()});
}
function asked() {
  // null where the model cannot read it
  const text = wordsOf($("text").value.replaceAll(",", " ").trimStart(), settings);
  $("error").textContent = text.bad.length ? `${text.bad[0].why}, which the model does not know.` : "";
  $("temperatureis").textContent = (+$("temperature").value).toFixed(2);
  return text.bad.length ? null : {text: text.words[0] ?? "", temperature: +$("temperature").value};
}
const ask = () => worker.postMessage({asked: asked()});

// ---- pictures, once for each that the screen shows
function due() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    draw();
  });
}
const spelled = letter => (letter === " " ? "␣" : letter),
  percent = x => Math.round(100 * x);
function draw() {
  const recent = losses.slice(-50);
  $("lossis").textContent = recent.length ? four(recent.reduce((a, b) => a + b) / recent.length) : "–";
  const least = recent.length ? Math.floor(Math.min(...recent)) : 0; // from 3.4 to 2.2 is much, and little beside 0
  lines($("loss"), [{at: losses, hue: "--ink"}], {bottom: Math.max(0, least)});
  if (!playing)
    $("loss").setAttribute(
      "aria-label",
      losses.length
        ? `Loss over ${losses.length} steps: from ${four(losses[0])} to ${$("lossis").textContent}, the mean of the last 50`
        : "Loss by step: not trained yet",
    );
  if (map) letters($("map"), map.places, [...settings.letters].map(spelled), $("letter").selectedIndex);
  if (map) weight();
  if (map && !playing)
    $("map").setAttribute("aria-label", `The letters in a plane. ${[..."aeiou"].map(near).join(", ")}.`);
  if (look) {
    chances();
    arcs();
    grid();
  }
}
function near(letter) {
  const k = settings.letters.indexOf(letter),
    [x, y] = map.places[k],
    away = map.places.map(([x2, y2], i) => (i === k ? Infinity : Math.hypot(x2 - x, y2 - y)));
  return `next to ${letter} lies ${spelled(settings.letters[away.indexOf(Math.min(...away))])}`;
}
function made(list) {
  $("made").replaceChildren(
    ...list.map(({text, known}) =>
      Object.assign(document.createElement("li"), {textContent: `${text || "·"}${known ? " *" : ""}`}),
    ),
  );
}
const rows = Array.from({length: SHOWN}, () => {
  // they stay, so that a click meets one while it trains
  const item = document.createElement("li"),
    bar = document.createElement("span"),
    button = Object.assign(document.createElement("button"), {type: "button", title: "Open its loss as a graph"});
  bar.className = "share";
  button.addEventListener("click", () => open(button.value));
  item.append(button, bar, "");
  return item;
});
$("chances").append(...rows);
function chances() {
  const best = look.chances.map((chance, k) => [settings.letters[k], chance]).sort((a, b) => b[1] - a[1]);
  rows.forEach(({childNodes: [button, bar, said]}, k) => {
    const [letter, chance] = best[k];
    button.value = letter;
    button.textContent = letter === "." ? "end" : spelled(letter);
    bar.style.width = `${Math.max(1, 60 * chance)}%`;
    said.textContent = ` ${percent(chance)} %`;
  });
}
const head = () => +(document.querySelector("#heads input:checked")?.value ?? 0);
function arcs() {
  // from each letter to those that it looks at: in blue from the last one
  const letters = [".", ...look.text].map(spelled),
    gap = 44,
    last = letters.length - 1,
    shares = look.heads[head()];
  const base = 22 + gap * Math.max(last, 1) * 0.42,
    x = k => 24 + gap * k;
  const arc = (k, j, share) => {
    const bow = gap * (k - j) * 0.56,
      d =
        k === j
          ? `M${x(k) - 5} ${base}c-14 -24 24 -24 10 0`
          : `M${x(k)} ${base}C${x(k)} ${base - bow} ${x(j)} ${base - bow} ${x(j)} ${base}`;
    return html`<path
      d="${d}"
      class="${k === last ? "last" : ""}"
      stroke-width="${(0.4 + 7 * share).toFixed(2)}"
      opacity="${(0.12 + 0.88 * share).toFixed(2)}"
    />`;
  };
  const paths = shares
    .flatMap((row, k) => row.slice(0, k + 1).map((share, j) => ({k, j, share})))
    .sort((a, b) => a.k - b.k)
    .filter(({share}) => share > 0.02);
  const most = shares[last].indexOf(Math.max(...shares[last])),
    place = $("arcs"),
    height = base + 26;
  place.setAttribute("viewBox", `0 0 ${x(last) + 24} ${height}`);
  place.style.maxWidth = `${1.25 * (x(last) + 24)}px`;
  place.setAttribute(
    "aria-label",
    `Head ${head() + 1}: the last letter, ${letters[last]}, takes most from ${most === last ? "itself" : letters[most]}, ${percent(shares[last][most])} percent`,
  );
  fill(
    place,
    paths.map(({k, j, share}) => arc(k, j, share)),
  );
  place.append(
    ...letters.map((letter, k) => {
      const text = document.createElementNS(place.namespaceURI, "text");
      text.setAttribute("x", x(k));
      text.setAttribute("y", base + 18);
      text.textContent = letter;
      return text;
    }),
  );
}
function grid() {
  const letters = [".", ...look.text].map(spelled),
    shares = look.heads[head()];
  const row = (cells, kind) => {
    const made = document.createElement("tr");
    made.append(
      ...cells.map((text, k) =>
        Object.assign(document.createElement(k && kind === "td" ? "td" : "th"), {textContent: text}),
      ),
    );
    return made;
  };
  const all = [
    row(["", ...letters], "th"),
    ...shares.map((shares, k) => row([letters[k], ...shares.map((share, j) => (j > k ? "" : percent(share)))], "td")),
  ];
  all[0].firstChild.replaceWith(document.createElement("td"));
  all.slice(1).forEach((line, k) => {
    line.firstChild.scope = "row";
    [...line.children].slice(1).forEach((cell, j) => {
      if (j <= k) cell.style.setProperty("--share", `${percent(shares[k][j])}%`);
    });
  });
  $("grid").replaceChildren(
    Object.assign(document.createElement("caption"), {
      textContent: `Head ${head() + 1}: the row looks at the column, percent`,
    }),
    ...all,
  );
}

// ---- a letter's vector: dragged in the plane, or one of its numbers
const chosen = () => $("letter").selectedIndex,
  vector = () => map.vectors[chosen()],
  place = () => Math.min(Math.max(1, Math.trunc(+$("place").value) || 1), vector().length) - 1;
function weight() {
  const x = vector()[place()];
  if (document.activeElement !== $("weight")) $("weight").value = x;
  $("weightis").textContent = x.toFixed(2).replace("-", "−");
}
function put(next) {
  map.vectors[chosen()] = next;
  worker.postMessage({put: [settings.letters[chosen()], next]});
}
let grabbed = null; // the place of the mouse, in the plane
function under(event) {
  const box = $("map").getBoundingClientRect(),
    mouse = [event.clientX - box.left, event.clientY - box.top];
  const away = spots($("map"), map.places).map(spot => Math.hypot(...spot.map((x, i) => x - mouse[i])));
  return away.indexOf(Math.min(...away));
}
$("map").addEventListener("pointerdown", event => {
  if (!map) return;
  $("letter").selectedIndex = under(event);
  grabbed = {
    x: event.clientX,
    y: event.clientY,
    vector: [...vector()],
    by: pixels($("map"), map.places).scale,
    axes: map.axes,
  };
  $("map").setPointerCapture(event.pointerId);
  due();
});
$("map").addEventListener("pointermove", event => {
  if (!grabbed) return;
  const {x, y, by, axes} = grabbed,
    dx = (event.clientX - x) / by[0],
    dy = (y - event.clientY) / by[1];
  put(grabbed.vector.map((number, i) => number + dx * axes[0][i] + dy * axes[1][i]));
});
for (const end of ["pointerup", "pointercancel"]) $("map").addEventListener(end, () => (grabbed = null));
for (const id of ["letter", "place"]) $(id).addEventListener("input", due);
$("weight").addEventListener("input", () => put([...vector()].with(place(), +$("weight").value)));

// ---- the graph of a letter's loss, which the player computes from the leaves that it is given
let opened = null;
function open(letter) {
  opened = {letter, text: look.text, steps: $("steps").textContent};
  worker.postMessage({leaves: [look.text, letter]});
}
async function show(leaves) {
  const {letter, text, steps} = opened,
    called = letter === "." ? "the end" : `‘${spelled(letter)}’`;
  $("lossof").textContent =
    `The loss if ${called} comes after ‘${text || "the beginning"}’, after ${steps} steps${+$("temperature").value === 1 ? "" : ", at temperature 1"}`;
  $("one-letter").showModal();
  if (!$("player").srcdoc)
    await new Promise(loaded => {
      $("player").addEventListener("load", loaded, {once: true});
      $("player").srcdoc = player;
    });
  $("player").contentDocument.documentElement.dataset.theme = getComputedStyle(document.body).colorScheme;
  $("player").contentWindow.postMessage({micrograd: "leaves", leaves}, "*");
}
$("close").addEventListener("click", () => $("one-letter").close());

// ---- the list
function learn(text, kept = true) {
  const found = wordsOf(text, settings);
  $("guessed").textContent = found.words.length ? listed(found.bad) : "";
  $("error").textContent = found.words.length
    ? ""
    : `There is nothing to learn: write names of ${settings.letters.slice(1).replace(" ", "space ")}, one a line. ${listed(found.bad)}`;
  if (!found.words.length) return false;
  words = found.words;
  $("counted").textContent = `${words.length} names`;
  if (kept) remember("names", text);
  begin();
  return true;
}
const OURS = ours.trim().split(/\s+/).join("\n");
themed();
$("heads").append(
  ...Array.from({length: settings.heads}, (_, k) => {
    const label = document.createElement("label"),
      input = Object.assign(document.createElement("input"), {type: "radio", name: "head", value: k, checked: !k});
    label.append(input, `head ${k + 1}`);
    return label;
  }),
);
$("letter").append(...[...settings.letters].map(letter => new Option(spelled(letter))));
$("letter").value = "a";
$("parameters").textContent = settings.parameters.toLocaleString("en");
$("guess").textContent = `A guess without any learning has a loss of ${Math.log(settings.letters.length).toFixed(2)}.`;
$("words").value = remembered("names") || OURS;
if (!learn($("words").value, false)) learn(OURS, false);
$("train").addEventListener("click", () => {
  if (playing) return worker.postMessage({pause: true}); // the button says Pause until it is answered
  train();
  if (innerWidth <= 960) $("made").scrollIntoView({block: "center"});
});
$("again").addEventListener("click", begin);
$("seed").addEventListener("change", begin);
$("heads").addEventListener("change", due);
for (const id of ["text", "temperature"]) $(id).addEventListener("input", ask);
$("use").addEventListener("click", () => learn($("words").value));
$("ours").addEventListener("click", () => {
  $("words").value = OURS;
  remember("names", "");
  learn(OURS, false);
});
new ResizeObserver(due).observe($("loss"));
addEventListener("colours", due);
