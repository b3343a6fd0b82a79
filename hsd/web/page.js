// The page: its tabs, each a place in the browser's history, its theme, and the screens, each of
// which is loaded when its tab is opened for the first time.
//
// A screen is a folder with a module and a sheet of its name. The module's start(root) draws in the
// empty element of its tab, and what it returns is waited for before that is shown; its opened(),
// if it has one, is called whenever the tab is opened again.
import { ask, Refusal } from "./answers/answers.js";
import { find } from "./kit/dom.js";
import { addPlace, keep, placeState, renamePlace, workOffline } from "./kit/features.js";
import { address, tabAsked } from "./kit/link.js";
import * as page from "./kit/page.js";
import { roving } from "./kit/controls.js";

const SCREENS = /** @type {Record<string, () => Promise<PageScreen>>} */ ({
  watch: () => import("./watch/watch.js"),
  learn: () => import("./learn/learn.js"),
  speed: () => import("./speed/speed.js"),
  systems: () => import("./systems/systems.js"),
  lab: () => import("./lab/lab.js"),
});
const KEYS = { ArrowRight: 1, ArrowLeft: -1, Home: 0, End: -1 };
const list = find("#hsd-tabs");
const tabs = /** @type {HTMLElement[]} */ ([...list.children]);
const nameOf = (/** @type {HTMLElement} */ tab) => tab.dataset.tabId ?? "";
const panel = (/** @type {string} */ name) => find(`#hsd-tab-${name}`);
/**
 * The files that each screen needs, beside those of all screens.
 * @type {Record<string, {modules: string[], styles: string[]}>}
 */
const needed = JSON.parse(find("#hsd-modules").textContent);

// ---- screens

/** @type {Record<string, Promise<PageScreen>>} those that are started */
const screens = {};

/** @type {(attributes: {rel: string, href: string}) => Promise<unknown>} */
function link(attributes) {
  return new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement("link"), attributes, {
      onload: resolve,
      onerror: reject,
    });
    document.head.append(element);
  });
}

async function begin(/** @type {string} */ name) {
  const urlOf = (/** @type {string} */ path) => new URL(path, import.meta.url).href;
  const { modules, styles } = needed[name];
  for (const path of modules) {
    link({ rel: "modulepreload", href: urlOf(path) }).catch(() => {});
  }
  const [module] = await Promise.all([
    SCREENS[name](),
    ...styles.map((path) => link({ rel: "stylesheet", href: urlOf(path) })),
  ]);
  await module.start(find(":scope > :last-child", panel(name)));
  return module;
}

/** Resolves once the screen is there, or the page has said that it is not. @param {string} name */
async function show(name) {
  const again = name in screens;
  panel(name).classList.toggle("is-opening", !again);
  screens[name] ??= begin(name);
  try {
    const module = await screens[name];
    if (again) module.opened?.();
  } catch (error) {
    delete screens[name];
    const refused = error instanceof Refusal;
    if (refused) {
      page.alert(error.message);
    } else {
      page.alert("this screen could not be loaded: open its tab again, or reload the page");
      console.error(error);
    }
  } finally {
    panel(name).classList.remove("is-opening");
  }
}

// ---- tabs

const stop = roving(list, () => tabs, visit, KEYS);

function open(/** @type {string} */ name) {
  for (const tab of tabs) {
    const on = nameOf(tab) === name;
    tab.setAttribute("aria-selected", String(on));
    panel(nameOf(tab)).hidden = !on;
    if (on) stop(tab);
  }
  page.opened(name);
  return show(name);
}

/** A visitor has chosen a tab: one may come back to the last one. @param {HTMLElement} tab */
function visit(tab) {
  const name = nameOf(tab);
  if (name === page.tab()) return;
  addPlace(address(name === "watch" ? {} : { tab: name }));
  open(name);
}

for (const tab of tabs) tab.addEventListener("click", () => visit(tab));
window.addEventListener("popstate", () => {
  const name = tabAsked();
  if (name !== page.tab()) open(name);
});

// ---- the head

const theme = document.documentElement.classList;

function turnTheme() {
  const dark = theme.toggle("dark");
  const url = new URL(window.location.href);
  if (url.searchParams.has("__theme")) {
    url.searchParams.delete("__theme");
    renamePlace(url.href, placeState());
  }
  keep("hsd-theme", dark ? "dark" : "light");
}

function skip() {
  const shown = panel(page.tab());
  shown.tabIndex = -1;
  shown.focus();
}

let dark = false; // before the page was printed, which is done in light colours
window.addEventListener("beforeprint", () => {
  dark = theme.contains("dark");
  theme.remove("dark");
});
window.addEventListener("afterprint", () => theme.toggle("dark", dark));
find("#hsd-theme").addEventListener("click", turnTheme);
find("#hsd-skip").addEventListener("click", skip);
find(".hf-close").addEventListener("click", () => page.alert(""));

async function titled() {
  const { heading, offline } = await ask("page");
  if (heading) {
    document.title = heading;
    find(".hf-title").textContent = heading;
  }
  if (offline) workOffline(new URL("offline.js", document.baseURI));
}

titled().catch(() => {}); // Watch will say so
await open(tabAsked());
document.body.classList.remove("hsd-opening");
if (!("watch" in screens)) show("watch"); // which has the head and the strip, of every screen
