// Light or dark: as the address says, as it was chosen before, or as the system has it. Read before anything is drawn.
{
  let theme = new URLSearchParams(window.location.search).get("__theme");
  try {
    theme ??= localStorage.getItem("hsd-theme");
  } catch {
    // a browser may keep nothing
  }
  const dark = theme ? theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.classList.toggle("dark", dark);
}
