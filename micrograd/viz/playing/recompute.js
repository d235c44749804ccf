// ---- the graph as a program: the rows of the derivative table as playing/recompute.py wrote them down, as functions.
// A value is a number, or a Float64Array with its shape. No derivative is stated here: only elementary functions.
const across = (a, b) => a % b && a < 0 !== b < 0; // Python rounds a quotient down, JavaScript towards 0
const CALLS = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "<": (a, b) => +(a < b),
  "<=": (a, b) => +(a <= b),
  ">": (a, b) => +(a > b),
  ">=": (a, b) => +(a >= b),
  "==": (a, b) => +(a === b),
  neg: a => -a,
  maximum: Math.max,
  minimum: Math.min,
  exp2: a => 2 ** a,
  power: (a, b) => (a === 1 || (a === -1 && Math.abs(b) === Infinity) ? 1 : a ** b), // as IEEE 754 wants
  where: (c, a, b) => (c ? a : b),
  gate: (a, b) => (b <= 0 ? 0 : a),
  clip: (a, low, high) => Math.min(Math.max(a, low ?? -Infinity), high ?? Infinity),
  remainder: (a, b) => (a % b) + (across(a, b) ? b : 0),
  floor_divide: (a, b) => (b ? Math.round((a - (a % b)) / b) - +across(a, b) : a / b),
  rint: a => {
    const r = Math.round(a);
    return r - a === 0.5 && r % 2 ? r - 1 : r;
  },
  logaddexp: (a, b) => (a === b ? a + Math.LN2 : Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)))),
};

export const array = (data, shape) => Object.assign(Float64Array.from(data, leaf), {shape});
const zeros = shape => Object.assign(new Float64Array(count(shape)), {shape});
export const isArray = x => x instanceof Float64Array;
export const count = shape => shape.reduce((a, b) => a * b, 1);

// A function of numbers on arrays that are broadcast
function each(f, given) {
  const shapes = given.filter(isArray).map(x => x.shape),
    rank = Math.max(...shapes.map(s => s.length));
  const shape = Array.from({length: rank}, (_, k) => shapes.map(s => s.at(k - rank) ?? 1).find(n => n !== 1) ?? 1),
    out = zeros(shape);
  const readers = given.map(x =>
    !isArray(x)
      ? () => x
      : x.length === out.length
        ? n => x[n]
        : n => {
            let at = 0,
              size = 1;
            for (let k = 1; k <= rank; k++) {
              const whole = shape.at(-k),
                own = k <= x.shape.length ? x.shape.at(-k) : 1;
              if (own > 1) {
                at += (n % whole) * size;
                size *= own;
              }
              n = Math.floor(n / whole);
            }
            return x[at];
          },
  );
  const [first, second] = readers,
    at =
      readers.length > 2
        ? n => f(...readers.map(read => read(n)))
        : second
          ? n => f(first(n), second(n))
          : n => f(first(n));
  for (let n = 0; n < out.length; n++) out[n] = at(n);
  return out;
}

const lift =
  f =>
  (...xs) =>
    xs.some(isArray) ? each(f, xs) : f(...xs);
const lift2 = f => (a, b) => (typeof a === "number" && typeof b === "number" ? f(a, b) : each(f, [a, b]));
const plus = lift2(CALLS["+"]);

// A matrix, by its entries: see `_column`
function linear(a, [entries, to, from, by, shape]) {
  const out = zeros(shape),
    read = list => (Array.isArray(list) ? k => list[k] : list === null ? k => k : () => list);
  const [i, j, w] = [to, from, by].map(read);
  for (let k = 0; k < entries; k++) out[i(k)] += w(k) * a[j(k)];
  return out;
}

function extreme(name, a, [group, shape]) {
  const pick = name === "max" ? Math.max : Math.min,
    out = zeros(shape).fill(name === "max" ? -Infinity : Infinity);
  a.forEach((x, k) => {
    out[group[k]] = pick(out[group[k]], x);
  });
  return Object.assign(out, {shape});
}

