export function state() {
    return Object.fromEntries(Object.keys(held).map(name => [name, nested(held[name].array, held[name].shape)]));
}

export function load(saved) {
    const found = Object.keys(saved).map(name => {
        if (!Object.hasOwn(held, name)) throw new TypeError(`there is no ${name} here`);
        return [held[name].array, read(saved, [name], held[name].shape, held[name].array.constructor)];
    });
    for (const [array, numbers] of found) array.set(numbers);
}

// The numbers of an input, checked: an array is passed as nested lists, or as one list of its numbers.
function read(all, path, shape, type, whole) {
    const name = path.join(".");
    let x = all;
    for (const key of path) {
        if (x === null || typeof x !== "object" || !Object.hasOwn(x, key)) throw new TypeError(`${name} is missing`);
        x = x[key];
    }
    const isNested = Array.isArray(x) && x.some(Array.isArray);
    const given = ArrayBuffer.isView(x) ? x : [x].flat(Infinity);
    const made = new type(shape.reduce((a, b) => a * b, 1));
    if (isNested ? !isOfShape(x, shape) : given.length !== made.length) {
        const found = isNested ? [] : [given.length];
        for (let part = x; isNested && Array.isArray(part); part = part[0]) found.push(part.length);
        const what = String(found) === String(shape) ? "lists of unequal lengths" : `[${found}]`;
        throw new RangeError(`${name} needs an array of shape [${shape}], found ${what}`);
    }
    for (let i = 0; i < made.length; i++) {
        const n = typeof given[i] === "boolean" ? Number(given[i]) : given[i];
        made[i] = typeof n === "number" ? n : 0;
        if (typeof n !== "number" || (whole && !(made[i] === n && Number.isSafeInteger(n))))
            throw new TypeError(`${name} needs ${whole ? "integers of its dtype" : "numbers"}, found ${String(given[i])}`);
    }
    return made;
}

// Are these nested lists an array of the shape?
function isOfShape(x, [n, ...shape]) {
    if (n === undefined) return !Array.isArray(x);
    return Array.isArray(x) && x.length === n && x.every(part => isOfShape(part, shape));
}

// The numbers of an array that is stored as base64.
function decoded(text, type) {
    return new type(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
}

// A number, or an array as nested lists; its numbers begin at this place.
function nested(array, [n, ...shape], place = 0) {
    if (n === undefined) return array[place];
    const size = shape.reduce((a, b) => a * b, 1);
    return Array.from({length: n}, (_, i) => nested(array, shape, place + i * size));
}

// The index i of an axis of n elements, in which -1 is the last.
function within(i, n) {
    if (i >= -n && i < n) return i < 0 ? i + n : i;
    throw new RangeError(`found the index ${i}, which is out of bounds for an axis of ${n} elements`);
}

// The first number that is not allowed is an Error, in these words.
function verify(array, shape, isAllowed, words) {
    const i = array.findIndex(x => !isAllowed(x));
    if (i < 0) return;
    const places = shape.map((n, d) => Math.floor(i / shape.slice(d + 1).reduce((a, b) => a * b, 1)) % n);
    throw new RangeError(words.replace("@found@", array[i]).replace("@place@", places.map(n => `[${n}]`).join("")));
}

// The order of n keys: equal keys stay in their order, and nan comes last.
function orderOf(n, order, keys) {
    const isEarlier = (a, b) => a < b || (b !== b && a === a);
    for (let i = 0; i < n; i++) order[i] = i;
    order.subarray(0, n).sort((i, j) => isEarlier(keys[j], keys[i]) - isEarlier(keys[i], keys[j]) || i - j);
}

// An integer of 64 bits, which is a number here.
function whole(x, least = Number.MIN_SAFE_INTEGER) {
    if (Number.isSafeInteger(x) && x >= least) return x + 0; // no -0
    throw new RangeError(`found the integer ${x}: JavaScript's are exact from ${least} to 2**53 - 1`);
}
