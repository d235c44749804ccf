// A service worker: what the host sent last is kept, and comes when the host does not answer.
const KEPT = "micrograd";
const worker = /** @type {any} */ (self);
worker.addEventListener("install", event =>
  event.waitUntil(
    (async () => {
      const list = await (await fetch("vendor/offline.json")).json(),
        kept = await caches.open(KEPT);
      await kept.addAll(["vendor/offline.json", ...list]);
      await worker.skipWaiting();
    })(),
  ),
);
worker.addEventListener("activate", event => event.waitUntil(worker.clients.claim()));
worker.addEventListener("fetch", event => {
  const {request} = event;
  if (request.method === "GET" && new URL(request.url).origin === location.origin) event.respondWith(answered(request));
});
async function answered(request) {
  const kept = await caches.open(KEPT);
  try {
    const answer = await fetch(request),
      changed = answer.headers.get("last-modified"),
      old = await kept.match(request);
    if (answer.ok && !(old && changed && old.headers.get("last-modified") === changed))
      kept.put(request, answer.clone()).catch(() => {
        /* no room is left: it needs the host */
      });
    return answer;
  } catch (error) {
    const found = await kept.match(request, {ignoreSearch: true});
    if (found) return found;
    throw error;
  }
}
