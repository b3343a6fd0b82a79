// What is settled before anything is drawn, so that nothing moves or changes its colour later.
{
  const query = new URLSearchParams(window.location.search);
  const page = document.documentElement;
  // also before anything hears of a click
  document.addEventListener("submit", (event) => event.preventDefault());

  /** What this browser keeps under a name; null where it keeps nothing. @param {string} name */
  const kept = (name) => {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  };

  // Light or dark: as the address says, as it was chosen before, or as the system has it.
  const theme = query.get("__theme") ?? query.get("theme") ?? kept("hsd-theme");
  page.classList.toggle(
    "dark",
    theme ? theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches,
  );
  page.classList.toggle("hsd-embedded", query.get("embed") === "1");
  // in a frame: without the controls
  page.classList.toggle("hsd-bare", query.get("controls") === "0");
  page.dataset.lanes = query.get("lanes") ?? ""; // and with one rule's lane: "own" or "other"

  // Who comes for the first time has a first look; a frame and a link to a what-if need the whole
  // board.
  const whole =
    query.get("embed") === "1" ||
    ["coins", "judge", "mode", "node"].some((name) => query.has(name));
  const full =
    (query.get("board") ?? kept("hsd-board")) === "full" || page.dataset.answers === "file";
  page.classList.toggle("hsd-brief", !whole && !full);

  // Whether the picture that the page brings along is of what the address asks for.
  const known = ["__theme", "theme", "embed", "board", "controls", "lanes"];
  const other = [...query.keys()].some((name) => !known.includes(name));
  page.classList.toggle(
    "hsd-other",
    whole || full || other || window.location.hash.startsWith("#trace="),
  );

  // The tab that the address asks for; a lesson's link need not name it.
  const tab = query.get("tab") ?? (query.has("lesson") ? "learn" : "watch");
  page.dataset.tab = tab;
  if (tab !== (query.get("tab") ?? "watch")) {
    query.set("tab", tab);
    window.history.replaceState(window.history.state, "", `?${query}${window.location.hash}`);
  }
}
