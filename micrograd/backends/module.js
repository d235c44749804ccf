export function state() {
    return Object.fromEntries(Object.entries(stored).map(([name, {array, shape}]) => [name, nested(array, shape)]));
}

export function load(saved) {
    // All are read before the first is set, so that an error changes nothing.
    const changes = Object.keys(saved).map(name => {
        if (!Object.hasOwn(stored, name)) throw new TypeError(`there is no ${name} here`);
        const {array, shape} = stored[name];
        return [array, read(saved, [name], shape, array.constructor)];
    });
    for (const [array, numbers] of changes) array.set(numbers);
}

// The numbers of an argument, checked. An array is passed as nested lists, or as one list of its numbers.
function read(inputs, path, shape, type, whole) {
    const name = path.join(".");
    const size = sizeOf(shape);
    let x = inputs;
    for (const key of path) {
        if (x === null || typeof x !== "object" || !Object.hasOwn(x, key)) throw new TypeError(`${name} is missing`);
        x = x[key];
    }
    if (x instanceof type && !whole && x.length === size) return x;
    const isNested = Array.isArray(x) && x.some(Array.isArray);
    const flat = ArrayBuffer.isView(x) ? x : [x].flat(Infinity);
    if (isNested ? !isOfShape(x, shape) : flat.length !== size) {
        const lengths = isNested ? [] : [flat.length];
        for (let list = x; isNested && Array.isArray(list); list = list[0]) lengths.push(list.length);
        const shown = String(lengths) === String(shape) ? "lists of unequal lengths" : `[${lengths}]`;
        throw new RangeError(`${name} needs an array of shape [${shape}], found ${shown}`);
    }
    const array = new type(size);
    for (let i = 0; i < size; i++) {
        const n = typeof flat[i] === "boolean" ? Number(flat[i]) : flat[i];
        array[i] = typeof n === "number" ? n : 0;
        if (typeof n !== "number" || (whole && !(array[i] === n && Number.isSafeInteger(n))))
            throw new TypeError(`${name} needs ${whole ? "integers of its dtype" : "numbers"}, found ${String(flat[i])}`);
    }
    return array;
}

// The number of elements of an array of this shape.
function sizeOf(shape) {
    return shape.reduce((a, b) => a * b, 1);
}

// Whether these nested lists are an array of this shape.
function isOfShape(x, [n, ...shape]) {
    if (n === undefined) return !Array.isArray(x);
    return Array.isArray(x) && x.length === n && x.every(part => isOfShape(part, shape));
}

// A typed array from its bytes in base64.
function decoded(text, type) {
    return new type(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
}

// The number at a place, or the array that begins there, as nested lists or as a typed array.
function nested(array, [n, ...shape], place = 0, typed = false) {
    if (n === undefined) return array[place];
    const size = sizeOf(shape);
    if (typed === true) return array.slice(place, place + n * size);
    return Array.from({length: n}, (_, i) => nested(array, shape, place + i * size));
}

// An index of an axis of n elements, counted from 0. The index -1 is the last element.
function within(i, n) {
    if (i >= -n && i < n) return i < 0 ? i + n : i;
    throw new RangeError(`found the index ${i}, which is out of bounds for an axis of ${n} elements`);
}

// Raise an error with this message for the first number that is not allowed.
function verify(array, shape, isAllowed, message) {
    const i = array.findIndex(x => !isAllowed(x));
    if (i < 0) return;
    const indices = shape.map((n, d) => Math.floor(i / sizeOf(shape.slice(d + 1))) % n);
    throw new RangeError(message.replace("@found@", array[i]).replace("@place@", indices.map(n => `[${n}]`).join("")));
}

// Write the order of n keys to `order`: equal keys stay in their order, and nan comes last.
function orderOf(n, order, keys) {
    const isEarlier = (a, b) => a < b || (b !== b && a === a);
    for (let i = 0; i < n; i++) order[i] = i;
    order.subarray(0, n).sort((i, j) => isEarlier(keys[j], keys[i]) - isEarlier(keys[i], keys[j]) || i - j);
}

// The result of a step with integers of 64 bits, which are numbers in JavaScript.
function whole(x, least = Number.MIN_SAFE_INTEGER) {
    if (Number.isSafeInteger(x) && x >= least) return x + 0; // no -0
    throw new RangeError(`found the integer ${x}: JavaScript's are exact from ${least} to 2**53 - 1`);
}
