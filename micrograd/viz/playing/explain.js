// ---- the panels, which explain a step
import {html, joined, put} from "../html.js";
import {thickness} from "../numbers.js";
import {chosen, FOLDED, held, root, rootName, scene, scenes, sends, step, story} from "./state.js";
import {
  $,
  ATOM,
  bdi,
  bracketed,
  code,
  fill,
  isFolded,
  isName,
  names,
  number,
  operation,
  partial,
  plural,
  pretty,
  short,
  signed,
  termOf,
  thousands,
  token,
  within,
  words,
} from "./words.js";
import {count} from "./recompute.js";
import {el, flowOf, heatMap, tip} from "./marks.js";
import {
  afterStep,
  bendsOf,
  canNudge,
  engine,
  homeOf,
  leafOf,
  loweringRate,
  nudged,
  nudgeOf,
  result,
  strongest,
  touched,
} from "./engine.js";
import {attention, grids} from "./grid.js";
import {guessKey, score, tellGuesses, tellQuestion} from "./ask.js";
import {shaken, swing, tellShake} from "./shake.js";

// The title of a step, the text of both panels, and a sentence for screen readers
export function explanationsFor(k, card, state) {
  const total = scene.forward.length,
    back = scene.backward.length;
  const [title, explain] = {
    start: ["Ready", tellStart],
    forward: [`Forward ${k} of ${total}`, tellForward],
    seed: ["Backward begins", tellSeed],
    backward: [`Backward ${k - total - 1} of ${back}`, tellBackward],
    end: ["Done", tellEnd],
  }[scene.steps[k].phase];
  return [title, ...explain(card, state)];
}

export function tell(now, state, card, paths, pending) {
  const [title, tale, rule, aloud] = explanationsFor(step, card, state),
    asks = pending.length && !chosen,
    question = asks ? guessKey(step, pending[0]) : "";
  const why = asks ? tellQuestion(card, pending) : [tellGuesses(step), tale],
    ran = asks || shaken ? "" : chosen ? ranTo(chosen, state) : rule;
  const sentence = asks ? `Guess the gradient of ${pending.map(tail => tail.name).join(" and of ")}.` : aloud;
  $("phase").textContent = title;
  $("phase").className =
    now.phase === "forward" ? "forward" : ["seed", "backward"].includes(now.phase) ? "backward" : "";
  // The form stays while the reader types a guess
  if (!question || $("why").dataset.asks !== question)
    put($("why"), shaken ? tellShake() : chosen ? [grids(chosen), tellPaths(state, paths)] : why);
  $("why").dataset.asks = question;
  if (!held?.moved) wrap([$("panels")]); // it measures, which takes half of a frame
  put($("ran"), ran);
  $("flow").hidden = !state.done.size;
  const notes = [
    scene.wires.some(wire => wire.local !== undefined) &&
      html`<p>A line multiplies by its number, or by 1 if it has none.</p>`,
    scene.wires.some(wire => flowOf(wire)?.look === "mixed") && html`<p>Two strands: numbers of both signs.</p>`,
    scene.cards.some(card => card.tight) && html`<p>On a card: data, and <b>gradient</b> below.</p>`,
    scene.cards.some(card => card.dots.length) && html`<p>● a use</p>`,
  ];
  put(
    $("flow"),
    html`${["0.01", "1", "100"].map(size => html`<span><i style="height:${thickness(size)}px"></i>${size}</span>`)}
      <p>Gradient of ${rootName}: <b class="above">positive</b>, <b class="below">negative</b></p>
      ${notes.filter(Boolean)}`,
  );
  return shaken
    ? `${shaken.name} sways by 1, and ${rootName} by ${number(swing[engine.root] ?? 0)}.`
    : `${title}. ${sentence}`;
}

