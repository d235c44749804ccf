// ---- the player: from step to step, and from scene to scene
import {joined} from "../html.js";
import {host} from "../page.js";
import {atEnd, chosen, held, pathsFrom, scene, scenes, sends, set, stateAt, step, story, trail} from "./state.js";
import {$, calm, pretty, say} from "./words.js";
import {el, hue} from "./marks.js";
import {measure, refusal} from "./engine.js";
import {load, shape} from "./story.js";
import {showHistory, showSlopes} from "./curves.js";
import {cardOfCell} from "./cells.js";
import {fade, pillBox, spread} from "./labels.js";
import {draw, showCard, showWire} from "./draw.js";
import {laid, layOut} from "./wrap.js";
import {ask, asking, pendingAt} from "./ask.js";
import {calmDown, sway} from "./shake.js";
import {tell} from "./explain.js";
import {apply, endWhole, fit, follow, open, openPanel, phone, reserve, resting, space, stand, view} from "./view.js";

let timer = 0;
let speed = 1;
let turn = 0;

// Show another story in the same page. If it has the same shape, step and scene stay
export function replaceStory(next) {
  if (!next?.root || !next.scenes?.length)
    return console.error(
      `found a ${typeof next} as the story: a page sends the object that player(value).story() returns, and what is shown stays`,
    );
  const before = shape(),
    at = scene.index,
    path = trail.map(at => at.index),
    seen = chosen?.i ?? -1;
  load(next);
  if (before !== shape()) return begin();
  enter(
    at,
    step,
    path.map(index => scenes[index]),
    seen,
  );
}

// ---- showing a step
export function show(moving = false) {
  if ($("panels").classList.contains("rest") !== resting()) {
    $("panels").classList.toggle("rest");
    fit();
  }
  measure();
  const now = scene.steps[step],
    state = stateAt(scene, step),
    current = scene.cards[now.card];
  const paths = chosen ? pathsFrom(chosen) : null,
    pending = pendingAt(step),
    travels = moving && !pending.length && !calm.matches && pulse(now, current);
  // A number appears when its pulse arrives, or once the reader guessed it
  const landed = travels || pending.length ? stateAt(scene, step - 1) : state;
  for (const card of scene.cards) showCard(card, now, landed);
  for (const {
    slots: {grad},
  } of pending)
    if (grad) Object.assign(grad, {textContent: "?"}).setAttribute("class", "number end grad asked");
  showSlopes(landed);
  for (const wire of scene.wires) showWire(wire, now, pending.length ? landed : state, paths, pending);
  sway();
  fade(paths);
  if (current) spread(current.into);
  const sentence = tell(now, state, current, paths, pending);
  if (!held?.moved) endWhole();
  if ($("live").textContent !== sentence) $("live").textContent = $("caption").textContent = sentence;
  $("scrub").value = step;
  $("scrub").setAttribute("aria-valuetext", `step ${step} of ${scene.last}: ${$("phase").textContent}`);
  drawTrack();
  if (current) follow(current, ...current.into.flatMap(pillBox), ...current.into.map(wire => wire.tail));
  else apply();
  showHistory();
  remember();
  if (!travels) endPulse();
  dispatchEvent(new Event("shown"));
}

function endPulse() {
  turn++;
  $("pulses").replaceChildren();
  $("app").classList.remove("arriving");
}

// When a page opens, its gradients come in once, from the result to the leaves
export function arrive() {
  if (calm.matches || story.missing || scene.crowded) return;
  const furthest = Math.max(...scene.cards.map(card => card.far)),
    beat = Math.min(260, 2000 / Math.max(1, furthest)),
    mine = ++turn;
  const late = (element, far) => element.style.setProperty("--late", `${Math.round(200 + beat * far)}ms`);
  for (const card of scene.cards) late(card.group, card.far);
  for (const {group, line, head} of scene.wires.filter(wire => wire.group.classList.contains("flows"))) {
    late(group, head.far);
    const look = [...group.classList].slice(2).join(" ");
    late(
      el("path", {d: line.getAttribute("d"), class: `filling backward ${look}`, pathLength: 1}, $("pulses")),
      head.far,
    );
  }
  $("app").classList.add("arriving");
  setTimeout(
    () => {
      if (mine === turn) endPulse();
    },
    1200 + beat * furthest,
  );
}

