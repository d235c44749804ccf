// The drills page. The graphs, the answers and what is said of a wrong one are the package's, in micrograd/command/drill.py.
import {$, copied, linked, progress, remember, remembered, state, themed} from "./common.js";
import {Python} from "./python.js";

const {levels, first} = await (await fetch("vendor/drills.json")).json();
const typeset = text => text.replace(/(?<![a-z])-(?=[\d.a-z])/g, "−").replaceAll(" * ", " × ");
const spoken = name =>
  name
    .replace(/d(\w+)\/d(\w+) \(local\)/, "the local derivative of $1 by $2")
    .replace(/d(\w+)\/d(\w+)/, "the derivative of $1 by $2");
let answers = [],
  session = null,
  aloud = false;

// ---- Python
const python = new Python({
  progress,
  failed: text => {
    state("Python cannot start");
    $("error").textContent = `Python cannot start here: ${text}. The same drills run at a terminal, as it says below.`;
  },
  ready: ({version}) => state(`Python ${version} runs in this page`),
});
const level = () => +$("level").value,
  seed = () => Math.max(0, Math.trunc(+$("seed").value)) || 0;
async function ask(given) {
  // the session after these answers, and what is shown of it
  $("form").classList.add("waiting");
  const wanted = [level(), seed()],
    found = await python.ask("drill", ...wanted, JSON.stringify(given));
  $("form").classList.remove("waiting");
  return found && wanted.join() === [level(), seed()].join() ? found : null;
}
async function begin(given = []) {
  answers = given;
  const found = !given.length && seed() === 1 ? first[level()] : await ask(given);
  if (!found) return;
  if (found.error) {
    // a link that somebody changed
    $("error").textContent = "The answers in this link cannot be read, so that the score begins anew.";
    return begin();
  }
  session = found;
  question();
}

// ---- a graph, and what is asked about it
function question() {
  const {graph} = session;
  $("title").textContent = `Graph ${graph.number}: ${graph.level}`;
  $("aim").textContent = graph.aim && `Once more: ${typeset(graph.aim)}`;
  $("given").textContent = typeset(graph.given);
  $("graph").replaceChildren(drawn(graph));
  $("questions").replaceChildren(
    ...graph.questions.map(name => {
      const label = document.createElement("label"),
        input = document.createElement("input");
      Object.assign(input, {type: "text", inputMode: "text", autocomplete: "off", size: 8});
      input.setAttribute("aria-label", spoken(name));
      label.append(`${typeset(name)} = `, input, document.createElement("span"));
      return label;
    }),
  );
  $("said").replaceChildren();
  $("check").hidden = false;
  $("next").hidden = true;
  remember("drills", JSON.stringify({level: level(), seed: seed(), answers}));
  score();
  if (answers.length || aloud) $("questions").querySelector("input").focus();
  say(`${$("aim").textContent} ${words(graph)}. What is ${graph.questions.map(spoken).join(", ")}?`);
}
async function check() {
  const fields = [...$("questions").querySelectorAll("input")],
    given = [...answers, fields.map(field => field.value.trim())];
  if ($("check").hidden || $("form").classList.contains("waiting")) return;
  for (const field of fields) field.removeAttribute("aria-invalid");
  $("error").textContent = "";
  const found = await ask(given);
  if (!found) return;
  if (found.error) {
    fields[found.place].setAttribute("aria-invalid", true);
    fields[found.place].focus();
    $("error").textContent = `${found.error.replaceAll("'", "’")}.`;
    return say($("error").textContent);
  }
  answers = given;
  session = found;
  const {judged} = session.done.at(-1);
  judged.forEach((one, k) => {
    fields[k].readOnly = true;
    fields[k].nextElementSibling.replaceChildren(...verdict(one));
  });
  const wrong = judged.filter(({fault}) => fault),
    told = wrong.length
      ? wrong.map(one => `${spoken(one.name)} is ${one.truth}: ${one.words}`).join(". ")
      : "All right";
  $("said").textContent = wrong.length ? `${judged.length - wrong.length} of ${judged.length} right.` : "All right.";
  $("check").hidden = true;
  $("next").hidden = false;
  $("next").focus();
  remember("drills", JSON.stringify({level: level(), seed: seed(), answers}));
  score();
  say(told);
}
function verdict({fault, guess, truth, words: told}) {
  const sign = Object.assign(document.createElement("b"), {
    className: fault ? "bad" : "good",
    textContent: fault ? "✗ " : "✓ right",
  });
  return fault
    ? [sign, Object.assign(document.createElement("b"), {textContent: typeset(truth)}), `: ${typeset(told)}`]
    : [sign];
}
function score() {
  $("score").textContent = session.score;
  $("command").textContent = `python -m micrograd drill ${level()} --seed ${seed()}`;
  $("done").replaceChildren(
    ...session.done.map(({leaves, steps, judged}) => {
      const item = document.createElement("li"),
        all = judged.every(({fault}) => !fault);
      const set = Object.entries(leaves).map(([name, x]) => `${name} = ${x}`),
        made = steps.map(({name, text}) => `${name} = ${text}`);
      const wrong = judged
        .filter(({fault}) => fault)
        .map(({name, guess, truth}) => `${name} is ${truth}${guess === null ? "" : `, not ${guess}`}`);
      item.append(
        Object.assign(document.createElement("b"), {className: all ? "good" : "bad", textContent: all ? "✓ " : "✗ "}),
        typeset([...set, ...made].join(", ")),
      );
      if (!all)
        item.append(
          Object.assign(document.createElement("div"), {className: "aside", textContent: typeset(wrong.join("; "))}),
        );
      return item;
    }),
  );
}

