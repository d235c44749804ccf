// ---- touch: a leaf is dragged, typed, stepped or shaken, and gradients are guessed
import {chosen, held, rootName, scene, set, step, story} from "./state.js";
import {$, number, say} from "./words.js";
import {isArray, power} from "./recompute.js";
import {
  computeAgain,
  engine,
  leafNodes,
  leafOf,
  losses,
  loweringRate,
  refresh,
  refusal,
  result,
  startEngine,
  steppedLeaves,
  valueOf,
} from "./engine.js";
import {ask, asking, guesses, guessKey, pendingAt} from "./ask.js";
import {calmDown, shaken, swingFrom} from "./shake.js";
import {openPanel, resting} from "./view.js";
import {go, remember, show, stop} from "./player.js";

// Compute again after a change, and show the last step if the first was shown
function again() {
  computeAgain();
  if (step === 0) {
    set({step: scene.last});
    remember();
  }
  show();
}

function change(card, x, cell = 0) {
  const before = engine.leaves[card.node];
  if (isArray(before)) before[cell] = x;
  else engine.leaves[card.node] = x;
  losses.length = 0;
  again();
  if (parent !== window)
    parent.postMessage(
      {
        micrograd: "leaf",
        leaf: leafNodes().indexOf(card.node),
        name: card.name,
        value: x,
      },
      "*",
    );
}

const tidy = x => +x.toPrecision(12);

function descend() {
  if (!engine) return say(story.program);
  const wanted = +$("rate").value,
    rate = loweringRate();
  if (rate === undefined)
    return say(`No step against the gradient lowers ${rootName}: it is at a minimum, flat, or not finite here.`);
  if (rate < wanted) {
    $("rate").value = rate;
    say(`At rate ${wanted} the step would have raised ${rootName}: it was halved to ${rate}.`);
  }
  if (!losses.length) losses.push(result());
  engine.leaves = steppedLeaves(rate);
  again();
  losses.push(result());
  show();
}

$("descend").addEventListener("click", descend);

// Begin again with the story's leaves, or with those of the surrounding page
export function restart(leaves) {
  story.leaves = leaves;
  startEngine();
  if (engine) refresh();
  show();
}

$("reset").addEventListener("click", () => restart(story.leaves));

// ---- a leaf under the pointer, and its keyboard
// Take hold of a leaf's number; returns true if there is a number under the pointer
export function grab(event, card) {
  const cell = event.target.classList.contains("cell") ? +event.target.dataset.at : 0,
    map = card.maps.findIndex(map => map.contains(event.target));
  const x = leafOf(card);
  if (
    x === undefined ||
    (isArray(x) && x.length > 1 && !(map === 0 && cells(card) && event.target.classList.contains("cell")))
  )
    return false;
  const from = valueOf(card, cell);
  set({held: {card, cell, from, x: event.clientX, unit: power(from) / 100, moved: false}});
  held.wait = setTimeout(() => {
    if (!held.moved && typeof x === "number") {
      held.shakes = true;
      set({dragged: true});
      calmDown();
      shake(card);
    }
  }, 450);
  return true;
}

export function typeAt(card, {target}) {
  const at = target.classList.contains("cell");
  if (at && leafOf(card) !== undefined && !cells(card))
    say(`A cell of ${card.name} is the mean of several numbers: ] chooses one, F2 types it.`);
  else if (card.opens === undefined) type(card, null, at ? +target.dataset.at : 0);
}

// True if each cell of an array's heat-map shows a single number
const cells = card => {
  const heat = card.heats[0];
  return heat.rows * heat.columns === engine.leaves[card.node].length;
};

addEventListener("pointermove", event => {
  if (!held) return;
  const by = event.clientX - held.x;
  if (held.shakes || (!held.moved && Math.abs(by) < 4)) return;
  held.moved = true;
  held.next = tidy(held.from + Math.round(by) * held.unit * (event.shiftKey ? 0.1 : 1));
  if (held.frame) return;
  held.frame = requestAnimationFrame(() => {
    held.frame = 0;
    change(held.card, held.next, held.cell);
  });
});

function letGo() {
  if (held?.frame) {
    cancelAnimationFrame(held.frame);
    change(held.card, held.next, held.cell);
  }
  clearTimeout(held?.wait);
  if (held?.shakes && shaken) shake(shaken);
  set({held: null});
}

