// ---- the story: what a message replaces
import {host} from "../page.js";
import {thickness, WIDTHS, written} from "../numbers.js";
import {$, calm, isName, number, pretty, short, thousands} from "./words.js";
import {fade, pillBox, pointNowhere, productOf, showFactor, showPill, spread, survey} from "./labels.js";
import {tell} from "./explain.js";
import {
  cardOfCell,
  carry,
  drawSlope,
  engine,
  hasSlope,
  held,
  leafOf,
  measure,
  moved,
  refresh,
  refusal,
  say,
  showHistory,
  showSlopes,
  startEngine,
  TALL,
  typeAt,
  valueOf,
  WIDE,
} from "./edit.js";
import {calmDown, sway} from "./shake.js";
import {ask, asking, pendingAt} from "./ask.js";
import {laid, layOut} from "./wrap.js";
import {
  apply,
  byKeys,
  endWhole,
  fit,
  follow,
  keysOn,
  open,
  openPanel,
  phone,
  reserve,
  resting,
  space,
  stand,
  view,
} from "./view.js";

export let story;
export let root;
export let rootName;
export let scenes;
export let scene;
export let trail = [];
export let step = 0;
export let chosen = null;
export let found = null;
export let timer = 0;
export let speed = 1;
export let turn = 0;
export let frame = {};
// For other modules, which may read alone
export const setStep = k => {
  step = k;
};

export const setFound = card => {
  found = card;
};

export const setFrame = made => {
  frame = made;
};

export const unchoose = () => {
  chosen = null;
};

export function load(told) {
  story = told;
  frame = story.frame ?? frame;
  $("title").textContent = document.title = story.title;
  root = story.root;
  rootName = root[0];
  scenes = story.scenes;
  startEngine(true);
  scenes.forEach(prepare);
}

// Derived data, computed once
function prepare(scene, index) {
  scene.index = index;
  scene.cards ??= [];
  scene.wires ??= [];
  scene.forward ??= [];
  scene.backward ??= [];
  const base = scene.base ?? 0;
  scene.cards.forEach((card, i) =>
    Object.assign(card, {i, into: [], out: [], gifts: []}, card.node === undefined ? null : {node: card.node + base}),
  );
  scene.wires.forEach((wire, i) => {
    if (wire.use) wire.use[0] += base;
    let node = base;
    wire.uses = Array.from({length: (wire.uses?.length ?? 0) / 2}, (_, k) => [
      (node += wire.uses[2 * k]),
      wire.uses[2 * k + 1],
    ]);
    if (wire.weight !== undefined) wire.weight += base;
    [wire.tail, wire.head] = wire.ends.map(k => scene.cards[k]);
    if (engine && wire.weight !== undefined && !wire.uses.length)
      wire.uses = engine.products(wire.weight, wire.tail.node);
    wire.i = i;
    wire.route = Array.from({length: wire.route.length / 2}, (_, k) => wire.route.slice(2 * k, 2 * k + 2));
    wire.head.into.push(wire);
    wire.tail.out.push(wire);
  });
  if (engine) carry(scene);
  const turn = new Map(scene.backward.map((card, k) => [card, k]));
  // What it receives in this scene, in order of arrival
  for (const card of scene.cards) {
    card.gifts = card.out
      .filter(wire => turn.has(wire.head.i) && (wire.part !== undefined || wire.rule === undefined))
      .sort((a, b) => turn.get(a.head.i) - turn.get(b.head.i));
    const told = card.gifts.filter(wire => !wire.count || typeof wire.part === "number");
    if (card.data !== undefined && told.length) card.gifts = told;
    card.here = card.gifts.reduce((sum, wire) => sum + (wire.count ?? 1), 0);
    card.elsewhere = Math.max((card.uses ?? 0) - card.here, 0);
    addGradientFromOutside(card);
    card.computes = scene.forward.includes(card.i);
  }
  scene.steps = [{kind: "start"}, ...scene.forward.map(card => ({kind: "forward", card}))];
  if (scene.backward.length || !story.missing) {
    scene.steps.push({kind: "seed"}, ...scene.backward.map(card => ({kind: "backward", card})));
  }
  scene.steps.push({kind: "end"});
  // How many lines a gradient takes to get here
  for (const i of [...scene.backward, ...scene.cards.keys()]) {
    scene.cards[i].far ??= Math.max(0, ...scene.cards[i].gifts.map(wire => (wire.head.far ?? 0) + 1));
  }
}