// Stack the tables that are too wide
export function wrap(panels) {
  const tables = panels.map(both => both.firstElementChild);
  for (const why of tables) why.classList.remove("wraps");
  for (const why of tables.filter(why => why.scrollWidth > why.clientWidth)) why.classList.add("wraps");
}

function tellStart() {
  const folded = scene.cards.some(card => card.opens !== undefined);
  const why = html`<h2>
      ${scene.note ? scene.note[0].toUpperCase() + scene.note.slice(1) : "The inputs have values. Nothing has been computed yet."}
    </h2>
    <p>Press <kbd>→</kbd>: values flow from left to right, one operation at a time; then gradients flow back.</p>
    ${folded ? html`<p>A card with ▸ stands for many operations: click it to look inside. Esc leads back out.</p>` : ""}
    ${engine ? html`<p>Drag a number, or type another: everything follows.</p>` : ""}
    ${[story.missing, story.changed, typeof story.program === "string" ? story.program : ""].map(text => text && html`<p class="bad">${text}</p>`)}
    ${remarked()}
    <p>
      ${plural(story.nodes, "node")} in the whole
      graph${scenes.length > 1 ? `; ${plural(scene.cards.length, "card")} here` : ""}.
    </p>`;
  const ran = html`<p>
    <span class="swatch" style="background:var(--parameter)"></span>parameter,
    <span class="swatch" style="background:var(--edge)"></span>input. grad is d${rootName}/dnode. A dotted line carries
    none.
  </p>`;
  return [why, ran, "The inputs have values. Nothing has been computed yet."];
}

function tellForward(card) {
  if (isFolded(card)) return tellFold(card, "Compute");
  const written = operation(card, words(card));
  const assignment = isName(card.name) ? `${card.name} = ` : "";
  if (card.shape && (card.data === undefined || card.into.some(wire => wire.tail.data === undefined))) {
    const result = card.data === undefined ? card.shape : number(card.data);
    const shapes = operation(
      card,
      card.into.map(wire => [wire.tail.shape || (wire.tail.data === undefined ? "…" : number(wire.tail.data)), ATOM]),
    );
    const why = html`<h2>Compute ${bdi(card.name)}</h2>
      <p>Its operands are ready, so the operation can run.</p>
      <p class="math">${assignment}${bdi(written)}</p>
      <p class="math">${bdi(shapes)} → ${token("value", result)}</p>`;
    return [why, ranForward(card), `${card.name} ${card.data === undefined ? "has shape" : "equals"} ${result}.`];
  }
  const values = operation(
    card,
    card.into.map((wire, k) => (wire.tail.data === undefined ? ["…", ATOM] : signed(wire.tail.data, k))),
  );
  const why = html`<h2>Compute ${bdi(card.name)}</h2>
    <p>Its operands are ready, so the operation can run. The node keeps its operands for the backward pass.</p>
    <p class="math">${assignment}${bdi(written)} = ${bdi(values)} = ${token("value", number(card.data))}</p>`;
  return [why, ranForward(card), `${card.name} equals ${number(card.data)}.`];
}

function ranForward(card) {
  const assignment = isName(card.name) ? `${card.name} = ` : "";
  const line = `${assignment}${card.hand_written ? "…   # an operation of your own" : code(card)}`;
  return html`<p>
    Python ran <code>${line}</code> and the result keeps
    ${card.into.length === 1 ? "its operand" : `its ${card.into.length} operands`} and
    ${card.hand_written ? html`its <i>_backward</i>` : "the row of the operation"}: from these comes the gradient.
  </p>`;
}

function tellFold(card, doing) {
  const inside =
    card.opens === undefined
      ? ""
      : html`<p><button type="button" class="inside" data-opens="${card.opens}">▸ look inside</button></p>`;
  const times =
    card.times &&
    (card.kind === "module"
      ? `from ${plural(card.times, "call")}`
      : `${thousands(card.times)} of one kind, each used alike`);
  const facts = [card.nodes && plural(card.nodes, "node"), times].filter(Boolean);
  const why = html`<h2>${doing} ${bdi(card.name)}</h2>
    <p>This card stands for ${facts.join(", ") || "several operations"}.</p>
    ${card.heats.map(heat => html`<p>${tip(heat)}</p>`)}${inside}`;
  return [why, "", `${doing} ${card.name}.`];
}

