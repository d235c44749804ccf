// Inflate (RFC 1951): the page's script is stored compressed. Its source is in micrograd/viz/playing.
const unpack = text => {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0)), out = [];
  let at = 0;
  const bits = n => { let x = 0; for (let k = 0; k < n; k++, at++) x |= (bytes[at >> 3] >> (at & 7) & 1) << k; return x; };
  const book = lengths => {  // canonical codes, as a map from "length,code" to the symbol
    const codes = {};
    for (let length = 1, code = 0; length < 16; length++, code <<= 1) lengths.forEach((n, symbol) => { if (n === length) codes[length << 15 | code++] = symbol; });
    return () => { for (let length = 1, code = 0; ; length++) { code = code << 1 | bits(1); const symbol = codes[length << 15 | code]; if (symbol !== undefined) return symbol; } };
  };
  const bases = (first, group) => n => { const extra = Math.max(0, (n / group | 0) - 1); return (n < 2 * group ? n : (group + n % group) << extra) + first + bits(extra); };
  const long = bases(3, 4), far = bases(1, 2);
  for (let last = 0; !last;) {
    last = bits(1);
    const kind = bits(2), all = [];
    let many = 288;
    if (kind === 0) {  // stored as it is
      at = (at + 7 & ~7) + 32;
      for (let k = bytes[(at >> 3) - 4] | bytes[(at >> 3) - 3] << 8; k; k--, at += 8) out.push(bytes[at >> 3]);
      continue;
    }
    if (kind === 1) for (const [length, to] of [[8, 144], [9, 256], [7, 280], [8, 288], [5, 318]]) while (all.length < to) all.push(length);
    else {
      many = bits(5) + 257;
      const whole = many + bits(5) + 1, count = bits(4) + 4, order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15], sizes = Array(19).fill(0);
      for (let k = 0; k < count; k++) sizes[order[k]] = bits(3);
      for (const next = book(sizes); all.length < whole;) {
        const x = next(), repeat = x < 16 ? 1 : x === 16 ? 3 + bits(2) : x === 17 ? 3 + bits(3) : 11 + bits(7), value = x < 16 ? x : x === 16 ? all.at(-1) : 0;
        for (let k = 0; k < repeat; k++) all.push(value);
      }
    }
    const letter = book(all.slice(0, many)), back = book(all.slice(many));
    for (let x; (x = letter()) !== 256;) {
      if (x < 256) { out.push(x); continue; }
      const length = x === 285 ? 258 : long(x - 257), from = out.length - far(back());
      for (let k = 0; k < length; k++) out.push(out[from + k]);
    }
  }
  return new TextDecoder().decode(Uint8Array.from(out));
};
