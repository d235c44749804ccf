// ---- a graph that is wider than the window is broken into rows, like text, between two columns of cards
const LANE = 10, BREAK = 20;  // between two lines, and around them, on their way from the end of a row to the next
function layOut(at, wide, tall) {  // as one row or, where that does not fit, as rows that do; true if all of it fits
  const strip = at.strip ??= {
    size: at.size,
    boxes: at.cards.map(({box}) => box),
    wires: at.wires.map(({route, pill}) => ({route, pill})),
  };
  const fits = laid => laid && laid.size[0] <= wide && laid.size[1] <= tall;
  const laid = [strip, fits(strip) ? null : broken(strip, wide)].find(fits) ?? strip;
  at.size = laid.size;
  laid.boxes.forEach((box, i) => { at.cards[i].box = box; });
  laid.wires.forEach((wire, i) => Object.assign(at.wires[i], wire));
  return fits(laid);
}
function broken(strip, wide) {  // the lowest rows of this width; null where lines run backward
  if (strip.wires.some(({route}) => route.some(([x], i) => i && x < route[i - 1][0]))) return null;
  const columns = columnsOf(strip), rows = rowsOf(columns, wide), end = rows.at(-1);
  const rowAt = x => rows.findIndex(row => columnAt(columns, x) <= row.last);
  const moved = ([x, y, ...size]) => [x + rows[rowAt(x)].dx, y + rows[rowAt(x)].dy, ...size];
  const routed = route => route.flatMap((point, i) => {
    const around = [], [x0, y0] = route[i - 1] ?? point;
    for (let r = rowAt(x0); r < rowAt(point[0]); r++) around.push(...detour(rows[r], rows[r + 1], y0));
    return [...around, moved(point)];
  });
  return {
    size: [Math.max(...rows.map(({width}) => width)), end.dy + end.low],
    boxes: strip.boxes.map(moved),
    wires: strip.wires.map(({route, pill}) => ({route: routed(route), pill: pill && moved(pill)})),
  };
}
function columnAt(columns, x) {  // the column of cards that a point is in, or the next; behind the last card, the last
  const k = columns.findIndex(({right}) => x <= right + .5);
  return k < 0 ? columns.length - 1 : k;
}
function columnsOf({boxes, wires}) {  // where each begins and ends, and the heights at which lines go `on` to the next
  const columns = [];
  for (const [x,, width] of [...boxes].sort((a, b) => a[0] - b[0])) {
    const last = columns.at(-1);
    if (last && x <= last.right) last.right = Math.max(last.right, x + width);
    else columns.push({left: last?.right ?? 0, right: x + width, top: Infinity, low: -Infinity, on: new Set()});
  }
  const reach = (column, top, low = top) => {
    column.top = Math.min(column.top, top);
    column.low = Math.max(column.low, low);
  };
  const at = x => columns[columnAt(columns, x)];
  for (const [x, y,, height] of boxes) reach(at(x), y, y + height);
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
  columns.forEach((column, k) => { column.lanes = k < columns.length - 1 ? LANE * (column.on.size + 1) : 0; });
  return columns;
}
function rowsOf(columns, wide) {  // which columns are in each, and how far it is moved
  const best = [{cost: 0}];  // the last row of the best rows of the first k columns
  columns.forEach(({right, lanes}, last) => {
    let top = Infinity, low = -Infinity;
    for (let first = last; first >= 0; first--) {
      const before = columns[first - 1]?.lanes ?? 0, width = right - columns[first].left + before + lanes;
      top = Math.min(top, columns[first].top);
      low = Math.max(low, columns[first].low);
      if (width > wide && first < last) continue;
      const cost = best[first].cost + low - top + 2 * before + 30 * (width / wide) ** 2;
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
function detour(row, next, y) {  // a line at this height, around to the next row; the lowest turns first: none crosses
  const k = row.on.indexOf(y), left = LANE * (k + 1), right = row.right + row.dx + left;
  const lane = row.low + row.dy + BREAK + LANE * k, below = y + next.dy;
  return [[right, y + row.dy], [right, lane], [left, lane], [left, below], [left + LANE, below]];
}
