// ---- the story, which a message may replace
import {scenes, set, story} from "./state.js";
import {$} from "./words.js";
import {addGradientFromOutside, carry, engine, startEngine} from "./engine.js";

export function load(next) {
  const {title, root, scenes, frame} = next;
  set({story: next, root, rootName: root[0], scenes, frame});
  $("title").textContent = document.title = title;
  startEngine(true);
  scenes.forEach(prepare);
}

// Add the derived data of a scene, which are computed once
function prepare(scene, index) {
  scene.index = index;
  scene.cards ??= [];
  scene.wires ??= [];
  scene.forward ??= [];
  scene.backward ??= [];
  const base = scene.base ?? 0;
  scene.cards.forEach((card, i) =>
    Object.assign(
      card,
      {i, into: [], out: [], gifts: [], heats: card.heats ?? []},
      card.node === undefined ? null : {node: card.node + base},
    ),
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
  // The lines that bring gradients to a card in this scene, in order of arrival
  for (const card of scene.cards) {
    card.gifts = card.out
      .filter(wire => turn.has(wire.head.i) && (wire.part !== undefined || wire.rule === undefined))
      .sort((a, b) => turn.get(a.head.i) - turn.get(b.head.i));
    const numeric = card.gifts.filter(wire => !wire.count || typeof wire.part === "number");
    if (card.data !== undefined && numeric.length) card.gifts = numeric;
    card.here = card.gifts.reduce((sum, wire) => sum + (wire.count ?? 1), 0);
    card.elsewhere = Math.max((card.uses ?? 0) - card.here, 0);
    addGradientFromOutside(card);
    card.computes = scene.forward.includes(card.i);
  }
  scene.steps = [{phase: "start"}, ...scene.forward.map(card => ({phase: "forward", card}))];
  if (scene.backward.length || !story.missing) {
    scene.steps.push({phase: "seed"}, ...scene.backward.map(card => ({phase: "backward", card})));
  }
  scene.steps.push({phase: "end"});
  scene.last = scene.steps.length - 1;
  // The step at which the gradients begin; -1 without gradients
  scene.seed = scene.steps.findIndex(({phase}) => phase === "seed");
  // The number of lines that a gradient passes on its way to a card
  for (const i of [...scene.backward, ...scene.cards.keys()]) {
    scene.cards[i].far ??= Math.max(0, ...scene.cards[i].gifts.map(wire => (wire.head.far ?? 0) + 1));
  }
}

// Equal for two stories if a step of one of them is also a step of the other
export const shape = () =>
  JSON.stringify(
    scenes.map(at => [at.cards.map(card => [card.kind, card.op]), at.wires.map(wire => wire.ends), at.backward]),
  );
