// The pictures of a training: what the model says of each place, its loss, its gradients, its neurons.
import {colour} from "./common.js";
import {SIDES, looks, mark, shade} from "./looks.js";
import {html, put} from "./vendor/html.js";
import {written} from "./vendor/numbers.js";
import {Surface, places} from "./surface.js";

export const REACH = 1.6;
const narrow = matchMedia("(max-width: 60rem)"); // as in style.css: a finger needs 44 pixels

function rgb(given) {
  const found = given.match(/^#(.)(.)(.)$/) ? given.replace(/[^#]/g, "$&$&") : given;
  return [1, 3, 5].map(at => parseInt(found.slice(at, at + 2), 16));
}
function sharp(canvas, width, height) {
  // as many pixels as the screen has
  const by = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * by) || canvas.height !== Math.round(height * by)) {
    canvas.width = Math.round(width * by);
    canvas.height = Math.round(height * by);
  }
  const drawing = canvas.getContext("2d");
  drawing.setTransform(by, 0, 0, by, 0, 0);
  drawing.clearRect(0, 0, width, height);
  return drawing;
}
// Pixels of numbers: one array is blue above zero and orange below; several are told apart by the largest.
function painted(scores, side) {
  const image = new ImageData(side, side),
    ground = rgb(colour("--panel")),
    colours = looks(scores.length).map(look => rgb(shade(look)));
  for (let k = 0; k < side * side; k++) {
    const one = i => (typeof scores[i] === "number" ? scores[i] : scores[i][k]);
    let hue, strength;
    if (scores.length === 1) {
      const score = one(0);
      hue = colours[+(score > 0)];
      strength = 0.08 + 0.57 * Math.min(1, Math.abs(score));
    } else {
      let best = 0,
        sum = 0;
      for (let i = 1; i < scores.length; i++) if (one(i) > one(best)) best = i;
      for (let i = 0; i < scores.length; i++) sum += Math.exp(one(i) - one(best));
      hue = colours[best];
      strength = 0.7 * Math.max(0, 1 / sum - 0.3);
    }
    if (!(strength >= 0)) strength = 0; // nan
    for (let c = 0; c < 3; c++) image.data[4 * k + c] = ground[c] + (hue[c] - ground[c]) * strength;
    image.data[4 * k + 3] = 255;
  }
  const canvas = new OffscreenCanvas(side, side);
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

// ---- the plane, or the curve of a model with one input
export class Plane {
  chosen = -1; // the point whose graph is shown
  constructor(canvas) {
    this.canvas = canvas;
  }

  begin({points, held_out: held = [], surface, parameters}, kind, axes = null) {
    // the names of x and y, if they are written
    this.#name(axes);
    this.kind = kind === "own" ? "classes" : kind;
    this.looks =
      this.kind === "classes"
        ? looks(surface?.scores.length ?? 1 + Math.max(...points.map(([, answer]) => answer)))
        : SIDES;
    this.points = points;
    this.held = held;
    this.inputs = points[0][0].length;
    this.side = parameters > 1500 ? 40 : 80;
    const columns = list => Array.from({length: this.inputs}, (_, i) => Float32Array.from(list, ([x]) => x[i]));
    this.surface = surface && new Surface(surface, places(this.inputs, this.side, REACH));
    this.answers = surface && new Surface(surface, columns(points));
    this.tested = surface && held.length ? new Surface(surface, columns(held)) : null;
    this.scores = this.grid = null;
  }
  #name(axes) {
    this.axes = axes;
    this.words = `What the model says of each place${axes ? `: ${axes[0]} to the right, ${axes[1]} upwards` : ""}`;
    this.canvas.setAttribute("aria-label", this.words);
  }
  // Points without a model, scaled, as somebody draws them, of so many classes.
  preview(points, axes, count) {
    this.#name(axes);
    Object.assign(this, {
      kind: "classes",
      looks: looks(count),
      chosen: -1,
      inputs: 2,
      points,
      held: [],
      surface: null,
      answers: null,
      tested: null,
      scores: null,
      grid: null,
    });
    this.draw();
  }
  follow(frame) {
    if (frame.grid) this.grid = frame.grid;
    if (this.surface) this.scores = this.surface.follow(frame.p);
  }
  // Of the points that are trained on, and of those held out: {right, loss}, where `right` is the part of right answers
  // from 0 to 1, and `loss` the one that the page's text for such answers has; null where that is not known.
  judge(parameters) {
    return [
      [this.answers, this.points],
      [this.tested, this.held],
    ].map(([surface, points]) => surface && this.#judged(surface.follow(parameters), points));
  }
  #judged(scores, points) {
    const said = scores.map(score => (typeof score === "number" ? new Float32Array(points.length).fill(score) : score));
    let right = 0,
      loss = 0;
    points.forEach(([, answer], k) => {
      if (this.kind === "number") loss += (said[0][k] - answer) ** 2;
      else if (said.length === 1) {
        right += Number(said[0][k] * answer > 0);
        loss += Math.max(0, 1 - said[0][k] * answer);
      } else {
        const of = said.map(score => score[k]),
          best = Math.max(...of);
        right += Number(of.every((score, i) => i === answer || score < of[answer]));
        loss += Math.log(of.reduce((sum, score) => sum + Math.exp(score - best), 0)) + best - of[answer];
      }
    });
    return {right: right / points.length, loss: loss / points.length};
  }
  draw(neuron = null) {
    const size = this.canvas.clientWidth,
      drawing = sharp(this.canvas, size, size);
    if (!this.points) return;
    if (this.inputs === 1) return this.#curve(drawing, size, neuron);
    drawing.imageSmoothingEnabled = true;
    if (this.scores)
      drawing.drawImage(painted(neuron ? [this.surface.value(neuron)] : this.scores, this.side), 0, 0, size, size);
    else if (this.grid) {
      const side = Math.round(Math.sqrt(this.grid.length));
      drawing.drawImage(
        painted(
          this.grid[0].map((_, i) => this.grid.map(scores => +scores[i])),
          side,
        ),
        0,
        0,
        size,
        size,
      );
    }
    const ground = colour("--panel");
    for (const [k, [place, answer]] of [...this.points, ...(this.held ?? [])].entries()) {
      const look = this.looks[this.kind === "sign" ? +(answer > 0) : answer];
      Object.assign(drawing, {strokeStyle: ground, fillStyle: shade(look), lineWidth: 1.3});
      mark(drawing, look, ...this.#at(place, size), k >= this.points.length);
      if (k === this.chosen) this.#ring(drawing, ...this.#at(place, size));
    }
    if (this.axes) this.#named(drawing, size);
    if (!this.points.length) this.#invites(drawing, size);
  }
  #written(drawing, text, x, y, align) {
    // legible on every colour
    Object.assign(drawing, {
      font: `13px ${getComputedStyle(this.canvas).fontFamily}`,
      textAlign: align,
      textBaseline: "middle",
      lineWidth: 4,
      lineJoin: "round",
      strokeStyle: colour("--panel"),
      fillStyle: colour("--ink"),
    });
    drawing.strokeText(text, x, y);
    drawing.fillText(text, x, y);
  }
  #named(drawing, size) {
    const [x, y] = this.axes.map(name => (name.length > 24 ? `${name.slice(0, 23)}…` : name));
    this.#written(drawing, `${x} →`, size - 8, size - 12, "right");
    this.#written(drawing, `↑ ${y}`, 8, 14, "left");
  }
  #invites(drawing, size) {
    ["Click here to draw points,", "drop a file of rows,", "or open ‘Paste, drop or change rows’."].forEach((line, k) =>
      this.#written(drawing, line, size / 2, size / 2 + 22 * (k - 1), "center"),
    );
  }
  #ring(drawing, x, y) {
    Object.assign(drawing, {strokeStyle: colour("--ink"), lineWidth: 2});
    drawing.beginPath();
    drawing.arc(x, y, 10, 0, 7);
    drawing.stroke();
  }
  place(event) {
    // of the mouse or a finger, in the model's coordinates
    const box = this.canvas.getBoundingClientRect();
    return [
      (((event.clientX - box.left) / box.width) * 2 - 1) * REACH,
      (1 - ((event.clientY - box.top) / box.height) * 2) * REACH,
    ];
  }
  #at([x, y], size) {
    return [(size * (x / REACH + 1)) / 2, (size * (1 - y / REACH)) / 2];
  }
  #curve(drawing, size, neuron) {
    drawing.strokeStyle = colour("--line");
    drawing.lineWidth = 1;
    for (const at of [-1, 0, 1]) {
      drawing.beginPath();
      drawing.moveTo(...this.#at([-REACH, at], size));
      drawing.lineTo(...this.#at([REACH, at], size));
      drawing.moveTo(...this.#at([at, -REACH], size));
      drawing.lineTo(...this.#at([at, REACH], size));
      drawing.stroke();
    }
    for (const [k, [[x], answer]] of [...this.points, ...(this.held ?? [])].entries()) {
      Object.assign(drawing, {strokeStyle: colour("--panel"), fillStyle: shade(SIDES[0]), lineWidth: 1});
      mark(drawing, SIDES[0], ...this.#at([x, answer], size), k >= this.points.length);
      if (k === this.chosen) this.#ring(drawing, ...this.#at([x, answer], size));
    }
    const shown = neuron ? this.surface.value(neuron) : (this.scores?.[0] ?? this.grid?.map(([score]) => +score));
    if (!shown) return;
    const n = shown.length ?? this.side;
    drawing.beginPath();
    for (let k = 0; k < n; k++) {
      const x = this.scores ? REACH * ((2 * (k + 0.5)) / n - 1) : REACH * ((2 * k) / (n - 1) - 1);
      drawing.lineTo(...this.#at([x, typeof shown === "number" ? shown : shown[k]], size));
    }
    drawing.strokeStyle = colour("--high");
    drawing.lineWidth = 2.6;
    drawing.stroke();
  }
  nearest(event) {
    // the point under the mouse, or -1
    const box = this.canvas.getBoundingClientRect(),
      from = [event.clientX - box.left, event.clientY - box.top];
    const away = this.points.map(([place, answer]) =>
      Math.hypot(...this.#at(this.inputs === 1 ? [place[0], answer] : place, box.width).map((at, i) => at - from[i])),
    );
    const best = away.indexOf(Math.min(...away));
    return away[best] < 14 ? best : -1;
  }
  worst() {
    // the point that the model is furthest from
    if (!this.answers) return 0;
    const said = this.answers.scores.map(score => this.answers.value(score)),
      at = (score, k) => (typeof score === "number" ? score : score[k]);
    const bad = this.points.map(([, answer], k) =>
      this.kind === "number"
        ? Math.abs(at(said[0], k) - answer)
        : said.length === 1
          ? -at(said[0], k) * answer
          : -at(said[answer] ?? 0, k),
    );
    return bad.indexOf(Math.max(...bad));
  }
}

// ---- lines over the steps
/** @type {(canvas: HTMLCanvasElement, series: any[], given?: any) => void} */
export function lines(canvas, series, {log = false, top: most, bottom: least = 0} = {}) {
  const width = canvas.clientWidth,
    height = canvas.clientHeight,
    drawing = sharp(canvas, width, height);
  const left = 38,
    right = 12,
    top = 8,
    bottom = 20,
    steps = Math.max(...series.map(({at}) => at.length));
  const known = series.flatMap(({at}) => at).filter(x => typeof x === "number" && (!log || x > 0));
  if (!known.length) return;
  const first = series[0].at.slice(0, 8).filter(x => typeof x === "number");
  let [low, high] = log
    ? [Math.log10(known.reduce((a, b) => Math.min(a, b))), Math.log10(known.reduce((a, b) => Math.max(a, b)))]
    : [least, most ?? Math.max(1e-9, ...first)];
  if (log)
    [low, high] = [Math.max(Math.floor(low), Math.ceil(high) - 6), Math.max(Math.ceil(high), Math.floor(low) + 1)];
  const x = k => left + ((width - left - right) * k) / Math.max(steps - 1, 1);
  const y = value =>
    top +
    (height - top - bottom) * (1 - Math.min(1, Math.max(0, ((log ? Math.log10(value) : value) - low) / (high - low))));
  drawing.font = "12px system-ui, sans-serif";
  drawing.fillStyle = colour("--quiet");
  drawing.strokeStyle = colour("--line");
  drawing.textAlign = "right";
  for (const tick of log ? Array.from({length: high - low + 1}, (_, k) => low + k) : [low, high]) {
    const at = top + (height - top - bottom) * (1 - (tick - low) / (high - low));
    drawing.beginPath();
    drawing.moveTo(left, at);
    drawing.lineTo(width - right, at);
    drawing.stroke();
    if (!log || high - low < 5 || (tick - low) % 2 === 0)
      drawing.fillText(
        log ? (tick < -3 || tick > 3 ? `1e${tick}` : String(+(10 ** tick).toFixed(3))) : +tick.toPrecision(2),
        left - 5,
        at + 4,
      );
  }
  const by = Math.max(1, Math.ceil(steps / 300));
  series.forEach(({at, hue, dash = []}) => {
    drawing.beginPath();
    for (let k = 0; k < at.length; k += by) {
      const part = at.slice(k, k + by).filter(value => typeof value === "number" && (!log || value > 0));
      if (part.length) drawing.lineTo(x(k), y(part.reduce((a, b) => a + b, 0) / part.length));
    }
    drawing.strokeStyle = colour(hue);
    drawing.lineWidth = 1.8;
    drawing.setLineDash(dash);
    drawing.stroke();
    drawing.setLineDash([]);
  });
}

// ---- letters in a plane
export function pixels(canvas, places) {
  // where a place of the plane is in the picture; `scale` has the pixels for each 1
  const half = [canvas.clientWidth / 2, canvas.clientHeight / 2],
    scale = half.map((size, i) => (size - 16) / Math.max(...places.map(place => Math.abs(place[i])), 1e-9));
  return Object.assign(place => [half[0] + scale[0] * place[0], half[1] - scale[1] * place[1]], {scale});
}
const APART = 17,
  ROUNDS = 40; // pixels between two letters, and how often each pair is pushed
export function spots(canvas, places) {
  // where letters stand: near their places, and not on each other
  const at = pixels(canvas, places),
    found = places.map(at),
    edges = [canvas.clientWidth, canvas.clientHeight];
  for (let round = 0; round < ROUNDS; round++) {
    for (const [k, one] of found.entries())
      for (let j = 0; j < k; j++) {
        const other = found[j],
          way = [one[0] - other[0], one[1] - other[1]],
          away = Math.hypot(...way);
        if (away >= APART) continue;
        const [x, y] = away > 0.01 ? way.map(part => part / away) : [Math.cos(k), Math.sin(k)],
          push = (APART - away) / 2;
        [
          [one, push],
          [other, -push],
        ].forEach(([spot, by]) =>
          [x, y].forEach((part, i) => (spot[i] = Math.min(edges[i] - 8, Math.max(8, spot[i] + by * part)))),
        );
      }
  }
  return found;
}
export function letters(canvas, places, names, chosen) {
  const drawing = sharp(canvas, canvas.clientWidth, canvas.clientHeight),
    found = spots(canvas, places);
  Object.assign(drawing, {
    font: "600 15px system-ui, sans-serif",
    textAlign: "center",
    textBaseline: "middle",
    strokeStyle: colour("--ink"),
    lineWidth: 1.5,
  });
  names.forEach((name, k) => {
    const [x, y] = found[k];
    drawing.fillStyle = colour("aeiouy".includes(name) ? "--data" : "--ink");
    drawing.fillText(name, x, y);
    if (k !== chosen) return;
    drawing.beginPath();
    drawing.arc(x, y, 12, 0, 7);
    drawing.stroke();
  });
}

// Pale for a small number, and opaque: of two lines that cross, one lies on top, and no colour is mixed of both.
const pale = (name, part) => `color-mix(in srgb, var(${name}) ${Math.round(100 * part)}%, var(--panel))`;

// ---- the network: a picture of what each neuron says over the plane, and a line for each weight
export class Network {
  constructor(place, chosen) {
    this.place = place;
    this.chosen = chosen; // called with the operand of a neuron, or null
  }
  begin(about, plane) {
    this.place.replaceChildren();
    this.wires = plane.surface && about.wires;
    this.plane = plane;
    this.place.parentElement.hidden = !this.wires;
    if (!this.wires) return;
    const sizes = [plane.inputs, ...this.wires.map(layer => layer.length)];
    this.svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.svg.setAttribute("aria-hidden", "true");
    this.place.append(this.svg);
    this.lines = this.wires.map((layer, k) =>
      layer.map(neuron =>
        neuron.map(() => this.svg.appendChild(document.createElementNS(this.svg.namespaceURI, "line"))),
      ),
    );
    this.neurons = sizes.map((size, k) => Array.from({length: size}, (_, i) => this.#neuron(k, i)));
    this.biases = about.biases;
    this.front = this.place.appendChild(this.svg.cloneNode()); // above the squares
    this.dots = this.biases.map(layer =>
      layer.map(() => this.front.appendChild(document.createElementNS(this.svg.namespaceURI, "circle"))),
    );
    this.sizes = sizes;
    this.arrange();
  }
  #neuron(k, i) {
    const button = document.createElement("button"),
      last = k === this.wires.length;
    const name = k === 0 ? `Input ${i + 1}` : last ? `Output ${i + 1}` : `Layer ${k}, neuron ${i + 1}`;
    const operand = k === 0 ? ["x", i] : this.plane.surface.layers[k - 1][i];
    Object.assign(button, {type: "button", className: "neuron", title: `${name}: show what it says`});
    button.setAttribute("aria-label", name);
    button.append(document.createElement("canvas"));
    for (const [event, what] of [
      ["pointerenter", operand],
      ["pointerleave", null],
      ["focus", operand],
      ["blur", null],
    ])
      button.addEventListener(event, () => this.chosen(what, name));
    this.place.append(button);
    return button;
  }
  #at(k, i) {
    const width = this.place.clientWidth,
      gap = Math.min(this.side + 6, (this.height - this.side - 4) / Math.max(this.sizes[k] - 1, 1)),
      edge = this.side / 2 + 7;
    return [
      edge + ((width - 2 * edge) * k) / (this.sizes.length - 1),
      this.height / 2 + (i - (this.sizes[k] - 1) / 2) * gap,
    ];
  }
  arrange() {
    if (!this.wires) return;
    this.side = narrow.matches ? 44 : 26;
    this.height = Math.max(120, Math.max(...this.sizes) * (this.side + 4) + 4);
    this.place.style.height = `${this.height}px`;
    this.place.style.setProperty("--side", `${this.side}px`);
    for (const svg of [this.svg, this.front])
      svg.setAttribute("viewBox", `0 0 ${this.place.clientWidth} ${this.height}`);
    this.neurons.forEach((layer, k) =>
      layer.forEach((button, i) => {
        const [x, y] = this.#at(k, i);
        button.style.left = `${x - this.side / 2}px`;
        button.style.top = `${y - this.side / 2}px`;
      }),
    );
    this.dots.forEach((layer, k) =>
      layer.forEach((dot, i) => {
        // at the lower left corner
        const [x, y] = this.#at(k + 1, i);
        dot.setAttribute("cx", x - this.side / 2 + 2);
        dot.setAttribute("cy", y + this.side / 2 - 2);
      }),
    );
    this.lines.forEach((layer, k) =>
      layer.forEach((neuron, i) =>
        neuron.forEach((line, j) => {
          const [x1, y1] = this.#at(k, j),
            [x2, y2] = this.#at(k + 1, i);
          for (const [name, value] of Object.entries({x1, y1, x2, y2})) line.setAttribute(name, value);
        }),
      ),
    );
  }
  draw(parameters) {
    if (!this.wires || !this.plane.scores) return;
    this.lines.forEach((layer, k) =>
      layer.forEach((neuron, i) =>
        neuron.forEach((line, j) => {
          const w = +parameters[this.wires[k][i][j]],
            size = Math.abs(w);
          line.setAttribute("stroke", pale(w > 0 ? "--high" : "--low", Math.min(0.95, 0.15 + size / 1.6)));
          line.setAttribute("stroke-width", Math.min(6, 0.4 + 1.5 * size).toFixed(2));
        }),
      ),
    );
    this.dots.forEach((layer, k) =>
      layer.forEach((dot, i) => {
        const b = +parameters[this.biases[k][i]];
        dot.setAttribute("fill", `var(${b > 0 ? "--high" : "--low"})`);
        dot.setAttribute("r", Math.min(7, 1.2 + 5 * Math.sqrt(Math.abs(b))).toFixed(2));
      }),
    );
    const {surface, side, inputs} = this.plane,
      by = devicePixelRatio || 1;
    this.neurons.forEach((layer, k) =>
      layer.forEach((button, i) => {
        const canvas = /** @type {HTMLCanvasElement} */ (button.firstElementChild),
          said = surface.value(k === 0 ? ["x", i] : surface.layers[k - 1][i]);
        canvas.width = canvas.height = this.side * by;
        const drawing = canvas.getContext("2d");
        if (inputs === 2) drawing.drawImage(painted([said], side), 0, 0, canvas.width, canvas.height);
        else {
          drawing.beginPath();
          for (let at = 0; at < side; at++)
            drawing.lineTo(
              (canvas.width * at) / side,
              (canvas.height * (1 - (typeof said === "number" ? said : said[at]) / REACH)) / 2,
            );
          drawing.strokeStyle = colour("--high");
          drawing.lineWidth = 1.6 * by;
          drawing.stroke();
        }
      }),
    );
  }
}

// ---- the graph of one point: what each neuron says of it, and below that the gradient of its loss; a wire is as thick as
// the gradient by its weight
const CELL = [46, 29]; // pixels
export class Graph {
  constructor(place) {
    this.place = place;
  }
  begin(about) {
    this.wires = about.wires;
  }
  draw(one, [place]) {
    this.place.parentElement.hidden = !one || !this.wires;
    if (this.place.parentElement.hidden) return;
    const columns = [
      place.map(x => [x]),
      ...one.said.map((layer, k) => layer.map((x, i) => [x, one.sent[k][i]])),
      [["loss", one.loss]],
    ];
    const tallest = Math.max(...columns.map(column => column.length)),
      width = this.place.clientWidth,
      height = tallest * (CELL[1] + 3);
    const x = k => 1 + ((width - CELL[0] - 2) * k) / (columns.length - 1),
      y = (k, i) => (height - CELL[1]) / 2 + (i - (columns[k].length - 1) / 2) * (CELL[1] + 3);
    const name = value => (value > 0 ? "--high" : value < 0 ? "--low" : "--quiet"),
      two = value => written(value, "short", 6);
    const wire = (k, j, i, slope) => {
      const [x1, y1, x2, y2] = [x(k) + CELL[0], y(k, j) + CELL[1] / 2, x(k + 1), y(k + 1, i) + CELL[1] / 2],
        size = Math.sqrt(Math.abs(slope));
      return [
        size,
        html`<path
          d="M${x1} ${y1}C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${x2} ${y2}"
          stroke="${pale(name(slope), Math.min(0.9, 0.2 + size))}"
          stroke-width="${Math.min(6, 0.5 + 4 * size).toFixed(2)}"
        />`,
      ];
    };
    const wires = this.wires.flatMap((layer, k) =>
      layer.flatMap((neuron, i) => neuron.map((p, j) => wire(k, j, i, +one.slopes[p]))),
    );
    const ends = one.sent.at(-1).map((slope, j) => wire(columns.length - 2, j, 0, +slope));
    const cells = columns.flatMap((column, k) =>
      column.map(([said, sent], i) => {
        const at = `translate(${x(k)} ${y(k, i)})`,
          last = said === "loss";
        const below =
          sent === undefined
            ? ""
            : html`<text class="sent" x="${CELL[0] / 2}" y="25" style="fill:var(${last ? "--ink" : name(+sent)})"
                >${two(sent)}</text
              >`;
        return html`<g transform="${at}"
          ><rect width="${CELL[0]}" height="${CELL[1]}" rx="5" /><text
            x="${CELL[0] / 2}"
            y="${sent === undefined ? 18 : 12}"
            >${last ? said : two(said)}</text
          >${below}</g
        >`;
      }),
    );
    this.place.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.place.style.height = `${height}px`;
    const lines = [...wires, ...ends].sort(([a], [b]) => a - b).map(([, path]) => path); // the widest on top
    put(this.place, [...lines, ...cells]);
    this.place.setAttribute(
      "aria-label",
      `The graph of one point: its loss is ${two(one.loss)}, and the model says ${one.said.at(-1).map(two).join(", ")}`,
    );
  }
}