// What comes from outside of this scene
export function addGradientFromOutside(card) {
  const known = !card.hooked && card.gifts.every(wire => typeof wire.part === "number");
  if (!card.gifts.length || !card.elsewhere) card.rest = +card.grad;
  // Else it is unknown
  else if (known) card.rest = card.grad - card.gifts.reduce((sum, wire) => sum + wire.part, 0);
}

// What two stories have in common if a step of one is a step of the other.
const shape = () =>
  JSON.stringify(
    scenes.map(at => [at.cards.map(card => [card.kind, card.op]), at.wires.map(wire => wire.ends), at.backward]),
  );

// Another story in the same page: where the shape is the same, step and scene stay
export function replaceStory(told) {
  if (!told?.root || !told.scenes?.length)
    return console.error(
      `found a ${typeof told} as the story: a page sends the object that player(value).story() returns, and what is shown stays`,
    );
  $("title").textContent = document.title = told.title;
  const before = shape(),
    at = scene.index,
    path = trail.map(at => at.index),
    seen = chosen?.i ?? -1;
  load(told);
  if (before !== shape()) return begin();
  enter(
    at,
    step,
    path.map(index => scenes[index]),
    seen,
  );
}

// ---- the state: a pure function of a scene and a step
export function stateAt(scene, step) {
  const known = new Set(scene.cards.filter(card => !card.computes).map(card => card.i));
  const done = new Set(),
    grads = new Map(),
    at = scene.steps.findIndex(s => s.kind === "seed");
  for (const {kind, card} of scene.steps.slice(0, step + 1)) {
    if (kind === "forward") known.add(card);
    if (kind === "backward") done.add(card);
  }
  const ended = step === scene.steps.length - 1 && at >= 0;
  for (const card of scene.cards) {
    if (card.grad === undefined && !(card.heats ?? []).some(heat => heat.name === "grad")) continue;
    const arrived = card.gifts.filter(wire => done.has(wire.head.i));
    const seeded = at >= 0 && step >= at && (card.computes ? card.elsewhere || !card.gifts.length : false);
    const count = arrived.reduce((sum, wire) => sum + (wire.count ?? 1), 0);
    const whole = ended || (arrived.length === card.gifts.length && (seeded || (!card.elsewhere && card.gifts.length)));
    if (!(arrived.length || seeded || whole)) continue;
    const sum = arrived.reduce((sum, wire) => sum + +wire.part, seeded && card.elsewhere ? card.rest : 0);
    const numeric = card.grad !== undefined && arrived.every(wire => wire.part !== undefined && wire.part !== true);
    const counted = count + (whole || seeded ? card.elsewhere : 0);
    grads.set(card.i, {count, counted, whole, value: whole ? card.grad : numeric ? sum : undefined});
  }
  return {known, done, grads, ended};
}

// ---- drawing
export const NS = "http://www.w3.org/2000/svg";

export function el(tag, attributes = {}, parent = null, text = null) {
  const element = document.createElementNS(NS, tag);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== null) element.textContent = text;
  parent?.append(element);
  return element;
}

export const MARGIN = 16;
export const CELL = 5;
export const FOLDED = ["module", "repeat", "stretch"];

export function draw() {
  const parts = ["wires", "pulses", "cards", "pills", "hint"].map(name => el("g", {id: name}));
  $("graph").replaceChildren(...parts);
  $("graph").classList.toggle("tight", !!scene.small);
  for (const wire of scene.wires) drawWire(wire, parts[0], parts[3]);
  for (const card of scene.cards) drawCard(card, parts[2]);
  pointNowhere();
  if (moved()) refresh();
  survey();
}

function curve(route) {
  return route
    .map(([x, y], k) => {
      if (!k) return `M${x} ${y}`;
      const [x0, y0] = route[k - 1],
        [x2, y2] = route[k + 1] ?? [x, y],
        middle = (x0 + x) / 2,
        near = (a, b) => a + 6 * Math.sign(b - a);
      if (x === x0 ? y === y2 && x !== x2 : y === y0 && x === x2)
        return `L${near(x, x0)} ${near(y, y0)}Q${x} ${y} ${near(x, x2)} ${near(y, y2)}`;
      return y === y0 || x === x0 ? `L${x} ${y}` : `C${middle} ${y0} ${middle} ${y} ${x} ${y}`;
    })
    .join("");
}

