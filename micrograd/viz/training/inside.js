// What a click on a point or on a neuron opens: its player in a frame, which gets other leaves as the movie goes on.
// `given` is what open_player.py made; without it, `closed` is why.
// `picks` is called when a point was chosen; where it is true, nothing opens. `opened` hears whether a point is open.
import {host, themeAround} from "../page.js";

export function Inside(given, closed, picks = () => false, opened = (/** @type {boolean} */ _open) => {}) {
  const one = selector => document.querySelector(selector),
    panels = one(".panels");
  const marks = [...document.querySelectorAll(".mark[data-n]")],
    units = [...document.querySelectorAll(".network .unit")];
  let data = null,
    loaded = null,
    kind = -1,
    point = 0,
    unit = null,
    open = false,
    frame = 0,
    came = null;

  function read() {
    const found = given;
    found.told.forEach((one, k) => {
      one.story.scenes = found.scenes.map(alike => alike[k]).filter(Boolean);
    });
    const [unit, rows] = found.weights;
    let now = rows[0].map(() => 0);
    found.weights = unit ? rows.map(row => (now = row.map((x, k) => now[k] + x)).map(x => x * unit)) : rows;
    return found;
  }
  const post = message => one("#inside iframe").contentWindow.postMessage(message, "*");

  function leaves() {
    const weights = data.weights.length > 1 ? data.weights[frame] : data.weights[0];
    return data.told[kind].leaves.map(source => {
      if (!source) return null;
      const [at, many] = source,
        numbers = at < 0 ? data.points[point].slice(-1 - at) : weights.slice(at);
      return many === null ? numbers[0] : numbers.slice(0, many);
    });
  }

  const told = () => ({
    ...data.told[kind].story,
    leaves: leaves(),
    frame: host || innerWidth <= 760 ? {} : {height: Math.max(480, one("#inside").clientHeight - 62)},
  });
  async function show(place) {
    const player = one("#inside iframe"),
      before = kind;
    kind = data.kinds[point];
    if (loaded && before === kind) post({micrograd: "leaves", leaves: leaves()});
    else if (loaded) post({micrograd: "story", story: told()});
    else {
      const story = JSON.stringify(told()).replace(/</g, "\\u003c");
      player.dataset.place = place ?? "place=end";
      loaded = new Promise(done => player.addEventListener("load", done, {once: true}));
      player.srcdoc = data.page.replace('id="story">null<', () => `id="story">${story}<`);
      await loaded;
      player.contentDocument.documentElement.dataset.theme = getComputedStyle(document.body).colorScheme;
      return;
    }
    if (place) post({micrograd: "go", place});
  }

  // A number for each line of the network, by column, neuron and input: the gradients of the point's loss, or how the
  // weights change until the next frame.
  async function lines(what, n) {
    data ??= read();
    frame = n;
    const weights = k => data.weights[Math.min(k, data.weights.length - 1)],
      flat = [];
    if (what === "changes")
      weights(n).forEach((x, i) => {
        flat[i] = weights(n + 1)[i] - x;
      });
    else {
      await show();
      const grads = await new Promise(done => {
        answer = done;
        post({micrograd: "leaves", leaves: leaves(), reply: true});
      });
      data.told[data.kinds[point]].leaves.forEach((source, k) =>
        [grads[k]].flat().forEach((_, j) => {
          if (source?.[0] >= 0) flat[source[0] + j] = grads[k][j] ?? grads[k];
        }),
      );
    }
    for (const mark of marks) mark.classList.toggle("chosen", what === "gradients" && +mark.dataset.n === point);
    return data.lines.map(column =>
      column.map(([first, many]) => Array.from({length: many}, (_, j) => flat[first + j] ?? 0)),
    );
  }
  let answer = null;
  addEventListener("message", event => {
    if (event.data?.micrograd === "grads") answer?.(event.data.grads.map(g => (g.length === undefined ? g : [...g])));
  });

  function says() {
    const what = unit?.dataset.name ?? `Point ${point + 1}`,
      opened = `${what}${unit ? `, at point ${point + 1}` : ""}`;
    const fixed = data?.weights.length === 1 && one("#frame")?.max > 0;
    one("#inside-of").textContent = closed
      ? `${what} does not open. ${closed}`
      : `${opened}${fixed ? ", with the weights of the last step" : ""}`;
    for (const at of units) at.classList.toggle("chosen", at === unit);
    for (const mark of marks) mark.classList.toggle("chosen", +mark.dataset.n === point);
  }

  // Of a neuron, or null
  async function begin(neuron, from) {
    const wasNeuron = unit;
    came = from;
    unit = neuron;
    open = true;
    if (!closed) data ??= read();
    one("#inside").hidden = false;
    says();
    if (closed) return;
    panels.classList.toggle("of-point", !unit);
    panels.classList.toggle("of-unit", !!unit);
    if (one("#point")) one("#point").value = point + 1;
    await show(neuron ? `scene=${data.units[units.indexOf(neuron)]}&place=end` : wasNeuron ? "place=end" : null);
    opened(!unit);
    one("#inside").scrollIntoView({block: "nearest"});
  }

  function close() {
    open = false;
    one("#inside").hidden = true;
    panels.classList.remove("of-point", "of-unit");
    if (!closed) opened(false);
    for (const at of [...marks, ...units]) at.classList.remove("chosen");
    came?.focus();
  }

  // One tab stop for all of them
  units.forEach((unit, k) => {
    unit.setAttribute("tabindex", k ? -1 : 0);
    unit.addEventListener("focus", () => {
      for (const other of units) other.setAttribute("tabindex", other === unit ? 0 : -1);
    });
    unit.addEventListener("keydown", event => {
      const to = units[k + ({ArrowDown: 1, ArrowUp: -1}[event.key] ?? NaN)];
      if (to) {
        event.preventDefault();
        to.focus();
      }
    });
  });
  if (!given && !closed) return {turn(_n) {}};
  one("#inside iframe").hidden = !!closed;
  panels.classList.add("opens");
  for (const mark of marks)
    mark.addEventListener("click", () => {
      point = +mark.dataset.n;
      if (open || !picks()) begin(null, one("#point"));
    });
  one("#point")?.addEventListener("focus", event => event.target.select());
  one("#point")?.addEventListener("change", event => {
    const n = Math.round(+event.target.value);
    if (!(n >= 1 && n <= +event.target.max)) return;
    point = n - 1;
    if (open || !picks()) begin(null, event.target);
  });
  for (const neuron of units) {
    neuron.setAttribute("role", "button");
    neuron.addEventListener("click", () => begin(neuron, neuron));
    neuron.addEventListener("keydown", event => {
      if (![" ", "Enter"].includes(event.key)) return;
      event.preventDefault();
      begin(neuron, neuron);
    });
  }
  one("#inside-close").addEventListener("click", close);
  addEventListener("keydown", event => {
    if (event.key === "Escape" && open) close();
  });
  return {
    lines,
    point: () => point + 1,
    turn(n) {
      frame = n;
      if (open && !closed) show();
    },
  };
}

// In a notebook the page has the notebook's colours, and its frame the height of the page.
if (host) {
  const root = document.documentElement,
    main = document.querySelector("main");
  const dress = () => {
    const found = themeAround();
    if (found) root.dataset.theme = found;
  };
  root.classList.add("framed");
  dress();
  addEventListener("pointerenter", dress); // the notebook's theme may have changed
  addEventListener("focus", dress);
  new ResizeObserver(() => {
    host.style.height = `${Math.ceil(main.getBoundingClientRect().height)}px`;
  }).observe(main);
}
