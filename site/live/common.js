// What both live pages share: light and dark, how far Python is, links that hold a text, the player.
import {written} from "./vendor/numbers.js";

/** @type {(id: string) => any} an element, whose kind the page knows */
export const $ = id => document.getElementById(id);
export const four = x => (typeof x === "string" ? x.replace("-", "−") : written(x)); // as the pictures write numbers

// ---- light and dark: the same choice, kept under the same name, as in the rest of the site
const themes = ["auto", "light", "dark"];
function theme(wanted) {
  const now = themes.includes(wanted) ? wanted : "auto";
  document.body.dataset.theme = now;
  $("theme").textContent = {auto: "◐ auto", light: "☀ light", dark: "☾ dark"}[now];
  $("theme").setAttribute("aria-label", `Colours: ${now}`);
  dispatchEvent(new Event("colours"));
}
export function themed() {
  theme(remembered("theme"));
  $("theme").addEventListener("click", () => {
    const next = themes[(themes.indexOf(document.body.dataset.theme) + 1) % 3];
    remember("theme", next);
    theme(next);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("colours")));
}
export const colour = name => getComputedStyle(document.body).getPropertyValue(name).trim();

// ---- without the host, once it was visited
navigator.serviceWorker?.register(new URL("./offline.js", import.meta.url)).catch(() => {
  /* not from a file, or not allowed: then it needs the host */
});

// ---- what is kept between visits; a browser may forbid it
export function remembered(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}
export function remember(name, text) {
  try {
    localStorage.setItem(name, text);
  } catch {
    /* then it is forgotten */
  }
}

// ---- the state in words, and the bar by bytes
export function state(text) {
  $("state").textContent = text;
  $("bytes").hidden = true;
}
export function progress(loaded, total) {
  const all = loaded >= total,
    mega = x => (x / 1e6).toFixed(1);
  $("state").textContent = all ? "Python starts …" : `Python is loading: ${mega(loaded)} of ${mega(total)} MB`;
  $("bytes").hidden = all;
  $("bytes").value = loaded / total;
}

// ---- links: everything after #, so that nothing is sent to the host; a long text is compressed
const LONG = 2000;
export async function packed(text) {
  const plain = encodeURIComponent(text);
  if (plain.length <= LONG) return `code=${plain}`;
  const bytes = new Uint8Array(
    await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"))).arrayBuffer(),
  );
  return `packed=${btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(""))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")}`;
}
export async function linked() {
  // what the address holds, as a Map; "code" is the text
  const parts = location.hash
    .slice(1)
    .split("&")
    .filter(Boolean)
    .map(part => part.split(/=(.*)/s, 2));
  const found = new Map(parts.map(([name, value]) => [name, value]));
  try {
    for (const [name, value] of found) found.set(name, decodeURIComponent(value ?? ""));
    if (found.has("packed")) {
      const bytes = Uint8Array.from(atob(found.get("packed").replaceAll("-", "+").replaceAll("_", "/")), letter =>
        letter.charCodeAt(0),
      );
      found.set(
        "code",
        await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text(),
      );
    }
  } catch {
    // cut off, or not ours
    $("error").textContent = "This link is incomplete: it was cut off on its way. Here is an example instead.";
    found.delete("code");
  }
  return found;
}
export async function copied(button, address) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(address);
    button.textContent = "Copied";
  } catch {
    button.textContent = "In the address bar";
  }
  setTimeout(() => (button.textContent = before), 2000);
}

// ---- errors of the text
export function wrong(error, edit) {
  $("error").textContent = error ? `${error.line ? `Line ${error.line}: ` : ""}${error.text}` : "";
  edit.mark(error?.line ? {line: error.line} : null);
}

// ---- the player: a page in a frame, which redraws a new story in place
export class Player {
  /** @type {Promise<void>} */
  #loaded;
  constructor(frame) {
    this.frame = frame;
    this.#loaded = new Promise(done =>
      frame.contentDocument?.readyState === "complete" && frame.contentDocument.getElementById("app")
        ? done()
        : frame.addEventListener("load", done, {once: true}),
    );
    addEventListener("colours", () => this.colour());
  }
  async colour() {
    // as the page around it: the player looks at that only when it is loaded
    await this.#loaded;
    this.frame.contentDocument.documentElement.dataset.theme = getComputedStyle(document.body).colorScheme;
  }
  async show(story) {
    await this.#loaded;
    this.frame.contentWindow.postMessage({micrograd: "story", story}, "*");
    requestAnimationFrame(() => dispatchEvent(new Event("pictured")));
  }
}