// ---- the picture: leaves at the left, each step right of its operands
const SVG = "http://www.w3.org/2000/svg",
  WIDE = 122,
  HIGH = 58,
  BOX = [92, 36];
const words = ({leaves, steps}) =>
  typeset(
    [
      ...Object.entries(leaves).map(([name, x]) => `${name} is ${x}`),
      ...steps.map(({name, text}) => `${name} is ${text.replace("*", "times").replace("+", "plus")}`),
    ].join(", "),
  );
function drawn(graph) {
  const at = {},
    columns = [];
  for (const name of Object.keys(graph.leaves)) at[name] = 0;
  for (const {name, operands} of graph.steps) at[name] = 1 + Math.max(...operands.map(operand => at[operand]));
  for (const name in graph.leaves)
    at[name] = Math.min(...graph.steps.filter(({operands}) => operands.includes(name)).map(step => at[step.name])) - 1;
  for (const name in at) (columns[at[name]] ??= []).push(name);
  const high = Math.max(...columns.map(column => column.length)),
    place = {};
  columns.forEach((column, x) =>
    column.forEach(
      (name, y) => (place[name] = [x * WIDE + BOX[0] / 2 + 2, (y + 0.5 + (high - column.length) / 2) * HIGH]),
    ),
  );
  const [width, height] = [(columns.length - 1) * WIDE + BOX[0] + 4, high * HIGH];
  const svg = made("svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": words(graph),
    style: `max-width: ${width * 1.15}px`,
  });
  for (const {name, operands} of graph.steps) {
    operands.forEach((operand, k) => {
      const [x1, y1] = place[operand],
        [x2, y2] = place[name],
        bend = operands.length > 1 ? (k - 0.5) * 16 : 0,
        twice = operands[0] === operands[1];
      const far =
        at[name] - at[operand] > 1 || twice ? (k || (twice && !k) ? 1 : -1) * (twice ? (k - 0.5) * 50 : 26) : 0;
      svg.append(
        made("path", {
          class: "wire",
          d: `M${x1 + BOX[0] / 2} ${y1} C${x1 + BOX[0] / 2 + 22} ${y1 + far} ${x2 - BOX[0] / 2 - 26} ${y2 + bend + far} ${x2 - BOX[0] / 2} ${y2 + bend}`,
        }),
      );
    });
  }
  for (const name in place) {
    const step = graph.steps.find(step => step.name === name),
      [x, y] = place[name],
      text = step ? `${name} = ${step.text}` : `${name} = ${graph.leaves[name]}`;
    svg.append(
      made("rect", {
        class: step ? "step" : "leaf",
        x: x - BOX[0] / 2,
        y: y - BOX[1] / 2,
        width: BOX[0],
        height: BOX[1],
        rx: 8,
      }),
    );
    const label = svg.appendChild(
      made("text", {
        x,
        y: y + 4.5,
        ...(text.length > 12 ? {textLength: BOX[0] - 8, lengthAdjust: "spacingAndGlyphs"} : {}),
      }),
    );
    label.textContent = typeset(text);
  }
  return svg;
}
function made(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  return element;
}

// ---- aloud
function say(text) {
  if (!aloud) return;
  speechSynthesis.cancel();
  speechSynthesis.speak(
    Object.assign(new SpeechSynthesisUtterance(text.replaceAll("−", "minus ").replaceAll("×", "times")), {lang: "en"}),
  );
}
$("aloud").hidden = !globalThis.speechSynthesis;
$("aloud").addEventListener("click", () => {
  aloud = !aloud;
  $("aloud").setAttribute("aria-pressed", aloud);
  if (!aloud) speechSynthesis.cancel();
  else if (session) say(words(session.graph));
});

// ---- what is kept, and what comes with a link
const pack = list => list.map(texts => texts.map(encodeURIComponent).join("_")).join(";");
const unpack = text => (text ? text.split(";").map(texts => texts.split("_").map(decodeURIComponent)) : []);
themed();
for (const number in levels) $("level").append(new Option(`${number}: ${levels[number]}`, number));
const link = await linked();
let kept = null;
try {
  kept = link.size ? null : JSON.parse(remembered("drills"));
} catch {
  /* of another version */
}
$("level").value = link.get("level") in levels ? link.get("level") : (kept?.level ?? 1);
$("seed").value = link.get("seed") || kept?.seed || 1;
let given = kept?.answers ?? [];
try {
  given = link.has("answers") ? unpack(link.get("answers")) : given;
} catch {
  $("error").textContent = "This link is incomplete: it was cut off on its way.";
}
$("form").addEventListener("submit", event => {
  event.preventDefault();
  check();
});
$("next").addEventListener("click", question);
for (const id of ["level", "seed"])
  $(id).addEventListener("change", () => {
    $("error").textContent = "";
    begin();
  });
$("fresh").addEventListener("click", () => {
  $("seed").value = Math.floor(1000 * Math.random());
  $("error").textContent = "";
  begin();
});
$("link").addEventListener("click", event => {
  history.replaceState(null, "", `#level=${level()}&seed=${seed()}&answers=${encodeURIComponent(pack(answers))}`);
  copied(event.target, location.href);
});
addEventListener("hashchange", () => location.reload());
await begin(given);
python.load();
