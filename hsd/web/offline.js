// The service worker of a page that has its model beside it, so that the page works without a
// network after the first visit. The modules' folder has another name with every change: it is
// answered from the store, and older stores are deleted. All else, such as recorded runs, is asked
// for first. hsd/app/site.py puts FILES before this: the folder, and what is kept at once. The
// model's pieces are kept by answers/browser/files.js.
const worker = /** @type {any} */ (self);
const { folder, first } = worker.FILES;
const STORE = `hsd-page ${folder}`;

/** @param {Request} request */
async function answer(request) {
  const store = await caches.open(STORE);
  const known = await store.match(request, { ignoreSearch: request.mode === "navigate" });
  if (known && request.url.includes(folder)) return known;
  try {
    const response = await fetch(request);
    if (response.ok && !request.url.includes("?")) {
      // a full store: the file is fetched again next time
      store.put(request, response.clone()).catch(() => {});
    }
    return response;
  } catch (error) {
    if (known) return known;
    throw error;
  }
}

async function tidy() {
  const names = await caches.keys();
  const older = names.filter((name) => name.startsWith("hsd-page ") && name !== STORE);
  const deleted = older.map((name) => caches.delete(name));
  await Promise.all([...deleted, worker.clients.claim()]);
}

const keep = async () => (await caches.open(STORE)).addAll(first);
worker.addEventListener("install", (/** @type {any} */ event) =>
  event.waitUntil(keep().then(() => worker.skipWaiting())),
);
worker.addEventListener("activate", (/** @type {any} */ event) => event.waitUntil(tidy()));
worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const { method, url } = event.request;
  const own =
    method === "GET" && url.startsWith(worker.registration.scope) && !url.includes("/model/");
  if (own) event.respondWith(answer(event.request));
});
