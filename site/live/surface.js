// Follows the instructions of lab/surface.py for many points at once, each instruction for all of them. It is faster than
// asking Python for each point, and what every neuron answers is there on the way.
const of = {
  neg: x => -x,
  exp: Math.exp,
  log: Math.log,
  tanh: Math.tanh,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  sqrt: Math.sqrt,
  abs: Math.abs,
  sigmoid: x => 1 / (1 + Math.exp(-x)),
  softplus: x => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))),
  relu: x => (x > 0 ? x : 0),
  reciprocal: x => 1 / x,
  expm1: Math.expm1,
  log1p: Math.log1p,
  sinh: Math.sinh,
  cosh: Math.cosh,
  arctan: Math.atan,
  square: x => x * x,
  leaky_relu: x => (x > 0 ? x : 0.01 * x),
};
const both = {
  "-": (x, y) => x - y,
  "/": (x, y) => x / y,
  "**": (x, y) => x ** y,
  maximum: (x, y) => Math.max(x, y),
  minimum: (x, y) => Math.min(x, y),
};

export class Surface {
  // `points` are as many arrays as the model has inputs, each with one coordinate of all points.
  constructor({code, scores, layers}, points) {
    this.code = code;
    this.scores = scores;
    this.layers = layers;
    this.points = points;
    this.size = points[0].length;
    this.results = code.map(() => new Float32Array(this.size));
  }
  follow(parameters) {
    this.parameters = parameters;
    this.code.forEach(([op, a, b], k) => this.#compute(op, this.value(a), b && this.value(b), this.results[k]));
    return this.scores.map(score => this.value(score));
  }
  value([kind, what]) {
    // an array with a number for each point, or one number for all
    return kind === "v"
      ? this.results[what]
      : kind === "x"
        ? this.points[what]
        : kind === "p"
          ? this.parameters[what]
          : what;
  }
  #compute(op, a, b, out) {
    if ((op === "+" || op === "*") && typeof a === "number") [a, b] = [b, a];
    const n = this.size,
      many = typeof a !== "number",
      others = b !== undefined && typeof b !== "number";
    if (op === "*" && many && !others) for (let i = 0; i < n; i++) out[i] = a[i] * b;
    else if (op === "+" && many && others) for (let i = 0; i < n; i++) out[i] = a[i] + b[i];
    else if (op === "+" && many) for (let i = 0; i < n; i++) out[i] = a[i] + b;
    else if (op === "*" && many) for (let i = 0; i < n; i++) out[i] = a[i] * b[i];
    else if (op === "+" || op === "*") out.fill(op === "+" ? a + b : a * b);
    else if (op in of) {
      const f = of[op];
      for (let i = 0; i < n; i++) out[i] = f(many ? a[i] : a);
    } else {
      const f = both[op];
      for (let i = 0; i < n; i++) out[i] = f(many ? a[i] : a, others ? b[i] : b);
    }
  }
}

// The places of a picture, in rows from the top: the coordinates of a model with two inputs, or with one.
export function places(inputs, side, reach) {
  const at = Array.from({length: side}, (_, k) => reach * ((2 * (k + 0.5)) / side - 1));
  if (inputs === 1) return [Float32Array.from(at)];
  const xs = new Float32Array(side * side),
    ys = new Float32Array(side * side);
  for (let j = 0; j < side; j++)
    for (let i = 0; i < side; i++) {
      xs[j * side + i] = at[i];
      ys[j * side + i] = at[side - 1 - j];
    }
  return [xs, ys];
}
