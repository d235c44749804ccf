// ---- numbers as text, and the widths of lines: both tables are those of values.py, which says what they mean
/** @type {Record<string, [least: number, digits: number, power: boolean][]>} by how large a number is */
const FORMATS = /** @type {any} */ ("%formats%");
/** @type {Record<"least" | "decade" | "from" | "to" | "seen", number>} */
export const WIDTHS = /** @type {any} */ ("%widths%");
const CLOSE = 0.05;

// As Python rounds: of two that are as near, the even one
function rounded(size, digits, power) {
  const [[near, exponent], [exact]] = [digits, digits + 25].map(k =>
    (power ? size.toExponential(k) : size.toFixed(k)).split("e"),
  );
  const even = exact.slice(0, -25).replace(/\.$/, ""),
    tie = /50{24}$/.test(exact) && /[02468]$/.test(even);
  return (tie ? even : near) + (exponent ? `e${+exponent}` : "");
}

/**
 * A number as text. With less room than its format takes, it has fewer digits, but is never more than 5 % off.
 * @param {number | string | null | undefined} x
 * @param {string} format a key of FORMATS
 * @param {number} room in letters
 */
export function written(x, format = "full", room = Infinity) {
  if (x === undefined || x === null) return "–";
  const number = +x,
    size = Math.abs(number),
    sign = number < 0 ? "−" : "";
  if (!Number.isFinite(number)) return Number.isNaN(number) ? "nan" : `${sign}inf`;
  const [, digits, power] = FORMATS[format].find(([least]) => (size || 1) >= least);
  /** @type {[number, boolean][]} */
  const ways = Array.from({length: digits + 1}, (_, k) => [digits - k, power]);
  let best = "";
  for (const way of [...ways, [2, true], [1, true], [0, true]]) {
    const text = sign + rounded(size, ...way);
    if (best && !(text.length < best.length && Math.abs(Math.abs(+text.replace("−", "-")) - size) <= CLOSE * size))
      continue;
    best = text.replaceAll("-", "−");
    if (best.length <= room) break;
  }
  return best;
}

export const thickness = g =>
  WIDTHS.least +
  WIDTHS.decade *
    (Math.min(Math.max(Math.log10(Math.abs(Number.isNaN(g) ? Infinity : g)), WIDTHS.from), WIDTHS.to) - WIDTHS.from);
