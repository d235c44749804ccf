// ---- draw the graph, and show how it looks at a step
import {written} from "../numbers.js";
import {chosen, hit, scene, sends, story} from "./state.js";
import {$, number, short, thousands} from "./words.js";
import {CELL, el, flowOf, heatMap, hue, paint} from "./marks.js";
import {leafOf, moved, refresh, valueOf} from "./engine.js";
import {drawSlope, hasSlope, TALL, WIDE} from "./curves.js";
import {pointNowhere, productOf, showFactor, showPill, survey} from "./labels.js";

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

// The line and its arrowhead, which points forward or `back`; a wide line has a larger arrowhead
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
  for (const [role, along, line, text] of card.tight?.pieces ?? story.looks[card.look]) {
    const x = along < 0 ? width + along : along,
      y = !card.tight || role === "bar" ? line : height / 2 + 4.5 + 9 * line - (role === "uses" ? 4 : 0);
    if (role === "bar") el("rect", {class: "bar", y, width: 4, height: height - 2 * y, rx: 2}, group);
    else if (role === "uses") drawUses(card, group, x, y);
    else if (role === "slope")
      drawSlope(card, x, card.instead ? height / 2 : 5, text, card.instead ? height / 2 - 4 : height - 10);
    else if (role === "aside" && hasSlope(card)) {
      const wide = Math.min(WIDE, x - 24 - 9 * card.title.length);
      if (wide > 24) drawSlope(card, x - wide, 7, wide, TALL);
    } else if (role === "range") card.maps.at(-1).texts.push(el("text", {x, y, class: "range"}, card.maps.at(-1)));
    else if (role === "heat") card.maps.push(heatMap(card.heats[card.maps.length], group, x, y, text, CELL));
    else
      card.slots[role] = el(
        "text",
        {x, y, class: `${role}${along < 0 ? " end" : ""}`},
        group,
        {title: card.tight ? text : card.title, made: card.title, aside: look ? card.shape : card.aside}[role] ??
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
}

// A dot for each use, filled once the use has sent its part of the gradient
function drawUses(card, group, x, y) {
  if (card.here < 2 || card.here > 5 || card.slots.grad === undefined || card.out.some(wire => wire.count)) return;
  for (let k = 0; k < card.here; k++) card.dots.push(el("circle", {class: "use", cx: x + 9 * k, cy: y, r: 3.2}, group));
}

export function showCard(card, now, state) {
  const known = state.known.has(card.i),
    grad = state.grads.get(card.i),
    active = now.card === card.i,
    leaf = leafOf(card) !== undefined;
  const receiving = now.phase === "backward" && card.gifts.some(wire => wire.head.i === now.card);
  const dead = grad?.whole && grad.value === 0,
    stale =
      moved() &&
      card.kind === "repeat" &&
      card.node === undefined &&
      !(card.heats.length && card.heats.every(heat => heat.among));
  const classes = [
    "card",
    card.kind,
    !known && "waiting",
    active ? now.phase : receiving && "receiving",
    card.outside && "outside",
    chosen === card && "chosen",
    hit === card && "found",
    leaf && "leaf",
    dead && "dead",
    stale && "stale",
  ];
  card.group.setAttribute("class", classes.filter(Boolean).join(" "));
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

function fillSlot(card, role, known, x, look) {
  const slot = card.slots[role],
    {tight} = card,
    beside = role === "grad" ? 9 * card.dots.length : (tight?.name ?? 0);
  const room = Math.max(
    Math.floor((card.box[2] - (card.badge ?? 0) / 2 - (card.slots.key ? 58 : tight ? 18 : 24) - beside) / 7.9),
    5,
  );
  const text = known ? written(x, tight ? "short" : "full", room) : "–",
    wide = 7.85 * room;
  slot.textContent = text;
  // A number with a long exponent is squeezed
  if (7.85 * text.length > wide + 6) slot.setAttribute("textLength", wide + 6);
  else slot.removeAttribute("textLength");
  slot.setAttribute("class", `number end ${look} ${known ? hue(x) : ""}`.trim().replace(/ +/g, " "));
}

// Draw the two strands side by side; keep in sync with `_aside` in svg.py
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

export function showWire(wire, now, state, paths, pending) {
  const forward = now.phase === "forward" && wire.head.i === now.card,
    backward = now.phase === "backward" && wire.head.i === now.card && sends(wire);
  const done = state.done.has(wire.head.i),
    faint = scene.crowded,
    sent = flowOf(wire),
    flows = done && sent && !backward && !forward,
    guessing = backward && pending.length;
  const phase = forward
    ? "forward"
    : backward
      ? "backward"
      : !state.known.has(wire.head.i)
        ? "waiting"
        : faint && !flows
          ? "faint"
          : "";
  const look = flows ? `flows ${sent.look}` : backward && sent && !guessing ? sent.look : "";
  wire.group.setAttribute("class", ["wire", phase, look, paths?.onPath.has(wire) && "path"].filter(Boolean).join(" "));
  if (wire.line) {
    drawStrands(wire, flows ? sent.widths : []);
    aim(wire, !!(backward || flows), flows ? sent.widths.reduce((a, b) => a + b, 0) : forward || backward ? 2.8 : 1.7);
  }
  if (forward)
    showPill(
      wire,
      phase,
      wire.tail.data !== undefined ? [short(wire.tail.data)] : wire.tail.shape ? [wire.tail.shape] : null,
    );
  else if (guessing) showPill(wire, phase, ["?"]);
  else if (!backward) showFactor(wire, faint || (!done && !paths?.onPath.has(wire)) ? "none" : "");
  else if (wire.local === undefined)
    showPill(wire, phase, [typeof wire.part === "number" ? `+= ${short(wire.part)}` : "+="]);
  else showPill(wire, phase, scene.looks ? productOf(wire).flatMap(line => line.split(/ (?=×)/)) : productOf(wire));
}
