// Python in a thread of its own: a loop without an end does not freeze the page, and can be stopped.
import {loadPyodide} from "./vendor/pyodide/pyodide.mjs";

const here = name => new URL(`vendor/${name}`, import.meta.url).href;
const names = ["cell", "notebook", "run", "start", "go", "put", "set_rate", "point", "one", "drill"];
let python,
  lab,
  playing = 0,
  settings;

// Bytes of its stack after which Python frees a long chain of Values link by link, and raises RecursionError; it takes no
// fewer. It has 10 MB, but cannot see the browser's own stack, which is full long before, and then all ends.
const STACK = 65536;

// What is loaded is counted as it comes, unpacked, against the sizes that the build wrote down.
function counted(sizes) {
  const fetched = self.fetch,
    total = Object.values(sizes).reduce((sum, size) => sum + size, 0);
  let loaded = 0,
    said = 0;
  self.fetch = async (...request) => {
    const response = await fetched(...request);
    if (!response.body) return response;
    const counter = new TransformStream({
      transform(chunk, next) {
        loaded += chunk.byteLength;
        if (loaded - said > 1e5 || loaded >= total) postMessage({loaded: (said = loaded), total});
        next.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(counter), response);
  };
  postMessage({loaded, total});
}

// The memory of a Python that has started and imported lab is kept in the browser. The next one begins with it, in a third
// of the time; its files are not counted, since the browser keeps what it compiled with the host's own answers alone.
const KEPT = "python";
async function memory(address) {
  const {body} = await (await caches.open(KEPT)).match(address);
  return new Uint8Array(await new Response(body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}
async function keep(address, bytes) {
  const packed = await new Response(
    new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip")),
  ).arrayBuffer();
  await forget(); // that of an older site or browser
  await (await caches.open(KEPT)).put(address, new Response(packed));
}
const forget = () =>
  caches.delete(KEPT).catch(() => {
    /* a browser may forbid it: then none was kept */
  });
async function begin() {
  const began = performance.now(),
    {version, sizes} = await (await fetch(here("sizes.json"))).json(),
    indexURL = here("pyodide/");
  const address = here(`memory?${version} ${encodeURIComponent(navigator.userAgent)}`),
    loading = fetch(here("python.zip"));
  const kept = await memory(address).catch(() => null);
  if (kept) postMessage({loaded: 1, total: 1});
  else counted(sizes);
  python = await loadPyodide({indexURL, ...(kept ? {_loadSnapshot: kept} : {_makeSnapshot: true})}).catch(
    async error => {
      if (!kept) throw error;
      await forget();
      return loadPyodide({indexURL});
    },
  );
  const started = performance.now(),
    c = python._module;
  c._PyUnstable_ThreadState_SetStackProtection(c._PyThreadState_Get(), c._emscripten_stack_get_base() - STACK, STACK);
  python.unpackArchive(await (await loading).arrayBuffer(), "zip", {
    extractDir: python.runPython("import site; site.getsitepackages()[0]"),
  });
  lab = python.pyimport("lab");
  if (!kept)
    keep(address, python.makeMemorySnapshot()).catch(() => {
      /* there is no room, or it is forbidden: then each start is as long as this one */
    });
  python.runPython("import random; random.seed()");
  postMessage({
    ready: {
      version: python.runPython("import sys; sys.version.split()[0]"),
      start: started - began,
      imports: performance.now() - started,
    },
  });
}
const begun = begin().catch(error => postMessage({failed: String(error)}));

// Python can die of a text, and says so: the page then starts another.
function answered(name, args) {
  try {
    return lab[name](...args);
  } catch (error) {
    forget().then(() => postMessage({died: String(error)}));
    throw error;
  }
}
async function play(id) {
  // in slices, so that a pause and another setting get in between
  playing = id;
  while (playing === id) {
    const [milliseconds, batch, k] = settings,
      frame = answered("go", [milliseconds, batch, 1e9, k]);
    postMessage({frame});
    if (JSON.parse(frame).error) break;
    await new Promise(next => setTimeout(next));
  }
}
onmessage = async ({data: {id, name, args}}) => {
  await begun;
  if (!lab) return;
  if (name === "notebook") await python.loadPackage(args.splice(0)); // from this site, where it was built with NumPy
  if (name === "play") {
    settings = args;
    return play(id);
  }
  if (name === "settings") {
    settings = args;
    return;
  }
  if (name === "pause") {
    playing = 0;
    return postMessage({id, answer: "{}"});
  }
  if (names.includes(name)) postMessage({id, answer: answered(name, args)});
};