function tellSeed() {
  const inner = scene.parent !== undefined;
  const starts = scene.cards.filter(
    card => card.computes && (card.elsewhere || !card.gifts.length) && card.grad !== undefined,
  );
  const lines = starts
    .slice(0, 4)
    .map(card => html`${bdi(card.name)}.grad = ${token("product", number(card.elsewhere ? card.rest : card.grad))}`);
  const why = inner
    ? html`<h2>From the rest of the graph a gradient arrives</h2>
        <p>The operations that used this part's results have sent their gradients already.</p>
        <p class="math">${joined(lines, html`<br />`)}</p>`
    : html`<h2>Start at the end: ${partial(root, root)} = 1</h2>
        <p>
          The derivative of ${bdi(rootName)} with respect to itself is 1. Backpropagation starts
          here.${starts.some(card => card.hooked) ? " A hook has replaced it by another number:" : ""}
        </p>
        <p class="math">${joined(lines, html`<br />`)}</p>`;
  const ran = inner
    ? ""
    : html`<p>Python ran <code>${rootName}.grad = 1</code> after it had put the graph in order, last result first.</p>`;
  return [why, ran, inner ? "A gradient arrives from the rest of the graph." : "The gradient of the result is 1."];
}

function tellBackward(card, state) {
  const mine = state.grads.get(card.i)?.value ?? card.grad,
    wires = card.into.filter(sends);
  const folded = isFolded(card) || wires.some(wire => wire.count);
  if (folded && (!wires.length || wires.some(wire => wire.local === undefined)))
    return tellFold(card, "Push gradients back through");
  const written = folded ? "" : operation(card, words(card));
  const head = folded
    ? html`Push the gradient back through ${bdi(card.name)}`
    : !isName(card.name)
      ? html`Push the gradient back through <span class="math">${bdi(written)}</span>`
      : html`Push ${bdi(card.name)}.grad back through <span class="math">${bdi(card.name)} = ${bdi(written)}</span>`;
  const rows = wires.map(wire => tellPart(card, wire, mine, state));
  const numbers = wires.some(wire => wire.local !== undefined)
    ? html`<div class="heads">
        <span></span><span></span><span class="head">from the right</span><span></span
        ><span class="head">local derivative</span><span></span><span class="head">chain rule</span><span></span>
      </div>`
    : "";
  const aloud = wires.map(wire =>
    wire.local === undefined
      ? `${wire.tail.name} gets its part.`
      : `Gradient of ${wire.tail.name}: ${number(mine)} times ${number(wire.local)} is ${number(wire.part)}.`,
  );
  return [
    html`<h2>${head}</h2>
      <div class="rows chain">${numbers}${rows}</div>`,
    folded ? tellFold(card, "Inside of")[0] : ranBackward(card, wires, state),
    aloud.join(" "),
  ];
}

// An inline heat-map of a card, "" if it has none of this name
function picture(card, name) {
  const heat = card.heats.find(heat => heat.name === name);
  if (!heat) return "";
  const side = Math.max(4, Math.min(9, 60 / heat.rows)),
    wide = heat.columns * side,
    tall = heat.rows * side;
  const svg = el("svg", {
    class: "inline",
    width: wide,
    height: tall,
    viewBox: `0 0 ${wide} ${tall}`,
    role: "img",
    "aria-label": tip(heat),
  });
  heatMap(heat, svg, 0, 0, side, side);
  return svg;
}

