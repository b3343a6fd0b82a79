// One run in a file of its own, with the player, that opens from a disk without any network: for slides and papers.
// hsd/ui/export.py puts it together; the file holds {trace, step, node, title}.
import "../kit/glossary.js"; // which explains words
import { ruleInfo, ruleOf } from "../step/model.js";
import { create } from "../step/player.js";

const { trace, title, step, node } = JSON.parse(document.getElementById("hsd-run").textContent);
const part = (name) => document.querySelector(`.hf-${name}`);
const theme = document.documentElement.classList;

const { options } = trace.setup;
const words =
  title || `${options.system === "plain" ? "Plain decoding" : ruleInfo(ruleOf(options)).title}, step by step`;
part("caption").textContent = words;
document.title = words;
theme.toggle("dark", window.matchMedia("(prefers-color-scheme: dark)").matches);
document.getElementById("hsd-theme").addEventListener("click", () => theme.toggle("dark"));

const controller = create(part("player"), {});
controller.load(trace, { step, node });
window.hsdRun = controller; // for tests, and for slides that want to move it

let dark = false; // before the page was printed, which is done in light colours
window.addEventListener("beforeprint", () => {
  dark = theme.contains("dark");
  theme.remove("dark");
});
window.addEventListener("afterprint", () => theme.toggle("dark", dark));
