// As much of a document as the player's page asks for: elements, selectors, events, and a clock that a test moves.
// Nothing is laid out: sizes are fixed, and what only a browser shows is tested in Chromium (tests/browser).
"use strict";
const ENTITIES = {amp: "&", lt: "<", gt: ">", quot: '"', times: "×", minus: "−"}, VOID = new Set(["input", "br", "meta", "img"]);
const decoded = text => text.replace(/&(\w+);/g, (whole, name) => ENTITIES[name] ?? whole);
const encoded = text => text.replace(/[&<>"]/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})[c]);
const kebab = name => name.replace(/[A-Z]/g, c => `-${c.toLowerCase()}`);

// ---- events
class Event {
  constructor(type, fields = {}) { Object.assign(this, {type, bubbles: false}, fields); }
  preventDefault() { this.defaultPrevented = true; }
  stopPropagation() { this.stopped = true; }
}
class Target {
  addEventListener(type, act, capture = false) { ((this.listeners ??= {})[type] ??= []).push([act, capture === true]); }
  removeEventListener(type, act) { this.listeners[type] = (this.listeners?.[type] ?? []).filter(([other]) => other !== act); }
  above() { return []; }
  dispatchEvent(event) {
    event.target ??= this;
    const path = [this, ...this.above()];
    const call = (at, capturing) => (at.listeners?.[event.type] ?? []).filter(([, capture]) => capture === capturing).forEach(([act]) => act(event));
    for (const at of [...path].reverse()) { if (!event.stopped) call(at, true); }
    for (const at of event.bubbles ? path : [this]) {
      if (!event.stopped) { call(at, false); at[`on${event.type}`]?.(event); }
    }
    return !event.defaultPrevented;
  }
}

// ---- elements
class Text {
  constructor(text) { this.textContent = text; }
  get outerHTML() { return encoded(this.textContent); }
}
class Classes {
  constructor(attributes) { this.attributes = attributes; }
  get names() { return (this.attributes.class ?? "").split(/\s+/).filter(Boolean); }
  contains(name) { return this.names.includes(name); }
  add(name) { this.toggle(name, true); }
  remove(name) { this.toggle(name, false); }
  toggle(name, on = !this.contains(name)) { this.attributes.class = [...this.names.filter(other => other !== name), ...on ? [name] : []].join(" "); }
  [Symbol.iterator]() { return this.names[Symbol.iterator](); }
}
class Element extends Target {
  constructor(tag, document) {
    super();
    Object.assign(this, {tag, document, attributes: {}, childNodes: [], parentElement: null});
    this.style = {setProperty(name, value) { this[name] = value; }, getPropertyValue(name) { return this[name] ?? ""; }};
  }
  get dataset() {
    return this.data ??= new Proxy(this.attributes, {
      get: (all, name) => all[`data-${kebab(name)}`],
      set: (all, name, value) => { all[`data-${kebab(name)}`] = String(value); return true; },
    });
  }
  get classList() { return this.classes ??= new Classes(this.attributes); }
  above() { return this.parentElement ? [this.parentElement, ...this.parentElement.above()] : [this.document, this.document.window]; }
  getAttribute(name) { return this.attributes[name] ?? null; }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  removeAttribute(name) { delete this.attributes[name]; }
  hasAttribute(name) { return name in this.attributes; }
  toggleAttribute(name, on) { if (on) this.attributes[name] = ""; else delete this.attributes[name]; }
  get children() { return this.childNodes.filter(node => node instanceof Element); }
  get childElementCount() { return this.children.length; }
  get firstChild() { return this.childNodes[0] ?? null; }
  get firstElementChild() { return this.children[0] ?? null; }
  get form() { return this.closest("form"); }
  get textContent() { return this.childNodes.map(node => node.textContent).join(""); }
  set textContent(text) { this.replaceChildren(String(text)); }
  get innerHTML() { return this.childNodes.map(node => node.outerHTML).join(""); }
  set innerHTML(html) { this.replaceChildren(...parsed(html, this.document)); }
  get outerHTML() {
    const written = Object.entries(this.attributes).map(([name, value]) => ` ${name}="${encoded(value)}"`).join("");
    return `<${this.tag}${written}>${VOID.has(this.tag) ? "" : `${this.innerHTML}</${this.tag}>`}`;
  }
  append(...nodes) {
    for (const node of nodes.map(node => typeof node === "object" ? node : new Text(node))) {
      node.remove?.();
      node.parentElement = this;
      this.childNodes.push(node);
    }
  }
  replaceChildren(...nodes) {
    for (const node of this.childNodes) node.parentElement = null;
    this.childNodes = [];
    this.append(...nodes);
  }
  remove() {
    if (this.parentElement) this.parentElement.childNodes = this.parentElement.childNodes.filter(node => node !== this);
    this.parentElement = null;
  }
  isIn(root) { return this === root || !!this.parentElement?.isIn(root); }
  contains(other) { return other === this || !!other?.parentElement && this.contains(other.parentElement); }
  below(found = []) {
    for (const child of this.childNodes) if (child instanceof Element) { found.push(child); child.below(found); }
    return found;
  }
  matches(selector) { return alternatives(selector).some(one => fits(this, one)); }
  closest(selector) { return [this, ...this.above()].find(at => at instanceof Element && at.matches(selector)) ?? null; }
  querySelectorAll(selector) { return this.below().filter(element => element.matches(selector)); }
  querySelector(selector) { return this.querySelectorAll(selector)[0] ?? null; }
  focus() {
    const before = this.document.activeElement;
    if (before === this) return;
    this.document.activeElement = this;
    before?.dispatchEvent(new Event("blur"));
    this.dispatchEvent(new Event("focus"));
    this.dispatchEvent(new Event("focusin", {bubbles: true}));
  }
  select() { this.selected = true; }
  click(fields = {}) {
    const done = this.dispatchEvent(new Event("click", {bubbles: true, ...fields}));
    if (done && this.tag === "button" && this.form && this.type !== "button") this.form.requestSubmit();
  }
  requestSubmit() { this.dispatchEvent(new Event("submit", {bubbles: true})); }
  setPointerCapture() {}
  getBoundingClientRect() { return {left: 0, top: 0, width: 0, height: 0}; }
  get clientWidth() { return 1400; }
  get clientHeight() { return 600; }
  get scrollWidth() { return 0; }
  get offsetWidth() { return 0; }
  get offsetHeight() { return 0; }
  getTotalLength() { return 100; }
  getPointAtLength(x) { return {x, y: 0}; }
}
for (const name of ["id", "title", "type", "max", "min", "href", "className"]) {
  const attribute = name === "className" ? "class" : name;
  Object.defineProperty(Element.prototype, name, {get() { return this.attributes[attribute] ?? ""; }, set(value) { this.attributes[attribute] = String(value); }});
}
for (const name of ["width", "height"]) {
  Object.defineProperty(Element.prototype, name, {get() { return {baseVal: {value: Number(this.attributes[name])}}; }});
}
for (const name of ["hidden", "open", "disabled"]) {
  Object.defineProperty(Element.prototype, name, {get() { return name in this.attributes; }, set(on) { this.toggleAttribute(name, on); }});
}
Object.defineProperty(Element.prototype, "value", {get() { return this.written ?? this.attributes.value ?? (this.tag === "select" ? this.querySelector("option").textContent : ""); }, set(value) { this.written = String(value); }});

// ---- selectors and HTML: a selector is alternatives, each a list of steps down, each a list of tests of one element
const READ = new Map();
function alternatives(selector) {
  if (!READ.has(selector)) {
    READ.set(selector, selector.split(/,(?![^(]*\))/).map(one => one.trim().replace(/\s*>\s*/g, " >").split(/ (?![^[]*\])/).map(step => ({
      direct: step.startsWith(">"), tests: testsOf(step.replace(/^>/, "")),
    }))));
  }
  return READ.get(selector);
}
function fits(element, path, k = path.length - 1) {
  const {direct, tests} = path[k];
  if (!tests.every(test => test(element))) return false;
  if (!k) return true;
  for (let at = element.parentElement; at; at = direct ? null : at.parentElement) if (fits(at, path, k - 1)) return true;
  return false;
}
function testsOf(step) {
  const parts = step.match(/:[\w-]+(\([^)]*\))?|\[[^\]]*\]|[.#]?[\w-]+|\*/g);
  if (parts?.join("") !== step) throw new Error(`${step}: a selector that dom.js does not know`);
  return parts.map(part => {
    const inner = part.match(/\((.*)\)/)?.[1], [, name, sign, wanted] = part.match(/^\[([\w-]+)(?:(\^?)=["']?([^"'\]]*)["']?)?\]$/) ?? [];
    if (part[0] === "#") return element => element.attributes.id === part.slice(1);
    if (part[0] === ".") return element => element.attributes.class?.includes(part.slice(1)) && element.classList.contains(part.slice(1));
    if (part.startsWith(":not")) return element => !element.matches(inner);
    if (part.startsWith(":is")) return element => element.matches(inner);
    if (part === ":first-child") return element => element.parentElement?.firstElementChild === element;
    if (name && wanted === undefined) return element => name in element.attributes;
    if (name) return element => sign ? element.attributes[name]?.startsWith(wanted) : element.attributes[name] === wanted;
    return element => part === "*" || element.tag === part;
  });
}
function parsed(html, document) {
  const top = new Element("top", document), open = [top];
  for (const [token, end, tag, rest] of html.matchAll(/<!--.*?-->|<!\w[^>]*>|<(\/?)([a-z][\w-]*)((?:[^>"]|"[^"]*")*)>|[^<]+|</gis)) {
    if (tag === undefined) { if (!token.startsWith("<!")) open.at(-1).append(decoded(token)); continue; }
    if (end) { while (open.length > 1 && open.pop().tag !== tag); continue; }
    const element = new Element(tag, document);
    for (const [, name, , value] of rest.matchAll(/([\w:-]+)(="([^"]*)")?/g)) element.setAttribute(name, decoded(value ?? ""));
    open.at(-1).append(element);
    if (!VOID.has(tag) && !rest.endsWith("/")) open.push(element);
  }
  return top.childNodes.slice();
}

// ---- the window
function windowOf(html, {hash = "", calm = true} = {}) {
  const window = new Target(), document = new Target(), root = new Element("html", document);
  let now = 0, turn = 0;
  const named = new Map(), observed = [], find = id => {
    for (const element of root.below()) if (element.id === id) { named.set(id, element); return element; }
    return null;
  };
  const waiting = new Map(), wait = (act, ms = 0) => { waiting.set(++turn, [now + ms, act]); return turn; };
  const location = {get hash() { return hash; }, set hash(text) { hash = text; wait(() => window.dispatchEvent(new Event("hashchange"))); }};
  Object.assign(document, {
    window, documentElement: root, above: () => [window], title: "",
    createRange: () => ({selectNodeContents() {}, getClientRects: () => []}),
    createElement: tag => new Element(tag, document), createElementNS: (_, tag) => new Element(tag, document), createTextNode: text => new Text(text),
    getElementById: id => named.get(id)?.isIn(root) ? named.get(id) : find(id), querySelector: at => root.querySelector(at), querySelectorAll: at => root.querySelectorAll(at),
  });
  root.append(...parsed(html, document));
  document.body = root.querySelector("body");
  document.activeElement = document.body;
  Object.assign(window, {
    document, location, window, parent: window, frameElement: null, innerWidth: 1400, innerHeight: 900, console, URL,
    Element, Event, MouseEvent: Event, KeyboardEvent: Event, PointerEvent: Event, WheelEvent: Event, MessageEvent: Event,
    matchMedia: query => Object.assign(new Target(), {matches: calm && query.includes("reduced-motion")}),
    getComputedStyle: () => ({backgroundColor: ""}), history: {replaceState: (_, __, url) => { hash = url; }}, navigator: {},
    setTimeout: wait, clearTimeout: turn => waiting.delete(turn), requestAnimationFrame: act => wait(() => act(now), 16), cancelAnimationFrame: turn => waiting.delete(turn),
    performance: {now: () => now}, ResizeObserver: class { constructor(act) { this.act = act; } observe() { observed.push(this.act); wait(() => this.act([]), 16); } },
    postMessage: data => wait(() => window.dispatchEvent(new Event("message", {data}))),
  });
  for (const name of ["addEventListener", "removeEventListener", "dispatchEvent"]) window[name] = window[name].bind(window);
  window.resize = () => observed.forEach(act => act([]));
  window.passTime = ms => {  // everything that waits for it happens, in its order
    for (const end = now + ms; ;) {
      const [turn, due] = [...waiting].filter(([, [at]]) => at <= end).sort(([a, [x]], [b, [y]]) => x - y || a - b)[0] ?? [];
      if (!due) { now = end; return; }
      waiting.delete(turn);
      now = Math.max(now, due[0]);
      due[1]();
    }
  };
  window.press = key => {  // as a browser does it, where the page does not
    const at = document.activeElement ?? document.body, field = at.tag === "input" && at.type !== "range";
    if (!at.dispatchEvent(new Event("keydown", {key, bubbles: true}))) return;
    if (field && key.length === 1) { at.value = (at.selected ? "" : at.value) + key; at.selected = false; at.dispatchEvent(new Event("input", {bubbles: true})); }
    else if (field && key === "Enter") at.form?.requestSubmit();
    else if (at.tag === "button" && ["Enter", " "].includes(key)) at.click();
  };
  return window;
}
module.exports = {windowOf};
