// What is settled before anything is drawn, so that nothing moves or changes its colour later. It
// comes before every module, so it guards itself where a browser refuses something.
{
  const query = new URLSearchParams(window.location.search);
  const page = document.documentElement;
  // also before anything hears of a key
  document.addEventListener("submit", (event) => event.preventDefault());

  /**
   * Return the result of `use`; null where the browser lacks or refuses it.
   * @template T
   * @param {() => T} use
   */
  const attempt = (use) => {
    try {
      return use();
    } catch {
      return null;
    }
  };
  const kept = (/** @type {string} */ name) => attempt(() => localStorage.getItem(name));

  // Run that is pressed before anything hears of it is kept, with its prompt, until Watch does.
  document.addEventListener("click", ({ target }) => {
    const waits = document.body.classList.contains("hsd-opening");
    if (!waits || !(target instanceof Element && target.closest("#hsd-run"))) return;
    page.dataset.earlyPrompt = document.querySelector("textarea")?.value ?? "";
  });

  // A frame without an origin of its own gets no modules, and an older browser cannot read them.
  window.addEventListener(
    "error",
    ({ target }) => {
      if (target instanceof HTMLElement && !(target instanceof HTMLScriptElement)) return;
      const words = document.querySelector(".hsd-opening .hf-alert-words");
      if (!words) return;
      words.textContent =
        "this page cannot start: reload it, open it in a tab of its own, or take a newer browser";
      words.parentElement?.removeAttribute("hidden");
    },
    true,
  );

  // Light or dark: as the address says, as it was chosen before, or as the system has it.
  const prefersDark = () => window.matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = query.get("__theme") ?? query.get("theme") ?? kept("hsd-theme");
  page.classList.toggle("dark", theme ? theme === "dark" : Boolean(attempt(prefersDark)));
  // for a room; lessons have a view of their own for it
  const lesson = query.has("lesson") || query.get("tab") === "learn";
  page.classList.toggle("hsd-present", query.get("present") === "1" && !lesson);
  const embedded = query.get("embed") === "1";
  page.classList.toggle("hsd-embedded", embedded);
  // in a frame: without the controls
  page.classList.toggle("hsd-bare", query.get("controls") === "0");
  page.dataset.lanes = query.get("lanes") ?? ""; // and with one rule's lane: "own" or "other"

  // Who comes for the first time has a first look; a link to a what-if needs the whole board, and
  // so does a frame that does not ask for the first look.
  const whole =
    (embedded && query.get("board") !== "first") ||
    ["coins", "judge", "mode", "node"].some((name) => query.has(name));
  const full =
    (query.get("board") ?? kept("hsd-board")) === "full" || page.dataset.answers === "file";
  page.classList.toggle("hsd-brief", !whole && !full);

  // Whether the picture that the page brings along is of what the address asks for.
  const known = ["__theme", "theme", "embed", "board", "controls", "lanes", "present"];
  const other = [...query.keys()].some((name) => !known.includes(name));
  page.classList.toggle(
    "hsd-other",
    embedded || whole || full || other || window.location.hash.startsWith("#trace="),
  );

  // The tab that the address asks for; a lesson's link need not name it.
  const tab = query.get("tab") ?? (query.has("lesson") ? "learn" : "watch");
  page.dataset.tab = tab;
  if (tab !== (query.get("tab") ?? "watch")) {
    query.set("tab", tab);
    const { history, location } = window;
    attempt(() => history.replaceState(history.state, "", `?${query}${location.hash}`));
  }
}