function matmul(a, b) {
  const [n, k] = a.shape.slice(-2),
    m = b.shape.at(-1),
    lead = (a.shape.length > b.shape.length ? a : b).shape.slice(0, -2);
  const out = zeros([...lead, n, m]);
  for (let at = 0; at < out.length; at++) {
    const batch = Math.floor(at / (n * m)),
      i = Math.floor((at % (n * m)) / m),
      j = at % m;
    const left = (a.shape.length > 2 ? batch * n * k : 0) + i * k,
      right = (b.shape.length > 2 ? batch * k * m : 0) + j;
    for (let s = 0; s < k; s++) out[at] += a[left + s] * b[right + s * m];
  }
  return out;
}

export function Program({codes, functions, nodes, constants}, missing) {
  const known = {"@": matmul},
    fixed = new Set(constants),
    last = nodes.length - 1;
  const call = name =>
    (known[name] ??= functions[name]
      ? (
          made =>
          (...xs) =>
            made(0, 0, xs)
        )(build(functions[name]))
      : (f => (f.length === 2 ? lift2(f) : lift(f)))(CALLS[name] ?? Math[name.replace(/^arc/, "a")]));
  // A function of the gradient, the result and the operands
  function build(tree) {
    if (tree === null || typeof tree === "number") return () => tree;
    if (tree === "g") return g => g;
    if (tree === "out") return (g, out) => out;
    if (/^\d$/.test(tree)) return (g, out, xs) => xs[tree];
    if (typeof tree === "string") return () => leaf(tree);
    if (tree.array)
      return (
        made => () =>
          made
      )(array(...tree.array));
    const [name, ...rest] = tree,
      first = build(rest[0]),
      table = rest[1]?.c;
    if (name === "linear") return (g, out, xs) => linear(first(g, out, xs), table);
    if (table) return (g, out, xs) => extreme(name, first(g, out, xs), table);
    const f = call(name),
      [second, third] = rest.slice(1).map(build);
    if (!second) return (g, out, xs) => f(first(g, out, xs));
    if (!third) return (g, out, xs) => f(first(g, out, xs), second(g, out, xs));
    return (g, out, xs) => f(first(g, out, xs), second(g, out, xs), third(g, out, xs));
  }
  const ops = codes.map(([forward, ...rules]) => [
    build(forward),
    rules.map(rule => (rule === null ? null : build(rule))),
  ]);
  const given = nodes.map(node => (Array.isArray(node) ? undefined : leaf(node)));
  const users = [];
  nodes.forEach((node, i) => {
    if (given[i] === undefined) for (const j of node.slice(1)) (users[j] ??= []).push(i);
  });
  const operands = i => nodes[i].slice(1).map(j => made.data[j]);
  const made = {
    leaves: given.slice(),
    data: [],
    grads: [],
    tests: [],
    products: (a, b) =>
      (users[a] ?? []).flatMap(i => (nodes[i].indexOf(b, 1) > 0 ? [[i, nodes[i].indexOf(b, 1) - 1]] : [])),
    isLeaf: i => given[i] !== undefined,
    reset(others = []) {
      let k = 0;
      made.leaves = given.map(x => {
        const y = x === undefined ? x : (others[k++] ?? x);
        return isArray(x) ? array(y, x.shape) : typeof y === "string" ? leaf(y) : y;
      });
    },
    forward(leaves = made.leaves, data = made.data) {
      for (let i = 0; i <= last; i++)
        data[i] =
          leaves[i] ??
          ops[nodes[i][0]][0](
            0,
            0,
            nodes[i].slice(1).map(j => data[j]),
          );
      return data[last];
    },
    run() {
      const {data, grads} = made;
      made.forward();
      made.tests = [];
      grads.length = 0;
      if (!missing)
        grads[last] = isArray(data[last])
          ? array(
              data[last].map(() => 1),
              data[last].shape,
            )
          : 1;
      for (let i = last; i >= 0; i--) {
        if (given[i] !== undefined || grads[i] === undefined) continue;
        nodes[i].slice(1).forEach((j, k) => {
          if (fixed.has(j)) return;
          const part = made.sent(i, k);
          grads[j] = grads[j] === undefined ? part : plus(grads[j], part);
        });
      }
    },
    sent: (i, k, g = made.grads[i]) => ops[nodes[i][0]][1][k]?.(g, made.data[i], operands(i)),
    // The derivatives of one node by others, through the nodes between them
    slopes(of, by) {
      const found = {[of]: 1},
        least = Math.min(...by);
      for (let i = of; i > least; i--) {
        if (found[i] === undefined || given[i] !== undefined || by.includes(i)) continue;
        nodes[i].slice(1).forEach((j, k) => {
          if (!fixed.has(j)) found[j] = (found[j] ?? 0) + made.sent(i, k, found[i]);
        });
      }
      return found;
    },
    // How far each node moves for each 1 that a leaf does, of numbers
    swings(leaf) {
      const found = {[leaf]: 1};
      nodes.forEach((node, i) => {
        if (given[i] === undefined)
          node.slice(1).forEach((j, k) => {
            if (found[j] !== undefined) found[i] = (found[i] ?? 0) + found[j] * (made.sent(i, k, 1) ?? 0);
          });
      });
      return found;
    },
    // How far the gradient of a leaf moves for each 1 that another does: as far as the other's does for this one
    bends(i) {
      const {leaves, data, grads, tests} = made,
        step = 1e-4 * Math.max(1, power(leaves[i]));
      const [up, down] = [step, -step].map(moved => {
        Object.assign(made, {leaves: leaves.with(i, leaves[i] + moved), data: [], grads: []}).run();
        return made.grads;
      });
      Object.assign(made, {leaves, data, grads, tests});
      const bend = (x, y) => (Math.abs(x - y) < 1e-9 * Math.max(1, Math.abs(x)) ? 0 : (x - y) / (2 * step));
      return leaves.map((x, j) => (typeof x === "number" && typeof up[j] === "number" ? bend(up[j], down[j]) : 0));
    },
    // A leaf moved a little, of an array its steepest element: does the result follow?
    nudge(i, shown = made.grads[i]) {
      const size = g => (Number.isNaN(g) ? 0 : Math.abs(g)),
        at = isArray(shown) ? shown.reduce((best, g, k) => (size(g) > size(shown[best]) ? k : best), 0) : 0;
      const old = made.leaves[i],
        x = isArray(old) ? old[at] : old,
        grad = isArray(shown) ? shown[at] : shown;
      const by = step => {
        const leaves = made.leaves.slice();
        leaves[i] = isArray(old) ? array(old, old.shape) : x + step;
        if (isArray(old)) leaves[i][at] += step;
        return made.number(made.forward(leaves, []));
      };
      // Of float32
      const here = made.number(made.data[last]),
        off = 1e-4 * Math.abs(grad) + (isArray(old) ? 1e-5 : 1e-7) * Math.max(1, Math.abs(here));
      let found;
      // Curvature, rounding
      for (const step of [Math.max(1, power(x)), power(x)].flatMap(scale => [1e-3 * scale, 1e-5 * scale])) {
        const up = by(step),
          slope = (up - by(-step)) / (2 * step);
        found = {step, moved: up - here, slope, at, agrees: Math.abs(slope - grad) <= off && off < Infinity};
        if (found.agrees) break;
      }
      return found;
    },
    number: x => (isArray(x) ? x.reduce((a, b) => a + b, 0) : x),
    size: () => made.data.reduce((n, x) => n + (x.length ?? 1), 0),
    root: last,
  };
  return made;
}

// Of ten, at most |x|
export const power = x => (Number.isFinite(x) && x ? 10 ** Math.floor(Math.log10(Math.abs(x))) : 1);

function leaf(x) {
  return x.array
    ? array(...x.array)
    : typeof x === "number"
      ? x
      : {nan: NaN, inf: Infinity, "-inf": -Infinity, "minus zero": -0}[x];
}
