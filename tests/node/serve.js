// Answers a line of JSON for each line: {open: the HTML of a page, ...} or {run: a function's body, given: its arguments}.
"use strict";
const vm = require("node:vm"), readline = require("node:readline"), {inflateRawSync} = require("node:zlib"), {windowOf} = require("./dom.js");
const unpacked = text => inflateRawSync(Buffer.from(text, "base64")).toString();
let page = null;

const HELP = `
  const query = selector => document.querySelector(selector), all = selector => [...document.querySelectorAll(selector)];
  const cardOf = name => all(".card").find(card => card.getAttribute("aria-label").split(",")[0] === name);
  const pointer = (type, at, clientX = 0) => at.dispatchEvent(new PointerEvent(type, {bubbles: true, clientX, clientY: 0, pointerId: 1}));
  const pressed = at => { pointer("pointerdown", at); pointer("pointerup", at); at.click(); };
  const atEachStep = (ask, id = "next", scrub = query("#scrub"), found = []) => {
    if (id === "next") query("#first").click();
    for (;;) {
      found.push(ask());
      if (scrub.value === (id === "next" ? scrub.max : scrub.min)) return found;
      query("#" + id).click();
    }
  };`;

function open(html, options) {
  const [head, script] = html.split(/<script>\n/);
  page = vm.createContext(windowOf(head.replace(/<style>.*?<\/style>/s, "<style></style>"), options));
  vm.runInContext(HELP, page);
  const story = page.document.querySelector("[type='application/json']");
  if (story) story.textContent = unpacked(story.textContent);
  if (script) vm.runInContext(unpacked(script.match(/\["text"\]|"([\w+/=]{200,})"/)[1]), page);
  page.passTime(40);
}
const answers = {
  load: ({load}) => { page = vm.createContext(windowOf("<html><body></body></html>")); vm.runInContext(load, page); },
  open: ({open: html, ...options}) => open(html, options),
  run: ({run, given}) => vm.runInContext(`(function () { ${run}\n})`, page).apply(null, given),
};
readline.createInterface({input: process.stdin}).on("line", line => {
  const asked = JSON.parse(line);
  let said;
  try { said = {value: answers[Object.keys(asked)[0]](asked) ?? null}; } catch (error) { said = {failed: String(error.stack)}; }
  process.stdout.write(`${JSON.stringify(said)}\n`);
});
