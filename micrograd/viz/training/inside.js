// A click on a point or on a neuron opens its player in a frame, which gets other leaves as the movie goes on.
// `data` is what open_player.py made; without data, `closed` says why nothing opens.
// `picks` is called when a point is chosen, and if it returns true, nothing opens. `opened` is called with true when the
// player of a point opens, else with false.
import {host, themeAround} from "../page.js";

export function Inside(data, closed, picks = () => false, opened = (/** @type {boolean} */ _open) => {}) {
  const one = selector => document.querySelector(selector),
    panels = one(".panels");
  const marks = [...document.querySelectorAll(".mark[data-n]")],
    neurons = [...document.querySelectorAll(".network .unit")];
  let loaded = null,
    graph = -1,
    point = 0,
    neuron = null, // of which the player is, if it is not of the point alone
    open = false,
    frame = 0,
    opener = null;

  // Undo the packing of scenes and weights in open_player.py
  if (data) {
    data.graphs.forEach(({story}, k) => {
      story.scenes = data.scenes.map(alike => alike[k]).filter(Boolean);
    });
    const [unit, rows] = data.weights;
    let sums = rows[0].map(() => 0);
    data.weights = rows.map(changes => {
      if (!unit) return changes;
      sums = sums.map((sum, k) => sum + changes[k]);
      return sums.map(sum => sum * unit);
    });
  }
  const post = message => one("#inside iframe").contentWindow.postMessage(message, "*");

  // At a frame; if the page has the weights of the last frame only, these
  const weights = n => data.weights[Math.min(n, data.weights.length - 1)];

  function leaves() {
    return data.graphs[graph].leaves.map(source => {
      if (!source) return null;
      const [first, size] = source,
        numbers = first < 0 ? data.points[point].slice(-1 - first) : weights(frame).slice(first);
      return size === null ? numbers[0] : numbers.slice(0, size);
    });
  }

  const story = () => ({
    ...data.graphs[graph].story,
    leaves: leaves(),
    frame: host || innerWidth <= 760 ? {} : {height: Math.max(480, one("#inside").clientHeight - 62)},
  });
  async function show(place) {
    const player = one("#inside iframe"),
      before = graph;
    graph = data.graph_of[point];
    if (loaded && before === graph) post({micrograd: "leaves", leaves: leaves()});
    else if (loaded) post({micrograd: "story", story: story()});
    else {
      const text = JSON.stringify(story()).replace(/</g, "\\u003c");
      player.dataset.place = place ?? "place=end";
      loaded = new Promise(done => player.addEventListener("load", done, {once: true}));
      player.srcdoc = data.page.replace('id="story">null<', () => `id="story">${text}<`);
      await loaded;
      player.contentDocument.documentElement.dataset.theme = getComputedStyle(document.body).colorScheme;
      return;
    }
    if (place) post({micrograd: "go", place});
  }

  // A number for each line of the network, by column, neuron and input: the gradients of the point's loss, or how the
  // weights change until the next frame.
  async function lines(what, n) {
    frame = n;
    const flat = [];
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
      data.graphs[graph].leaves.forEach((source, k) =>
        [grads[k]].flat().forEach((_, j) => {
          if (source?.[0] >= 0) flat[source[0] + j] = grads[k][j] ?? grads[k];
        }),
      );
    }
    for (const mark of marks) mark.classList.toggle("chosen", what === "gradients" && +mark.dataset.n === point);
    return data.lines.map(column =>
      column.map(([first, count]) => Array.from({length: count}, (_, j) => flat[first + j] ?? 0)),
    );
  }
  let answer = null;
  addEventListener("message", event => {
    if (event.data?.micrograd === "grads") answer?.(event.data.grads.map(g => (g.length === undefined ? g : [...g])));
  });

  function says() {
    const name = neuron?.dataset.name ?? `Point ${point + 1}`,
      opened = `${name}${neuron ? `, at point ${point + 1}` : ""}`;
    const fixed = data?.weights.length === 1 && one("#frame")?.max > 0;
    one("#inside-of").textContent = closed
      ? `${name} does not open. ${closed}`
      : `${opened}${fixed ? ", with the weights of the last step" : ""}`;
    for (const each of neurons) each.classList.toggle("chosen", each === neuron);
    for (const mark of marks) mark.classList.toggle("chosen", +mark.dataset.n === point);
  }

  // Open the player of a neuron or, if that is null, of the point
  async function begin(chosen, from) {
    const before = neuron;
    opener = from;
    neuron = chosen;
    open = true;
    one("#inside").hidden = false;
    says();
    if (closed) return;
    panels.classList.toggle("of-point", !neuron);
    panels.classList.toggle("of-unit", !!neuron);
    if (one("#point")) one("#point").value = point + 1;
    if (neuron) await show(`scene=${data.scene_of[neurons.indexOf(neuron)]}&place=end`);
    else await show(before && "place=end");
    opened(!neuron);
    one("#inside").scrollIntoView({block: "nearest"});
  }

  function close() {
    open = false;
    one("#inside").hidden = true;
    panels.classList.remove("of-point", "of-unit");
    if (!closed) opened(false);
    for (const chosen of [...marks, ...neurons]) chosen.classList.remove("chosen");
    opener?.focus();
  }

  // One tab stop for all neurons
  neurons.forEach((neuron, k) => {
    neuron.setAttribute("tabindex", k ? -1 : 0);
    neuron.addEventListener("focus", () => {
      for (const each of neurons) each.setAttribute("tabindex", each === neuron ? 0 : -1);
    });
    neuron.addEventListener("keydown", event => {
      const to = neurons[k + ({ArrowDown: 1, ArrowUp: -1}[event.key] ?? NaN)];
      if (to) {
        event.preventDefault();
        to.focus();
      }
    });
  });
  if (!data && !closed) return {turn(_n) {}};
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
  for (const neuron of neurons) {
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
    const theme = themeAround();
    if (theme) root.dataset.theme = theme;
  };
  root.classList.add("framed");
  dress();
  addEventListener("pointerenter", dress); // the notebook's theme may have changed
  addEventListener("focus", dress);
  new ResizeObserver(() => {
    host.style.height = `${Math.ceil(main.getBoundingClientRect().height)}px`;
  }).observe(main);
}