// The sum of the gradients from the uses up to this use
function soFar(operand, wire, {value, whole, count, counted}, uses) {
  const place = operand.gifts.indexOf(wire) + 1,
    before = counted - count,
    last = whole && place === operand.gifts.length;
  const sum = operand.gifts.slice(0, place).reduce((sum, gift) => sum + gift.part, before ? operand.rest : 0);
  const hook = last && operand.hooked ? "a hook made it " : "";
  if (uses < 2 && !hook) return "";
  const shown = value === undefined ? "" : html`: ${hook}${last ? html`<b>${number(value)}</b>` : number(sum)}`;
  return html`${place + before} of ${plural(uses, "use")}${shown}`;
}

function tellPart(card, wire, mine, state) {
  const operand = wire.tail,
    got = state.grads.get(operand.i),
    uses = operand.here + operand.elsewhere;
  const symbol = wire.rule === undefined ? "" : fill(learnt(wire), names(card));
  const sum = got ? soFar(operand, wire, got, uses) : "";
  const start = html`<span>${partial(root, termOf(operand))}</span><span>${uses > 1 ? "+=" : "="}</span>`;
  if (wire.local === undefined) {
    const rule = wire.rule === undefined ? "…" : fill(story.rules[wire.rule][1], names(card));
    const product = typeof wire.part === "number" ? number(wire.part) : operand.shape || "";
    const gradient = picture(card, "grad");
    return html`<div>
      ${start}<span>${token("up", bdi(rule))}</span><span>${gradient && "with g ="}</span><span>${gradient}</span
      ><span>→</span><span>${picture(operand, "grad")}${token("product", product)}</span
      ><span class="aside">${sum}</span>
    </div>`;
  }
  const known = /^−?[\d.]+$/.test(pretty(symbol)) || !symbol || symbol.length > 40;
  const local = html`${partial(termOf(card), termOf(operand))} =
  ${known ? "" : html`${bdi(symbol)} = `}${number(wire.local)}`;
  return html`<div>
    ${start}${token("up", html`${partial(root, termOf(card))} = ${number(mine)}`)}<span>×</span>${token("local", local)}<span>=</span>${token("product", number(wire.part))}<span
      class="aside"
      >${sum}</span
    >
  </div>`;
}

// The local derivative in the form of textbooks
const learnt = wire => story.rules[wire.rule][2] ?? story.rules[wire.rule][0];

// A rule as a line of code, in the form of textbooks or, with k = 1, in the form that ran
function ruleOf(wire, k = 2) {
  const [, ran, form] = story.rules[wire.rule],
    text = k > 1 && form ? `g * ${/ (\+|-|if) /.test(form.replace(/\(.*?\)/g, "")) ? `(${form})` : form}` : ran;
  return html`<code>${`${within(ATOM, termOf(wire.tail))}.grad += ${fill(text, names(wire.head))}`}</code>`;
}

const asComputed = wires =>
  wires.some(wire => story.rules[wire.rule][2])
    ? html`<details>
        <summary>as computed</summary>
        ${joined(
          wires.map(wire => ruleOf(wire, 1)),
          " ",
        )}
      </details>`
    : "";

// The rules that computed the gradient of a node, its nudge test, and the leaves that would change it most
export function ranTo(card, state) {
  const ruled = card.gifts.filter(wire => state.done.has(wire.head.i) && wire.rule !== undefined).slice(0, 3),
    rules = ruled.map(
      wire =>
        html`${ruleOf(wire)} with g${wire.head.grad === undefined ? "" : ` = ${number(wire.head.grad)}`}, the gradient
        of ${bdi(wire.head.name)}`,
    );
  const whole = state.grads.get(card.i)?.whole,
    ran = rules.length
      ? html`<p>The rule that ran: ${joined(rules, "; ")}.</p>
          ${asComputed(ruled)}`
      : "";
  return whole && canNudge(card) ? [tellBends(card), ran, tellNudge(card)] : ran;
}

