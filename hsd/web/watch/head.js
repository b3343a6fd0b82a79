// Around the player: what is shown and what it runs on, how it stands, options that fold out, files that are opened.
import * as page from "../kit/page.js";
import { button } from "../kit/parts.js";

const PHONE = "(max-width: 860px)";
const part = (name) => document.querySelector(`.hf-${name}`);

/** A chip of the head; nothing for "". title: what a hover says. */
function chip(name, words, title = "") {
  const element = part(name);
  element.textContent = words;
  element.title = title;
  element.hidden = !words;
  return element;
}

/** One line about what goes on. action: [words, what a click does], a button beside it. */
function status(words, action) {
  page.status(words);
  if (words && action) part("status").append(" ", button(action[0], action[0], action[1]));
}

/** Options that fold out, and are a page of their own on phones. Returns a function that folds them there. */
function folding() {
  const [opener, layout, side] = [
    part("options"),
    document.getElementById("hsd-layout"),
    document.getElementById("hsd-side"),
  ];
  const phone = window.matchMedia(PHONE);
  const unfold = (on) => {
    layout.classList.toggle("is-folded", !on);
    opener.setAttribute("aria-expanded", String(on));
    opener.textContent = on && phone.matches ? "✕ Close" : "☰ Options";
  };
  opener.addEventListener("click", () => {
    const on = layout.classList.contains("is-folded");
    unfold(on);
    if (on) side.focus({ preventScroll: true });
  });
  return () => phone.matches && unfold(false);
}

/** take(file): a file was chosen, or let go over the page. */
function files(take) {
  const input = part("file");
  part("open").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    const [file] = input.files;
    if (file) take(file);
    input.value = "";
  });
  const carriesFiles = ({ dataTransfer }) => dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => carriesFiles(event) && event.preventDefault());
  document.addEventListener("drop", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    page.showTab("watch");
    take(event.dataTransfer.files[0]);
  });
}

/** The long explanation: credits are a line for each model that is not the project's own. Returns what opens it. */
function explaining(credits) {
  const about = part("about");
  part("credits").textContent = credits.join(". ");
  return () => {
    about.open = true;
    about.scrollIntoView({ block: "start" });
    about.querySelector("summary").focus({ preventScroll: true });
  };
}

/** The button for newcomers. */
function asking(show) {
  part("ask").addEventListener("click", () => {
    page.showTab("watch");
    show();
  });
}

export { asking, chip, explaining, files, folding, part, status };
