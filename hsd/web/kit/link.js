// Links: the parameters of an address, and the address bar, which says what is shown while a tab is
// open. A short trace travels packed behind the "#", which no browser sends to a server.
import { addPlace, packedText, placeState, renamePlace, unpackedText } from "./features.js";
import { copy } from "./files.js";
import { tab as openTab } from "./page.js";

const LONGEST = 32_000; // characters of a packed trace: some programs cut addresses that are longer
const DIGITS = 9; // of its numbers, more than the models' own float32 have
const MARK = "#trace=";
const DELAY = 400; // milliseconds; not at every change, for browsers count them

/**
 * Return the page's address with these parameters and the theme, and no others. Null and undefined
 * are left out. packed: the trace that travels in it.
 * @type {(values: AddressValues, packed?: string | null) => string}
 */
function address(values, packed) {
  const url = new URL(window.location.href);
  const theme = url.searchParams.get("__theme");
  url.search = "";
  url.hash = packed ? MARK + packed : "";
  for (const [name, value] of Object.entries({ __theme: theme, ...values })) {
    if (value !== null && value !== undefined) url.searchParams.set(name, String(value));
  }
  return url.href;
}

/**
 * Resolve to a trace as a text for an address; null where it is too long or cannot be packed.
 * @param {Trace} trace
 */
async function pack(trace) {
  /** @type {(name: string, value: unknown) => unknown} */
  const round = (_, value) =>
    typeof value === "number" ? Number(value.toPrecision(DIGITS)) : value;
  const bytes = await packedText(JSON.stringify(trace, round));
  if (!bytes) return null;
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const safe = text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return safe.length <= LONGEST ? safe : null;
}

/** The JSON of the trace in the page's own address; null without one, "" if it cannot be read. */
async function unpacked() {
  const { hash } = window.location;
  if (!hash.startsWith(MARK)) return null;
  const text = hash.slice(MARK.length);
  if (text.length > LONGEST) return "";
  try {
    const packed = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
    return (await unpackedText(bytes)) ?? "";
  } catch {
    return ""; // not what atob reads
  }
}

/** The tab that the page's own link asks for: Watch where it asks for none that there is. */
function tabAsked() {
  const name = new URLSearchParams(window.location.search).get("tab");
  return name && document.getElementById(`hsd-tab-${name}-button`) ? name : "watch";
}

/**
 * The parameters of the page's own link if it asks for this tab, else none.
 * @type {(tab: string) => URLSearchParams}
 */
const asked = (tab) => new URLSearchParams(tabAsked() === tab ? window.location.search : "");

/**
 * Return functions that keep the address bar for a screen while its tab is open.
 *
 * - values(): the parameters of the place that is shown; null while the address should stay as it
 *   is.
 * - packed(): the trace that travels in the link, or null.
 * - shown(): a key of the place that is shown, kept in the state of its place. Another key adds an
 *   entry to the browser's history.
 * - stays(): whether the address itself should stay as it is.
 * @param {string} tab
 * @param {() => AddressValues | null} values
 * @param {AddressOptions} ways
 */
function addressBar(
  tab,
  values,
  { packed = () => null, shown = () => undefined, stays = () => false } = {},
) {
  let timer = /** @type {ReturnType<typeof setTimeout> | null} */ (null);
  const named = tab === "watch" ? null : tab;
  const href = () => address({ tab: named, ...values() }, packed());

  function write() {
    timer = null;
    if (openTab() !== tab || !values()) return;
    /** @type {HTMLAnchorElement | null} in a frame, the link to the page takes the address */
    const whole = document.querySelector(".hsd-embedded .hf-whole");
    if (whole) whole.href = href();
    if (whole || window.location.protocol === "file:") return;
    const before = placeState()?.shown;
    const key = shown();
    const go = before && key && before !== key ? addPlace : renamePlace;
    go(stays() ? window.location.href : href(), key ? { shown: key } : null);
  }

  /** Write the address soon, as the screen shows another place. */
  const remember = () => {
    if (timer === null) timer = setTimeout(write, DELAY);
  };

  /** Copy the link. Returns the words to show: the link itself where it could not be copied. */
  async function copyLink() {
    const link = href();
    return (await copy(link)) ? "link copied" : link;
  }

  return { remember, write, href, copyLink };
}

export { address, asked, tabAsked, addressBar, pack, unpacked };