// The name of a node and, if this scene does not show it, the scene that does
function placed(node) {
  const [card, at] = homeOf(node) ?? [];
  return !card
    ? "a leaf that has no card here"
    : html`${bdi(card.name)}${at === scene || at.tab ? "" : html` of ${bdi(at.title)}`}`;
}

// A sentence about the leaves that would change the gradient of this leaf most
function tellBends(card) {
  const [first, second] = bendsOf(card),
    by = ([node, x]) => html`${placed(node)} by about ${number(x, "short")} for each 1`;
  if (!first) return "";
  return html`<p>
    ${first[1] ? html`What would change ${bdi(card.name)}.grad most: ${by(first)}${second?.[1] ? html`, then ${by(second)}` : ""}.` : html`No small change of a leaf changes ${bdi(card.name)}.grad.`}
  </p>`;
}

function ranBackward(card, wires, state) {
  const g = isName(card.name)
    ? html`<code>g = ${card.name}.grad</code>`
    : html`g, the gradient of <code>${code(card)}</code>`;
  const ruled = wires.filter(wire => wire.rule !== undefined),
    lines = ruled.map(wire => ruleOf(wire));
  const ran = card.hand_written
    ? html`<p>Its <code>_backward</code> was written by hand: there is no rule to show, and no nudge test.</p>`
    : lines.length
      ? html`<p>The rule that ran: ${joined(lines.slice(0, 8), " ")}${lines.length > 8 ? " …" : ""} with ${g}</p>
          ${asComputed(ruled)}`
      : html`<p>The rule of ‘${card.call || card.op || ""}’ needs real arrays: it has no short text.</p>`;
  const complete = [...new Set(wires.map(wire => wire.tail))].filter(
    operand => canNudge(operand) && state.grads.get(operand.i)?.whole,
  );
  return [ran, complete.slice(0, 3).map(tellNudge)];
}

function tellNudge(card) {
  const {step: by, moved, slope, agrees, at} = nudgeOf(card),
    shape = engine.leaves[card.node].shape ?? [];
  const index = shape.map((n, k) => Math.floor(at / count(shape.slice(k + 1))) % n),
    place = index.length ? `${card.name}[${index.join(", ")}]` : card.name;
  const verdict = agrees
    ? html`<span class="good">✓ agrees</span>`
    : html`<span class="bad">✗ differs: a kink, or not finite</span>`;
  return html`<p>
    Nudge test: ${bdi(place)} + ${+by.toPrecision(3)} moves ${bdi(rootName)} by ${number(moved, "fine")}; slope
    ${number(slope)} ${verdict}
  </p>`;
}

