// ---- the state of the page: each module may read it, and only `set` changes it
export let story;
export let root;
export let rootName;
export let scenes;
export let scene;
export let trail = [];
export let step = 0;
export let chosen = null;
export let hit = null; // the card that a search found
export let frame = {};
export let held = null; // a leaf under the pointer
export let dragged = false;

export const set = changes => {
  ({
    story = story,
    root = root,
    rootName = rootName,
    scenes = scenes,
    scene = scene,
    trail = trail,
    step = step,
    chosen = chosen,
    hit = hit,
    frame = frame,
    held = held,
    dragged = dragged,
  } = changes);
};

export const cardAt = ({target}) => scene.cards.find(({group}) => group === target.closest(".card"));
export const atEnd = () => step === scene.last;
export const FOLDED = ["module", "repeat", "stretch"];
export const MARGIN = 16;

// ---- the state of the passes: a pure function of a scene and a step
export function stateAt(scene, step) {
  const known = new Set(scene.cards.filter(card => !card.computes).map(card => card.i));
  const done = new Set(),
    grads = new Map(),
    {seed} = scene;
  for (const {phase, card} of scene.steps.slice(0, step + 1)) {
    if (phase === "forward") known.add(card);
    if (phase === "backward") done.add(card);
  }
  const ended = step === scene.last && seed >= 0;
  for (const card of scene.cards) {
    if (card.grad === undefined && !card.heats.some(heat => heat.name === "grad")) continue;
    const arrived = card.gifts.filter(wire => done.has(wire.head.i));
    const seeded = seed >= 0 && step >= seed && (card.computes ? card.elsewhere || !card.gifts.length : false);
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

// ---- paths: from a node to the result of its scene
export const sends = wire => wire.tail.gifts.includes(wire);

// The lines and the cards on the paths from a card
export function reach(card) {
  const onPath = new Set(),
    seen = new Set([card]),
    waiting = [card];
  while (waiting.length) {
    for (const wire of waiting.pop().out.filter(sends)) {
      onPath.add(wire);
      if (!seen.has(wire.head)) {
        seen.add(wire.head);
        waiting.push(wire.head);
      }
    }
  }
  return {onPath, seen};
}

export function pathsFrom(card) {
  const {onPath, seen} = reach(card);
  const hooked = [...seen].filter(at => at.hooked),
    exact = !hooked.length && [...onPath].every(wire => wire.local !== undefined);
  const listed = [],
    stack = [[card, []]];
  while (exact && stack.length && listed.length < 200) {
    const [at, path] = stack.pop();
    if (at !== card && (at.elsewhere || !at.gifts.length)) listed.push({path, from: at.elsewhere ? at.rest : at.grad});
    for (const wire of at.out.filter(sends).reverse()) stack.push([wire.head, [...path, wire]]);
  }
  return {onPath, hooked, exact, listed, all: stack.length === 0};
}
