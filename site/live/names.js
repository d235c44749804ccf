// A tiny GPT that learns words: the list of them, the training by the exported step, and what the model then says.
export function random(seed) {
  // numbers from 0 to 1, the same for a seed (mulberry32)
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
// The words of a list, one a line or with commas between; those that the model cannot spell are named and left out.
export function wordsOf(text, {letters, places}) {
  const words = [],
    bad = [];
  text.split("\n").forEach((line, k) => {
    for (const part of line
      .split(",")
      .map(part => part.trim())
      .filter(Boolean)) {
      const word = part.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "").replaceAll("’", "'").replace(/\s+/g, " ");
      const odd = [...word].find(letter => letter === letters[0] || !letters.includes(letter));
      if (odd) bad.push({line: k + 1, why: `‘${part.slice(0, 20)}’ has the letter ${odd}`});
      else if (word.length >= places)
        bad.push({line: k + 1, why: `‘${part.slice(0, 20)}…’ has more than ${places - 1} letters`});
      else words.push(word);
    }
  });
  return {words, bad};
}
export function softmax(scores, temperature = 1) {
  const best = Math.max(...scores),
    parts = scores.map(score => Math.exp((score - best) / temperature)),
    sum = parts.reduce((a, b) => a + b);
  return parts.map(part => part / sum);
}
export function drawn(shares, x) {
  // the place in a list of shares that a number from 0 to 1 falls on
  for (let k = 0; k < shares.length; k++) if ((x -= shares[k]) < 0) return k;
  return shares.length - 1;
}

export class Names {
  #first;
  // `learner` and `reader` are the modules gpt.js and read.js; the model begins as it was when the site was built.
  constructor(learner, reader, settings) {
    this.learner = learner;
    this.reader = reader;
    this.settings = settings;
    this.#first = learner.state();
    this.number = Object.fromEntries([...settings.letters].map((letter, k) => [letter, k]));
  }
  begin(words, seed = 1) {
    this.words = words.map(word => [0, ...Array.from(word, letter => this.number[letter]), 0]);
    this.known = new Set(words);
    this.random = random(seed);
    this.fancy = random(seed + 1); // for the names that are made up, so that looking changes no training
    this.steps = 0;
    this.fresh = false;
    this.plane = this.turned = null;
    this.learner.load(this.#first);
  }
  // Train so many steps; the losses. The rate falls to a tenth, over 2,000 steps.
  go(count) {
    const {batch, places, rate} = this.settings,
      losses = [];
    for (let i = 0; i < count; i++, this.steps++) {
      const picked = Array.from({length: batch}, () => this.words[Math.floor(this.random() * this.words.length)]);
      const row = cut => picked.map(cut).map(row => [...row, ...Array(places - row.length).fill(0)]);
      this.learner.load({lr: rate * Math.max(0.1, 1 - this.steps / 2000)});
      losses.push(
        this.learner.step({
          numbers: row(word => word.slice(0, -1)),
          targets: row(word => word.slice(1)),
          counts: row(word => word.slice(1).map(() => 1)),
        }),
      );
    }
    this.fresh = false;
    return losses;
  }
  // Of a beginning: the chance of each letter to be the next, and what each head looks at, from each letter so far.
  look(text, temperature = 1) {
    if (!this.fresh)
      this.reader.load(
        Object.fromEntries(Object.entries(this.learner.state()).filter(([name]) => name.startsWith("p"))),
      );
    this.fresh = true;
    const numbers = [0, ...Array.from(text, letter => this.number[letter])],
      last = numbers.length - 1;
    const [scores, shares] = this.reader.step({
      numbers: [[...numbers, ...Array(this.settings.places - numbers.length).fill(0)]],
    });
    return {
      text,
      chances: softmax(scores[0][last], temperature),
      heads: shares[0].map(head => head.slice(0, last + 1).map(row => row.slice(0, last + 1))),
    };
  }
  // Where each letter lies, by its vector, and the vectors; the directions are those of the last training step.
  map() {
    const vectors = this.learner.state().p0;
    if (this.turned !== this.steps) this.plane = flat(vectors, this.plane?.axes);
    this.turned = this.steps;
    return {vectors, axes: this.plane.axes, places: along(vectors, this.plane)};
  }
  // A letter gets another vector, from which the training goes on.
  put(letter, vector) {
    this.learner.load({p0: this.learner.state().p0.with(this.number[letter], vector)});
    this.fresh = false;
  }
  // What the player of a letter's loss needs: its leaves, if this letter came after a beginning.
  leaves(text, next) {
    const {places, letters, leaves} = this.settings,
      state = this.learner.state(),
      numbers = [0, ...Array.from(text, letter => this.number[letter])];
    const one = (at, size) => Array.from({length: size}, (_, k) => +(k === at));
    const name = Array.from({length: places}, (_, k) =>
      state.p0[0].map((_, i) => (k < numbers.length ? state.p0[numbers[k]][i] + state.p1[k][i] : 0)),
    );
    const own = {
      name: name.flat(),
      place: one(numbers.length - 1, places),
      ahead: name.map((_, k) => (k < numbers.length ? 0 : -Infinity)),
      wanted: one(this.number[next], letters.length),
    };
    return leaves.map(what => (what === null ? null : (own[what] ?? state[`p${what}`].flat())));
  }
  // Words that the model makes up after a beginning, each with whether it is one of the list.
  make(count, temperature, beginning = "") {
    return Array.from({length: count}, () => {
      let text = beginning;
      while (text.length < this.settings.places - 1) {
        const next = drawn(this.look(text, temperature).chances, this.fancy());
        if (!next) break;
        text += this.settings.letters[next];
      }
      return {text, known: this.known.has(text)};
    });
  }
}
// The two directions in which vectors differ most (principal components), beginning from those of before, so that a
// picture does not turn over: {axes, mean}.
export function flat(vectors, before) {
  const size = vectors[0].length,
    dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const mean = vectors[0].map((_, i) => vectors.reduce((sum, vector) => sum + vector[i], 0) / vectors.length);
  const rows = vectors.map(vector => Array.from(vector, (x, i) => x - mean[i])),
    axes = [];
  for (let k = 0; k < 2; k++) {
    let axis = before?.[k] ?? Array.from({length: size}, (_, i) => Math.cos(1 + i * (k + 1)));
    for (let turn = 0; turn < 60; turn++) {
      // power iteration
      const parts = rows.map(row => dot(row, axis));
      let next = axis.map((_, i) => rows.reduce((sum, row, r) => sum + parts[r] * row[i], 0));
      for (const other of axes) {
        const part = dot(next, other);
        next = next.map((x, i) => x - part * other[i]);
      }
      const length = Math.sqrt(dot(next, next)) || 1;
      axis = next.map(x => x / length);
    }
    axes.push(axis);
  }
  return {axes, mean};
}
export const along = (vectors, {axes, mean}) =>
  vectors.map(vector => axes.map(axis => axis.reduce((sum, x, i) => sum + x * (vector[i] - mean[i]), 0)));
