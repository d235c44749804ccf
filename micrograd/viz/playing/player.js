(() => {
const $ = id => document.getElementById(id);
const calm = matchMedia("(prefers-reduced-motion: reduce)");

// ---- words and numbers
const number = (x, digits = 4) => {
  if (x === undefined || x === null) return "–";
  x = +x;
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x > 0 ? "inf" : "−inf";
  x += 0;  // −0 looks like 0
  const size = Math.abs(x), plain = size === 0 || (size >= 1e-4 && size < 1e6);
  return (plain ? x.toFixed(digits) : x.toExponential(digits)).replace(/-/g, "−");
};
const short = x => {  // for a pill
  const size = Math.abs(+x);
  return number(x, !size ? 2 : size < 1e-4 ? 1 : size < .01 ? 4 : size < 1e4 || size >= 1e6 ? 2 : 0);
};
const signed = (x, k) => k ? [bracketed(x), ATOM] : [number(x), +x < 0 ? UNARY : ATOM];  // a term after another sign
const bracketed = x => +x < 0 ? `(${number(x)})` : number(x);
const escaped = text => String(text).replace(/[&<>"]/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})[c]);
const pretty = text => text.replace(/ \.\. /g, " … ").replace(/\*\*/g, "\0").replace(/\*/g, "×").replace(/-/g, "−").replace(/\0/g, "**");
const told = text => `<bdi>${escaped(pretty(text))}</bdi>`;  // labels may be right-to-left
const isName = text => /^[\p{L}_][\p{L}\p{N}_]*$/u.test(text);
const thousands = n => (+n).toLocaleString("en");
const plural = (n, word) => `${thousands(n)} ${word}${n === 1 ? "" : "s"}`;
// A term is a pair of a text and its binding strength, as computed by infix.py.
const UNARY = 4, ATOM = 6;
const termOf = card => [card.name, card.binds ?? ATOM];
const within = (strength, [text, own]) => own < strength ? `(${text})` : text;
const inside = term => pretty(within(ATOM, term));
const partial = (a, b) => `<span class="over"><span>∂${escaped(inside(a))}</span><span>∂${escaped(inside(b))}</span></span>`;
const token = (kind, html) => `<span class="token ${kind}">${html}</span>`;
const fill = (template, names) => template.replace(/\{(\w+)\}/g, (whole, key) => {
  const term = names[key] ?? [whole, ATOM];
  return template === whole ? term[0] : within(ATOM, term);
});

// ---- the story: what a message replaces
let story, root, rootName, scenes, scene, trail = [], step = 0, chosen = null, timer = 0, speed = 1, turn = 0;
function load(told) {
  story = told;
  root = story.root;
  rootName = root[0];
  scenes = story.scenes;
  scenes.forEach(prepare);
}
function prepare(scene, index) {  // derived data, computed once
  scene.index = index;
  scene.cards ??= []; scene.wires ??= []; scene.forward ??= []; scene.backward ??= [];
  scene.cards.forEach((card, i) => Object.assign(card, {i, into: [], out: [], gifts: []}));
  scene.wires.forEach((wire, i) => {
    [wire.tail, wire.head] = wire.ends.map(k => scene.cards[k]);
    wire.i = i;
    wire.head.into.push(wire);
    wire.tail.out.push(wire);
  });
  const turn = new Map(scene.backward.map((card, k) => [card, k]));
  for (const card of scene.cards) {  // what it receives in this scene, in order of arrival
    card.gifts = card.out.filter(wire => turn.has(wire.head.i) && (wire.part !== undefined || wire.rule === undefined))
      .sort((a, b) => turn.get(a.head.i) - turn.get(b.head.i));
    if (card.data !== undefined && card.gifts.some(wire => !wire.count)) card.gifts = card.gifts.filter(wire => !wire.count);
    card.here = card.gifts.reduce((sum, wire) => sum + (wire.count ?? 1), 0);
    card.elsewhere = Math.max((card.uses ?? 0) - card.here, 0);
    const known = !card.hooked && card.gifts.every(wire => typeof wire.part === "number");
    if (!card.gifts.length || !card.elsewhere) card.rest = +card.grad;
    else if (known) card.rest = card.grad - card.gifts.reduce((sum, wire) => sum + wire.part, 0);  // else it is unknown
    card.computes = scene.forward.includes(card.i);
  }
  scene.steps = [{kind: "start"}, ...scene.forward.map(card => ({kind: "forward", card}))];
  if (scene.backward.length || !story.missing) {
    scene.steps.push({kind: "seed"}, ...scene.backward.map(card => ({kind: "backward", card})));
  }
  scene.steps.push({kind: "end"});
}
// What two stories have in common if a step of one is a step of the other.
const shape = () => JSON.stringify(scenes.map(at => [at.cards.map(card => [card.kind, card.op]), at.wires.map(wire => wire.ends), at.backward]));
function retell(told) {  // another story in the same page: where the shape is the same, step and scene stay
  $("title").textContent = document.title = told.title;
  const before = shape(), at = scene.index, path = trail.map(at => at.index), seen = chosen?.i, ended = step === scene.steps.length - 1;
  load(told);
  if (before !== shape()) return enter(0, ended ? Infinity : 0, [scenes[0]]);
  enter(at, step, path.map(index => scenes[index]), seen);
}

// ---- the state: a pure function of a scene and a step
function stateAt(scene, step) {
  const known = new Set(scene.cards.filter(card => !card.computes).map(card => card.i));
  const done = new Set(), grads = new Map(), at = scene.steps.findIndex(s => s.kind === "seed");
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
const NS = "http://www.w3.org/2000/svg";
function el(tag, attributes = {}, parent = null, text = null) {
  const element = document.createElementNS(NS, tag);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== null) element.textContent = text;
  parent?.append(element);
  return element;
}
const MARGIN = 26, CELL = 5, FOLDED = ["module", "repeat", "stretch"];

function draw() {
  const svg = $("graph"), [width, height] = scene.size;
  svg.replaceChildren();
  svg.setAttribute("viewBox", `${-MARGIN} ${-MARGIN} ${width + 2 * MARGIN} ${height + 2 * MARGIN}`);
  const wires = el("g", {}, svg), cards = el("g", {}, svg), pills = el("g", {}, svg);
  el("g", {id: "pulses"}, svg);
  for (const wire of scene.wires) drawWire(wire, wires, pills);
  for (const card of scene.cards) drawCard(card, cards);
  fit();
  const box = $("scroll");
  box.scrollTo({left: 0, top: Math.max(0, (box.scrollHeight - box.clientHeight) / 2), behavior: "instant"});
}
function fit() {  // to the available width, but not below a legible size
  const natural = scene.size[0] + 2 * MARGIN, room = $("scroll").clientWidth;
  const scale = Math.min(Math.max(room / natural, .8), 1.15);
  $("graph").setAttribute("width", natural * scale);
  $("graph").setAttribute("height", (scene.size[1] + 2 * MARGIN) * scale);
  scene.scale = scale;
}
function points(wire) {
  const found = [];
  for (let k = 0; k < wire.route.length; k += 2) found.push([wire.route[k], wire.route[k + 1]]);
  return found;
}
function curve(route) {
  return route.map(([x, y], k) => {
    if (!k) return `M${x} ${y}`;
    const [x0, y0] = route[k - 1], middle = (x0 + x) / 2;
    return y === y0 || x === x0 ? `L${x} ${y}` : `C${middle} ${y0} ${middle} ${y} ${x} ${y}`;
  }).join("");
}
function arrow([x, y], direction) { return `M${x} ${y}l${-8 * direction} -4v8z`; }
function drawWire(wire, wires, pills) {
  const route = points(wire), group = wire.group = el("g", {class: "wire"}, wires);
  if (route.length < 2) {
    const [x, y] = route[0];
    el("path", {d: `M${x} ${y - 7}C${x + 28} ${y - 24} ${x + 28} ${y + 24} ${x} ${y + 7}`}, group);
  } else {
    const end = route.at(-1), back = end[0] < route.at(-2)[0] ? -1 : 1;
    wire.line = el("path", {d: curve([...route.slice(0, -1), [end[0] - 7 * back, end[1]]])}, group);
    wire.tip = el("path", {class: "tip", d: arrow(end, back)}, group);
    wire.reversed = arrow(route[0], -back);
    wire.ahead = arrow(end, back);
    if (wire.count && !scene.crowded) wire.line.style.strokeWidth = Math.min(1.7 + .4 * Math.log2(wire.count), 5);
  }
  el("title", {}, group, `${wire.tail.name} → ${wire.head.name}${wire.count ? ` ×${thousands(wire.count)}` : ""}`);
  wire.label = el("g", {class: "pill"}, pills);
}
function showPill(wire, kind, lines) {
  wire.label.replaceChildren();
  wire.label.setAttribute("class", `pill ${kind}`);
  if (!wire.pill || !lines) return;
  const [x, y] = wire.pill, width = Math.max(...lines.map(line => line.length)) * 7.35 + 14, height = lines.length * 16 + 6;
  el("rect", {x: x - width / 2, y: y - height / 2, width, height, rx: 8}, wire.label);
  lines.forEach((line, k) => el("text", {x, y: y - height / 2 + 15 + 16 * k, class: k ? "second" : "first"}, wire.label, line));
}
function drawCard(card, cards) {
  const [x, y, width, height] = card.box, badge = card.badge ?? 0;
  const group = card.group = el("g", {transform: `translate(${x} ${y})`, tabindex: 0, role: "button"}, cards);
  Object.assign(card, {slots: {}, dots: [], maps: []});
  el("rect", {class: "halo", x: -5, y: -5, width: width + 10, height: height + 10, rx: 14}, group);
  if (card.times) el("rect", {class: "body", x: 5, y: -5, width, height, rx: 10}, group);
  el("rect", {class: "body", width, height, rx: 10}, group);
  for (const [kind, along, y, text] of story.looks[card.look]) {
    const x = along < 0 ? width + along : along;
    if (kind === "bar") el("rect", {class: "bar", y, width: 4, height: height - 2 * y, rx: 2}, group);
    else if (kind === "uses") drawUses(card, group, x, y);
    else if (kind === "heat") card.maps.push(heatMap(card.heats[card.maps.length], group, x, y, text, CELL));
    else card.slots[kind] = el("text", {x, y, class: `${kind}${along < 0 ? " end" : ""}`}, group, {title: card.title, made: card.title, aside: card.aside}[kind] ?? (text || ""));
  }
  if (badge) {
    const sign = el("g", {class: "badge"}, group);
    el("rect", {x: -badge / 2, y: height / 2 - 16, width: badge, height: 32, rx: 16}, sign);
    el("text", {x: 0, y: height / 2 + (card.op.length > 1 ? 4.5 : 6.5), class: card.op.length > 1 ? "" : "sign"}, sign, card.op);
  }
  group.addEventListener("click", () => choose(card));
  group.addEventListener("keydown", event => { if (event.key === "Enter") { choose(card); event.stopPropagation(); } });
}
function drawUses(card, group, x, y) {  // a dot for each use, filled when it has sent its part
  if (card.here < 2 || card.here > 5 || card.slots.grad === undefined || card.out.some(wire => wire.count)) return;
  for (let k = 0; k < card.here; k++) card.dots.push(el("circle", {class: "use", cx: x + 9 * k, cy: y, r: 3.2}, group));
}
function heatMap(heat, parent, x, y, wide, tall) {
  const map = el("g", {}, parent);
  el("title", {}, map, heat.tip);
  [...heat.cells].forEach((letter, k) => {
    if (letter === " ") return;
    const level = letter === "?" ? null : letter.charCodeAt(0) - 74;
    const kind = level === null ? "nan" : level > 0 ? "high" : level < 0 ? "low" : "zero";
    el("rect", {class: `cell ${kind}`, x: x + k % heat.columns * wide, y: y + Math.floor(k / heat.columns) * tall,
      width: wide - .7, height: tall - .7, opacity: level ? (.12 + .88 * Math.abs(level) / 9).toFixed(2) : 1}, map);
  });
  return map;
}

// ---- paths: from a node to where its scene ends
function pathsFrom(card) {
  const onPath = new Set(), seen = new Set([card]), waiting = [card];
  const sends = wire => wire.tail.gifts.includes(wire);
  while (waiting.length) {
    for (const wire of waiting.pop().out.filter(sends)) {
      onPath.add(wire);
      if (!seen.has(wire.head)) { seen.add(wire.head); waiting.push(wire.head); }
    }
  }
  const hooked = [...seen].filter(at => at.hooked), exact = !hooked.length && [...onPath].every(wire => wire.local !== undefined);
  const listed = [], stack = [[card, []]];
  while (exact && stack.length && listed.length < 200) {
    const [at, path] = stack.pop();
    if (at !== card && (at.elsewhere || !at.gifts.length)) listed.push({path, from: at.elsewhere ? at.rest : at.grad});
    for (const wire of at.out.filter(sends).reverse()) stack.push([wire.head, [...path, wire]]);
  }
  return {onPath, hooked, exact, listed, all: stack.length === 0};
}

// ---- showing a step
function show(moving = false) {
  const now = scene.steps[step], state = stateAt(scene, step), current = scene.cards[now.card];
  const paths = chosen ? pathsFrom(chosen) : null;
  for (const card of scene.cards) showCard(card, now, state);
  for (const wire of scene.wires) showWire(wire, now, state, paths);
  const said = tell(now, state, current, paths);
  if ($("live").textContent !== said) $("live").textContent = said;
  $("scrub").value = step;
  $("scrub").setAttribute("aria-valuetext", `step ${step} of ${scene.steps.length - 1}: ${$("phase").textContent}`);
  drawTrack();
  follow(now, current);
  remember();
  if (moving && !calm.matches) pulse(now, current);
}
function showCard(card, now, state) {
  const known = state.known.has(card.i), grad = state.grads.get(card.i), active = now.card === card.i;
  const receiving = now.kind === "backward" && card.gifts.some(wire => wire.head.i === now.card);
  const kinds = ["card", card.kind, known ? "" : "waiting", active ? now.kind : receiving ? "receiving" : "",
    card.outside ? "outside" : "", chosen === card ? "chosen" : ""];
  card.group.setAttribute("class", kinds.filter(Boolean).join(" "));
  if (card.slots.data) {
    card.slots.data.textContent = known ? number(card.data) : "–";
    card.slots.data.setAttribute("class", `number end${known ? " data" : ""}`);
  }
  if (card.slots.grad) {
    card.slots.grad.textContent = grad ? number(grad.value) : "–";
    card.slots.grad.setAttribute("class", `number end${grad ? " grad" : ""}${grad && !grad.whole ? " part" : ""}`);
  }
  card.dots.forEach((dot, k) => dot.classList.toggle("on", k < (grad?.count ?? 0)));
  card.maps.forEach((map, k) => {
    const seen = {grad: grad?.whole, data: known, weights: true, gradients: state.ended || state.done.has(card.i)}[card.heats[k].name];
    map.style.visibility = seen ? "visible" : "hidden";
  });
  const words = [card.name, card.shape && `shape ${card.shape}`, card.data !== undefined && `data ${known ? number(card.data) : "not yet"}`,
    card.grad !== undefined && `gradient ${grad ? number(grad.value) : "not yet"}`, card.times && `${card.times} times`,
    card.opens !== undefined && "opens"];
  card.group.setAttribute("aria-label", words.filter(Boolean).join(", "));
  card.group.setAttribute("aria-pressed", chosen === card);
}
function showWire(wire, now, state, paths) {
  const forward = now.kind === "forward" && wire.head.i === now.card;
  const backward = now.kind === "backward" && wire.head.i === now.card && wire.tail.gifts.includes(wire);
  const done = state.done.has(wire.head.i), onPath = paths?.onPath.has(wire);
  const waiting = !state.known.has(wire.head.i), faint = scene.crowded;
  const kind = onPath ? "path" : forward ? "forward" : backward ? "backward" : waiting ? "waiting" : faint ? "faint" : "";
  wire.group.setAttribute("class", `wire ${kind}`);
  wire.tip?.setAttribute("d", backward && !onPath ? wire.reversed : wire.ahead);
  const times = wire.count ? [`×${thousands(wire.count)}`] : null;
  const local = wire.local !== undefined ? [`× ${short(wire.local)}`] : null;
  if (onPath && local && !faint) showPill(wire, "path", local);
  else if (forward) showPill(wire, kind, times ?? (wire.tail.data !== undefined ? [short(wire.tail.data)] : wire.tail.shape ? [wire.tail.shape] : null));
  else if (backward) showPill(wire, kind, local ? [...local, `= ${short(wire.part)}`] : times ?? (typeof wire.part === "number" ? [`+= ${short(wire.part)}`] : ["+="]));
  else showPill(wire, "", faint ? null : times ?? (done ? local : null));
}
function follow(now, card) {  // scroll the active card into view
  const box = $("scroll"), scale = scene.scale;
  if (!card) return;
  const [x, y, width, height] = card.box, lead = now.kind === "forward" ? -60 : -120;
  const left = (x + MARGIN + lead) * scale, right = (x + MARGIN + width + 30) * scale;
  const top = (y + MARGIN - 30) * scale, bottom = (y + MARGIN + height + 30) * scale;
  if (left < box.scrollLeft || right > box.scrollLeft + box.clientWidth) box.scrollLeft = (left + right - box.clientWidth) / 2;
  if (top < box.scrollTop || bottom > box.scrollTop + box.clientHeight) box.scrollTop = (top + bottom - box.clientHeight) / 2;
}
function pulse(now, card) {
  const mine = ++turn, length = 620 / speed;
  $("pulses").replaceChildren();
  if (!card || !["forward", "backward"].includes(now.kind)) return;
  const wires = card.into.filter(wire => wire.line && (now.kind === "forward" || wire.tail.gifts.includes(wire))).slice(0, 40);
  const dots = wires.map(wire => [wire.line, wire.line.getTotalLength(), el("circle", {r: 6, class: `pulse ${now.kind}`}, $("pulses"))]);
  const begun = performance.now();
  (function move(time) {
    if (mine !== turn) return;
    const t = Math.min(1, Math.max(0, (time - begun) / length)), eased = t * t * (3 - 2 * t);
    for (const [line, long, dot] of dots) {
      const at = line.getPointAtLength(long * (now.kind === "forward" ? eased : 1 - eased));
      dot.setAttribute("cx", at.x);
      dot.setAttribute("cy", at.y);
    }
    if (t < 1) requestAnimationFrame(move); else $("pulses").replaceChildren();
  })(begun);
}

// ---- the panels
function names(card) {
  return Object.assign({out: termOf(card)}, card.into.filter(wire => !wire.count).map(wire => termOf(wire.tail)));
}
const words = card => card.into.map(wire => wire.tail.times ? ["…", ATOM] : termOf(wire.tail));  // a repeated box has no name
const code = card => operation(card, words(card));
const isSum = card => card.kind === "repeat" && card.op === "Σ" && !card.times && !card.into.some(wire => wire.count);
function operation(card, terms) {  // the op with its operands, in infix notation
  const [before, between, after, first, rest] = story.forms[card.form];
  const parts = terms.map((term, k) => within(k ? rest : first, term));
  const shown = parts.length > 6 ? [...parts.slice(0, 3), "…", parts.at(-1)] : parts;
  return before + shown.join(between) + after;
}
function tell(now, state, card, paths) {
  const total = scene.forward.length, back = scene.backward.length;
  const at = now.kind === "forward" ? step : step - total - 1;
  const phases = {start: "Ready", forward: `Forward ${at} of ${total}`, seed: "Backward begins", backward: `Backward ${at} of ${back}`, end: "Done"};
  $("phase").textContent = phases[now.kind];
  $("phase").className = now.kind === "forward" ? "forward" : ["seed", "backward"].includes(now.kind) ? "backward" : "";
  const tellers = {start: tellStart, forward: tellForward, seed: tellSeed, backward: tellBackward, end: tellEnd};
  const [why, ran, said] = tellers[now.kind](card, state);
  $("why").innerHTML = chosen ? tellPaths(state, paths) : why;
  wrap();
  $("ran").innerHTML = ran;
  return `${phases[now.kind]}. ${said}`;
}
function wrap() {  // a table that is too wide is stacked
  const why = $("why");
  why.classList.remove("wraps");
  why.classList.toggle("wraps", why.scrollWidth > why.clientWidth);
}
function tellStart() {
  const folded = scene.cards.some(card => card.opens !== undefined);
  const why = `<h2>${scene.note ? escaped(scene.note[0].toUpperCase() + scene.note.slice(1)) : "What goes in is known, nothing else is."}</h2>
    <p>Press <kbd>→</kbd>: values flow from left to right, one operation at a time; then gradients flow back.</p>
    ${folded ? "<p>A card with ▸ stands for many operations: click it to look inside. Esc leads back out.</p>" : ""}
    ${[story.missing, story.changed].map(text => text && `<p class="bad">${escaped(text)}</p>`).join("")}
    <p>${plural(story.nodes, "node")} in the whole graph${scenes.length > 1 ? `; ${plural(scene.cards.length, "card")} here` : ""}.</p>`;
  const ran = `<h2>What is what</h2>
    <p>${token("local", "data")} the value, from the forward pass</p>
    <p>${token("up", "grad")} ∂${escaped(rootName)}/∂node: how ${escaped(rootName)} moves when the node does</p>
    <p><span class="swatch" style="background:var(--parameter)"></span>parameter &nbsp; <span class="swatch" style="background:var(--edge)"></span>input</p>
    <p>On a line: the value that travels; then × the local derivative.</p>`;
  return [why, ran, "What goes in is known, nothing else is."];
}
function tellForward(card) {
  if (FOLDED.includes(card.kind) && !isSum(card)) return tellFold(card, "Compute");
  const written = operation(card, words(card));
  const made = isName(card.name) ? `${escaped(card.name)} = ` : "";
  if (card.shape && (card.data === undefined || card.into.some(wire => wire.tail.data === undefined))) {
    const result = card.data === undefined ? card.shape : number(card.data);
    const shapes = operation(card, card.into.map(wire => [wire.tail.shape || (wire.tail.data === undefined ? "…" : number(wire.tail.data)), ATOM]));
    const why = `<h2>Compute ${told(card.name)}</h2><p>Its operands are ready, so the operation can run.</p>
      <p class="math">${made}${told(written)}</p><p class="math">${told(shapes)} → ${token("value", escaped(result))}</p>`;
    return [why, ranForward(card), `${card.name} ${card.data === undefined ? "has shape" : "equals"} ${result}.`];
  }
  const values = operation(card, card.into.map((wire, k) => wire.tail.data === undefined ? ["…", ATOM] : signed(wire.tail.data, k)));
  const why = `<h2>Compute ${told(card.name)}</h2><p>Its operands are ready, so the operation can run. It remembers them: the way back will need them.</p>
    <p class="math">${made}${told(written)} = ${told(values)} = ${token("value", number(card.data))}</p>`;
  return [why, ranForward(card), `${card.name} equals ${number(card.data)}.`];
}
function ranForward(card) {
  const name = isName(card.name) ? `${card.name} = ` : "";
  const line = card.byHand ? `${name}…   # an operation of your own` : `${name}${code(card)}`;
  return `<h2>What Python just ran</h2><pre>${escaped(line)}</pre><p>The result keeps ${card.into.length === 1 ? "its operand" : `its ${card.into.length} operands`} and ${card.byHand ? "its <code>_backward</code>" : "the row of the operation"}: from these comes the gradient.</p>`;
}
function tellFold(card, doing) {
  const inside = card.opens === undefined ? "" : `<p><button type="button" class="inside" data-opens="${card.opens}">▸ look inside</button></p>`;
  const times = card.times && (card.kind === "module" ? `from ${plural(card.times, "call")}` : `${thousands(card.times)} of one kind, each used alike`);
  const facts = [card.nodes && plural(card.nodes, "node"), times].filter(Boolean);
  const why = `<h2>${doing} ${told(card.name)}</h2><p>This card stands for ${facts.join(", ") || "several operations"}.</p>${inside}`;
  const value = card.data === undefined ? "" : `<p class="math">${token("value", number(card.data))}</p>`;
  return [why, `<h2>${told(card.name)}</h2>${value}${card.into.some(wire => wire.count) ? "<p>A line with ×n stands for n uses.</p>" : ""}`, `${doing} ${card.name}.`];
}
function tellSeed() {
  const inner = scene.parent !== undefined;
  const starts = scene.cards.filter(card => card.computes && (card.elsewhere || !card.gifts.length) && card.grad !== undefined);
  const lines = starts.slice(0, 4).map(card => `${told(card.name)}.grad = ${token("product", number(card.elsewhere ? card.rest : card.grad))}`);
  const why = inner
    ? `<h2>From the rest of the graph a gradient arrives</h2><p>What was done with this part's results has been gone through already.</p><p class="math">${lines.join("<br>")}</p>`
    : `<h2>Start at the end: ${partial(root, root)} = 1</h2><p>Move ${told(rootName)} a little, and it has moved by just that much. Every other gradient is made from this 1.${starts.some(card => card.hooked) ? " A hook has made another number of it:" : ""}</p><p class="math">${lines.join("<br>")}</p>`;
  const ran = inner ? "" : `<h2>What Python just ran</h2><pre>backward()\n  order the graph, last result first\n  ${escaped(rootName)}.grad = 1</pre>`;
  return [why, ran, inner ? "A gradient arrives from the rest of the graph." : "The gradient of the result is 1."];
}
function tellBackward(card, state) {
  const mine = state.grads.get(card.i)?.value ?? card.grad, wires = card.into.filter(wire => wire.tail.gifts.includes(wire));
  if (FOLDED.includes(card.kind) && !isSum(card) || wires.some(wire => wire.count)) return tellFold(card, "Push gradients back through");
  const written = operation(card, words(card));
  const head = !isName(card.name) ? `Push the gradient back through <span class="math">${told(written)}</span>`
    : `Push ${told(card.name)}.grad back through <span class="math">${told(card.name)} = ${told(written)}</span>`;
  const rows = wires.map(wire => tellPart(card, wire, mine, state));
  const numbers = rows.some(row => row.includes("from the right")) ? "" : wires.some(wire => wire.local !== undefined)
    ? `<div class="heads"><span></span><span></span><span class="head">from the right</span><span></span><span class="head">local derivative</span><span></span><span class="head">chain rule</span><span></span></div>` : "";
  const said = wires.map(wire => wire.local === undefined ? `${wire.tail.name} gets its part.` : `Gradient of ${wire.tail.name}: ${number(mine)} times ${number(wire.local)} is ${number(wire.part)}.`);
  return [`<h2>${head}</h2><div class="rows chain">${numbers}${rows.join("")}</div>`, ranBackward(card, wires, state), said.join(" ")];
}
function picture(card, name) {  // an inline heat-map
  const heat = (card.heats ?? []).find(heat => heat.name === name);
  if (!heat) return "";
  const side = Math.max(4, Math.min(9, 60 / heat.rows)), wide = heat.columns * side, tall = heat.rows * side;
  const svg = el("svg", {class: "inline", width: wide, height: tall, viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": heat.tip});
  heatMap(heat, svg, 0, 0, side, side);
  return svg.outerHTML;
}
function soFar(operand, wire, {value, whole, count, counted}, uses) {  // the sum up to this use
  const place = operand.gifts.indexOf(wire) + 1, before = counted - count, last = whole && place === operand.gifts.length;
  const sum = operand.gifts.slice(0, place).reduce((sum, gift) => sum + gift.part, before ? operand.rest : 0);
  const hook = last && operand.hooked ? "a hook made it " : "";
  if (uses < 2 && !hook) return "";
  const shown = value === undefined ? "" : `: ${hook}${last ? `<b>${number(value)}</b>` : number(sum)}`;
  return `${place + before} of ${plural(uses, "use")}${shown}`;
}
function tellPart(card, wire, mine, state) {
  const operand = wire.tail, got = state.grads.get(operand.i), uses = operand.here + operand.elsewhere;
  const symbol = wire.rule === undefined ? "" : fill(story.rules[wire.rule][0], names(card));
  const sum = got ? soFar(operand, wire, got, uses) : "";
  const start = `<div><span>${partial(root, termOf(operand))}</span><span>${uses > 1 ? "+=" : "="}</span>`;
  if (wire.local === undefined) {
    const rule = wire.rule === undefined ? "…" : fill(story.rules[wire.rule][1], names(card));
    const product = typeof wire.part === "number" ? number(wire.part) : operand.shape || "";
    const given = picture(card, "grad"), gets = picture(operand, "grad");
    return `${start}<span>${token("up", told(rule))}</span><span>${given && "with g ="}</span><span>${given}</span><span>→</span><span>${gets}${token("product", escaped(product))}</span><span class="aside">${sum}</span></div>`;
  }
  const known = /^−?[\d.]+$/.test(pretty(symbol)) || !symbol || symbol.length > 40;
  return `${start}${token("up", `${partial(root, termOf(card))} = ${number(mine)}`)}<span>×</span>` +
    token("local", `${partial(termOf(card), termOf(operand))} = ${known ? "" : `${told(symbol)} = `}${number(wire.local)}`) +
    `<span>=</span>${token("product", number(wire.part))}<span class="aside">${sum}</span></div>`;
}
function ranBackward(card, wires, state) {
  const g = isName(card.name) ? `g = ${card.name}.grad\n` : `# g: the gradient of ${code(card)}\n`;
  const lines = wires.filter(wire => wire.rule !== undefined).map(wire => `${within(ATOM, termOf(wire.tail))}.grad += ${fill(story.rules[wire.rule][1], names(card))}`);
  const said = card.byHand ? "<p>Its <code>_backward</code> was written by hand: there is no rule to show, and no nudge test.</p>"
    : lines.length ? `<pre>${escaped(g + lines.slice(0, 8).join("\n"))}${lines.length > 8 ? "\n…" : ""}</pre>`
    : `<p>The rule of ‘${escaped(card.call || card.op || "")}’ needs real arrays: it has no short text.</p>`;
  const complete = [...new Set(wires.map(wire => wire.tail))].filter(operand => operand.nudge && state.grads.get(operand.i)?.whole);
  return `<h2>What Python just ran</h2>${said}${complete.slice(0, 3).map(tellNudge).join("")}`;
}
function tellNudge(card) {
  const {step: by, moved, slope, agrees, index} = card.nudge;
  const place = index?.length ? `${card.name}[${index.join(", ")}]` : card.name;
  const verdict = agrees ? `<span class="good">✓ agrees</span>` : `<span class="bad">✗ differs: a kink, or not finite</span>`;
  return `<p>Nudge test: ${told(place)} + ${+by.toPrecision(3)} moves ${told(rootName)} by ${number(moved, 6)}; slope ${number(slope)} ${verdict}</p>`;
}
function tellEnd() {
  const steps = scene.cards.filter(card => card.kind === "parameter" && card.grad !== undefined && card.data !== undefined).slice(0, 4);
  const move = steps.map(card => `${told(card.name)} ← ${number(card.data)} − 0.1 × ${bracketed(card.grad)} = <b>${number(+card.data - .1 * card.grad)}</b>`);
  const why = story.missing ? `<h2>The forward pass is done</h2><p class="bad">${escaped(story.missing)}</p>`
    : `<h2>Every gradient is known</h2><p>Click a node to see its paths to ${told(rootName)}.${move.length ? " A step of gradient descent moves each parameter against its gradient:" : ""}</p><p class="math">${move.join("<br>")}</p>`;
  const tests = scene.cards.filter(card => card.nudge), odd = tests.filter(card => !card.nudge.agrees);
  const errors = tests.filter(card => card.nudge.agrees && Math.abs(card.grad) > 1e-3).map(card => 100 * Math.abs(card.nudge.slope / card.grad - 1));
  const verdict = story.unnudged ? `<p>${escaped(story.unnudged)}</p>` : !tests.length ? "<p>None of the leaves that were nudged is in this view.</p>"
    : `<p>${plural(tests.length, "leaf").replace("leafs", "leaves")} moved a little, and the graph computed again: ${odd.length ? `<span class="bad">${odd.map(card => escaped(card.name)).join(", ")} differ${odd.length === 1 ? "s" : ""}</span> (a kink, or not finite).` : `<span class="good">✓ all slopes agree</span>${errors.length ? `, the furthest off by ${Math.max(...errors) < 1e-4 ? "less than 0.0001" : number(Math.max(...errors))} %` : ""}.`}</p>`;
  return [why, `<h2>Checked by nudging</h2>${verdict}`, story.missing ? "The forward pass is done." : "Every gradient is known."];
}
function tellPaths(state, {hooked, exact, listed, all}) {
  const name = told(chosen.name), grad = state.grads.get(chosen.i);
  if (chosen.kind === "constant" || !chosen.gifts.length) {
    const what = chosen.kind === "constant" ? "It is a constant: no gradient is computed for it." : chosen.letGo ? "Its history was released after an earlier backward pass; retain_graph=True keeps it." : "Nothing here uses it further: this is where gradients start.";
    return `<h2>${name}</h2><p>${what}</p>`;
  }
  const title = `<h2>Why is ${name}.grad ${grad?.whole ? number(grad.value) : "not complete yet"}?</h2>`;
  if (hooked.length) return `${title}<p>The lines that light up lead from ${name} to ${told(rootName)}. A hook gave another gradient to ${hooked.map(at => told(at.name)).join(", ")}: what is multiplied along a path is no longer all there is.</p>`;
  if (!exact) return `${title}<p>The lines that light up lead from ${name} to ${told(rootName)}. Some of them carry many numbers, or arrays, so there is no single product a path.</p>`;
  const worth = path => path.path.reduce((product, wire) => product * wire.local, +path.from);
  const sorted = [...listed].sort((a, b) => Math.abs(worth(b)) - Math.abs(worth(a)));
  const rows = sorted.slice(0, 6).map(item => {
    const way = [chosen.name, ...item.path.map(wire => wire.head.name)];
    const seen = way.length > 6 ? [...way.slice(0, 3), "…", ...way.slice(-2)] : way;
    const factors = item.path.map(wire => token("local", short(wire.local)));
    const shown = factors.length > 6 ? [...factors.slice(0, 3), "…", ...factors.slice(-2)] : factors;
    if (+item.from !== 1) shown.push(token("up", short(item.from)));
    return `<div><span>${seen.map(word => told(word)).join(" → ")}</span><span>${shown.join(" × ")}</span><span>= ${token("up", number(worth(item)))}</span></div>`;
  });
  const sum = listed.reduce((total, item) => total + worth(item), 0);
  const more = listed.length > 6 ? `<p>and ${all ? plural(listed.length - 6, "more path") : "many more paths"}</p>` : "";
  const elsewhere = chosen.elsewhere ? `<p>${plural(chosen.elsewhere, "more use")} outside of this view ${chosen.elsewhere === 1 ? "adds" : "add"} the rest of ${number(chosen.grad)}.</p>` : "";
  const total = !all ? "" : `<p class="math">sum = ${token("product", number(sum))}</p>`;
  return `${title}<p>${listed.length === 1 ? "One path leads" : `${all ? listed.length : "More than 200"} paths lead`} on from ${name}. Multiply the local derivatives along ${listed.length === 1 ? "it" : "each, then add the products"}.</p><div class="rows paths">${rows.join("")}</div>${more}${total}${elsewhere}`;
}

// ---- the track
function drawTrack() {
  const svg = $("marks"), count = scene.steps.length - 1, width = svg.clientWidth || 400;
  const x = k => 9 + (width - 18) * k / Math.max(count, 1), small = width / count < 9;
  const seed = scene.steps.findIndex(s => s.kind === "seed"), turn = seed < 0 ? count : seed;
  svg.replaceChildren();
  el("line", {class: "rail", x1: x(0), x2: x(count), y1: 13, y2: 13}, svg);
  if (step) el("line", {class: "rail forward", x1: x(0), x2: x(Math.min(step, turn)), y1: 13, y2: 13}, svg);
  if (step > turn) el("line", {class: "rail backward", x1: x(turn), x2: x(step), y1: 13, y2: 13}, svg);
  scene.steps.forEach((s, k) => {
    const kind = k < turn || seed < 0 ? "forward" : "backward", look = `mark ${kind} ${k <= step ? "past" : "ahead"}`;
    if (small && k % Math.ceil(9 * count / width) && k !== step) return;
    if (kind === "backward") el("rect", {class: look, x: x(k) - 4, y: 9, width: 8, height: 8, transform: `rotate(45 ${x(k)} 13)`}, svg);
    else el("circle", {class: look, cx: x(k), cy: 13, r: 4.5}, svg);
  });
  el("circle", {class: `here ${step < turn || seed < 0 ? "forward" : "backward"}`, cx: x(step), cy: 13, r: 9}, svg);
  el("text", {class: "forward", x: x(turn / 2), y: 35}, svg, "forward");
  if (seed >= 0) el("text", {class: "backward", x: x((turn + count) / 2), y: 35}, svg, "backward");
}

// ---- navigation
function go(to, moving = false) {
  step = Math.max(0, Math.min(scene.steps.length - 1, to));
  show(moving);
}
function choose(card) {
  if (card.opens !== undefined) { enter(card.opens); return; }
  chosen = chosen === card ? null : card;
  show();
}
function enter(index, at = 0, path = null, seen = undefined) {  // another scene; `path` has the scenes that lead to it
  stop();
  const before = scene, known = trail.indexOf(scenes[index]);
  scene = scenes[index];
  trail = path ?? (known < 0 ? [...trail, scene] : trail.slice(0, known + 1));
  chosen = scene.cards[seen] ?? null;
  $("scrub").max = scene.steps.length - 1;
  draw();
  showWhere();
  go(at === "same" ? phase(before) : at);
}
function phase(before) {  // the matching step in the other scene: its last or its first
  return before.steps.length - 1 === step ? Infinity : 0;
}
function showWhere() {
  $("crumbs").hidden = trail.length < 2;
  $("crumbs").replaceChildren(...trail.flatMap((at, k) => {
    const item = document.createElement(k < trail.length - 1 ? "button" : "span");
    item.textContent = pretty(k ? at.title : at.tab || "whole graph");
    if (k < trail.length - 1) { item.type = "button"; item.addEventListener("click", () => enter(at.index, "same")); }
    return k ? [document.createTextNode("›"), item] : [item];
  }));
  const tabs = scenes.filter(at => at.tab);
  $("tabs").hidden = tabs.length < 2;
  $("tabs").replaceChildren(...tabs.map(at => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.textContent = at.tab;
    tab.setAttribute("aria-pressed", at === trail[0]);
    tab.addEventListener("click", () => enter(at.index, "same", [at]));
    return tab;
  }));
}
function remember() {  // notebooks reload frames on scrolling: the position is stored on the frame's element
  const place = `${scene.index ? `scene=${scene.index}&` : ""}step=${step}`;
  if (host) { host.dataset.place = place; return; }
  try { history.replaceState(null, "", `#${place}`); } catch { /* a page without a URL cannot store it */ }
}
function recall(text) {
  const read = name => { const found = text.match(new RegExp(`\\b${name}=(\\d+)`)); return found ? +found[1] : null; };
  const index = Math.min(read("scene") ?? 0, scenes.length - 1);
  const path = [];
  for (let at = scenes[index]; at; at = scenes[at.parent]) path.unshift(at);
  enter(index, /\bplace=end\b/.test(text) ? Infinity : read("step") ?? 0, path);
}
function stop() {
  clearTimeout(timer);
  timer = 0;
  $("play").classList.remove("on");
  $("play").setAttribute("aria-label", "Play");
}
function play() {
  if (timer) { stop(); return; }
  if (step === scene.steps.length - 1) go(0);
  chosen = null;
  $("play").classList.add("on");
  $("play").setAttribute("aria-label", "Pause");
  const beat = () => {
    if (step === scene.steps.length - 1) { stop(); return; }
    go(step + 1, true);
    timer = setTimeout(beat, 1400 / speed);
  };
  timer = setTimeout(beat, 350 / speed);
}
function by(count) { stop(); if (count > 0) chosen = null; go(step + count, count > 0); }
const SPEEDS = [1, 2, 4, .5];
$("first").addEventListener("click", () => by(-Infinity));
$("last").addEventListener("click", () => by(Infinity));
$("back").addEventListener("click", () => by(-1));
$("next").addEventListener("click", () => by(1));
$("play").addEventListener("click", play);
$("scrub").addEventListener("input", event => { stop(); go(+event.target.value); });
$("speed").addEventListener("click", () => {
  speed = SPEEDS[(SPEEDS.indexOf(speed) + 1) % SPEEDS.length];
  $("speed").textContent = `${speed}×`;
  $("speed").setAttribute("aria-label", `Speed: ${speed} times`);
});
$("why").addEventListener("click", event => {
  const inside = event.target.closest(".inside");
  if (inside) enter(+inside.dataset.opens);
});
addEventListener("keydown", event => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const button = event.target.closest?.("button"), pressed = event.key;
  const acts = {
    ArrowRight: () => by(1), ArrowLeft: () => by(-1), Home: () => by(-Infinity), End: () => by(Infinity),
    " ": button && button.id !== "play" ? null : play,
    Escape: () => { if (chosen) { chosen = null; show(); } else if (trail.length > 1) enter(trail.at(-2).index, "same"); },
  };
  const act = acts[pressed];
  if (!act) return;
  event.preventDefault();
  event.stopPropagation();
  act();
});
addEventListener("hashchange", () => recall(location.hash));

// ---- the surrounding page: colours, width, height
function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = themeAround() || (dark ? "dark" : "light");
}
addEventListener("message", ({data}) => {
  if (data?.micrograd === "story") retell(data.story);
  if (data?.micrograd === "go") recall(data.place);
});
theme();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme);
load(JSON.parse($("story").textContent));
recall(host?.dataset.place ?? location.hash);
new ResizeObserver(() => {
  fit();
  wrap();
  drawTrack();
  const height = $("app").offsetHeight;
  if (host) host.style.height = `${height}px`;
  else if (parent !== window) parent.postMessage({micrograd: "size", height}, "*");
}).observe($("app"));
})();