// Let a dot travel along each line of this step; returns false if there is no such line
function pulse(now, card) {
  endPulse();
  const mine = turn,
    length = 620 / speed;
  if (!card) return false;
  const forward = now.phase === "forward",
    wires = card.into.filter(wire => wire.line && (forward || sends(wire))).slice(0, 40);
  if (!wires.length) return false;
  const dots = wires.map(wire => {
    const long = wire.line.getTotalLength(),
      fill = el(
        "path",
        {d: wire.line.getAttribute("d"), class: `filling ${now.phase} ${hue(wire.part)}`, "stroke-dasharray": long},
        $("pulses"),
      );
    return [wire.line, long, el("circle", {r: 6, class: `pulse ${now.phase}`}, $("pulses")), fill];
  });
  const begun = performance.now();
  (function move(time) {
    if (mine !== turn) return;
    const t = Math.min(1, Math.max(0, (time - begun) / length)),
      eased = t * t * (3 - 2 * t);
    for (const [line, long, dot, fill] of dots) {
      fill.setAttribute("stroke-dashoffset", (forward ? 1 : -1) * long * (1 - eased));
      const at = line.getPointAtLength(long * (forward ? eased : 1 - eased));
      dot.setAttribute("cx", at.x);
      dot.setAttribute("cy", at.y);
    }
    if (t < 1) requestAnimationFrame(move);
    else show();
  })(begun);
  return true;
}

// ---- the track
function drawTrack() {
  const svg = $("marks"),
    count = scene.last,
    width = svg.clientWidth || 400;
  const x = k => 9 + ((width - 18) * k) / Math.max(count, 1),
    small = width / count < 9;
  const {seed} = scene,
    turn = seed < 0 ? count : seed;
  const key = [scene.index, step, count, width].join();
  if (svg.dataset.drawn === key) return;
  svg.dataset.drawn = key;
  svg.replaceChildren();
  el("line", {class: "rail", x1: x(0), x2: x(count), y1: 13, y2: 13}, svg);
  if (step) el("line", {class: "rail forward", x1: x(0), x2: x(Math.min(step, turn)), y1: 13, y2: 13}, svg);
  if (step > turn) el("line", {class: "rail backward", x1: x(turn), x2: x(step), y1: 13, y2: 13}, svg);
  scene.steps.forEach((s, k) => {
    const phase = k < turn || seed < 0 ? "forward" : "backward",
      look = `mark ${phase} ${k <= step ? "past" : "ahead"}`;
    if (small && k % Math.ceil((9 * count) / width) && k !== step) return;
    if (phase === "backward")
      el("rect", {class: look, x: x(k) - 4, y: 9, width: 8, height: 8, transform: `rotate(45 ${x(k)} 13)`}, svg);
    else el("circle", {class: look, cx: x(k), cy: 13, r: 4.5}, svg);
  });
  el("circle", {class: `here ${step < turn || seed < 0 ? "forward" : "backward"}`, cx: x(step), cy: 13, r: 9}, svg);
  el("text", {class: "forward", x: x(turn / 2), y: 35}, svg, "forward");
  if (seed >= 0) el("text", {class: "backward", x: x((turn + count) / 2), y: 35}, svg, "backward");
}

// ---- navigation
export function go(to, moving = false) {
  calmDown();
  openPanel(false);
  set({step: Math.max(0, Math.min(scene.last, to))});
  show(moving);
}

export function choose(card, cell) {
  const [at, inner] = cell ? cardOfCell(card, cell) : [];
  // The number of a cell may have a card in another scene
  if (inner) {
    enter(at.index, "same", pathTo(at));
    return choose(inner);
  }
  if (card.opens !== undefined) return enter(card.opens, "same");
  set({chosen: chosen === card ? null : card});
  calmDown();
  show();
  if (chosen) follow(chosen); // again, since a large grid leaves less room to the graph
  say(refusal(card));
}

// Enter another scene; `path` has the scenes that lead to it
export function enter(index, at, path = null, seen = undefined) {
  stop();
  const before = scene,
    stays = seen !== undefined,
    next = scenes[index],
    known = trail.indexOf(next);
  set({
    scene: next,
    trail: path ?? (known < 0 ? [...trail, next] : trail.slice(0, known + 1)),
    chosen: next.cards[seen] ?? null,
    hit: null,
  });
  $("scrub").max = scene.last;
  $("panels").classList.remove("rest"); // their height at rest was that of the scene before
  layOut(scene, ...space());
  draw();
  if (!stays) {
    reserve();
    open();
  }
  showWhere();
  // The same step in another scene: its first step or, once something was computed, its last step
  const same = before && !step ? 0 : Infinity;
  go(at === "same" ? same : at);
}

