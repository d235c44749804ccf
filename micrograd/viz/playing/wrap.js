// ---- the layout for a window: a graph that is too wide is broken into rows, like text, between two columns of cards.
// If the rows do not fit either, its cards are tight: they lose digits and words before they lose size
import {frame, MARGIN, scene, story} from "./state.js";
import {short} from "./words.js";
import {hasSlope} from "./curves.js";
import {factor, labelWidth} from "./labels.js";

const LANE = 8; // between two lines on their way from the end of a row to the next
const BREAK = 14; // around these lines
const LETTERS = [12, 11]; // pixels of the smallest type, and the pixels to which it shrinks if the graph then fits

// The least scale at which type can be read; tight cards have larger type
export const readable = (small, letters = scene.letters ?? LETTERS[0]) =>
  (frame.present ? 18 : letters) / (small ? 13 : 12);

// The first layout that fits, from one wide row to rows of tight cards, and true; else the closest layout, and false
export function laid(at, wide, tall) {
  const strip = (at.strip ??= {
    size: at.size,
    boxes: at.cards.map(({box}) => box),
    wires: at.wires.map(({route, pill}) => ({route, pill})),
  });
  const near = () => (at.near ??= tightened(strip, at));
  const curved = () => (at.curved ??= tightened(strip, at, card => tightLook(card, hasSlope(card) ? 50 : 0))),
    tight = () => (at.tight ??= tightened(strip, at, card => tightLook(card, 0)));
  const least = LETTERS[1],
    room = (size, small, letters) => size / readable(small, letters) - 2 * MARGIN;
  const rows = (strip, letters) => broken(strip, room(wide, strip.small, letters)) ?? strip;
  // The ratio by which a layout is too large
  const over = ({size, small, letters}) =>
    Math.max((size[0] - 1) / room(wide, small, letters), (size[1] - 12) / room(tall, small, letters));
  /** @type {[(letters: number) => any, number?][]} */
  const ways = [
    [() => strip],
    [near, least],
    [curved],
    [letters => rows(near(), letters)],
    [letters => rows(curved(), letters)],
    [tight],
    [letters => rows(tight(), letters)],
    [letters => rows(near(), letters), least],
    [curved, least],
    [tight, least],
    [letters => rows(curved(), letters), least],
    [letters => rows(tight(), letters), least],
  ];
  let best = null;
  for (const [way, letters = LETTERS[0]] of ways) {
    const layout = {...way(letters), letters};
    if (over(layout) <= 1) return [layout, true];
    if (!best || over(layout) < over(best)) best = layout;
  }
  return [wide > 600 ? best : {...tight(), letters: LETTERS[0]}, false];
}

const NEAR = 96;
const GAP = 50; // the least distance between two columns
const BARE = 38; // the same, if no line between them has a number
const LOW = 0.57; // the height of a tight card as a fraction of that of a whole card