// The line and its head, which points to where it leads, or back; the head of a wide line is larger
function aim(wire, back, width = 1.7) {
  const key = `${back} ${width.toFixed(1)}`,
    route = back ? [...wire.route].reverse() : wire.route,
    [x, y] = route.at(-1),
    way = x < route.at(-2)[0] ? -1 : 1,
    long = 6 + width;
  if (wire.aimed === key) return;
  wire.aimed = key;
  const ended = [...route.slice(0, -1), [x - way * (long - 1), y]],
    path = curve(back ? ended.reverse() : ended);
  for (const strand of [wire.line, wire.other]) strand.setAttribute("d", path);
  wire.tip.setAttribute("d", `M${x} ${y}l${-long * way} ${-2.8 - 0.75 * width}v${5.6 + 1.5 * width}z`);
}

function drawWire(wire, wires, pills) {
  const {route} = wire,
    group = (wire.group = el("g", {class: "wire"}, wires));
  if (route.length < 2) {
    const [x, y] = route[0];
    el("path", {d: `M${x} ${y - 7}C${x + 28} ${y - 24} ${x + 28} ${y + 24} ${x} ${y + 7}`}, group);
  } else {
    [wire.line, wire.other, wire.tip] = ["line", "other", "tip"].map(name => el("path", {class: name}, group));
    wire.aimed = "";
    aim(wire, false);
  }
  if ((wire.weight ?? wire.local) !== undefined && wire.line)
    el("path", {class: "hit", d: wire.line.getAttribute("d")}, group);
  el("title", {}, group, `${wire.tail.name} → ${wire.head.name}${wire.count ? `, ${thousands(wire.count)} uses` : ""}`);
  wire.label = el("g", {class: "pill"}, pills);
}

function drawCard(card, cards) {
  const [x, y, width, height] = card.box,
    badge = card.badge ?? 0;
  const group = (card.group = el("g", {transform: `translate(${x} ${y})`, role: "button"}, cards));
  Object.assign(card, {slots: {}, dots: [], maps: [], slope: null});
  el("rect", {class: "halo", x: -5, y: -5, width: width + 10, height: height + 10, rx: 14}, group);
  if (card.times) el("rect", {class: "body", x: 5, y: -5, width, height, rx: 10}, group);
  el("rect", {class: "body", width, height, rx: 10}, group);
  const look = scene.looks?.[card.i];
  card.tight = look?.pieces && look;
  card.instead = card.tight?.instead;
  for (const [kind, along, line, text] of card.tight?.pieces ?? story.looks[card.look]) {
    const x = along < 0 ? width + along : along,
      y = !card.tight || kind === "bar" ? line : height / 2 + 4.5 + 9 * line - (kind === "uses" ? 4 : 0);
    if (kind === "bar") el("rect", {class: "bar", y, width: 4, height: height - 2 * y, rx: 2}, group);
    else if (kind === "uses") drawUses(card, group, x, y);
    else if (kind === "slope")
      drawSlope(card, x, card.instead ? height / 2 : 5, text, card.instead ? height / 2 - 4 : height - 10);
    else if (kind === "aside" && hasSlope(card)) {
      const wide = Math.min(WIDE, x - 24 - 9 * card.title.length);
      if (wide > 24) drawSlope(card, x - wide, 7, wide, TALL);
    } else if (kind === "range") card.maps.at(-1).said.push(el("text", {x, y, class: "range"}, card.maps.at(-1)));
    else if (kind === "heat") card.maps.push(heatMap(card.heats[card.maps.length], group, x, y, text, CELL));
    else
      card.slots[kind] = el(
        "text",
        {x, y, class: `${kind}${along < 0 ? " end" : ""}`},
        group,
        {title: card.tight ? text : card.title, made: card.title, aside: look ? card.shape : card.aside}[kind] ??
          (text || ""),
      );
  }
  card.maps.forEach((map, k) => paint(card.heats[k], map));
  if (badge) {
    const sign = el("g", {class: "badge"}, group);
    el("rect", {x: -badge / 2, y: height / 2 - 16, width: badge, height: 32, rx: 16}, sign);
    el(
      "text",
      {x: 0, y: height / 2 + (card.op.length > 1 ? 4.5 : 6.5), class: card.op.length > 1 ? "" : "sign"},
      sign,
      card.op,
    );
  }
  if (leafOf(card) !== undefined) group.setAttribute("role", "spinbutton");
  group.setAttribute("tabindex", card === (scene.focus ?? scene.cards[0]) ? 0 : -1);
  // One tab stop for the whole graph: the card that had the focus last
  group.addEventListener("focus", () => {
    scene.focus?.group.setAttribute("tabindex", -1);
    scene.cards[0].group.setAttribute("tabindex", -1);
    scene.focus = card;
    group.setAttribute("tabindex", 0);
    if (byKeys) follow(card);
  });
  group.addEventListener("click", ({target}) => choose(card, target));
  group.addEventListener("dblclick", event => typeAt(card, event));
  group.addEventListener("keydown", event => keysOn(card, event));
}

