// The playground: a text at the left, the player of what it computes at the right. A slider is a number of the text.
import {
  $,
  Player,
  copied,
  four,
  linked,
  packed,
  progress,
  remember,
  remembered,
  state,
  themed,
  wrong,
} from "./common.js";
import {Python} from "./python.js";
import {editor} from "./vendor/editor.js";

const TYPED = 250,
  SLOW = 1500; // milliseconds: after the last key, and until a run is said to be long
const examples = await (await fetch("vendor/examples.json")).json();
const player = new Player($("player"));
let version = "",
  ready = false,
  busy = false,
  again = false,
  ended = false,
  timer = 0,
  opened = "";

// ---- running
const python = new Python({
  progress,
  failed: text => {
    state("Python cannot start");
    $("error").textContent = `Python cannot start here: ${text}. The lessons can be read without it.`;
  },
  ready: about => {
    ready = true;
    version = about.version;
    state(`Python ${version} runs in this page`);
    if (!ended) go(); // else it would end again by the same text
    ended = false;
  },
});
function soon(wait = 0) {
  clearTimeout(timer);
  timer = setTimeout(go, wait);
  python.load();
}
async function go() {
  clearTimeout(timer);
  if (!ready) {
    ended = false;
    return python.load();
  }
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  again = false;
  const slow = setTimeout(() => {
    $("stop").hidden = false;
    state("Still running …");
  }, SLOW);
  const answer = await python.ask("run", edit.text);
  clearTimeout(slow);
  $("stop").hidden = true;
  if (!answer) return; // it was stopped
  busy = false;
  ready = !(ended = Boolean(answer.died));
  show(answer);
  if (again) go();
}
function show(answer) {
  $("right").classList.toggle("stale", Boolean(answer.error || !answer.story));
  $("out").textContent = answer.out;
  if (answer.error || !held) wrong(answer.error, edit);
  else $("error").textContent = "";
  if (answer.hint) $("error").textContent = answer.hint;
  if (!answer.error) sliders(answer);
  if (answer.story) player.show(answer.story);
  moved &&= held;
  if (!ready) return;
  const took = answer.story ? `: ${answer.ran.toFixed(1)} ms, drawn in ${answer.drew.toFixed(0)}` : "";
  state(`Python ${version} runs in this page${took}`);
}
function stop() {
  ready = busy = again = false;
  ended = true;
  $("stop").hidden = true;
  $("error").textContent = "Stopped. Python starts again; change the text, or press Run.";
  python.restart();
}

// ---- sliders
const hue = x => (x > 0 ? "above" : x < 0 ? "below" : ""); // as in the player: blue above zero, orange below
let current = [],
  held = false,
  moved = false;
