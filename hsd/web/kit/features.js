// What a browser may lack, or have and refuse: in a frame of another site, in a private window,
// over http, or in an older version. No other module names these features, but for early.js and
// offline.js, which cannot import any. Where one is refused, each function has another answer.
// Workers use this module too: it needs no page.

/**
 * Return the result of `use`, or `otherwise` where it throws.
 * @template T, U
 * @param {() => T} use
 * @param {U} otherwise
 */
function attempt(use, otherwise) {
  try {
    return use();
  } catch {
    return otherwise;
  }
}

/**
 * Resolve to the result of `use`, or to `otherwise` where it throws or rejects.
 * @template T, U
 * @param {() => T} use
 * @param {U} otherwise
 */
async function settle(use, otherwise) {
  try {
    return await use();
  } catch {
    return otherwise;
  }
}

// ---- what a browser keeps

/** Return the text that this browser keeps under a name; null if none. @param {string} name */
const kept = (name) => attempt(() => self.localStorage.getItem(name), null);

/**
 * Keep a text in this browser; where it keeps nothing, the text lasts as long as the page.
 * @type {(name: string, value: string) => void}
 */
const keep = (name, value) => attempt(() => self.localStorage.setItem(name, value), undefined);

/**
 * Resolve to the browser's store of files under a name: functions that find, put and remove what
 * lies at an address, none of which rejects. Null where the browser keeps no files.
 * @param {string} name
 */
async function fileStore(name) {
  const cache = await settle(() => self.caches.open(name), null);
  if (!cache) return null;
  return {
    /** Resolve to a Response; undefined if there is none. @param {string} address */
    find: (address) => settle(() => cache.match(address), undefined),
    /** @type {(address: string, content: Response) => Promise<unknown>} */
    put: (address, content) => settle(() => cache.put(address, content), null),
    remove: (/** @type {string} */ address) => settle(() => cache.delete(address), false),
  };
}

/**
 * Begin `work` while no other tab does work of this name, and resolve or reject as it does. Where
 * tabs cannot wait for each other it begins at once.
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
async function inTurn(name, work) {
  /** @type {Promise<T> | undefined} */
  let begun;
  const begin = () => {
    begun ??= work();
    return begun;
  };
  await settle(() => self.navigator.locks.request(name, begin), null);
  return begin();
}

/** Let a script answer the page where there is no network. @param {URL} script */
const workOffline = (script) => settle(() => self.navigator.serviceWorker.register(script), null);

// ---- what a browser computes with

/** Resolve to the SHA-256 of bytes; null where the browser computes none. @param {Bytes} bytes */
const sha256 = (bytes) => settle(() => self.crypto.subtle.digest("SHA-256", bytes), null);

/**
 * Start a script in a thread of its own; null where the browser starts none.
 * @type {(script: URL, options?: WorkerOptions) => Worker | null}
 */
const startWorker = (script, options) => attempt(() => new Worker(script, options), null);

/** Whether there are threads at all. */
const hasWorkers = () => attempt(() => typeof Worker === "function", false);

/** Whether WebAssembly takes a module. @param {Bytes} module */
const takesModule = (module) => attempt(() => WebAssembly.validate(module), false);

/** Resolve to a compiled module; null where it is refused. @param {ArrayBuffer} bytes */
const compiled = (bytes) => settle(() => WebAssembly.compile(bytes), null);

/** Return how many threads can compute at once. */
const processors = () => attempt(() => self.navigator.hardwareConcurrency, 1) || 1;

/** Whether the page's server isolates it from pages of others, so that threads may share memory. */
const isolated = () => attempt(() => self.crossOriginIsolated, false);

/**
 * Return memory that threads share. Null unless the page's server isolates it from pages of others,
 * and where it is too much to reserve.
 * @param {{initial: number, maximum: number}} pages - of 64 KiB
 */
function sharedMemory(pages) {
  if (!isolated()) return null;
  return attempt(() => new WebAssembly.Memory({ ...pages, shared: true }), null);
}

// ---- addresses

/** The state of the place of the browser's history that is shown. */
const placeState = () => attempt(() => window.history.state, null);

/**
 * Give the page another address, as a new place of the browser's history. Returns whether the
 * browser has let it.
 * @type {(href: string, state?: object | null) => boolean}
 */
const addPlace = (href, state = null) =>
  attempt(() => window.history.pushState(state, "", href) ?? true, false);

/**
 * Give the page another address at the same place of the browser's history.
 * @type {(href: string, state?: object | null) => void}
 */