function tellEnd() {
  const moves = new Set(story.program?.moves),
    known = engine && !story.missing,
    canStep = known && moves.size,
    rate = known ? (loweringRate() ?? +$("rate").value) : 0;
  const steps = scene.cards.filter(card => moves.has(card.node) && card.grad !== undefined && card.data !== undefined),
    more = moves.size - Math.min(steps.length, 4);
  const move = steps
    .slice(0, 4)
    .map(
      card =>
        html`${bdi(card.name)} ← ${number(card.data)} − ${rate} × ${bracketed(card.grad)} =
          <b>${number(+card.data - rate * card.grad)}</b>`,
    );
  if (move.length && more) move.push(`and ${thousands(more)} more`);
  if (canStep) move.push(html`${bdi(rootName)} after it: <b>${number(afterStep(rate))}</b>, now ${number(result())}`);
  const undo = touched ? html` <button type="button" class="undo">Reset</button>` : "";
  const here = strongest(
    scene.cards
      .filter(card => ["parameter", "input"].includes(card.kind) && !card.outside && card.node !== undefined)
      .map(card => [card.node, card.grad]),
  );
  const leaves =
      here.length || !engine ? here : strongest([...engine.grads.entries()].filter(([node]) => engine.isLeaf(node))),
    [node, grad] = leaves[0] ?? [],
    follows = leaves.length > 1 && grad;
  const most = follows
    ? html`${bdi(rootName)} follows ${placed(node)} most: by about ${number(grad, "short")} for each 1, so by
      ${number(grad / 100)} for 0.01. `
    : "";
  const cells = scene.cards.some(card => card.heats.some(heat => Array.isArray(heat.of) && !heat.among))
    ? ", or a cell to see the gradient of that weight"
    : "";
  const moved = scene.cards.some(card => ["parameter", "module"].includes(card.kind)) ? "parameter" : "leaf";
  const descent = move.length
    ? html` A step of gradient descent moves each ${moved} against its gradient:
        <button type="button" class="step">Take a step</button>${undo}`
    : "";
  const reached = story.missing ? "The forward pass is done" : "Every gradient is known";
  const why = story.missing
    ? html`<h2>${reached}</h2>
        <p class="bad">${story.missing}</p>`
    : html`${attention() ? grids(attention()) : ""}
        <h2>${reached}</h2>
        ${score()}
        <p>${most}Click a node to see its paths to ${bdi(rootName)}${cells}.${descent}</p>
        <p class="math">
          ${joined(
            move.map(text => html`<span class="token">${text}</span>`),
            " ",
          )}
        </p>`;
  const tests = nudged().map(card => ({name: card.name, grad: card.grad, ...nudgeOf(card)})),
    odd = tests.filter(test => !test.agrees),
    differing = `${odd.map(card => card.name).join(", ")} differ${odd.length === 1 ? "s" : ""}`;
  const errors = tests
    .filter(test => test.agrees && Math.abs(test.grad) > 1e-3)
    .map(test => 100 * Math.abs(test.slope / test.grad - 1));
  const stepped = canStep
    ? html`<button type="button" class="step">
          Take a
          step${Number.isFinite(result()) ? html`: ${bdi(rootName)} ${short(result())} → ${short(afterStep(rate))}` : ""}</button
        >${undo}`
    : "";
  const headline = follows ? html`${bdi(rootName)} follows ${placed(node)} most: ${short(grad)} for each 1` : reached;
  const agreeing = tests.length
    ? html`<b class="good">✓ nudged, and ${tests.length === 1 ? "it agrees" : "all agree"}</b>`
    : "";
  put(
    $("rest"),
    html`<b>${headline}</b><span>Click a number: why?</span>${stepped}<span
        >${odd.length ? html`<b class="bad">✗ nudged: ${differing}</b>` : agreeing}</span
      ><button type="button" class="whole">All of it</button>`,
  );
  const furthest = Math.max(...errors),
    off = furthest < 1e-3 ? "less than 0.001" : short(furthest);
  const slopes = odd.length
    ? html`<span class="bad">${differing}</span> (a kink, or not finite).`
    : html`<span class="good">✓ all slopes agree</span>${errors.length ? `, the furthest off by ${off} %` : ""}.`;
  const verdict = story.missing
    ? ""
    : !engine
      ? html`<p>${story.program}</p>`
      : !tests.length
        ? html`<p>No leaf with a gradient is in this view: there is nothing to nudge.</p>`
        : html`<p>
            ${plural(tests.length, "leaf").replace("leafs", "leaves")} moved a little, and the graph computed again:
            ${slopes}
          </p>`;
  return [why, [remarked(), verdict], `${reached}.`];
}

const remarked = () => (story.remark ? html`<p>${story.remark}</p>` : "");
const keep = (list, head, tail) =>
  list.length > head + tail ? [...list.slice(0, head), "…", ...list.slice(list.length - tail)] : list;

