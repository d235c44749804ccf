// Threads, and the page's end of the one in which Python runs, which is loaded when it is first asked for something.
export function threaded(name) {
  const script = `import ${JSON.stringify(new URL(name, import.meta.url))}`; // a worker from a blob has the page's policy
  return new Worker(URL.createObjectURL(new Blob([script], {type: "text/javascript"})), {type: "module"});
}
export class Python {
  #worker = null;
  #waiting = new Map();
  #next = 1;

  // told: progress(bytes, of), ready(about), failed(text), frame(object)
  constructor(told) {
    this.told = told;
  }

  load() {
    if (this.#worker) return;
    if (typeof WebAssembly !== "object") {
      this.told.failed("this browser has no WebAssembly, in which Python runs");
      return;
    }
    this.#worker = threaded("worker.js");
    this.#worker.onerror = event => {
      event.preventDefault();
      this.told.failed(event.message || "its files could not be loaded, or this browser has no module workers");
    };
    this.#worker.onmessage = ({data}) => {
      if (data.total) this.told.progress(data.loaded, data.total);
      else if (data.ready) this.told.ready(data.ready);
      else if (data.failed) this.told.failed(data.failed);
      else if (data.died) this.#died(data.died);
      else if (data.frame) this.told.frame?.(JSON.parse(data.frame));
      else {
        this.#waiting.get(data.id)?.(JSON.parse(data.answer));
        this.#waiting.delete(data.id);
      }
    };
  }

  // The answer of a function of lab/, or undefined if Python was stopped meanwhile.
  ask(name, ...args) {
    this.load();
    return new Promise(answer => this.#waiting.set(this.say(name, ...args), answer));
  }
  say(name, ...args) {
    this.load();
    this.#worker.postMessage({id: this.#next, name, args});
    return this.#next++;
  }

  // Ends the thread, and what runs in it, at once; and begins another.
  restart(answered) {
    this.#worker?.terminate();
    this.#worker = null;
    for (const answer of this.#waiting.values()) answer(answered);
    this.#waiting.clear();
    this.load();
  }
  #died(text) {
    const error = {
      line: null,
      text: `Python stopped, and starts again without the names made so far. It said: ${text}`,
    };
    this.told.frame?.({error});
    this.restart({error, died: true});
  }
}
