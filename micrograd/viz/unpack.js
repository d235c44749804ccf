"use strict";
// A page's data and script are stored compressed; the source is in micrograd/viz. The browser unpacks them once the page
// was loaded: messages that come before are kept, and told again.
(async () => {
  const data = document.querySelector("[type='application/json']"),
    early = [],
    keep = event => early.push(event);
  const unpack = packed =>
    new Response(
      new Blob([Uint8Array.from(atob(packed), c => c.charCodeAt(0))])
        .stream()
        .pipeThrough(new DecompressionStream("deflate-raw")),
    ).text();
  addEventListener("message", keep);
  const [told, text] = await Promise.all([data.text, "%packed%"].map(unpack));
  removeEventListener("message", keep);
  data.text = told;
  document.body.append(Object.assign(document.createElement("script"), {text}));
  for (const event of early) dispatchEvent(new MessageEvent("message", event));
})();