function sliders({sliders: found, root = null}) {
  const names = list => list.map(slider => slider.name).join();
  if (names(found) !== names(current) || !$("numbers").children.length) $("numbers").replaceChildren(...found.map(row));
  current = found;
  found.forEach((slider, k) => {
    const [, input, value, slope] = $("numbers").children[k].children;
    const reach = Math.max(5, 2 * Math.abs(slider.value), held ? +input.max : 0);
    input.min = -reach;
    input.max = reach;
    if (!held || document.activeElement !== input) input.value = slider.value;
    value.textContent = four(slider.value);
    value.className = hue(slider.value);
    const partial = `d${root?.name ?? "?"}/d${slider.name}`;
    slope.className = `slope ${hue(slider.slope)}`;
    slope.textContent = `${partial} = ${four(slider.slope)}`;
    input.setAttribute("aria-valuetext", `${slider.name} ${four(slider.value)}, ${partial} ${four(slider.slope)}`);
  });
}
function row(slider, k) {
  const line = document.createElement("div"),
    label = document.createElement("label"),
    input = document.createElement("input");
  const reach = Math.max(5, 2 * Math.abs(slider.value));
  Object.assign(label, {textContent: slider.name, htmlFor: `number${k}`});
  Object.assign(input, {type: "range", id: `number${k}`, min: -reach, max: reach, step: "0.01", value: slider.value});
  input.addEventListener("input", () => drag(k, +input.value));
  input.addEventListener("change", () => {
    held = moved = false;
    edit.mark(null);
  });
  input.addEventListener("keydown", event => {
    // ten small steps, whatever the reach
    const by = {PageUp: 0.1, PageDown: -0.1}[event.key];
    if (!by) return;
    event.preventDefault();
    input.value = +input.value + by;
    drag(k, +input.value);
    held = moved = false;
  });
  line.append(
    label,
    input,
    Object.assign(document.createElement("output"), {htmlFor: input.id}),
    Object.assign(document.createElement("span"), {className: "slope"}),
  );
  return line;
}
function drag(k, x, wait = 0) {
  const slider = current[k],
    digits = x.toFixed(2),
    grown = digits.length - (slider.to - slider.from);
  held = true;
  edit.replace(edit.place(slider.line, slider.from), edit.place(slider.line, slider.to), digits, moved);
  moved = true;
  for (const other of current) {
    if (other.line === slider.line && other.from > slider.from) {
      other.from += grown;
      other.to += grown;
    }
  }
  slider.to += grown;
  slider.value = x;
  $("numbers").children[k].children[2].textContent = four(x);
  soon(wait);
}
addEventListener("message", ({data, source}) => {
  // a leaf was changed in the player, where the numbers follow by themselves
  const k =
    data?.micrograd === "leaf" && source === $("player").contentWindow
      ? current.findIndex(slider => slider.name === data.name)
      : -1;
  if (k < 0) return;
  drag(k, data.value, TYPED);
  $("numbers").children[k].children[1].value = data.value;
  held = false;
});

// ---- the text
const bare = text => text.replace(/-?\d[\d.]*/g, "0"); // a number that was dragged is no loss
const edited = () => bare(edit.text) !== bare(opened);
function open(example) {
  // with the picture that was made when the site was built
  $("example").value = example.name;
  opened = example.code;
  edit.text = opened;
  current = [];
  if (ready) go();
  else {
    show(example.answer);
    state("Press Run, or change something");
  }
}
function typed(how) {
  if (how !== "whole") remember("playground", edit.text === opened ? "" : edit.text);
  if (!how) soon(TYPED);
}
themed();
for (const {name} of examples) $("example").append(new Option(name));
const edit = editor($("editor"), "", {label: "Python", run: go, changed: typed});
const link = await linked(),
  sent = link.get("code"),
  given = sent ?? (link.has("example") ? "" : remembered("playground"));
const ours = sent && examples.find(one => bare(one.code) === bare(sent)); // with other numbers
open(ours ?? examples.find(one => one.name === link.get("example")) ?? examples[0]);
if (given && given !== opened) {
  edit.text = given;
  sliders({sliders: []});
  $("right").classList.add("stale");
  if (ours || !sent) soon();
  else state("This text came with a link: read it, then press Run");
}
$("run").disabled = false;
$("run").addEventListener("click", go);
$("stop").addEventListener("click", stop);
$("example").addEventListener("change", event => {
  if (edited() && !confirm("Replace what you wrote by the example?"))
    event.target.value = examples.find(one => one.code === opened).name;
  else {
    remember("playground", "");
    open(examples.find(one => one.name === event.target.value));
  }
});
$("link").addEventListener("click", async event => {
  history.replaceState(null, "", `#${await packed(edit.text)}`);
  copied(event.target, location.href);
});
$("download").addEventListener("click", () => {
  const address = URL.createObjectURL(new Blob([edit.text], {type: "text/x-python"}));
  Object.assign(document.createElement("a"), {href: address, download: "playground.py"}).click();
  URL.revokeObjectURL(address);
});
addEventListener("hashchange", () => location.reload());