const renamePlace = (href, state = null) =>
  attempt(() => window.history.replaceState(state, "", href), undefined);

/** Resolve to text in few bytes; null where the browser cannot pack it. @param {string} text */
const packedText = (text) =>
  settle(async () => {
    const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }, null);

/** Resolve to the text in packed bytes; null where it cannot be read. @param {Bytes} bytes */
const unpackedText = (bytes) =>
  settle(() => {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Response(stream).text();
  }, null);

/** Whether packed text can be read. */
const unpacks = () => attempt(() => typeof DecompressionStream === "function", false);

/** Put text into the clipboard; resolves to whether it worked. @param {string} text */
const copied = (text) => settle(() => navigator.clipboard.writeText(text).then(() => true), false);

/** Copy what is selected, as older browsers do it; returns whether it worked. */
const copiedSelection = () => attempt(() => document.execCommand("copy"), false);

// ---- what is shown

/** Whether a media query fits. @param {string} query */
const matches = (query) => attempt(() => window.matchMedia(query).matches, false);

/**
 * Call `listener` whenever a media query begins or ends to match. Returns what ends that.
 * @param {string} query
 * @param {() => void} listener
 */
function whenMatchesChange(query, listener) {
  const media = attempt(() => window.matchMedia(query), null);
  media?.addEventListener("change", listener);
  return () => media?.removeEventListener("change", listener);
}

/**
 * Call `act` when the next frame is drawn, which waits while nobody sees the page; at once where the
 * browser draws none.
 * @param {() => void} act
 */
const inFrame = (act) => attempt(() => requestAnimationFrame(act), null) ?? act();

/** Whether motion that nobody asked for is unwelcome. */
const calm = () => matches("(prefers-reduced-motion: reduce)");

/**
 * Let an element fill the screen, or the window where the browser refuses; where it does already,
 * take that back.
 * @param {HTMLElement} element
 */
async function toggleFullScreen(element) {
  const { classList } = element;
  if (attempt(() => document.fullscreenElement, null) === element)
    return settle(() => document.exitFullscreen(), undefined);
  if (classList.contains("is-maximised")) return classList.remove("is-maximised");
  const filled = await settle(() => element.requestFullscreen().then(() => true), false);
  if (!filled) classList.add("is-maximised");
}

/**
 * Call `act` once, when an element is in view; at once where the browser does not say.
 * @type {(element: Element, act: () => void) => void}
 */
function whenSeen(element, act) {
  const look = () => {
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      seen.disconnect();
      act();
    });
    seen.observe(element);
    return true;
  };
  if (!attempt(look, false)) act();
}

/** Show an element above all others; where nothing is above, as it is. @param {HTMLElement} tip */
function showAbove(tip) {
  tip.hidden = false;
  attempt(() => tip.showPopover(), undefined);
}

/** Take back `showAbove`. @param {HTMLElement} tip */
function hideAbove(tip) {
  attempt(() => tip.hidePopover(), undefined);
  tip.hidden = true;
}

/**
 * Open a dialog, beside which nothing else of the page can be used where the browser can do so.
 * @param {HTMLDialogElement} dialog
 */
function openDialog(dialog) {
  if (dialog.open || attempt(() => dialog.showModal() ?? true, false)) return;
  dialog.classList.add("is-above");
  dialog.open = true;
}

const segmenter = attempt(() => new Intl.Segmenter("und"), null);

/**
 * Return the signs of a text as readers count them; its characters where the browser does not know.
 * @param {string} text
 */
const signsOf = (text) =>
  segmenter ? Array.from(segmenter.segment(text), (sign) => sign.segment) : Array.from(text);

/**
 * Return where the sign that has a place of a text begins; the place itself where the browser does
 * not know.
 * @type {(text: string, place: number) => number}
 */
const signBegin = (text, place) =>
  segmenter ? (segmenter.segment(text).containing(place)?.index ?? 0) : place;

export {
  addPlace,
  calm,
  compiled,
  copied,
  copiedSelection,
  fileStore,
  hasWorkers,
  hideAbove,
  inFrame,
  inTurn,
  isolated,
  keep,
  kept,
  matches,
  openDialog,
  packedText,
  placeState,
  processors,
  renamePlace,
  sha256,
  sharedMemory,
  showAbove,
  signBegin,
  signsOf,
  startWorker,
  takesModule,
  toggleFullScreen,
  unpackedText,
  unpacks,
  whenMatchesChange,
  whenSeen,
  workOffline,
};
