// ---- a cell of a heat-map: its number and, if this is a weight, the line of this weight
import {cardAt, scene, scenes} from "./state.js";
import {$, number} from "./words.js";
import {tip} from "./marks.js";
import {arrange, engine} from "./engine.js";

function ofCell(heat, at) {
  if (heat.among && engine && !heat.of) arrange(heat);
  return Array.isArray(heat.of) ? (heat.of[at] ?? undefined) : undefined;
}

function saidOfCell(heat, at) {
  const from = ["grad", "gradients"].includes(heat.name) ? engine?.grads : engine?.data,
    node = ofCell(heat, at);
  const x =
    !engine || heat.of === undefined
      ? undefined
      : node !== undefined
        ? (from[node] ?? 0)
        : heat.rows * heat.columns === from[heat.of]?.length
          ? from[heat.of][at]
          : undefined;
  return x === undefined
    ? tip(heat)
    : `${heat.name}, row ${Math.floor(at / heat.columns) + 1}, column ${(at % heat.columns) + 1}: ${number(x)}`;
}

// Highlight the cells and the line of a weight, or a single cell
function light(node, only = null) {
  for (const wire of scene.wires) wire.group.classList.toggle("lit", node !== undefined && wire.weight === node);
  for (const card of scene.cards)
    card.heats.forEach((heat, k) => {
      for (let at = 0; at < heat.cells.length; at++) {
        const cell = card.maps[k].children[at + 1];
        cell.classList.toggle("lit", cell === only || (node !== undefined && ofCell(heat, at) === node));
      }
    });
}

$("scroll").addEventListener("pointerover", event => {
  const at = event.target.dataset?.at,
    wire = scene.wires.find(wire => wire.weight !== undefined && wire.group.contains(event.target)),
    card = at && cardAt(event),
    k = card ? card.maps.findIndex(map => map.contains(event.target)) : -1;
  if (k >= 0) card.maps[k].firstChild.textContent = saidOfCell(card.heats[k], at);
  if (wire && engine)
    wire.group.querySelector("title").textContent =
      `${wire.tail.name} → ${wire.head.name}: weight ${number(engine.data[wire.weight])}`;
  if (k >= 0 || wire || document.querySelector(".lit"))
    light(wire ? wire.weight : k >= 0 ? ofCell(card.heats[k], at) : undefined);
});

// Another scene with a card for the number of this cell, and this card
export function cardOfCell(card, cell) {
  const k = card.maps.findIndex(map => map.contains(cell)),
    node = k < 0 ? undefined : ofCell(card.heats[k], cell.dataset.at);
  const homes =
    node === undefined
      ? []
      : scenes
          .filter(at => at !== scene)
          .flatMap(at => at.cards.filter(inner => inner.node === node && !inner.outside).map(inner => [at, inner]));
  return homes[0] ?? [];
}

// Go through all cells of a card, by keys
export function readCell(card, by) {
  const all = card.heats.flatMap((heat, k) =>
    [...heat.cells].flatMap((letter, at) => (letter === " " ? [] : [[heat, at, card.maps[k]]])),
  );
  if (!all.length) return;
  card.read = ((card.read ?? (by > 0 ? -1 : 0)) + by + all.length) % all.length;
  const [heat, at, map] = all[card.read];
  light(ofCell(heat, at), map.children[at + 1]);
  $("live").textContent = saidOfCell(heat, at);
}
