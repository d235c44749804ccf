// The cells of a lesson run in the page: each with the names that those before it made, as in a notebook.
import {remember, remembered} from "./common.js";
import {Python} from "./python.js";

const SLOW = 2000; // milliseconds until Stop is offered
const ABOVE = "The cells above run first …";
const DRAWN = /\bplt\./; // by matplotlib, which is not in the page unless the site was built with NumPy
const packages = document.querySelector("script[data-packages]")?.dataset.packages.split(" ");
const cells = [...document.querySelectorAll("div.cell")].filter(mayRun).map(prepared);
let ready = false,
  whole = !packages,
  running = Promise.resolve(),
  asked = null; // the cell whose button was pressed: there one looks

const python = new Python({
  progress: (loaded, total) => {
    if (!asked) return;
    asked.bytes.hidden = loaded >= total;
    asked.bytes.value = loaded / total;
    asked.say(
      loaded < total
        ? `Python is loading: ${(loaded / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`
        : "Python starts …",
    );
  },
  failed: text => asked?.say(`Python cannot start here: ${text}`),
  ready: () => (ready = true),
});

function mayRun(place) {
  const text = place.querySelector(".cell_input pre")?.textContent;
  if (!text || packages || !DRAWN.test(text)) return Boolean(text);
  const words = "matplotlib, which drew this, is not in the page. No other cell needs this one.";
  place
    .querySelector(".cell_input")
    .after(Object.assign(document.createElement("p"), {className: "live-bar", textContent: words}));
  return false;
}
function prepared(place, index) {
  const bar = document.createElement("div"),
    said = document.createElement("span"),
    bytes = document.createElement("progress");
  const button = (text, label, act) => {
    const made = Object.assign(document.createElement("button"), {type: "button", textContent: text});
    made.setAttribute("aria-label", `${label}, cell ${index + 1}`);
    made.addEventListener("click", act);
    return made;
  };
  const was = place.querySelector(".cell_input pre").textContent.replace(/\n$/, "");
  const cell = {
    place,
    index,
    was,
    key: `${document.title}: ${was}`,
    done: false,
    wrong: false,
    editor: null,
    bytes,
    say: text => (said.textContent = text),
    get text() {
      return this.editor?.text ?? was;
    },
  };
  bar.className = "live-bar";
  said.setAttribute("role", "status");
  Object.assign(bytes, {max: 1, value: 0, hidden: true});
  bytes.setAttribute("aria-label", "Python loads");
  cell.stop = button("Stop", "Stop", stop);
  cell.stop.hidden = true;
  cell.begin = button("Edit", "Edit", () => edit(cell, was).then(() => cell.editor.focus()));
  cell.back = button("As it was", "As it was", () => (cell.editor.text = was));
  bar.append(
    button("Run this", "Run this", () => run(cell)),
    cell.begin,
    cell.stop,
    said,
    bytes,
  );
  place.querySelector(".cell_input").after(bar);
  const kept = remembered(cell.key);
  if (kept) edit(cell, kept);
  return cell;
}
async function edit(cell, text) {
  // what is typed is there again when the page is opened again
  cell.begin.replaceWith(cell.back);
  const {editor} = await import("./vendor/editor.js"),
    input = cell.place.querySelector(".cell_input");
  const changed = () => {
    cell.done = false;
    remember(cell.key, cell.text === cell.was ? "" : cell.text);
  };
  input.replaceChildren();
  cell.editor = editor(input, text, {label: `Python, cell ${cell.index + 1}`, run: () => run(cell), changed});
}
function run(cell) {
  // first those above that have not been run: a wrong one there stops only what needs its names
  cell.say("Waiting …");
  running = running.then(async () => {
    asked = cell;
    cell.done = false;
    for (const next of cells.slice(0, cell.index + 1)) {
      if (next.done) continue;
      cell.say(ABOVE);
      if (await ran(next)) continue;
      if (next !== cell) cell.say("Not run: a cell above was stopped, or stopped Python.");
      return;
    }
    if (cell.missing && cells.slice(0, cell.index).some(above => above.wrong))
      cell.say("A cell above went wrong too: begin there.");
  });
}
async function ran(cell) {
  cell.say("Running …");
  const slow = setTimeout(() => {
    if (ready) cell.stop.hidden = false;
  }, SLOW);
  if (!whole) whole = await python.ask("notebook", ...packages);
  const answer = await python.ask("cell", cell.text);
  clearTimeout(slow);
  cell.stop.hidden = asked.bytes.hidden = true;
  if (!answer) {
    cell.say("Stopped. Python has forgotten all names: the next run begins at the first cell.");
    return false;
  }
  if (answer.died) forget();
  cell.done = !answer.died;
  cell.wrong = Boolean(answer.error);
  cell.missing = answer.error?.text.startsWith("NameError");
  cell.say(answer.error ? "" : "Done");
  show(cell, answer);
  return cell.done;
}
function show(cell, {out, html, error}) {
  let output = cell.place.querySelector(".cell_output");
  if (!output) {
    output = Object.assign(document.createElement("div"), {className: "cell_output docutils container"});
    cell.place.append(output);
  }
  output.replaceChildren();
  if (out) output.append(Object.assign(document.createElement("pre"), {textContent: out, tabIndex: 0}));
  if (html) output.insertAdjacentHTML("beforeend", html);
  if (error)
    output.append(
      Object.assign(document.createElement("p"), {
        className: "live-wrong",
        textContent: `${error.line ? `Line ${error.line}: ` : ""}${error.text}`,
      }),
    );
  for (const pre of output.querySelectorAll("pre")) pre.tabIndex = 0;
  cell.editor?.mark(error?.line ? {line: error.line} : null);
}
function forget() {
  ready = false;
  whole = !packages;
  for (const cell of cells) cell.done = cell.wrong = false;
}
function stop() {
  forget();
  python.restart();
}
