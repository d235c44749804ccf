// The training page: the learner's own text, called again and again, and what comes of it.
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
import {CLASSES, MOST, block, csv, decoded, held, listed, parsed, scale, scaled} from "./own.js";
import {SIDES, looks, named, sign} from "./looks.js";
import {Graph, Network, Plane, lines} from "./pictures.js";
import {Python, threaded} from "./python.js";
import {editor} from "./vendor/editor.js";
import {html, put} from "./vendor/html.js";

const LONGEST = 8000; // characters of a link
const TYPED = 600,
  SLOW = 2000,
  SLICE = 40,
  FOLLOWED = 100,
  DRAWN = 8000; // milliseconds: after the last key, until Stop is offered, of training at a time, between two graphs of a point; and the most steps of a line
const {texts, kinds, still} = await (await fetch("vendor/training.json")).json();
const dashes = [[], [7, 3], [2, 3], [9, 3, 2, 3]],
  hues = ["--high", "--low", "--good", "--quiet"];
const plane = new Plane($("plane")),
  network = new Network($("network"), (neuron, name) => {
    looked = neuron;
    $("said").textContent = neuron ? `${name} says` : "The model says";
    due();
  }),
  graph = new Graph($("single"));

let about = null,
  frame = null,
  losses = [],
  norms = [],
  judged = [],
  looked = null,
  chosen = 0; // which neuron is shown large, and of which point the graph is
let fastest = null,
  running = null,
  stride = 1; // of the step as JavaScript: which run it is, and its end; of the steps, those that are drawn
