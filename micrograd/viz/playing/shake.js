// ---- a shaken leaf: each card downstream sways by its derivative, and each line shows the ratio of two swings
import {html} from "../html.js";
import {thickness} from "../numbers.js";
import {root, rootName, scene} from "./state.js";
import {bdi, number, partial, short, termOf, token} from "./words.js";
import {el, hue} from "./marks.js";
import {engine} from "./engine.js";

export let shaken = null;
export let swing = null;

export function calmDown() {
  shaken = swing = null;
}

// A leaf that is shaken a second time calms down
export function swingFrom(card) {
  shaken = card === shaken ? null : card;
  swing = shaken && engine.swings(card.node);
}

const swings = wire => (swing?.[wire.tail.node] && wire.local !== undefined ? swing[wire.tail.node] * wire.local : 0);
const swaying = () => scene.cards.filter(card => swing?.[card.node]);

export function sway() {
  document.querySelectorAll(".swing").forEach(shown => shown.remove());
  for (const card of scene.cards) {
    const own = swing?.[card.node],
      parts = [...card.into.map(swings).filter(part => part), own],
      [, , width, height] = card.box;
    card.group.classList.toggle("sways", !!own);
    if (!own) continue;
    const size = 2 * thickness(own),
      most = Math.max(...parts.map(Math.abs));
    card.group.style.setProperty("--sway", `${size * Math.sign(own)}px`);
    // Where paths meet, a bar for the swing from each path, then a bar for their sum
    parts.slice(parts.length > 2 ? 0 : -1).forEach((part, k, all) => {
      const tall = all[1] ? (24 * Math.abs(part)) / most : 2 * size;
      el(
        "rect",
        {
          class: `swing ${hue(part)}`,
          x: width + 3 + 6 * k,
          y: height / 2 - (part > 0 ? tall : 0),
          width: part === own ? 7 : 4,
          height: tall,
        },
        card.group,
      );
    });
    el("text", {class: `swing end ${hue(own)}`, x: width, y: height + 11}, card.group, `sways ${short(own)}`);
  }
  for (const wire of scene.wires) if (swings(wire)) wire.label.classList.add("ratio");
}

export function tellShake() {
  const rows = swaying()
    .filter(card => card !== shaken)
    .map(card => {
      const terms = card.into.filter(swings).map(wire => `${short(swing[wire.tail.node])} × ${short(wire.local)}`);
      return html`<div>
        <span>${bdi(card.name)}</span><span>${terms.join(" + ")}</span
        ><span>= ${token("product", number(swing[card.node]))}</span>
      </div>`;
    });
  const all =
    rows.length > 8
      ? [...rows.slice(0, 4), html`<div><span>…</span><span></span><span></span></div>`, ...rows.slice(-3)]
      : rows;
  return html`<h2>
      Where ${bdi(shaken.name)} sways by 1, ${bdi(rootName)} sways by ${number(swing[engine.root] ?? 0)}: that is
      ${partial(root, termOf(shaken))}
    </h2>
    <p>
      Each line multiplies the swing of what it comes from by its local derivative. Where lines meet, their swings add
      or cancel.
    </p>
    <div class="rows paths">${all}</div>`;
}