addEventListener("pointerup", letGo, true);
addEventListener("pointercancel", letGo);

// Change a number by so many hundredths of its power of ten, with the arrow keys
export function nudgeBy(card, units) {
  const cell = card.cell ?? 0,
    x = valueOf(card, cell);
  change(card, tidy(x + (units * power(x)) / 100), cell);
}

// Open a field for a number over the card
export function type(card, first = null, cell = card.cell ?? 0) {
  if (leafOf(card) === undefined) return say(refusal(card) || `${card.name} is computed: change what goes into it.`);
  const input = $("number"),
    box = (card.slots.data ?? card.group).getBoundingClientRect(),
    around = $("scroll").getBoundingClientRect(),
    whole = card.group.getBoundingClientRect();
  input.hidden = false;
  input.value = first ?? String(valueOf(card, cell));
  input.setAttribute(
    "aria-label",
    `${card.name}${isArray(engine.leaves[card.node]) ? `, number ${cell + 1}` : ""}: a number`,
  );
  Object.assign(input.style, {
    left: `${whole.left - around.left}px`,
    top: `${box.top - around.top - 6}px`,
    width: `${Math.max(whole.width, 90)}px`,
  });
  input.removeAttribute("aria-invalid");
  input.focus();
  if (first === null) input.select();
  input.onkeydown = event => {
    event.stopPropagation();
    if (event.key === "Escape") {
      input.onblur = null;
      input.hidden = true;
      card.group.focus();
    }
    if (event.key === "Enter") card.group.focus();
  };
  input.onblur = () => {
    const text = input.value.trim().replace("−", "-"),
      x = text === "" ? NaN : Number(text);
    input.hidden = true;
    if (Number.isFinite(x)) change(card, x, cell);
    else say(`‘${text}’ is not a number; ${card.name} stays ${number(valueOf(card, cell))}.`);
  };
}

// ---- a shake, and guesses
export function shake(card) {
  const leaf = card && typeof leafOf(card) === "number" && engine.data.every(x => typeof x === "number");
  if (card && !leaf)
    return say(
      refusal(card) || `${card.name} cannot be shaken: only a leaf that is one number, in a graph of numbers, can.`,
    );
  if (card && scene.steps.some((_, k) => pendingAt(k).length))
    return say("A shake shows the gradients that are asked: guess them first, or turn “Guess first” off.");
  stop();
  swingFrom(card);
  if (shaken) set({step: scene.last});
  show();
}

// Turn the guesses on or off; with guesses, begin where the gradients begin
export function quiz() {
  ask(!asking);
  stop();
  set({chosen: null});
  go(asking ? scene.seed : Infinity);
}

function answer(form, guessed) {
  const tails = pendingAt(step),
    fields = [...form.querySelectorAll("input")],
    texts = fields.map(field => field.value.trim().replace(/[−–]/g, "-").replace(",", "."));
  const bad = guessed ? texts.findIndex(text => text === "" || !Number.isFinite(Number(text))) : -1;
  if (bad >= 0) {
    fields[bad].setAttribute("aria-invalid", true);
    fields[bad].focus();
    return say(`‘${fields[bad].value}’ is not a number: guess one, or press “Show me”.`);
  }
  tails.forEach((tail, k) => guesses.set(guessKey(step, tail), guessed ? Number(texts[k]) : null));
  $("next").focus();
  show(true);
}

$("ask").addEventListener("click", quiz);
$("why").addEventListener("submit", event => {
  event.preventDefault();
  answer(event.target, true);
});
$("why").addEventListener("click", event => {
  if (event.target.matches(".tell")) answer(event.target.form, false);
});

// ---- the buttons of the panels
// The panels are written again after a click, and the focus stays on its button
$("panels").addEventListener("click", ({target}) => {
  const rest = resting();
  if (target.matches(".shake")) shake(chosen);
  else if (target.matches(".step")) descend();
  else if (target.matches(".undo")) restart(story.leaves);
  else if (target.matches(".whole")) {
    openPanel(true);
    show();
  } else return;
  (rest && resting() ? $("rest") : $("why")).querySelector(".step")?.focus();
});
