// Python in a thread of its own: a loop without an end does not freeze the page, and can be stopped.
import {loadPyodide} from "./vendor/pyodide/pyodide.mjs";

const here = name => new URL(`vendor/${name}`, import.meta.url).href;
const names = ["cell", "run", "start", "go", "put", "set_rate", "point", "one", "drill"];
let lab, playing = 0, settings;

// Bytes of its stack after which Python frees a long chain of Values link by link, and raises RecursionError; it takes no
// fewer. It has 10 MB, but cannot see the browser's own stack, which is full long before, and then all ends.
const STACK = 65536;

// What is loaded is counted as it comes, unpacked, against the sizes that the build wrote down.
async function counted(sizes) {
  const fetched = self.fetch, total = Object.values(sizes).reduce((sum, size) => sum + size, 0);
  let loaded = 0, said = 0;
  self.fetch = async (...request) => {
    const response = await fetched(...request);
    if (!response.body) return response;
    const counter = new TransformStream({transform(chunk, next) {
      loaded += chunk.byteLength;
      if (loaded - said > 1e5 || loaded >= total) postMessage({loaded: said = loaded, total});
      next.enqueue(chunk);
    }});
    return new Response(response.body.pipeThrough(counter), response);
  };
  postMessage({loaded, total});
}
async function begin() {
  const began = performance.now();
  counted(await (await fetch(here("sizes.json"))).json());
  const packed = fetch(here("python.zip")).then(answer => answer.arrayBuffer());
  const python = await loadPyodide({indexURL: here("pyodide/")});
  const started = performance.now(), c = python._module;
  c._PyUnstable_ThreadState_SetStackProtection(c._PyThreadState_Get(), c._emscripten_stack_get_base() - STACK, STACK);
  python.unpackArchive(await packed, "zip", {extractDir: python.runPython("import site; site.getsitepackages()[0]")});
  lab = python.pyimport("lab");
  postMessage({ready: {version: python.runPython("import sys; sys.version.split()[0]"), start: started - began, imports: performance.now() - started}});
}
const begun = begin().catch(error => postMessage({failed: String(error)}));

// Python can die of a text, and says so: the page then starts another.
function answered(name, args) {
  try {
    return lab[name](...args);
  } catch (error) {
    postMessage({died: String(error)});
    throw error;
  }
}
async function play(id) {  // in slices, so that a pause and another setting get in between
  playing = id;
  while (playing === id) {
    const [milliseconds, batch, k] = settings, frame = answered("go", [milliseconds, batch, 1e9, k]);
    postMessage({frame});
    if (JSON.parse(frame).error) break;
    await new Promise(next => setTimeout(next));
  }
}
onmessage = async ({data: {id, name, args}}) => {
  await begun;
  if (!lab) return;
  if (name === "play") { settings = args; return play(id); }
  if (name === "settings") { settings = args; return; }
  if (name === "pause") { playing = 0; return postMessage({id, answer: "{}"}); }
  if (names.includes(name)) postMessage({id, answer: answered(name, args)});
};