// The same columns, closer together. Looks make cards narrow, and low if each card has a tight look
function tightened(strip, {cards, wires}, lookOf) {
  const looks = lookOf && cards.map(lookOf),
    small = looks?.every(look => look?.pieces),
    low = small ? LOW : 1;
  const of = columnsOf(strip);
  /** @type {{start: number, end: number, width: number, left?: number, pill?: number, labels?: number[]}[]} */
  const columns = of.map(() => ({start: Infinity, end: -Infinity, width: 0}));
  const home = strip.boxes.map(([x, , width]) => columns[columnAt(of, x + width / 2)]);
  const sizes = strip.boxes.map(([, , width, height], i) => [looks?.[i]?.width ?? width, height * low]);
  const half = i => (cards[i].badge ?? 0) / 2;
  strip.boxes.forEach(([x, , width], i) => {
    home[i].start = Math.min(home[i].start, x - half(i));
    home[i].end = Math.max(home[i].end, x + width);
    home[i].width = Math.max(home[i].width, sizes[i][0] + half(i));
  });
  // The gap after a column is as wide as the widest pill in it
  for (const [k, {pill}] of strip.wires.entries()) {
    const at = pill && columns.findLast(({end}) => end < pill[0]);
    if (at && factor(wires[k])) {
      at.pill = Math.max(at.pill ?? 0, labelWidth(factor(wires[k]), small) + 10);
      (at.labels ??= []).push(pill[1]);
    }
  }
  // Extra width for more than two labels at one height
  const crowd = ({labels = []}) =>
    26 * Math.max(0, ...labels.map(y => labels.filter(other => Math.abs(other - y) < 60).length - 2));
  columns.forEach((column, k) => {
    const before = columns[k - 1],
      gap = before && column.start - before.end;
    column.left = before
      ? before.left +
        before.width +
        (looks ? (before.pill ? Math.max(GAP, before.pill) : BARE) + crowd(before) : NEAR) +
        (Math.max(0, gap - 104) * low) / 2
      : 0;
  });
  const across = x => {
    const k = Math.max(
        0,
        columns.findLastIndex(({start}) => start <= x + 0.5),
      ),
      {start, end, left, width} = columns[k],
      next = columns[k + 1];
    if (x <= end || !next) return left + ((x - start) / (end - start)) * width;
    return left + width + ((x - end) / (next.start - end)) * (next.left - left - width);
  };
  const boxes = strip.boxes.map(([, y, , height], i) => {
    const [wide, tall] = sizes[i];
    return [home[i].left + (home[i].width - wide + half(i)) / 2, (y + height / 2) * low - tall / 2, wide, tall];
  });
  const beside = (x, i) =>
    x > strip.boxes[i][0] + strip.boxes[i][2] / 2 ? boxes[i][0] + boxes[i][2] : boxes[i][0] + x - strip.boxes[i][0];
  const last = columns.at(-1);
  return {
    size: [last.left + last.width, strip.size[1] * low],
    looks,
    small,
    boxes,
    wires: strip.wires.map(({route, pill}, k) => {
      const moved = route.map(([x, y], i) => [
        i === 0 ? beside(x, wires[k].tail.i) : i === route.length - 1 ? beside(x, wires[k].head.i) : across(x),
        y * low,
      ]);
      const i = pill ? route.findLastIndex(([x]) => x <= pill[0]) : -1,
        [from, to] = [route[i], route[i + 1]],
        bent = from && to && from[1] !== to[1];
      const x = bent
        ? moved[i][0] + ((pill[0] - from[0]) / (to[0] - from[0])) * (moved[i + 1][0] - moved[i][0])
        : pill && across(pill[0]);
      return {
        route: moved.filter(([x, y], i) => i !== 1 || !moved[2] || y !== moved[0][1] || x - moved[0][0] > 10),
        pill: pill && [x, pill[1] * low],
      };
    }),
  };
}

// The tight look of a card. A card of numbers has its name beside its data, the gradient below, and no words. A card of
// an array keeps its pieces, but not its expression. Any other card has none: null
function tightLook(card, curve) {
  const look = story.looks[card.look],
    has = role => look.some(piece => piece[0] === role);
  if (card.heats.some(({name}) => name === "data")) {
    const [, left] = look.find(([role]) => ["title", "made"].includes(role));
    const maps = look.filter(([role]) => role === "heat").map(([, x, , wide], k) => x + wide * card.heats[k].columns);
    return {
      width: Math.min(card.box[2], Math.max(left + 9 * card.title.length + 12 + 7 * card.shape.length, ...maps) + 12),
    };
  }
  if (card.data === undefined || card.heats.length) return null;
  const left = 10 + Math.max((card.badge ?? 0) / 2 - 2, 0) + curve,
    whole = has("title") ? card.title : "";
  const title = whole.length > 10 ? `…${whole.slice(-8).replace(/^[^.]*\./, "")}` : whole;
  const letters = x => (x === undefined ? 0 : Math.max(6, short(x).length)),
    name = title ? 10 * title.length + 8 : 0;
  if (!has("grad")) {
    return {
      width: Math.max(left + name + 8 * letters(card.data) + 10, 56),
      pieces: [...(title ? [["title", left, 0, title]] : []), ["data", -10, 0, ""]],
    };
  }
  const dots = card.here > 1 && card.here < 6 ? 9 * card.here + 6 : 0;
  const width = Math.max(left + name + 8 * letters(card.data) + 10, left + dots + 8 * letters(card.grad) + 10);
  // The curve takes the place of the dots, once all uses have sent their parts
  const instead = !curve && dots >= 36 && hasSlope(card);
  return {
    width,
    name,
    instead,
    pieces: [
      ...(has("bar") ? [["bar", 0, 7]] : []),
      ...(curve || instead ? [["slope", instead ? left : 9, 0, instead ? dots - 6 : curve - 6]] : []),
      ...(title ? [["title", left, -1, title]] : []),
      ["data", -10, -1, ""],
      ["grad", -10, 1, ""],
      ["uses", left + 4, 1],
    ],
  };
}

// Lay out a scene, which is drawn afterwards; returns true if all of it fits
export function layOut(at, ...space) {
  const [best, fits] = laid(at, ...space);
  for (const name of ["size", "looks", "small", "letters"]) at[name] = best[name];
  best.boxes.forEach((box, i) => {
    at.cards[i].box = box;
  });
  best.wires.forEach((wire, i) => Object.assign(at.wires[i], wire));
  return fits;
}

