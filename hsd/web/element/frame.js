// What stands in the frame of an element or a notebook: a step of one run, which the frame has in
// itself. hsd/app/element.py writes the frame's document.
import { check } from "../answers/check.js";
import { find, h } from "../kit/dom.js";
import { matches } from "../kit/features.js";
import "../kit/glossary.js"; // which explains words
import { create } from "../step/player.js";

/** @type {FrameRun} */
const run = JSON.parse(find("#hsd-one-run").textContent);
const { schema, most } = JSON.parse(find("#hsd-format").textContent);
const page = document.documentElement;
const brief = () => page.classList.contains("hsd-brief");

/** The run, or why there is none to show. @returns {OpenedTrace} */
function open() {
  if (run.problem) return { error: run.problem };
  const opened = check(JSON.stringify(run.trace), schema, most);
  if (opened.error !== undefined) return opened;
  const { steps } = opened.trace;
  const step = run.step ?? opened.step + 1;
  if (!steps[step - 1]) return { error: `there is no step ${step}: this run has ${steps.length}` };
  return { trace: opened.trace, step: step - 1 };
}

/** Light or dark, as the page around the frame is. @param {string} theme */
const dress = (theme) => page.classList.toggle("dark", theme === "dark");

/** @param {HTMLElement} root */
function start(root) {
  const opened = open();
  if (opened.error !== undefined) {
    root.replaceChildren(h("p.hp-callout", { role: "alert" }, `No step to show: ${opened.error}.`));
    return;
  }
  page.classList.toggle("hsd-brief", run.board === "first");
  page.classList.toggle("hsd-bare", run.controls === "0");
  page.dataset.lanes = run.lanes ?? "";
  const player = create(root, {
    brief: {
      first: brief,
      turn: () => {
        page.classList.toggle("hsd-brief");
        player.redraw();
      },
    },
  });
  player.load(opened.trace, { step: opened.step });
}

const system = matches("(prefers-color-scheme: dark)") ? "dark" : "light";
dress(run.theme || system);
window.addEventListener("message", ({ source, data }) => {
  if (source === window.parent && data?.theme) dress(data.theme);
});
start(find(".hf-player"));