// A dot for each use, filled when it has sent its part
function drawUses(card, group, x, y) {
  if (card.here < 2 || card.here > 5 || card.slots.grad === undefined || card.out.some(wire => wire.count)) return;
  for (let k = 0; k < card.here; k++) card.dots.push(el("circle", {class: "use", cx: x + 9 * k, cy: y, r: 3.2}, group));
}

export function heatMap(heat, parent, x, y, wide, tall) {
  const map = Object.assign(el("g", {}, parent), {said: []});
  el("title", {}, map);
  for (let k = 0; k < heat.cells.length; k++) {
    el(
      "rect",
      {
        x: x + (k % heat.columns) * wide,
        y: y + Math.floor(k / heat.columns) * tall,
        width: wide - 0.7,
        height: tall - 0.7,
        "data-at": k,
      },
      map,
    );
  }
  paint(heat, map);
  return map;
}

export const tip = ({name, shape, range, zeros}) =>
  pretty(`${name}${shape ? ` ${shape}` : ""}${range ? `: ${range}` : ""}${zeros ? `, ${zeros}` : ""}`);

export function paint(heat, map) {
  map.firstChild.textContent = tip(heat);
  map.said.forEach((text, k) => {
    text.textContent = pretty([heat.range, heat.zeros][k] ?? "");
  });
  [...heat.cells].forEach((letter, k) => {
    const cell = map.children[k + 1],
      level = letter === "?" ? null : letter.charCodeAt(0) - 74;
    cell.setAttribute(
      "class",
      letter === " " ? "none" : `cell ${level === null ? "nan" : level > 0 ? "high" : level < 0 ? "low" : "zero"}`,
    );
    cell.setAttribute("opacity", level ? (0.12 + (0.88 * Math.abs(level)) / 9).toFixed(2) : 1);
  });
}

// ---- paths: from a node to where its scene ends
const sends = wire => wire.tail.gifts.includes(wire);

// The lines and the cards on these paths
export function reach(card) {
  const onPath = new Set(),
    seen = new Set([card]),
    waiting = [card];
  while (waiting.length) {
    for (const wire of waiting.pop().out.filter(sends)) {
      onPath.add(wire);
      if (!seen.has(wire.head)) {
        seen.add(wire.head);
        waiting.push(wire.head);
      }
    }
  }
  return {onPath, seen};
}

export function pathsFrom(card) {
  const {onPath, seen} = reach(card);
  const hooked = [...seen].filter(at => at.hooked),
    exact = !hooked.length && [...onPath].every(wire => wire.local !== undefined);
  const listed = [],
    stack = [[card, []]];
  while (exact && stack.length && listed.length < 200) {
    const [at, path] = stack.pop();
    if (at !== card && (at.elsewhere || !at.gifts.length)) listed.push({path, from: at.elsewhere ? at.rest : at.grad});
    for (const wire of at.out.filter(sends).reverse()) stack.push([wire.head, [...path, wire]]);
  }
  return {onPath, hooked, exact, listed, all: stack.length === 0};
}

// ---- showing a step
export function show(moving = false) {
  if ($("panels").classList.contains("rest") !== resting()) {
    $("panels").classList.toggle("rest");
    fit();
  }
  measure();
  const now = scene.steps[step],
    state = stateAt(scene, step),
    current = scene.cards[now.card];
  const paths = chosen ? pathsFrom(chosen) : null,
    pending = pendingAt(step),
    travels = moving && !pending.length && !calm.matches && pulse(now, current);
  // A number lands when its pulse does, or once it was guessed
  const landed = travels || pending.length ? stateAt(scene, step - 1) : state;
  for (const card of scene.cards) showCard(card, now, landed);
  for (const {
    slots: {grad},
  } of pending)
    if (grad) Object.assign(grad, {textContent: "?"}).setAttribute("class", "number end grad asked");
  showSlopes(landed);
  for (const wire of scene.wires) showWire(wire, now, pending.length ? landed : state, paths, pending);
  sway();
  fade(paths);
  if (current) spread(current.into);
  const said = tell(now, state, current, paths, pending);
  if (!held?.moved) endWhole();
  if ($("live").textContent !== said) $("live").textContent = $("caption").textContent = said;
  $("scrub").value = step;
  $("scrub").setAttribute("aria-valuetext", `step ${step} of ${scene.steps.length - 1}: ${$("phase").textContent}`);
  drawTrack();
  if (current) follow(current, ...current.into.flatMap(pillBox), ...current.into.map(wire => wire.tail));
  else apply();
  showHistory();
  remember();
  if (!travels) endPulse();
  dispatchEvent(new Event("shown"));
}