// The rows of this width with the least height; null if a line runs backward
function broken(strip, wide) {
  if (strip.wires.some(({route}) => route.some(([x], i) => i && x < route[i - 1][0] - 1))) return null;
  const columns = columnsOf(strip),
    rows = rowsOf(columns, wide),
    end = rows.at(-1);
  const rowAt = x => rows.findIndex(row => columnAt(columns, x) <= row.last);
  const moved = ([x, y, ...size]) => [x + rows[rowAt(x)].dx, y + rows[rowAt(x)].dy, ...size];
  const routed = route =>
    route.flatMap((point, i) => {
      const around = [],
        [x0, y0] = route[i - 1] ?? point;
      for (let r = rowAt(x0); r < rowAt(point[0]); r++) around.push(...detour(rows[r], rows[r + 1], y0));
      return [...around, moved(point)];
    });
  return {
    size: [Math.max(...rows.map(({width}) => width)), end.dy + end.low],
    looks: strip.looks,
    small: strip.small,
    boxes: strip.boxes.map(moved),
    wires: strip.wires.map(({route, pill}) => ({route: routed(route), pill: pill && moved(pill)})),
  };
}

// The column of cards at x, or the next column; behind the last card, the last column
function columnAt(columns, x) {
  const k = columns.findIndex(({right}) => x <= right + 0.5);
  return k < 0 ? columns.length - 1 : k;
}

// The left and right edge of each column, and the heights at which lines go `on` to the next column
function columnsOf({boxes, wires}) {
  const columns = [];
  for (const [x, , width] of [...boxes].sort((a, b) => a[0] - b[0])) {
    const last = columns.at(-1);
    if (last && x <= last.right) last.right = Math.max(last.right, x + width);
    else columns.push({left: last?.right ?? 0, right: x + width, top: Infinity, low: -Infinity, on: new Set()});
  }
  const reach = (column, top, low = top) => {
    column.top = Math.min(column.top, top);
    column.low = Math.max(column.low, low);
  };
  const at = x => columns[columnAt(columns, x)];
  for (const [x, y, , height] of boxes) reach(at(x), y, y + height);
  for (const {route, pill} of wires) {
    if (pill) reach(at(pill[0]), pill[1] - 20, pill[1] + 20);
    route.forEach(([x, y], i) => {
      reach(at(x), y);
      const to = columnAt(columns, route[i + 1]?.[0] ?? x);
      for (let k = columnAt(columns, x); k < to; k++) {
        columns[k].on.add(y);
        reach(columns[k + 1], y);
      }
    });
  }
  columns.forEach((column, k) => {
    column.lanes = k < columns.length - 1 ? LANE * (column.on.size + 1) : 0;
  });
  return columns;
}

// The rows: the columns in each, and how far it is moved
function rowsOf(columns, wide) {
  const best = [{cost: 0}]; // the last row of the best rows of the first k columns
  columns.forEach(({right, lanes}, last) => {
    let top = Infinity,
      low = -Infinity;
    for (let first = last; first >= 0; first--) {
      const before = columns[first - 1]?.lanes ?? 0,
        width = right - columns[first].left + before + lanes;
      top = Math.min(top, columns[first].top);
      low = Math.max(low, columns[first].low);
      if (width > wide && first < last) continue;
      const cost = best[first].cost + low - top + 2 * before + 30 * (width / wide) ** 2 + (first === last ? 150 : 0);
      if (!(best[last + 1]?.cost <= cost)) best[last + 1] = {cost, first, last, top, low, width, before, right};
    }
  });
  const rows = [];
  for (let row = best.at(-1); row !== best[0]; row = best[row.first]) rows.unshift(row);
  let y = 0;
  for (const row of rows) {
    row.dx = row.before - columns[row.first].left;
    row.dy = y + (y && 2 * BREAK - LANE + row.before) - row.top;
    row.on = [...columns[row.last].on].sort((a, b) => b - a);
    y = row.dy + row.low;
  }
  return rows;
}

// The way of a line at height y around to the next row. The lowest line turns first, so that no two cross
function detour(row, next, y) {
  const k = row.on.indexOf(y),
    left = LANE * (k + 1),
    right = row.right + row.dx + left;
  const lane = row.low + row.dy + BREAK + LANE * k,
    below = y + next.dy;
  return [
    [right, y + row.dy],
    [right, lane],
    [left, lane],
    [left, below],
    [left + LANE, below],
  ];
}