let ready = false,
  pressed = null,
  starting = null,
  playing = false,
  waiting = false,
  timer = 0,
  slow = 0,
  version = "";
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
    begin(pressed);
  },
  frame: take,
});
function watch() {
  // until something is heard
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
function later(act) {
  // what was pressed while Python was not there, which goes on with the network that is shown
  pressed = about === still.about ? act : null;
  python.load();
}
async function begin(act = null) {
  // run the text from its first line: another model, which goes on if this one was playing
  clearTimeout(timer);
  pressed = null;
  if (!act) fastest = null;
  if (own()) preview();
  if (own() && !held(edit.text)?.rows.length) {
    set(false);
    starting = null; // what was on its way is of another program
    return ($("guessed").textContent ||= "Click in the picture to draw points, or paste rows such as 0.5, -1.2, cat.");
  }
  if (!ready) return python.load();
  const mine = (starting = {}),
    ended = () => mine !== starting; // by the next begin
  await asked("pause");
  const answer = await asked(
    "start",
    edit.text,
    $("data").value,
    +$("noise").value,
    +$("seed").value || 0,
    +$("size").value,
  );
  if (!answer || ended()) return;
  $("out").textContent = answer.out;
  wrong(answer.error, edit);
  for (const id of ["play", "one"]) $(id).disabled = Boolean(answer.error);
  if (answer.error) {
    starting = null;
    return set(false);
  }
  const kept = [frame, losses, norms, judged, stride];
  started(answer);
  if (act) {
    [frame, losses, norms, judged, stride] = kept;
    due();
    await asked("put", JSON.stringify(frame.p), frame.steps);
    if (ended()) return;
    starting = null;
    return act();
  }
  const first = await asked("go", 0, batch(), 1, chosen);
  if (ended()) return;
  take(first);
  starting = null;
  if (playing) play();
}
function started(found) {
  if (found.parameters !== about?.parameters) (delete speeds.eager, delete speeds.compiled); // of another network
  about = found;
  stride = 1;
  losses = [];
  norms = [];
  judged = [];
  looked = null;
  chosen = Math.min(chosen, about.points.length - 1);
  plane.begin(about, kinds[$("data").value], own() ? held(edit.text)?.axes : null);
  graph.begin(about);
  network.begin(about, plane);
  $("parameters").textContent = about.parameters;
  $("legend").replaceChildren(...(own() ? counted() : legend[plane.kind]));
  $("unknown").hidden = Boolean(about.surface);
}
function take(next) {
  if (!next) return;
  heard();
  if (next.error) {
    wrong(next.error, edit);
    return set(false);
  }
  if ($("error").textContent) wrong(null, edit); // of a program before
  frame = next;
  const seen = plane.judge(next.p);
  next.losses.forEach((loss, k) => {
    if ((next.steps - next.losses.length + k) % stride) return;
    losses.push(loss);
    judged.push(seen);
    norms.push(next.norms);
  });
  if (losses.length > DRAWN) {
    [losses, judged, norms] = [losses, judged, norms].map(list => list.filter((_, k) => k % 2 === 0));
    stride *= 2;
  }
  if (next.out) $("out").textContent = next.out;
  speeds[mode()] = 1000 / next.ms;
  if (playing) watch();
  due();
}

// ---- playing: `playing` is what the button says, and what Python does unless it is starting
const batch = () => +$("batch").value,
  mode = () => frame?.mode ?? about.mode;
function set(on) {
  playing = on;
  $("play").textContent = on ? "Pause" : "Play";
  if (!on) heard();
}
function play() {
  set(true);
  const {top, bottom} = $("plane").getBoundingClientRect();
  if (innerWidth <= 960 && (top < 0 || bottom > innerHeight)) $("plane").closest("section").scrollIntoView(); // a phone: what is played is below
  pressed = null;
  if ($("fast").checked && frame && !starting && fit())
    return (running = fast().catch(() => {
      set(false);
      $("error").textContent = "The step as JavaScript cannot run here.";
    }));
  if (!ready || starting) return python.load();
  watch();
  python.say("play", SLICE, batch(), chosen);
}
async function pause() {
  const was = playing;
  set(false);
  await running;
  if (!was) return;
  if (ready) await asked("pause");
}
function stop() {
  ready = false;
  set(false);
  heard();
  $("error").textContent = "Stopped. Python starts again; change the text, or press Play.";
  python.restart();
}

// ---- the step as JavaScript, which the build wrote for the texts of this page; Python is told of it for the graph of a point
const steps = await (await fetch("vendor/steps.json")).json();
function fit() {
  // also says why not
  const kind = kinds[$("data").value],
    wrong = !steps.orders[kind]
      ? "moons, circles, xor, spirals and curves"
      : edited()
        ? "the page’s own text"
        : String(hidden()) !== String(steps.hidden)
          ? `hidden layers of ${steps.hidden.join(" and ")}`
          : batch() !== steps.batch
            ? `a batch of ${steps.batch}`
            : "";
  $("unfit").textContent = wrong && $("fast").checked ? `It was written for ${wrong}: this runs in Python.` : "";
  return !wrong;
}
async function fast() {
  const mine = (fastest = {}),
    kind = kinds[$("data").value],
    thread = threaded("stepping.js");
  const rate = () => +RATE.exec(edit.text)[1],
    goes = () => playing && fastest === mine && $("fast").checked && fit();
  let asking = false;
  if (!ready) {
    pressed = () => {};
    python.load();
  } // it goes on here meanwhile
  thread.postMessage({
    begin: {
      kind,
      order: steps.orders[kind],
      batch: steps.batch,
      points: about.points,
      p: frame.p.map(Number),
      steps: frame.steps,
      rate: rate(),
    },
  });
  async function follow() {
    // the graph of a point, by Python
    asking = true;
    await python.ask("put", JSON.stringify(frame.p), frame.steps);
    const answer = await python.ask("one", chosen);
    if (answer?.one && fastest === mine) frame = {...frame, one: answer.one};
    setTimeout(() => (asking = false), FOLLOWED);
  }
  const last = await new Promise((done, failed) => {
    thread.onerror = failed;
    thread.onmessage = ({data: {slopes, ended, ...next}}) => {
      if (fastest === mine) take({...next, mode: "compiled", norms: lengths(slopes), one: frame.one});
      if (ended) return done(next);
      thread.postMessage(goes() ? {rate: rate()} : {end: true});
      if (ready && !starting && !asking) follow();
    };
  });
  if (fastest !== mine) return;
  if (ready && !starting) await asked("put", JSON.stringify(last.p), last.steps);
  if (playing) play(); // in Python, from here
}
function lengths(slopes) {
  // of the gradient, by layer
  let at = 0;
  return about.wires.map(layer => Math.hypot(...layer.flatMap(neuron => slopes.slice(at, (at += neuron.length + 1)))));
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
const rest = " Hollow ones are held out. Click a point to see its graph.",
  [below, above] = SIDES;
const legend = {
  sign: [
    sign(above),
    " should be above 0 (blue), ",
    sign(below),
    ` below (orange); it says 0 where the colours meet.${rest}`,
  ],
  classes: [
    ...looks(3)
      .slice(0, 3)
      .flatMap(look => [sign(look), " "]),
    `are the three classes, and a place has the colour of its largest score.${rest}`,
  ],
  number: [sign(below), ` are the points, and the line is what the model says.${rest}`],
};
function draw() {
  plane.follow(frame);
  plane.chosen = frame.one?.k;
  const [trained, apart] = judged.at(-1) ?? [],
    percent = seen => (seen ? `${(100 * seen.right).toFixed(0)} %` : "–");
  plane.draw(looked);
  network.draw(frame.p);
  graph.draw(frame.one, about.points[frame.one?.k ?? 0]);
  const number = plane.kind === "number",
    of = (k, what) => judged.map(both => both[k]?.[what]),
    dash = [5, 3];
  lines($("loss"), [{at: losses, hue: "--ink"}, ...(apart ? [{at: of(1, "loss"), hue: "--below", dash}] : [])]);
  if (apart && !number)
    lines(
      $("rights"),
      [
        {at: of(0, "right"), hue: "--ink"},
        {at: of(1, "right"), hue: "--below", dash},
      ],
      {top: 1},
    );
  $("losslegend").hidden = $("heldbox").hidden = !apart;
  $("rightcard").hidden = !apart || number;

  const layers = frame.norms.map((_, k) => ({at: norms.map(each => each[k]), hue: hues[k % 4], dash: dashes[k % 4]}));
  lines($("norms"), layers, {log: true});
  $("steps").textContent = frame.steps;
  $("lossis").textContent = four(losses.at(-1));
  $("rightname").textContent = number ? "mean squared error" : "right answers";
  $("right").textContent = trained && number ? four(trained.loss) : percent(trained);
  if (apart) $("held").textContent = number ? four(apart.loss) : `${percent(apart)}, loss ${four(apart.loss)}`;
  $("modename").textContent = mode() === "eager" ? "steps a second" : "compiled steps a second";
  const other = mode() === "eager" ? "compiled" : "eager",
    known = speeds[other] ? ` (${other === "eager" ? "not " : ""}compiled: ${Math.round(speeds[other])})` : "";
  $("mode").textContent = `${Math.round(speeds[mode()]) || "–"}${known}`; // of this browser
  if (!playing) {
    $("loss").setAttribute(
      "aria-label",
      `Loss over ${frame.steps} steps: from ${four(losses[0])} to ${four(losses.at(-1))}`,
    );
    $("norms").setAttribute("aria-label", `Length of the gradient by layer, now ${frame.norms.map(four).join(", ")}`);
    if (apart)
      $("rights").setAttribute(
        "aria-label",
        `Part of right answers by step: now ${percent(trained)} of the points trained on, and ${percent(apart)} of those held out`,
      );
    $("plane").setAttribute("aria-label", `${plane.words}; ${$("rightname").textContent}: ${$("right").textContent}`);
  }
  if (norms.length)
    $("normlegend").replaceChildren(
      ...frame.norms.map((_, k) => {
        const item = document.createElement("span"),
          stroke = dashes[k % 4].join(" ");
        put(
          item,
          html`<svg width="26" height="8" aria-hidden="true">
              <line x2="26" y1="4" y2="4" stroke="var(${hues[k % 4]})" stroke-width="2" stroke-dasharray="${stroke}" />
            </svg>
            ${frame.norms.length > 1 ? `layer ${k + 1}` : "all parameters"}`,
        );
        return item;
      }),
    );
}

// ---- controls that are numbers of the text
const RATE = /\blr\s*=\s*([0-9.]+(?:e-?\d+)?)/,
  SIZES = /\bMLP\(\s*\d+\s*,\s*\[([\d\s,]*(?:len\(CLASSES\)\s*)?)\]/d,
  PART = /^HELD_OUT, SEED = ([\d.]+), (\d+)/dm;
let dragging = false;
function controls() {
  const rate = RATE.exec(edit.text),
    sizes = hidden();
  $("rate").disabled = !rate;
  $("rateis").textContent = rate ? rate[1] : "not in the text";
  if (rate && document.activeElement !== $("rate")) $("rate").value = Math.log10(+rate[1]);
  $("layers").replaceChildren(
    ...(sizes ?? []).map((size, k) =>
      group(
        `${size}`,
        `Layer ${k + 1}`,
        () => change(sizes.with(k, size - 1)),
        () => change(sizes.with(k, size + 1)),
        size > 1,
        size < 16,
      ),
    ),
  );
  const more = group(
    "",
    "Hidden layers",
    () => change(sizes.slice(0, -1)),
    () => change([...sizes, sizes.at(-1) ?? 4]),
    sizes?.length > 0,
    sizes && sizes.length < 4,
  );
  more.firstChild.textContent = "− layer";
  more.lastChild.textContent = "+ layer";
  $("layers").append(more);
  const part = PART.exec(edit.text);
  for (const id of ["noise", "size"]) $(id).parentElement.hidden = own();
  $("part").parentElement.hidden = !own() || !part;
  if (part) $("part").value = part[1];
  $("partis").textContent = part ? `${Math.round(100 * +part[1])} %` : "";
  $("own").hidden = !own();
}
function group(text, name, less, more, canLess, canMore) {
  const whole = document.createElement("span"),
    shown = document.createElement("output");
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
  const found = SIZES.exec(edit.text)?.[1].split(",").slice(0, -1).map(Number);
  return found?.every(size => size > 0) ? found : null;
}
function change(sizes) {
  const {1: old, indices} = SIZES.exec(edit.text),
    out = old.split(",").at(-1).trim();
  edit.replace(...indices[1], [...sizes, out].join(", "));
  edit.mark(null);
  begin();
}
function drag() {
  const found = /\blr\s*=\s*([0-9.]+(?:e-?\d+)?)/d.exec(edit.text),
    rate = +(10 ** +$("rate").value).toPrecision(2);
  edit.replace(...found.indices[1], String(rate), dragging);
  dragging = true;
  $("rateis").textContent = rate;
  if (ready && about !== still) python.ask("set_rate", rate);
}

// ---- points of one's own: what is drawn, pasted or dropped is written into the text, which is all that counts
const NEAR = 18; // pixels between two points of one stroke
const COLUMNS = ["x", "y", "label"];
let stroke = null;
const tool = () => (own() ? (document.querySelector("#tools input:checked")?.value ?? "look") : "look");
function counted() {
  const {names = []} = held(edit.text) ?? {},
    counts = [about.points.length, about.held_out.length],
    seed = PART.exec(edit.text)?.[2];
  return [
    ...named(names),
    `. ${counts[0]} points are trained on; the ${counts[1]} that are hollow are held out${seed ? `, drawn with SEED ${seed} of the text` : ""}.`,
  ];
}
function blank() {
  // what was trained before is of other points
  for (const id of ["network", "single"]) $(id).parentElement.hidden = true;
  if (!frame) return;
  frame = null;
  [losses, norms, judged] = [[], [], []];
  for (const id of ["steps", "lossis", "right", "held", "mode"]) $(id).textContent = "–";
  for (const id of ["loss", "rights", "norms"]) lines($(id), [{at: []}]);
}
function preview() {
  // without Python
  const found = held(edit.text);
  for (const id of ["class", "clear", "use"]) $(id).disabled = !found;
  if (!found)
    return ($("guessed").textContent =
      "The text has no CLASSES, MIDDLE, REACH and ROWS as the page writes them, so that points cannot be drawn here. Undo brings them back.");
  blank();
  plane.preview(scaled(found), found.axes, found.names.length);
  $("legend").replaceChildren(...named(found.names), `: ${found.rows.length} points.`);
  const before = tool(),
    now = ["look", ...found.names.keys(), "erase"].map(String);
  $("tools").replaceChildren(
    ...now.map(value => {
      const label = document.createElement("label"),
        input = Object.assign(document.createElement("input"), {type: "radio", name: "tool", value});
      input.checked = value === (now.includes(before) && (before !== "look" || found.rows.length) ? before : "0");
      label.append(
        input,
        ...({look: ["look at a point"], erase: ["erase"]}[value] ?? [
          sign(looks(found.names.length)[value]),
          ` ${found.names[value]}`,
        ]),
      );
      return label;
    }),
  );
  touching();
}
const touching = () => ($("plane").style.touchAction = tool() === "look" ? "" : "none"); // a finger draws, and does not scroll
function rewrite(next, goesOn = false) {
  // one undo; `goesOn` with the stroke before
  const {from, to, ...before} = held(edit.text);
  edit.replace(from, to, block({...before, ...next}), goesOn);
  edit.mark(null);
  preview();
}
function drawn(event, first = false) {
  const now = held(edit.text),
    {rows, middle, reach} = now,
    place = plane.place(event),
    size = $("plane").clientWidth / 3.2,
    kind = tool();
  const away = (one, other) => size * Math.hypot(one[0] - other[0], one[1] - other[1]),
    points = scaled(now).map(([at]) => at);
  const distances = points.map(at => away(at, place)),
    least = Math.min(...distances),
    k = least < 14 ? distances.indexOf(least) : -1;
  const row = [...place.map((x, i) => Number((x * reach[i] + middle[i]).toPrecision(4))), +kind];
  if (first) stroke = {moved: kind === "erase" ? -1 : k, last: null, changed: false};
  let next = null;
  if (kind === "erase") next = k < 0 ? null : rows.toSpliced(k, 1);
  else if (stroke.moved >= 0)
    next =
      first && rows[k][2] === +kind ? null : rows.with(stroke.moved, first ? [...rows[k].slice(0, 2), +kind] : row);
  else if (rows.length >= MOST)
    $("guessed").textContent = `There are ${MOST.toLocaleString("en")} points, and no more can be learnt here.`;
  else if (!stroke.last || away(stroke.last, place) > NEAR) {
    stroke.last = place;
    next = [...rows, row];
  }
  if (!next) return;
  rewrite({rows: next}, stroke.changed);
  stroke.changed = true;
}
$("plane").addEventListener("pointerdown", event => {
  if (tool() === "look" || !held(edit.text) || event.button) return;
  event.preventDefault();
  $("plane").setPointerCapture(event.pointerId);
  clearTimeout(timer);
  drawn(event, true);
});
$("plane").addEventListener("pointermove", event => {
  if (stroke) drawn(event);
});
for (const end of ["pointerup", "pointercancel"])
  $("plane").addEventListener(end, () => {
    if (stroke?.changed) begin();
    stroke = null;
  });
$("tools").addEventListener("change", touching);
$("undo").addEventListener("click", () => edit.undo());
$("clear").addEventListener("click", () => {
  $("columns").hidden = true;
  rewrite({rows: [], axes: ["x", "y"], middle: [0, 0], reach: [1, 1]});
  begin();
});
$("class").addEventListener("click", () => {
  const {names} = held(edit.text);
  if (names.length < CLASSES)
    rewrite({
      names: [
        ...names,
        looks(CLASSES)
          .map(({name}) => name)
          .find(name => !names.includes(name)),
      ],
    });
  else $("guessed").textContent = `${CLASSES} classes can be told apart here, and no more.`;
});
$("part").addEventListener("change", () => {
  const {indices} = PART.exec(edit.text);
  edit.replace(...indices[1], String(+$("part").value));
  edit.mark(null);
  begin();
});
function use(given) {
  // the numbers of the columns that were chosen
  const found = parsed($("csv").value, given),
    {error, about: guessed, bad, rows, names, axes} = found;
  $("guessed").textContent = error ?? `${guessed} ${listed(bad)}`;
  $("columns").hidden = Boolean(error);
  for (const id of error ? [] : COLUMNS) {
    $(`column-${id}`).replaceChildren(...found.columns.map((name, k) => new Option(name, String(k))));
    $(`column-${id}`).value = found.given[id];
  }
  if (error || !rows.length) return;
  if (!held(edit.text)) edit.text = texts.own; // as it was, by Undo
  rewrite({rows, names, axes, ...scale(rows)});
  $("tools").querySelector("input").click();
  begin();
}
async function dropped(file) {
  if (!file) return;
  const text = decoded(await file.arrayBuffer());
  if (!own()) {
    $("data").value = Object.keys(kinds).find(name => kinds[name] === "own");
    choose();
    if (!own()) return;
  }
  if (file.name.endsWith(".py") && held(text)) {
    edit.text = text;
    $("guessed").textContent = `The program of ${file.name}: read it, then press Play.`;
    return preview();
  }
  $("csv").value = text;
  use();
}
$("use").addEventListener("click", () => use());
for (const id of COLUMNS)
  $(`column-${id}`).addEventListener("change", () =>
    use(Object.fromEntries(COLUMNS.map(id => [id, +$(`column-${id}`).value]))),
  );
$("paste").addEventListener("toggle", () => {
  const now = held(edit.text);
  if ($("paste").open && now && !$("csv").value) $("csv").value = csv(now);
});
$("file").addEventListener("change", event => dropped(event.target.files[0]));
addEventListener("dragover", event => event.preventDefault());
addEventListener("drop", event => {
  event.preventDefault();
  dropped(event.dataTransfer.files[0]);
});

// ---- the text
const own = () => kinds[$("data").value] === "own";
const written = () => {
  if (own()) remember("own", edit.text);
  remember("training", edited() ? JSON.stringify({data: $("data").value, code: edit.text}) : "");
};
const plain = text => text.replace(RATE, "lr").replace(SIZES, "MLP");
const edited = () => !Object.values(texts).some(text => plain(text) === plain(edit.text));
function typed(byPage) {
  controls();
  written();
  if (byPage) return;
  if (own()) preview();
  pressed = null;
  clearTimeout(timer);
  timer = setTimeout(() => begin(), TYPED);
  python.load();
}
function choose(event) {
  const kind = kinds[$("data").value],
    text = kind === "own" ? remembered("own") || texts.own : texts[kind];
  const fits = kind === fitting || (kind === "own" && held(edit.text));
  if (
    !fits &&
    (fitting === "own" || !edited() || confirm("These points need another loss. Replace your text by one that has it?"))
  )
    edit.text = text;
  else if (!fits && kind === "own") return ($("data").value = Object.keys(kinds).find(name => kinds[name] === fitting));
  fitting = kind;
  controls();
  $("guessed").textContent = "";
  begin();
}
themed();
for (const name in kinds) $("data").append(new Option(name));
const link = await linked(),
  kept = JSON.parse(remembered("training") || "null");
for (const name of ["data", "noise", "batch", "seed", "size"]) if (link.has(name)) $(name).value = link.get(name);
if (!link.has("code") && kept) $("data").value = kept.data;
if (!$("data").value) $("data").value = Object.keys(kinds)[0];
let fitting = kinds[$("data").value];
const given = link.get("code") ?? kept?.code ?? texts[fitting];
const edit = editor($("editor"), given, {label: "Python", run: () => begin(), changed: typed});
const shown = () => {
  $("noiseis").textContent = (+$("noise").value).toFixed(2);
  $("batchis").textContent = batch();
  $("sizeis").textContent = $("size").value;
};
shown();
controls();
if (given === texts.sign && $("data").value === "moons" && !link.size) {
  // trained when the site was built
  started(still.about);
  about = still.about;
  frame = still.frame;
  [losses, norms, judged] = [still.losses, still.norms, still.judged];
  draw();
  state("Trained when this page was made: press Play to train it yourself, from the beginning");
} else if (link.has("code") && edited()) {
  state("This text came with a link: read it, then press Play");
  if (own()) preview();
} else begin();

for (const id of ["play", "one", "again"]) $(id).disabled = false;
$("play").addEventListener("click", () => (playing ? pause() : play()));
async function one() {
  if (!ready) return later(one);
  await pause();
  take(await asked("go", 0, batch(), 1, chosen));
}
$("one").addEventListener("click", one);
$("again").addEventListener("click", () => begin());
$("stop").addEventListener("click", stop);
$("data").addEventListener("change", choose);
if (!link.has("code") && link.has("data") && $("data").value !== link.get("data")) {
  // other than what was kept
  $("data").value = link.get("data");
  choose();
}
for (const id of ["noise", "seed", "size"]) $(id).addEventListener("change", () => begin());
for (const id of ["noise", "batch", "size"]) $(id).addEventListener("input", shown);
$("batch").addEventListener("input", () => playing && ready && python.say("settings", SLICE, batch(), chosen));
$("rate").addEventListener("input", drag);
$("rate").addEventListener("change", () => {
  dragging = false;
  edit.mark(null);
});
$("link").addEventListener("click", async event => {
  const settings = ["data", "noise", "batch", "seed", "size"].map(id => `${id}=${encodeURIComponent($(id).value)}`);
  const address = `${location.href.split("#")[0]}#${[...settings, await packed(edit.text)].join("&")}`;
  if (address.length > LONGEST) {
    download();
    return ($("guessed").textContent =
      `A link would have ${Math.round(address.length / 1000)} kB, which is too long to be sent around: the program was saved as a file instead. Whoever drops it on this page has all of it.`);
  }
  history.replaceState(null, "", address);
  copied(event.target, location.href);
});
function download() {
  const address = URL.createObjectURL(new Blob([edit.text], {type: "text/x-python"}));
  Object.assign(document.createElement("a"), {href: address, download: "training.py"}).click();
  URL.revokeObjectURL(address);
}
$("download").addEventListener("click", download);
new ResizeObserver(() => {
  network.arrange();
  due();
}).observe($("plane"));
$("fast").addEventListener("change", async () => {
  fit();
  if (playing && $("fast").checked) {
    await pause();
    play();
  }
});
addEventListener("colours", due);
addEventListener("hashchange", () => location.reload());

// ---- one point, and the graph of its loss
const player = new Player($("player"));
async function look(k) {
  if (!ready) return later(() => look(k));
  await pause();
  const answer = await asked("point", k);
  if (!answer) return;
  wrong(answer.error, edit);
  if (answer.error) return;
  const [place, wanted] = about.points[k];
  $("pointis").textContent =
    `The loss of the point (${place.map(x => x.toFixed(2)).join(", ")}), whose answer is ${+wanted.toFixed(2)}: ${four(answer.loss)}, after ${frame.steps} steps`;
  $("one-point").showModal();
  player.show(answer.story);
}
async function choosePoint(k) {
  // its graph is beside the picture from now on
  if (!ready) return later(() => choosePoint(k));
  chosen = k;
  if (playing) return python.say("settings", SLICE, batch(), chosen);
  const answer = await asked("one", k);
  if (answer?.one && frame) frame = {...frame, one: answer.one};
  due();
}
$("plane").addEventListener("click", event => {
  const k = plane.points && tool() === "look" ? plane.nearest(event) : -1;
  if (k >= 0) choosePoint(k);
});
$("worst").addEventListener("click", () => choosePoint(plane.worst()));
$("through").addEventListener("click", () => look(frame?.one?.k ?? chosen));
$("close").addEventListener("click", () => $("one-point").close());
