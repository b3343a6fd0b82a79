// Links: the parameters of an address, and the address bar, which says what is shown while a tab is open.
import { copy } from "./files.js";
import { tab as openTab } from "./page.js";

const DELAY = 300; // milliseconds; not at every change, for browsers count them

/** The page's address with these parameters and no others, but for the theme. Null and undefined are left out. */
function address(values) {
  const url = new URL(window.location.href);
  const theme = url.searchParams.get("__theme");
  url.search = "";
  url.hash = "";
  for (const [name, value] of Object.entries({ __theme: theme, ...values }))
    if (value !== null && value !== undefined) url.searchParams.set(name, value);
  return url.href;
}

/** The parameters of the page's own link if it asks for this tab, else none. */
function asked(tab) {
  const query = new URLSearchParams(window.location.search);
  return (query.get("tab") || "watch") === tab ? query : new URLSearchParams();
}

/**
 * Keeps the address bar on a screen while its tab is open. values(): the parameters of what is shown, or null while
 * the address should stay as it is.
 */
function addressBar(tab, values) {
  let timer = null;
  const own = tab === "watch" ? {} : { tab };
  const href = () => address({ ...own, ...values() });

  function write() {
    if (openTab() === tab && values()) window.history.replaceState(window.history.state, "", href());
  }

  /** What is shown has changed. */
  function remember() {
    clearTimeout(timer);
    timer = setTimeout(write, DELAY);
  }

  /** Copy the link of what is shown. Gives the words to say: the link itself where the browser does not let us copy. */
  async function copyLink() {
    const link = href();
    return (await copy(link)) ? "link copied" : link;
  }

  return { remember, href, copyLink };
}

export { address, asked, addressBar };