function showCard(card, now, state) {
  const known = state.known.has(card.i),
    grad = state.grads.get(card.i),
    active = now.card === card.i,
    leaf = leafOf(card) !== undefined;
  const receiving = now.kind === "backward" && card.gifts.some(wire => wire.head.i === now.card);
  const dead = grad?.whole && grad.value === 0,
    stale = moved() && card.kind === "repeat" && card.node === undefined && !card.heats?.every(heat => heat.among);
  const kinds = [
    "card",
    card.kind,
    known ? "" : "waiting",
    active ? now.kind : receiving ? "receiving" : "",
    card.outside ? "outside" : "",
    chosen === card ? "chosen" : "",
    found === card ? "found" : "",
    leaf ? "leaf" : "",
    dead ? "dead" : "",
    stale ? "stale" : "",
  ];
  card.group.setAttribute("class", kinds.filter(Boolean).join(" "));
  if (card.slots.data) fillSlot(card, "data", known, card.data, known ? "data" : "");
  if (card.slots.grad) fillSlot(card, "grad", grad, grad?.value, grad ? `grad${grad.whole ? "" : " part"}` : "");
  card.dots.forEach((dot, k) => dot.classList.toggle("on", k < (grad?.count ?? 0)));
  card.maps.forEach((map, k) => {
    const seen = {grad: grad?.whole, data: known, weights: true, gradients: state.ended || state.done.has(card.i)}[
      card.heats[k].name
    ];
    map.style.visibility = seen ? "visible" : "hidden";
  });
  const words = [
    card.name,
    card.shape && `shape ${card.shape}`,
    card.data !== undefined && `data ${known ? number(card.data) : "not yet"}`,
    card.grad !== undefined && `gradient ${grad ? number(grad.value) : "not yet"}`,
    card.times && `${card.times} times`,
    card.opens !== undefined && "opens",
    stale && "its numbers are those from before the change",
  ]
    .filter(Boolean)
    .join(", ");
  card.group.setAttribute("aria-label", words);
  if (leaf) {
    card.group.setAttribute("aria-valuenow", valueOf(card, card.cell));
    card.group.setAttribute("aria-valuetext", words);
  } else card.group.setAttribute("aria-pressed", chosen === card);
}

function fillSlot(card, kind, known, x, look) {
  const slot = card.slots[kind],
    {tight} = card,
    beside = kind === "grad" ? 9 * card.dots.length : (tight?.name ?? 0);
  const room = Math.max(
    Math.floor((card.box[2] - (card.badge ?? 0) / 2 - (card.slots.key ? 58 : tight ? 18 : 24) - beside) / 7.9),
    5,
  );
  const text = known ? written(x, tight ? "short" : "full", room) : "–",
    wide = 7.85 * room;
  slot.textContent = text;
  // Of a number with a long exponent
  if (7.85 * text.length > wide + 6) slot.setAttribute("textLength", wide + 6);
  else slot.removeAttribute("textLength");
  slot.setAttribute("class", `number end ${look} ${known ? hue(x) : ""}`.trim().replace(/ +/g, " "));
}

// Hue is the sign
export const hue = x => (+x > 0 ? "above" : +x < 0 ? "below" : +x === 0 || x === undefined ? "" : "odd");

// What a line carries back: its look, and the widths of its strands, as `flowing` in svg.py says it
export function flowOf({part, flow}) {
  const [over, under = 0] = part === true || part === undefined ? (flow ?? []) : [+part],
    most = Math.max(over, under),
    main = Number.isNaN(over) || Math.abs(over) >= under ? over : -under;
  if (over === undefined) return null;
  if (!(main !== 0)) return {look: "dead", widths: []};
  if (Math.min(over, under) > WIDTHS.seen * most) return {look: "mixed", widths: [over, under].map(thickness)};
  return {look: hue(main), widths: [thickness(main)]};
}

