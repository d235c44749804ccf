// Points of one's own: the rows of a text such as a CSV file, and the place in the program that holds them.
export const MOST = 2000,
  CLASSES = 5;
const SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas", " ": "spaces"};
const SAMPLE = 50,
  LONGEST = 20; // records that the guesses look at, and lines that one may have
const ERROR = /^#(N\/A|VALUE!|REF!|DIV\/0!|NAME\?|NUM!|NULL!)/i; // what a spreadsheet writes where it has no value
const CLASS = /^(class|label|target|species|kind|type|category|group|outcome|diagnosis)$/i,
  COUNTER = /^(|#|id|index|nr\.?|no\.?|row|unnamed: 0)$/i;
const EXAMPLE = "such as 0.5, -1.2, cat";

// ---- the text of a file, and the records in it
export function decoded(bytes) {
  // UTF-8 or, if it is none, UTF-16, else what Windows writes, of which Latin-1 is a part
  const [first, second] = new Uint8Array(bytes),
    start = new Uint8Array(bytes).slice(0, 200);
  const zeros = at => start.filter((byte, k) => k % 2 === at && byte === 0).length > start.length / 4;
  const read = encoding => new TextDecoder(encoding).decode(bytes);
  if ((first === 0xff && second === 0xfe) || zeros(1)) return read("utf-16le");
  if ((first === 0xfe && second === 0xff) || zeros(0)) return read("utf-16be");
  try {
    return new TextDecoder("utf-8", {fatal: true}).decode(bytes);
  } catch {
    return read("windows-1252");
  }
}
function otherwise(text) {
  // the name of a format that is no table
  const start = text.trimStart();
  const isJson = some => {
    try {
      return typeof JSON.parse(some) === "object";
    } catch {
      return false;
    }
  };
  if (/^[[{]/.test(start) && (isJson(start) || isJson(start.split("\n")[0]) || /^[[{]\s*["{]/.test(start)))
    return "JSON";
  if (start.startsWith("PK\u0003\u0004")) return "a spreadsheet (or another archive)";
  return /^<[!?a-z]/i.test(start) ? "HTML or XML" : start.startsWith("%PDF") ? "a PDF" : "";
}
// The fields of a line, or null where a quote is open: a field in double quotes may hold the separator, and "" is one of them.
function fields(line, separator, literal = false) {
  if (separator === " ") return [...line.matchAll(/"([^"]*)"|\S+/g)].map(([whole, inside]) => inside ?? whole);
  const found = [""];
  let quoted = false;
  for (let k = 0; k < line.length; k++) {
    const letter = line[k],
      last = found.length - 1;
    if (letter === '"' && quoted && line[k + 1] === '"') found[last] += line[k++];
    else if (letter === '"' && !literal && (quoted || !found[last].trim())) quoted = !quoted;
    else if (letter === separator && !quoted) found.push("");
    else found[last] += letter;
  }
  return quoted ? null : found.map(field => field.replace(/\s+/g, " ").trim());
}
function records(lines, separator, most = Infinity) {
  // those that are not empty, with the number of their first line
  const found = [];
  for (let k = 0; k < lines.length && found.length < most; k++) {
    let end = k,
      text = lines[k],
      read = fields(text, separator);
    while (!read && ++end < Math.min(lines.length, k + LONGEST)) read = fields((text += `\n${lines[end]}`), separator);
    if (!read) [end, text, read] = [k, lines[k], fields(lines[k], separator, true)]; // the quote is a letter
    if (read.some(Boolean)) found.push({line: k + 1, text, fields: read});
    k = end;
  }
  return found;
}
const width = ({fields}) => fields.findLastIndex(Boolean) + 1; // without the empty ones at the right
function usual(list) {
  // the most common width
  const counts = new Map();
  for (const record of list) counts.set(width(record), (counts.get(width(record)) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || b[0] - a[0])[0]?.[0] ?? 0;
}

// ---- numbers
// A function that reads the numbers of a column, nan for what is none: a comma is a point, unless the column has both.
function reader(texts) {
  const both = texts.find(text => /\d\.\d.*,\d|\d,\d.*\.\d/.test(text)),
    twice = mark => texts.some(text => text.split(mark).length > 2);
  const point = both
    ? both.lastIndexOf(",") > both.lastIndexOf(".")
      ? ","
      : "."
    : twice(",")
      ? "."
      : twice(".") || texts.some(text => text.includes(","))
        ? ","
        : ".";
  const thousands = point === "," ? /^([-+]?\d{1,3})((?:\.\d{3})+)(,\d*)?$/ : /^([-+]?\d{1,3})((?:,\d{3})+)(\.\d*)?$/;
  return text => {
    const plain = text
      .replace("−", "-")
      .replace(thousands, (_, first, rest, end = "") => first + rest.replace(/[.,]/g, "") + end)
      .replace(point, ".");
    return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain) ? Number(plain) : NaN;
  };
}
const isNumber = text => !Number.isNaN(reader([text])(text));
const short = text => `‘${text.length > 20 ? `${text.slice(0, 20)}…` : text}’`;

// ---- the table: what its first lines say, and what its columns are
function table(text) {
  const lines = text.replace(/^\ufeff?(sep=.(?=[\r\n]))?/i, "").split(/\r\n|\r|\n/);
  const fits = separator =>
    records(lines, separator, SAMPLE).filter(({fields}) => fields.length >= 3 && fields.filter(isNumber).length >= 2)
      .length;
  const counts = Object.fromEntries(Object.keys(SEPARATORS).map(separator => [separator, fits(separator)]));
  const separator = Object.keys(SEPARATORS).reduce((best, next) => (counts[next] > counts[best] ? next : best));
  const all = records(lines, separator),
    count = usual(all.slice(0, SAMPLE)),
    rows = [];
  let header = null,
    classes = null;
  const words = ({fields}) => fields.every(field => !isNumber(field)),
    beforeNumbers = k => all.slice(k + 1, k + SAMPLE).some(({fields}) => fields.some(isNumber));
  for (const [k, record] of all.entries()) {
    const first = rows.every(row => width(row) < 3) && !classes,
      bare = {fields: fields(record.text.replace(/^#\s*/, ""), separator) ?? record.fields};
    if (record.text.startsWith("#") && !ERROR.test(record.text)) {
      if (first && width(bare) === count && words(bare) && beforeNumbers(k)) {
        header = bare.fields;
        continue;
      }
      if (width(record) !== count) continue; // a comment
    }
    if (
      first &&
      words(record) &&
      beforeNumbers(k) &&
      !(header && !record.text.startsWith("#") && width(record) !== count)
    ) {
      const named = width(record) === count - 1 && record.fields[0] ? ["", ...record.fields] : record.fields; // R names no column of row names
      if (named.length >= count) {
        header = named;
        continue;
      }
    }
    const [size, inputs, ...names] = record.fields.slice(0, width(record));
    if (
      first &&
      !header &&
      names.length > 1 &&
      /^\d+$/.test(size) &&
      Number(inputs) === count - 1 &&
      !names.some(isNumber)
    )
      classes = names; // as scikit-learn's files begin
    else rows.push(record);
  }
  return {separator, header, classes, rows};
}
function columnsOf({header, rows}) {
  const count = Math.max(0, ...rows.slice(0, SAMPLE).map(width)),
    whole = rows.filter(row => width(row) >= 3).length; // without a title above, or below
  return Array.from({length: count}, (_, k) => {
    const texts = rows.map(({fields}) => fields[k] ?? ""),
      read = reader(texts.filter(Boolean)),
      numbers = texts.map(read);
    const known = numbers.filter(x => !Number.isNaN(x)),
      named = texts.map((text, i) => (Number.isNaN(numbers[i]) ? text : String(numbers[i]))),
      kinds = new Set(named.filter(Boolean));
    const counts = k === 0 && known.every((x, i) => Number.isInteger(x) && (i === 0 || x === known[i - 1] + 1));
    return {
      k,
      name: header?.[k] || `column ${k + 1}`,
      texts,
      numbers,
      named,
      filled: texts.filter(Boolean).length >= whole / 2,
      numeric: known.length > whole / 2,
      few: kinds.size > 1 && kinds.size <= CLASSES && known.every(Number.isInteger),
      repeats: kinds.size <= whole / 2,
      counts:
        known.length === whole &&
        whole > 1 &&
        (counts || (header && COUNTER.test(header[k] ?? "x") && known.every(Number.isInteger))),
    };
  });
}
// Which columns are x, y and the class: words before numbers, few of them before many, the last column before the others.
function chosen(columns, given, classes) {
  const usable = columns.filter(({filled, counts}) => filled && !counts),
    words = usable.filter(({numeric}) => !numeric),
    few = usable.filter(({few}) => few);
  const last = usable.at(-1),
    ends = [last, usable[0]].filter(
      column => few.includes(column) && usable.filter(other => other.numeric && other !== column).length > 1,
    );
  const guesses = [
    classes && columns.at(-1),
    few.findLast(({numeric}) => !numeric),
    few.findLast(({name}) => CLASS.test(name)),
    words.findLast(({repeats}) => repeats),
    ...ends,
    words.at(-1),
    last,
    columns.at(-1),
  ];
  const label = columns[given.label] ?? guesses.find(Boolean);
  const numbers = list => list.filter(column => column.numeric && column !== label),
    numeric = numbers(usable).length > 1 ? numbers(usable) : numbers(columns);
  const x = columns[given.x] ?? numeric.find(({k}) => k !== given.y),
    y = columns[given.y] ?? numeric.find(column => column !== x);
  return {x, y, label};
}

// {rows: [[x, y, number of the class]], names, about, bad: [{line, why}], columns, axes, given}; or {error}. Every line is
// a row or a bad one, but for comments. `given` has the numbers of the columns that somebody chose.
export function parsed(text, given = {}) {
  const other = otherwise(text);
  if (other) return {error: `This is ${other}. Rows are needed here, one a line, ${EXAMPLE}: save it as CSV first.`};
  const {separator, header, classes, rows: records} = table(text);
  if (!records.length) return {error: `There are no rows: write or paste one a line, ${EXAMPLE}.`};
  const columns = columnsOf({header, rows: records}),
    {x, y, label} = chosen(columns, given, classes);
  if (!y || columns.length < 3)
    return {error: `A row needs two numbers and a class, ${EXAMPLE}; found ${short(records[0].text)}.`};
  const rows = [],
    bad = [],
    counts = new Map();
  for (const [i, record] of records.entries()) {
    const wrong = [x, y].find(({numbers}) => !Number.isFinite(numbers[i])),
      name = label.named[i];
    if (record.fields.length < 3) bad.push({line: record.line, why: `found ${record.fields.length} of 3 fields`});
    else if (wrong) bad.push({line: record.line, why: `${short(wrong.texts[i])} is no number`});
    else if (!name || ERROR.test(name)) bad.push({line: record.line, why: "the class is missing"});
    else rows.push({line: record.line, row: [x.numbers[i], y.numbers[i], classes?.[name] ?? name]});
  }
  for (const {
    row: [, , name],
  } of rows)
    counts.set(name, (counts.get(name) ?? 0) + 1);
  const most = [...counts]
      .sort((a, b) => b[1] - a[1])
      .slice(0, CLASSES)
      .map(([name]) => name),
    all = [...counts.keys()];
  const names = all.every(isNumber) ? most.sort((a, b) => a - b) : all.filter(name => most.includes(name));
  const kept = [];
  for (const {
    line,
    row: [a, b, name],
  } of rows) {
    if (!names.includes(name))
      bad.push({line, why: `${short(name)} is one class too many: ${CLASSES} can be learnt here`});
    else if (kept.length === MOST) bad.push({line, why: `it is row ${MOST + 1} or later`});
    else kept.push([a, b, names.indexOf(name)]);
  }
  const began = classes ? "with a line of counts and classes" : header ? "with a header" : "without a header";
  const counting = columns.find(column => column.counts && ![x, y, label].includes(column));
  const about = `${kept.length} rows, separated by ${SEPARATORS[separator]}, ${began}. x is ${x.name}, y is ${y.name}, and the class is ${label.name}: ${names.join(", ")}.${counting ? ` ${counting.name} only counts the rows.` : ""}`;
  return {
    rows: kept,
    names,
    about,
    bad: bad.sort((a, b) => a.line - b.line),
    columns: columns.map(({name}) => name),
    axes: [x, y].map(({name}) => (header ? name.replace(/[\s,]+/g, " ").slice(0, 40) : name)),
    given: {x: x.k, y: y.k, label: label.k},
  };
}
export function listed(bad) {
  // in words, a few of them
  const some = bad
    .slice(0, 5)
    .map(({line, why}) => `line ${line} (${why})`)
    .join("; ");
  return bad.length ? `Left out: ${some}${bad.length > 5 ? `; and ${bad.length - 5} more` : ""}.` : "";
}
export function csv({rows, names}) {
  const safe = name => (/[",;\s]/.test(name) ? `"${name}"` : name);
  return rows.map(([x, y, k]) => `${x}, ${y}, ${safe(names[k])}`).join("\n");
}

// ---- the place in the program: its classes, how x and y are scaled, and the rows
const BLOCK =
  /^CLASSES = (\[.*\])\nMIDDLE, REACH = \(([^,()]+), ([^,()]+)\), \(([^,()]+), ([^,()]+)\)(.*)\nROWS = \[(.*)\n((?: {4}\([^()\n]*\),\n)*)\]/m;
const NAMED = /^ {2}# (.+), (.+), number of the class$/;
export function held(program) {
  // {rows, names, axes, middle, reach, from, to}, or null where the program has none
  const found = BLOCK.exec(program);
  if (!found) return null;
  try {
    const names = JSON.parse(found[1]),
      [mx, my, rx, ry] = found.slice(2, 6).map(Number);
    const rows = found[8]
      .split("\n")
      .filter(Boolean)
      .map(line => JSON.parse(`[${line.trim().slice(1, -2)}]`));
    const axes = NAMED.exec(found[7])?.slice(1) ?? ["x", "y"];
    return {
      rows,
      names,
      axes,
      middle: [mx, my],
      reach: [rx, ry],
      from: found.index,
      to: found.index + found[0].length,
      notes: [found[6], found[7]],
    };
  } catch {
    // somebody is typing in it
    return null;
  }
}
export function block({rows, names, axes = ["x", "y"], middle, reach, notes}) {
  const list = rows.map(([x, y, k]) => `    (${x}, ${y}, ${k}),\n`).join("");
  return `CLASSES = [${names.map(name => JSON.stringify(name)).join(", ")}]\nMIDDLE, REACH = (${middle.join(", ")}), (${reach.join(", ")})${notes[0]}\nROWS = [${NAMED.test(notes[1]) ? `  # ${axes.join(", ")}, number of the class` : notes[1]}\n${list}]`;
}
// What becomes 0 and what becomes 1, so that all rows are in the picture; those that are already stay as they are.
export function scale(rows, inside = 1.5) {
  if (
    rows.every(([x, y]) => Math.abs(x) <= inside && Math.abs(y) <= inside) &&
    rows.some(([x, y]) => Math.abs(x) > inside / 6 || Math.abs(y) > inside / 6)
  )
    return {middle: [0, 0], reach: [1, 1]};
  const ends = [0, 1].map(k =>
    rows.reduce(([low, high], row) => [Math.min(low, row[k]), Math.max(high, row[k])], [Infinity, -Infinity]),
  );
  const digits = x => Number(x.toPrecision(4));
  return {
    middle: ends.map(([low, high]) => digits(low / 2 + high / 2)),
    reach: ends.map(([low, high]) => digits((high / 2 - low / 2) / 1.4) || 1),
  };
}
export const scaled = ({rows, middle, reach}) =>
  rows.map(([x, y, k]) => [[(x - middle[0]) / reach[0], (y - middle[1]) / reach[1]], k]);