// Enter the view of operations of a small graph; else the view with the most cards that fits, or with the fewest cards
export function begin(at = Infinity) {
  const views = scenes.filter(at => at.tab).sort((a, b) => b.cards.length - a.cards.length);
  const opening =
    scenes[0].tab === "operations"
      ? scenes[0]
      : (views.find(at => laid(at, ...space())[1]) ?? views.at(-1) ?? scenes[0]);
  if (opening !== scene) enter(opening.index, at, [opening]);
}

// A button that leads to another scene
const buttonTo = (at, textContent, path) =>
  Object.assign(document.createElement("button"), {
    type: "button",
    textContent,
    onclick: () => enter(at.index, "same", path),
  });

function showWhere() {
  $("crumbs").hidden = trail.length < 2;
  const crumbs = trail.map((at, k) => {
    const title = pretty(k ? at.title : at.tab || "whole graph");
    return at === scene
      ? Object.assign(document.createElement("span"), {textContent: title})
      : buttonTo(at, title, trail.slice(0, k + 1));
  });
  $("crumbs").replaceChildren(...joined(crumbs, "›"));
  const tabs = scenes.filter(at => at.tab);
  $("tabs").hidden = tabs.length < 2;
  $("tabs").replaceChildren(...tabs.map(at => buttonTo(at, at.tab, [at])));
  $("tabs").childNodes.forEach((tab, k) => tab.setAttribute("aria-pressed", tabs[k] === trail[0]));
}

let remembered = "";

// Store the step in the address or, since notebooks reload frames when scrolled, on the frame's element
export function remember() {
  const place = `${scene.index ? `scene=${scene.index}&` : ""}step=${step}${asking ? "&ask=1" : ""}`;
  if (place === remembered) return;
  remembered = place;
  if (host) {
    host.dataset.place = place;
    return;
  }
  try {
    history.replaceState(null, "", `#${place}`);
  } catch {
    /* a page without a URL cannot store it */
  }
}

export function recall(text) {
  const read = name => {
    const match = text.match(new RegExp(`\\b${name}=(\\d+)`));
    return match ? +match[1] : null;
  };
  const index = Math.min(read("scene") ?? 0, scenes.length - 1);
  if (asking !== (read("ask") === 1)) ask(!asking);
  enter(index, read("step") ?? Infinity, pathTo(scenes[index]));
}

// The scenes that lead to a scene, and this scene
export function pathTo(at) {
  return at ? [...pathTo(scenes[at.parent]), at] : [];
}

export function stop() {
  clearTimeout(timer);
  timer = 0;
  $("play").classList.remove("on");
  $("play").setAttribute("aria-label", "Play");
}

export function play() {
  if (timer) return stop();
  if (atEnd()) go(0);
  set({chosen: null});
  $("play").classList.add("on");
  $("play").setAttribute("aria-label", "Pause");
  const beat = () => {
    if (atEnd() || pendingAt(step).length) return stop();
    go(step + 1, true);
    timer = setTimeout(beat, 1400 / speed);
  };
  timer = setTimeout(beat, 350 / speed);
}

export function by(count) {
  stop();
  if (count > 0) set({chosen: null});
  if (count === 1 && atEnd())
    go(0); // a step forward from the last step begins again, as Play does
  else go(step + count, count > 0);
  if (Math.abs(count) > 1) {
    Object.assign(view, {free: false, ended: count > 0});
    stand();
  }
  if (pendingAt(step).length && !phone()) $("why").querySelector("input").focus();
}

const SPEEDS = [1, 2, 4, 0.5];
$("first").addEventListener("click", () => by(-Infinity));
$("last").addEventListener("click", () => by(Infinity));
$("back").addEventListener("click", () => by(-1));
$("next").addEventListener("click", () => by(1));
$("play").addEventListener("click", play);
$("scrub").addEventListener("input", event => {
  stop();
  go(+event.target.value);
});
$("speed").addEventListener("click", () => {
  speed = SPEEDS[(SPEEDS.indexOf(speed) + 1) % SPEEDS.length];
  $("speed").textContent = `${speed}×`;
  $("speed").setAttribute("aria-label", `Speed: ${speed} times`);
});
$("why").addEventListener("click", event => {
  const inside = event.target.closest(".inside");
  if (inside) enter(+inside.dataset.opens, "same");
});
addEventListener("hashchange", () => recall(location.hash));
