// Points of one's own: the rows of a text such as a CSV file, and the place in the program that holds them.
export const MOST = 2000, CLASSES = 5;
const SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas", " ": "spaces"};

// The fields of a line; what is in double quotes is one of them.
function fields(line, separator) {
  if (separator === " ") return line.trim().split(/\s+/);
  const found = [""];
  let quoted = false;
  for (const letter of line) {
    if (letter === '"') quoted = !quoted;
    else if (letter === separator && !quoted) found.push("");
    else found[found.length - 1] += letter;
  }
  return found.map(field => field.trim());
}
function number(text, separator) {  // nan for what is none; a comma is a point where it separates nothing else
  const plain = text.replace("−", "-"), written = separator === "," ? plain : plain.replace(",", ".");
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(written) ? Number(written) : NaN;
}
const short = text => `‘${text.length > 20 ? `${text.slice(0, 20)}…` : text}’`;

// {rows: [[x, y, number of the class]], names, about, bad: [{line, why}]}; or {error}. Every line is a row or a bad one.
export function parsed(text) {
  const lines = text.split(/\r\n|\r|\n/).map((line, k) => ({line: k + 1, text: line})).filter(({text}) => text.trim() && !text.startsWith("#"));
  if (!lines.length) return {error: "There are no rows: write or paste one a line, such as 0.5, -1.2, cat."};
  const sample = lines.slice(0, 50), fits = separator => sample.filter(({text}) => fields(text, separator).length >= 3).length;
  const separator = Object.keys(SEPARATORS).reduce((best, next) => fits(next) > fits(best) ? next : best);
  const split = lines.map(line => ({...line, fields: fields(line.text, separator)}));
  const count = Math.max(...split.slice(0, 50).map(({fields}) => fields.length)), columns = Array.from({length: count}, (_, k) => k);
  if (count < 3) return {error: `A row needs two numbers and a class, such as 0.5, -1.2, cat; found ${short(lines[0].text)}.`};
  const isHeader = split.length > 1 && split[0].fields.length === count && split[0].fields.every(field => Number.isNaN(number(field, separator)))
    && split.slice(1, 50).some(({fields}) => fields.some(field => !Number.isNaN(number(field, separator))));
  const header = isHeader ? split.shift().fields : null, called = k => header?.[k] || `column ${k + 1}`;
  const numeric = columns.filter(k => split.filter(({fields}) => !Number.isNaN(number(fields[k] ?? "", separator))).length > split.length / 2);
  const words = columns.filter(k => !numeric.includes(k)), label = words.at(-1) ?? count - 1, [x, y] = numeric.filter(k => k !== label);
  if (y === undefined) return {error: `A row needs two numbers and a class, such as 0.5, -1.2, cat; found ${short(split[0].text)}.`};
  const rows = [], bad = [], named = text => Number.isNaN(number(text, separator)) ? text : String(number(text, separator));
  for (const {line, fields} of split) {
    const places = [fields[x] ?? "", fields[y] ?? ""], [a, b] = places.map(field => number(field, separator)), name = named(fields[label] ?? "");
    const wrong = [a, b].findIndex(value => !Number.isFinite(value));
    if (fields.length < 3) bad.push({line, why: `found ${fields.length} of 3 fields`});
    else if (wrong >= 0) bad.push({line, why: `${short(places[wrong])} is no number`});
    else if (!name) bad.push({line, why: "the class is missing"});
    else rows.push({line, row: [a, b, name]});
  }
  const counts = new Map();
  for (const {row: [, , name]} of rows) counts.set(name, (counts.get(name) ?? 0) + 1);
  const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, CLASSES).map(([name]) => name), all = [...counts.keys()];
  const names = all.every(name => !Number.isNaN(Number(name))) ? most.sort((a, b) => a - b) : all.filter(name => most.includes(name));
  const kept = [];
  for (const {line, row: [a, b, name]} of rows) {
    if (!names.includes(name)) bad.push({line, why: `${short(name)} is one class too many: ${CLASSES} can be learnt here`});
    else if (kept.length === MOST) bad.push({line, why: `it is row ${MOST + 1} or later`});
    else kept.push([a, b, names.indexOf(name)]);
  }
  const about = `${kept.length} rows, separated by ${SEPARATORS[separator]}, ${header ? "with" : "without"} a header. x is ${called(x)}, y is ${called(y)}, and the class is ${called(label)}: ${names.join(", ")}.`;
  return {rows: kept, names, about, bad: bad.sort((a, b) => a.line - b.line)};
}
export function listed(bad) {  // in words, a few of them
  const some = bad.slice(0, 5).map(({line, why}) => `line ${line} (${why})`).join("; ");
  return bad.length ? `Left out: ${some}${bad.length > 5 ? `; and ${bad.length - 5} more` : ""}.` : "";
}
export function csv({rows, names}) {
  const safe = name => /[",;\s]/.test(name) ? `"${name}"` : name;
  return rows.map(([x, y, k]) => `${x}, ${y}, ${safe(names[k])}`).join("\n");
}

// ---- the place in the program: its classes, how x and y are scaled, and the rows
const BLOCK = /^CLASSES = (\[.*\])\nMIDDLE, REACH = \(([^,()]+), ([^,()]+)\), \(([^,()]+), ([^,()]+)\)(.*)\nROWS = \[(.*)\n((?: {4}\([^()\n]*\),\n)*)\]/m;
export function held(program) {  // {rows, names, middle, reach, from, to}, or null where the program has none
  const found = BLOCK.exec(program);
  if (!found) return null;
  try {
    const names = JSON.parse(found[1]), [mx, my, rx, ry] = found.slice(2, 6).map(Number);
    const rows = found[8].split("\n").filter(Boolean).map(line => JSON.parse(`[${line.trim().slice(1, -2)}]`));
    return {rows, names, middle: [mx, my], reach: [rx, ry], from: found.index, to: found.index + found[0].length, notes: [found[6], found[7]]};
  } catch {  // somebody is typing in it
    return null;
  }
}
export function block({rows, names, middle, reach, notes}) {
  const list = rows.map(([x, y, k]) => `    (${x}, ${y}, ${k}),\n`).join("");
  return `CLASSES = [${names.map(name => JSON.stringify(name)).join(", ")}]\nMIDDLE, REACH = (${middle.join(", ")}), (${reach.join(", ")})${notes[0]}\nROWS = [${notes[1]}\n${list}]`;
}
// What becomes 0 and what becomes 1, so that all rows are in the picture; those that are already stay as they are.
export function scale(rows, inside = 1.5) {
  if (rows.every(([x, y]) => Math.abs(x) <= inside && Math.abs(y) <= inside) && rows.some(([x, y]) => Math.abs(x) > inside / 6 || Math.abs(y) > inside / 6)) return {middle: [0, 0], reach: [1, 1]};
  const ends = [0, 1].map(k => rows.reduce(([low, high], row) => [Math.min(low, row[k]), Math.max(high, row[k])], [Infinity, -Infinity]));
  const digits = x => Number(x.toPrecision(4));
  return {middle: ends.map(([low, high]) => digits(low / 2 + high / 2)), reach: ends.map(([low, high]) => digits((high / 2 - low / 2) / 1.4) || 1)};
}
export const scaled = ({rows, middle, reach}) => rows.map(([x, y, k]) => [[(x - middle[0]) / reach[0], (y - middle[1]) / reach[1]], k]);
