// ---- words and numbers
import {html} from "../html.js";
import {written} from "../numbers.js";

export const $ = id => document.getElementById(id);
export const calm = matchMedia("(prefers-reduced-motion: reduce)");
export const number = (x, format) => written(x, format);
export const short = x => written(x, "short");
// A term after another sign
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
export const told = text => html`<bdi>${pretty(text)}</bdi>`; // labels may be right-to-left
export const isName = text => /^[\p{L}_][\p{L}\p{N}_]*$/u.test(text);
export const thousands = n => (+n).toLocaleString("en");
export const plural = (n, word) => `${thousands(n)} ${word}${n === 1 ? "" : "s"}`;
// A term is a pair of a text and its binding strength, as computed by infix.py.
export const UNARY = 4;
export const ATOM = 6;
export const termOf = card => [card.name, card.binds ?? ATOM];
export const within = (strength, /** @type {any[]} */ [text, own]) => (own < strength ? `(${text})` : text);
const inside = term => pretty(within(ATOM, term));
export const partial = (a, b) => html`<span class="over"><span>d${inside(a)}</span><span>d${inside(b)}</span></span>`;
export const token = (kind, content) => html`<span class="token ${kind}">${content}</span>`;
export const fill = (template, names) =>
  template.replace(/\{(\w+)\}/g, (whole, key) => {
    const term = names[key] ?? [whole, ATOM];
    return template === whole ? term[0] : within(ATOM, term);
  });