export function tellPaths(state, {hooked, exact, listed, all}) {
  const name = bdi(chosen.name),
    grad = state.grads.get(chosen.i);
  if (chosen.kind === "constant" || !chosen.gifts.length) {
    const what =
      chosen.kind === "constant"
        ? "It is a constant: no gradient is computed for it."
        : chosen.released
          ? "Its history was released after an earlier backward pass; retain_graph=True keeps it."
          : "Nothing here uses it further: this is where gradients start.";
    return html`<h2>${name}</h2>
      <p>${what}</p>`;
  }
  const formula =
    chosen.op && isName(chosen.name) && !FOLDED.includes(chosen.kind)
      ? html`<p class="math">${bdi(chosen.name)} = ${bdi(code(chosen))}</p>`
      : "";
  const question =
    chosen.data === undefined
      ? html`<h2>How ${name} reaches ${bdi(rootName)}</h2>`
      : html`<h2>Why is ${name}.grad ${grad?.whole ? number(grad.value) : "not complete yet"}?</h2>`;
  const title = [question, formula];
  if (hooked.length)
    return html`${title}
      <p>
        The lines that light up lead from ${name} to ${bdi(rootName)}. A hook gave another gradient to
        ${joined(
          hooked.map(at => bdi(at.name)),
          ", ",
        )}:
        what is multiplied along a path is no longer all there is.
      </p>`;
  if (!exact)
    return html`${title}
      <p>
        The lines that light up lead from ${name} to ${bdi(rootName)}. Some of them carry many numbers, or arrays, so
        there is no single product a path.
      </p>`;
  const worth = path => path.path.reduce((product, wire) => product * wire.local, +path.from);
  const sorted = [...listed].sort((a, b) => Math.abs(worth(b)) - Math.abs(worth(a)));
  const ways = sorted.slice(0, 6).map(item => [chosen, ...item.path.map(wire => wire.head)]),
    shortest = Math.min(...ways.map(way => way.length));
  let first = 1,
    last = 1; // what all have in common at their beginning and at their end
  while (first < shortest - 1 && ways.every(way => way[first] === ways[0][first])) first++;
  while (last < shortest - first && ways.every(way => way.at(-1 - last) === ways[0].at(-1 - last))) last++;
  const rows = sorted.slice(0, 6).map((item, k) => {
    const names = ways[k].map(card => card.name);
    const seen =
      names.length <= 6
        ? names
        : ways.length === 1
          ? keep(names, 3, 2)
          : [
              ...keep(names.slice(0, first), 1, 0),
              ...keep(names.slice(first, -last), 3, 2),
              ...keep(names.slice(-last), 0, 1),
            ];
    const factors = item.path.map(wire => token("local", short(wire.local)));
    const shown = factors.length > 6 ? keep(factors, 3, 2) : factors;
    if (+item.from !== 1) shown.push(token("up", short(item.from)));
    return html`<div>
      <span
        >${joined(
          seen.map(word => bdi(word)),
          " → ",
        )}</span
      ><span>${joined(shown, " × ")}</span><span>= ${token("up", number(worth(item)))}</span>
    </div>`;
  });
  const sum = listed.reduce((total, item) => total + worth(item), 0);
  const more =
    listed.length > 6 ? html`<p>and ${all ? plural(listed.length - 6, "more path") : "many more paths"}</p>` : "";
  const elsewhere = chosen.elsewhere
    ? html`<p>
        ${plural(chosen.elsewhere, "more use")} outside of this view ${chosen.elsewhere === 1 ? "adds" : "add"} the rest
        of ${number(chosen.grad)}.
      </p>`
    : "";
  const total = !all || listed.length === 1 ? "" : html`<p class="math">sum = ${token("product", number(sum))}</p>`;
  const shakes =
    typeof leafOf(chosen) === "number"
      ? html` <button type="button" class="shake" title="Shake it (s)">Shake ${name}</button>`
      : "";
  return html`${title}
    <p>
      ${listed.length === 1 ? "One path leads" : `${all ? listed.length : "More than 200"} paths lead`} on from ${name}.
      Multiply the local derivatives along ${listed.length === 1 ? "it" : "each, then add the products"}.${shakes}
    </p>
    <div class="rows paths">${rows}</div>
    ${more}${total}${elsewhere}`;
}
