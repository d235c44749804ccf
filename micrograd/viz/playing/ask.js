// ---- guess first: a backward step asks the reader for its gradients before it shows them
import {html, joined} from "../html.js";
import {root, scene, sends, stateAt, step} from "./state.js";
import {$, bdi, bracketed, isFinal, number, operation, partial, plural, termOf, words} from "./words.js";

export let asking = false;
export let guesses = new Map();
export const guessKey = (k, tail) => `${scene.index} ${k} ${tail.i}`;

// The operands whose gradients step k computes, if the reader is asked for them
function askedAt(k) {
  const {phase, card} = scene.steps[k];
  if (!asking || phase !== "backward") return [];
  const wires = scene.cards[card].into.filter(sends);
  return wires.every(wire => isFinal(wire.part) && isFinal(wire.local))
    ? [...new Set(wires.map(wire => wire.tail))]
    : [];
}

export const pendingAt = k => askedAt(k).filter(tail => !guesses.has(guessKey(k, tail)));
const gradAt = (k, tail) => stateAt(scene, k).grads.get(tail.i)?.value;

export function tellQuestion(card, tails) {
  const g = gradAt(step - 1, card),
    formula = operation(card, words(card));
  const rows = tails.map(tail => {
    const before = gradAt(step - 1, tail),
      more = before === undefined ? "" : `so far ${number(before)}, and this use adds to it`;
    return html`<label>${partial(root, termOf(tail))} = <input inputmode="decimal" autocomplete="off" size="8" /></label
      ><span class="aside">${more}</span>`;
  });
  const operands = new Map(card.into.map(({tail}) => [tail.name, html`${bdi(tail.name)} = ${number(tail.data)}`]));
  return html`<h2>Guess first: what goes back through <span class="math">${bdi(formula)}</span>?</h2>
    <p>
      From the right comes ${partial(root, termOf(card))} = <b>${number(g)}</b>; here
      ${joined([...operands.values()], ", ")} and ${bdi(card.name)} = ${number(card.data)}.
    </p>
    <form>${rows}<button>Check</button><button type="button" class="tell">Show me</button></form>`;
}

// The likely mistake in a guess; "" if the guess is right
function judge(guess, tail, k) {
  const card = scene.cards[scene.steps[k].card],
    truth = gradAt(k, tail),
    before = gradAt(k - 1, tail),
    g = gradAt(k - 1, card);
  const wires = card.into.filter(wire => wire.tail === tail),
    part = wires.reduce((sum, wire) => sum + wire.part, 0),
    [{local}] = wires;
  const near = x => Math.abs(guess - x) <= Math.max(0.006, 0.01 * Math.abs(x));
  if (near(truth)) return "";
  if (near(-truth)) return "the sign is the other one";
  if (before !== undefined && near(part))
    return `that is what this path sends; the path before it sent ${number(before)}, and the paths add up`;
  if (wires.length > 1 && near(wires[0].part + (before ?? 0)))
    return `it is used ${wires.length} times here, and each use sends a part`;
  if (near(g))
    return `that is what comes from the right: it is to be multiplied by the local derivative, ${number(local)}`;
  if (near(local))
    return `that is the local derivative alone: it is to be multiplied by what comes from the right, ${number(g)}`;
  if (near(g + local)) return "the two are multiplied, not added";
  if (near(tail.data)) return "that is its data, not its gradient";
  return `it is ${number(g)} × ${bracketed(local)}${before === undefined ? "" : `, added to ${bracketed(before)}`}`;
}

// The guesses that the reader made at step k, each with its verdict
export function tellGuesses(k) {
  return askedAt(k)
    .filter(tail => guesses.has(guessKey(k, tail)))
    .map(tail => {
      const guess = guesses.get(guessKey(k, tail)),
        wrong = guess === null ? "" : judge(guess, tail, k),
        truth = html`<b>${number(gradAt(k, tail))}</b>`;
      if (guess === null) return html`<p>${bdi(tail.name)}: ${truth}</p>`;
      return wrong
        ? html`<p>
            <span class="bad">✗ ${bdi(tail.name)}</span>: you guessed ${number(guess)}, and it is ${truth}: ${wrong}.
          </p>`
        : html`<p><span class="good">✓ ${bdi(tail.name)}</span>: ${truth}, as you guessed.</p>`;
    });
}

export function score() {
  const all = scene.steps.flatMap((_, k) =>
    askedAt(k)
      .filter(tail => guesses.get(guessKey(k, tail)) !== undefined)
      .map(tail => [k, tail, guesses.get(guessKey(k, tail))]),
  );
  const right = all.filter(([k, tail, guess]) => guess !== null && !judge(guess, tail, k)).length;
  return all.length ? html`<p><b>${right} of ${plural(all.length, "gradient")} guessed right.</b></p>` : "";
}

export function ask(on) {
  asking = on;
  guesses = new Map();
  $("ask").setAttribute("aria-pressed", on);
}