// Side by side; keep in sync with `_aside` in svg.py
function drawStrands({line, other, route}, /** @type {number[]} */ [width = 0, second = 0]) {
  const steep = Math.sign(route.at(-1)[1] - route[0][1]);
  [
    [line, width, second],
    [other, second, -width],
  ].forEach(([strand, own, beside]) => {
    strand.style.strokeWidth = own ? `${own.toFixed(1)}px` : "";
    strand.setAttribute("transform", `translate(${(steep * beside) / 2} ${-beside / 2})`);
  });
  other.style.display = second ? "" : "none";
}

function showWire(wire, now, state, paths, pending) {
  const forward = now.kind === "forward" && wire.head.i === now.card,
    backward = now.kind === "backward" && wire.head.i === now.card && sends(wire);
  const done = state.done.has(wire.head.i),
    faint = scene.crowded,
    sent = flowOf(wire),
    flows = done && sent && !backward && !forward,
    asked = backward && pending.length;
  const kind = forward
    ? "forward"
    : backward
      ? "backward"
      : !state.known.has(wire.head.i)
        ? "waiting"
        : faint && !flows
          ? "faint"
          : "";
  const look = flows ? `flows ${sent.look}` : backward && sent && !asked ? sent.look : "";
  wire.group.setAttribute(
    "class",
    ["wire", kind, look, paths?.onPath.has(wire) ? "path" : ""].filter(Boolean).join(" "),
  );
  if (wire.line) {
    drawStrands(wire, flows ? sent.widths : []);
    aim(wire, !!(backward || flows), flows ? sent.widths.reduce((a, b) => a + b, 0) : forward || backward ? 2.8 : 1.7);
  }
  if (forward)
    showPill(
      wire,
      kind,
      wire.tail.data !== undefined ? [short(wire.tail.data)] : wire.tail.shape ? [wire.tail.shape] : null,
    );
  else if (asked) showPill(wire, kind, ["?"]);
  else if (!backward) showFactor(wire, faint || (!done && !paths?.onPath.has(wire)) ? "none" : "");
  else if (wire.local === undefined)
    showPill(wire, kind, [typeof wire.part === "number" ? `+= ${short(wire.part)}` : "+="]);
  else showPill(wire, kind, scene.looks ? productOf(wire).flatMap(line => line.split(/ (?=×)/)) : productOf(wire));
}

// The local derivative; that of a folded box by name, where there is room
export function slopeOf({head, tail, local, folded}) {
  const named = `d${head.name}/d${tail.name} = ${short(local)}`;
  return folded && isName(head.name) && isName(tail.name) && named.length < 14
    ? named
    : local === undefined
      ? ""
      : `× ${short(local)}`;
}

function endPulse() {
  turn++;
  $("pulses").replaceChildren();
  $("app").classList.remove("arriving");
}

// A page opens: its gradients come in once, from the result to the leaves
export function arrive() {
  if (calm.matches || story.missing || scene.crowded) return;
  const beat = Math.min(260, 2000 / Math.max(1, ...scene.cards.map(card => card.far))),
    mine = ++turn;
  const late = (element, far) => element.style.setProperty("--late", `${Math.round(200 + beat * far)}ms`);
  for (const card of scene.cards) late(card.group, card.far);
  for (const {group, line, head} of scene.wires.filter(wire => wire.group.classList.contains("flows"))) {
    late(group, head.far);
    const look = [...group.classList].slice(2).join(" ");
    late(
      el("path", {d: line.getAttribute("d"), class: `filling backward ${look}`, pathLength: 1}, $("pulses")),
      head.far,
    );
  }
  $("app").classList.add("arriving");
  setTimeout(
    () => {
      if (mine === turn) endPulse();
    },
    1200 + beat * Math.max(...scene.cards.map(card => card.far)),
  );
}

