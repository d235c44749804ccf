// ---- words and numbers
import {html} from "../html.js";
import {written} from "../numbers.js";
import {FOLDED, story} from "./state.js";

export const $ = id => document.getElementById(id);
export const calm = matchMedia("(prefers-reduced-motion: reduce)");
export const number = (x, format) => written(x, format);
export const short = x => written(x, "short");
// A number as a term of a formula; after an operator, a negative number has brackets
export const signed = (x, k) => (k ? [bracketed(x), ATOM] : [number(x), +x < 0 ? UNARY : ATOM]);
export const bracketed = x => (+x < 0 ? `(${number(x)})` : number(x));
export const pretty = text =>
  text
    .replace(/\*\*(-?\d+)(?![\d.e])/g, (_, n) => n.replace(/./g, c => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻"))
    .replace(/ \.\. /g, " … ")
    .replace(/\.\.\./g, "…")
    .replace(/\*\*/g, "\0")
    .replace(/\*/g, "×")
    .replace(/-/g, "−")
    .replace(/\0/g, "**");
export const bdi = text => html`<bdi>${pretty(text)}</bdi>`; // labels may be right-to-left
export const isName = text => /^[\p{L}_][\p{L}\p{N}_]*$/u.test(text);
export const thousands = n => (+n).toLocaleString("en");
export const plural = (n, word) => `${thousands(n)} ${word}${n === 1 ? "" : "s"}`;
// A term is a pair of a text and its binding strength, as computed by infix.py.
const UNARY = 4;
export const ATOM = 6;
export const termOf = card => [card.name, card.binds ?? ATOM];
export const within = (strength, /** @type {any[]} */ [text, own]) => (own < strength ? `(${text})` : text);
const inside = term => pretty(within(ATOM, term));
export const partial = (a, b) => html`<span class="over"><span>d${inside(a)}</span><span>d${inside(b)}</span></span>`;
export const token = (look, content) => html`<span class="token ${look}">${content}</span>`;
export const fill = (template, names) =>
  template.replace(/\{(\w+)\}/g, (whole, key) => {
    const term = names[key] ?? [whole, ATOM];
    return template === whole ? term[0] : within(ATOM, term);
  });
export const isFinal = x => typeof x === "number" && Number.isFinite(x);

let saying = 0;

// Show a message for eight seconds, and tell it to screen readers
export function say(text) {
  if (!text) return;
  for (const name of ["live", "caption", "said"]) $(name).textContent = text;
  clearTimeout(saying);
  saying = setTimeout(() => {
    $("said").textContent = "";
  }, 8000);
}

// ---- the formula of a card
export function names(card) {
  return Object.assign(
    {out: termOf(card)},
    card.into.filter(wire => !wire.count).map(wire => termOf(wire.tail)),
  );
}

// The operands of a card as terms; a box that stands for several nodes has no name
export const words = card => card.into.map(wire => (wire.tail.times ? ["…", ATOM] : termOf(wire.tail)));
export const code = card => operation(card, words(card));
const isSum = card => card.kind === "repeat" && card.op === "Σ" && !card.times && !card.into.some(wire => wire.count);
// True for a card that stands for several nodes, unless it is a sum, which has a formula
export const isFolded = card => FOLDED.includes(card.kind) && !isSum(card);

// The op with its operands, in infix notation
export function operation(card, terms) {
  const [before, between, after, first, rest] = story.forms[card.form];
  const parts = terms.map((term, k) => within(k ? rest : first, term));
  const shown = parts.length > 6 ? [...parts.slice(0, 3), "…", parts.at(-1)] : parts;
  return before + shown.join(between) + after;
}
