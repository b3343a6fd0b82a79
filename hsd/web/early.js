// What is settled before anything is drawn, so that nothing moves or changes its colour later.
{
  const query = new URLSearchParams(window.location.search);
  const page = document.documentElement;
  document.addEventListener("submit", (event) => event.preventDefault()); // also before anything hears of a click

  // Light or dark: as the address says, as it was chosen before, or as the system has it.
  let theme = query.get("__theme");
  try {
    theme ??= localStorage.getItem("hsd-theme");
  } catch {
    // a browser may keep nothing
  }
  page.classList.toggle("dark", theme ? theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches);
  page.classList.toggle("hsd-embedded", query.get("embed") === "1");

  // Whether the picture that the page brings along is of what the address asks for.
  const other = [...query.keys()].some((name) => !["__theme", "embed"].includes(name));
  page.classList.toggle("hsd-other", other || window.location.hash.startsWith("#trace="));

  // The tab that the address asks for. A link of an earlier version gets today's words, and `view` says what it meant.
  const asked = query.get("tab") ?? (query.has("lesson") ? "learn" : "watch");
  const run = asked === "systems" && ["show", "run", "fsd"].some((name) => query.has(name)); // see watch/former.js
  const former = asked === "compare" || run ? "watch" : ["race", "measure"].includes(asked) && "speed";
  const tab = (page.dataset.tab = former || asked);
  if (former) query.set("view", asked);
  if (tab !== (query.get("tab") ?? "watch")) {
    query.set("tab", tab);
    window.history.replaceState(window.history.state, "", `?${query}${window.location.hash}`);
  }
}