// False if nothing travels at this step
function pulse(now, card) {
  endPulse();
  const mine = turn,
    length = 620 / speed;
  if (!card || !["forward", "backward"].includes(now.kind)) return false;
  const wires = card.into
    .filter(wire => wire.line && (now.kind === "forward" || wire.tail.gifts.includes(wire)))
    .slice(0, 40);
  if (!wires.length) return false;
  const dots = wires.map(wire => {
    const long = wire.line.getTotalLength(),
      fill = el(
        "path",
        {d: wire.line.getAttribute("d"), class: `filling ${now.kind} ${hue(wire.part)}`, "stroke-dasharray": long},
        $("pulses"),
      );
    return [wire.line, long, el("circle", {r: 6, class: `pulse ${now.kind}`}, $("pulses")), fill];
  });
  const begun = performance.now();
  (function move(time) {
    if (mine !== turn) return;
    const t = Math.min(1, Math.max(0, (time - begun) / length)),
      eased = t * t * (3 - 2 * t);
    for (const [line, long, dot, fill] of dots) {
      fill.setAttribute("stroke-dashoffset", (now.kind === "forward" ? 1 : -1) * long * (1 - eased));
      const at = line.getPointAtLength(long * (now.kind === "forward" ? eased : 1 - eased));
      dot.setAttribute("cx", at.x);
      dot.setAttribute("cy", at.y);
    }
    if (t < 1) requestAnimationFrame(move);
    else show();
  })(begun);
  return true;
}

// ---- the track
function drawTrack() {
  const svg = $("marks"),
    count = scene.steps.length - 1,
    width = svg.clientWidth || 400;
  const x = k => 9 + ((width - 18) * k) / Math.max(count, 1),
    small = width / count < 9;
  const seed = scene.steps.findIndex(s => s.kind === "seed"),
    turn = seed < 0 ? count : seed;
  const key = [scene.index, step, count, width].join();
  if (svg.dataset.drawn === key) return;
  svg.dataset.drawn = key;
  svg.replaceChildren();
  el("line", {class: "rail", x1: x(0), x2: x(count), y1: 13, y2: 13}, svg);
  if (step) el("line", {class: "rail forward", x1: x(0), x2: x(Math.min(step, turn)), y1: 13, y2: 13}, svg);
  if (step > turn) el("line", {class: "rail backward", x1: x(turn), x2: x(step), y1: 13, y2: 13}, svg);
  scene.steps.forEach((s, k) => {
    const kind = k < turn || seed < 0 ? "forward" : "backward",
      look = `mark ${kind} ${k <= step ? "past" : "ahead"}`;
    if (small && k % Math.ceil((9 * count) / width) && k !== step) return;
    if (kind === "backward")
      el("rect", {class: look, x: x(k) - 4, y: 9, width: 8, height: 8, transform: `rotate(45 ${x(k)} 13)`}, svg);
    else el("circle", {class: look, cx: x(k), cy: 13, r: 4.5}, svg);
  });
  el("circle", {class: `here ${step < turn || seed < 0 ? "forward" : "backward"}`, cx: x(step), cy: 13, r: 9}, svg);
  el("text", {class: "forward", x: x(turn / 2), y: 35}, svg, "forward");
  if (seed >= 0) el("text", {class: "backward", x: x((turn + count) / 2), y: 35}, svg, "backward");
}

// ---- navigation
export function go(to, moving = false) {
  calmDown();
  openPanel(false);
  step = Math.max(0, Math.min(scene.steps.length - 1, to));
  show(moving);
}

export function choose(card, cell) {
  const [at, inner] = cell ? cardOfCell(card, cell) : [];
  // The number of the cell, where another scene has a card for it
  if (inner) {
    enter(at.index, "same", pathTo(at));
    return choose(inner);
  }
  if (card.opens !== undefined) {
    enter(card.opens, "same");
    return;
  }
  chosen = chosen === card ? null : card;
  calmDown();
  show();
  if (chosen) follow(chosen); // a large grid leaves the graph less room
  say(refusal(card));
}

// Another scene; `path` has the scenes that lead to it
export function enter(index, at, path = null, seen = undefined) {
  stop();
  const before = scene,
    stays = seen !== undefined,
    known = trail.indexOf(scenes[index]);
  scene = scenes[index];
  trail = path ?? (known < 0 ? [...trail, scene] : trail.slice(0, known + 1));
  chosen = scene.cards[seen] ?? null;
  $("scrub").max = scene.steps.length - 1;
  found = null;
  $("panels").classList.remove("rest"); // as high as it was for the scene before
  layOut(scene, ...space());
  draw();
  if (!stays) {
    reserve();
    open();
  }
  showWhere();
  go(at === "same" ? phase(before) : at);
}

