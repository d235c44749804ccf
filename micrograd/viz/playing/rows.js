// ---- a graph that is wider than the window is broken into rows, like text, between two columns of cards
const LANE = 10, BREAK = 20;  // between two lines, and around them, on their way from the end of a row to the next
function layOut(at, wide, tall) {  // as one row or, where that does not fit, as rows that do; true if all of it fits
  const strip = at.strip ??= {size: at.size, boxes: at.cards.map(card => card.box), wires: at.wires.map(({route, pill}) => ({route, pill}))};
  const fits = laid => laid && laid.size[0] <= wide && laid.size[1] <= tall;
  const laid = [strip, fits(strip) ? null : broken(strip, wide)].find(fits) ?? strip;
  at.size = laid.size;
  laid.boxes.forEach((box, i) => { at.cards[i].box = box; });
  laid.wires.forEach((wire, i) => Object.assign(at.wires[i], wire));
  return fits(laid);
}
function broken({boxes, wires}, wide) {  // the lowest rows of this width; null where lines run backward
  const columns = [];  // where each ends, from where to where it reaches, at which heights lines go on to the next
  for (const [x,, width] of [...boxes].sort((a, b) => a[0] - b[0])) {
    if (!columns.length || x > columns.at(-1).right) columns.push({right: x + width, top: Infinity, low: -Infinity, on: new Set()});
    columns.at(-1).right = Math.max(columns.at(-1).right, x + width);
  }
  const columnAt = x => Math.min(columns.findIndex(({right}) => x <= right + .5) >>> 0, columns.length - 1);
  const reach = (k, top, low = top) => Object.assign(columns[k], {top: Math.min(columns[k].top, top), low: Math.max(columns[k].low, low)});
  const crossings = (route, cross) => route.slice(1).forEach(([x], i) => {
    for (let k = columnAt(route[i][0]); k < columnAt(x); k++) cross(k, route[i][1]);
  });
  for (const [x, y,, height] of boxes) reach(columnAt(x), y, y + height);
  for (const {route, pill} of wires) {
    if (route.some(([x], k) => k && x < route[k - 1][0])) return null;
    for (const [x, y] of route) reach(columnAt(x), y);
    if (pill) reach(columnAt(pill[0]), pill[1] - 20, pill[1] + 20);
    crossings(route, (k, y) => { columns[k].on.add(y); reach(k + 1, y); });
  }
  const end = k => k < 0 ? 0 : columns[k].right, lanes = k => k < 0 || k === columns.length - 1 ? 0 : LANE * (columns[k].on.size + 1), best = [{cost: 0}];
  columns.forEach((_, last) => {
    let top = Infinity, low = -Infinity;
    for (let first = last; first >= 0; first--) {
      const width = end(last) - end(first - 1) + lanes(first - 1) + lanes(last);
      [top, low] = [Math.min(top, columns[first].top), Math.max(low, columns[first].low)];
      if (width > wide && first < last) continue;
      const cost = best[first].cost + low - top + 2 * lanes(first - 1) + 30 * (width / wide) ** 2;
      if (!(best[last + 1]?.cost <= cost)) best[last + 1] = {cost, first, last, top, low, width};
    }
  });
  const rows = [];
  for (let row = best.at(-1); row.last !== undefined; row = best[row.first]) rows.unshift(row);
  let y = 0;
  for (const row of rows) {
    Object.assign(row, {dx: lanes(row.first - 1) - end(row.first - 1), dy: y + (y && 2 * BREAK - LANE + lanes(row.first - 1)) - row.top, on: [...columns[row.last].on].sort((a, b) => b - a)});
    y = row.dy + row.low;
  }
  const rowAt = x => rows.findIndex(row => columnAt(x) <= row.last);
  const moved = ([x, y, ...size]) => [x + rows[rowAt(x)].dx, y + rows[rowAt(x)].dy, ...size];
  const routed = route => route.flatMap((point, i) => {
    const around = [], [x0, y0] = route[i - 1] ?? point;
    for (let r = rowAt(x0); r < rowAt(point[0]); r++) {  // the lowest line turns first, so none crosses another
      const {on, dx, dy, low, last} = rows[r], k = on.indexOf(y0), right = end(last) + dx + LANE * (k + 1), left = LANE * (k + 1);
      const lane = low + dy + BREAK + LANE * k, below = y0 + rows[r + 1].dy;
      around.push([right, y0 + dy], [right, lane], [left, lane], [left, below], [left + LANE, below]);
    }
    return [...around, moved(point)];
  });
  return {size: [Math.max(...rows.map(row => row.width)), y], boxes: boxes.map(moved), wires: wires.map(({route, pill}) => ({route: routed(route), pill: pill && moved(pill)}))};
}