// Operations, of a small graph; else the view of most cards that is seen whole, or of fewest
export function begin(at = Infinity) {
  const views = scenes.filter(at => at.tab).sort((a, b) => b.cards.length - a.cards.length);
  const view =
    scenes[0].tab === "operations"
      ? scenes[0]
      : (views.find(at => laid(at, ...space())[1]) ?? views.at(-1) ?? scenes[0]);
  if (view !== scene) enter(view.index, at, [view]);
}

// The matching step in the other scene: its first or, where something was computed, its last
function phase(before) {
  return before && !step ? 0 : Infinity;
}

function showWhere() {
  $("crumbs").hidden = trail.length < 2;
  $("crumbs").replaceChildren(
    ...trail.flatMap((at, k) => {
      const item = document.createElement(k < trail.length - 1 ? "button" : "span");
      item.textContent = pretty(k ? at.title : at.tab || "whole graph");
      if (k < trail.length - 1) {
        item.type = "button";
        item.addEventListener("click", () => enter(at.index, "same"));
      }
      return k ? [document.createTextNode("›"), item] : [item];
    }),
  );
  const tabs = scenes.filter(at => at.tab);
  $("tabs").hidden = tabs.length < 2;
  $("tabs").replaceChildren(
    ...tabs.map(at => {
      const tab = document.createElement("button");
      tab.type = "button";
      tab.textContent = at.tab;
      tab.setAttribute("aria-pressed", at === trail[0]);
      tab.addEventListener("click", () => enter(at.index, "same", [at]));
      return tab;
    }),
  );
}

let remembered = "";

// Notebooks reload frames on scrolling: the position is stored on the frame's element
export function remember() {
  const place = `${scene.index ? `scene=${scene.index}&` : ""}step=${step}${asking ? "&ask=1" : ""}`;
  if (place === remembered) return;
  remembered = place;
  if (host) {
    host.dataset.place = place;
    return;
  }
  try {
    history.replaceState(null, "", `#${place}`);
  } catch {
    /* a page without a URL cannot store it */
  }
}

export function recall(text) {
  const read = name => {
    const found = text.match(new RegExp(`\\b${name}=(\\d+)`));
    return found ? +found[1] : null;
  };
  const index = Math.min(read("scene") ?? 0, scenes.length - 1);
  if (asking !== (read("ask") === 1)) ask(!asking);
  enter(index, read("step") ?? Infinity, pathTo(scenes[index]));
}

// The scenes that lead to it, and it
export function pathTo(at) {
  return at ? [...pathTo(scenes[at.parent]), at] : [];
}

export function stop() {
  clearTimeout(timer);
  timer = 0;
  $("play").classList.remove("on");
  $("play").setAttribute("aria-label", "Play");
}

export const atEnd = () => step === scene.steps.length - 1;

export function play() {
  if (timer) {
    stop();
    return;
  }
  if (atEnd()) go(0);
  chosen = null;
  $("play").classList.add("on");
  $("play").setAttribute("aria-label", "Pause");
  const beat = () => {
    if (atEnd() || pendingAt(step).length) {
      stop();
      return;
    }
    go(step + 1, true);
    timer = setTimeout(beat, 1400 / speed);
  };
  timer = setTimeout(beat, 350 / speed);
}

export function by(count) {
  stop();
  if (count > 0) chosen = null;
  if (count === 1 && atEnd())
    go(0); // forward from the last step begins again, as Play does
  else go(step + count, count > 0);
  if (Math.abs(count) > 1) {
    Object.assign(view, {free: false, ended: count > 0});
    stand();
  }
  if (pendingAt(step).length && !phone()) $("why").querySelector("input").focus();
}

const SPEEDS = [1, 2, 4, 0.5];
$("first").addEventListener("click", () => by(-Infinity));
$("last").addEventListener("click", () => by(Infinity));
$("back").addEventListener("click", () => by(-1));
$("next").addEventListener("click", () => by(1));
$("play").addEventListener("click", play);
$("scrub").addEventListener("input", event => {
  stop();
  go(+event.target.value);
});
$("speed").addEventListener("click", () => {
  speed = SPEEDS[(SPEEDS.indexOf(speed) + 1) % SPEEDS.length];
  $("speed").textContent = `${speed}×`;
  $("speed").setAttribute("aria-label", `Speed: ${speed} times`);
});
$("why").addEventListener("click", event => {
  const inside = event.target.closest(".inside");
  if (inside) enter(+inside.dataset.opens, "same");
});
addEventListener("hashchange", () => recall(location.hash));
