// A benchmark: recorded, or a file that `python -m hsd bench` wrote, which brings what is drawn here along as its view.
import { ask } from "../answers/answers.js";
import { draw } from "../kit/charts.js";
import { find, h } from "../kit/dom.js";
import { copy, save } from "../kit/files.js";
import * as page from "../kit/page.js";
import { button, scroller, segments } from "../kit/parts.js";
import { fileButton, table } from "./parts.js";

const FORMAT = "hsd-bench-view-1";
const OPENS = "open a file that python -m hsd bench wrote, or what it prints with --report FILE --json";
const OWN =
  "python -m hsd bench --target Qwen/Qwen2.5-1.5B-Instruct --draft Qwen/Qwen2.5-0.5B-Instruct --prompts shipped";

class Benchmark {
  view = /** @type {BenchmarkView | null} */ (null);
  choice = segments("Benchmark", (/** @type {string} */ name) => this.choose(name));
  facts = h("p.hp-hint");
  kinds = segments("Kind of text", (/** @type {string} */ kind) => this.only(kind));
  table = scroller("Results, one line per case");
  charts = fold("Charts", () => this.view && this.plot(this.view));
  elsewhere = fold("The same on your machine");

  /** page: what ask("page") gives. @param {Values} page */
  constructor({ pairs, recorded }) {
    this.recorded = /** @type {string[]} */ (recorded.benchmark.keys);
    const titles = pairs.map((/** @type {Named} */ { name, title }) => [name, title.split(" · ")[0]]);
    this.titles = /** @type {Record<string, string>} */ (Object.fromEntries(titles));
    const read = (/** @type {string} */ text, /** @type {string} */ name) => this.read(text, name);
    const files = fileButton("Open a file", OPENS, "file of a benchmark", read);
    const json = () => save("hsd-bench.json", JSON.stringify({ view: this.view }));
    const kept = [
      button("CSV", "the table with all digits", () => save("hsd-bench.csv", this.view?.csv ?? "")),
      button("JSON", "what is shown; opens here again", json),
    ];
    const head = h("div.hp-row", this.choice.element, files, h("span.hp-grow"), kept);
    const parts = [head, this.facts, this.kinds.element, this.table, this.charts, this.elsewhere];
    this.element = h("section.hp-card", { "aria-label": "Benchmark" }, parts);
  }

  async choose(/** @type {string} */ name = this.recorded[0]) {
    try {
      this.show(await ask("benchmark", { name }), name);
    } catch (refusal) {
      page.alert(refusal instanceof Error ? refusal.message : String(refusal));
    }
  }

  /** A file of the visitor's. A broken one is told in a line, and what was shown stays. @param {string} text @param {string} name */
  read(text, name) {
    try {
      this.show(viewIn(text), "");
      page.alert("");
    } catch {
      page.alert(`${name} has no view of a benchmark: ${OPENS}`);
    }
  }

  /** Throws, and changes nothing, if a view from outside is not valid. name: "" for a file's. @param {BenchmarkView} view @param {string} name */
  show(view, name) {
    table(view.columns, view.rows);
    const command = code("This benchmark", view.command);
    for (const rows of Object.values(view.kinds ?? {})) table(view.columns, rows);
    this.facts.textContent = [view.date.slice(0, 10), ...view.facts].join(" · ");
    this.view = view;
    const options = this.recorded.map((one) => /** @type {[string, string]} */ ([one, this.titles[one] ?? one]));
    this.choice.set(name, name ? options : [...options, ["", "your file"]]);
    this.only("");
    const own = code("With a pair of your own, each a Hub id or a folder", OWN);
    inside(this.elsewhere).replaceChildren(...(view.command ? [command] : []), own);
    if (this.charts.open) this.plot(view);
  }

  /** The table of one kind of prompts, "" for all. @param {string} kind */
  only(kind) {
    if (!this.view) return;
    const { columns, rows, kinds = {} } = this.view;
    const names = Object.keys(kinds);
    this.kinds.element.hidden = !names.length;
    this.kinds.set(kind, [["", "all kinds"], ...names.map((name) => /** @type {[string, string]} */ ([name, name]))]);
    this.table.replaceChildren(table(columns, kind ? kinds[kind] : rows));
  }

  async plot(/** @type {BenchmarkView} */ { charts }) {
    try {
      await draw(inside(this.charts), charts);
    } catch {
      page.alert("these charts could not be drawn: open them again, or reload the page");
    }
  }
}

/** What is folded up. @param {HTMLElement} fold */
const inside = (fold) => find(":scope > :last-child", fold);

/** The view in a file: of a benchmark's lines the last one has it, of what --json prints it is a part. @param {string} text */
function viewIn(text) {
  const lines = text.trimEnd();
  const { view } = JSON.parse(lines.slice(lines.lastIndexOf("\n") + 1));
  if (view.format !== FORMAT) throw new Error("of another version");
  return view;
}

// ---- parts

/** A part that is folded at first. opened(): it is seen. @type {(title: string, opened?: () => unknown) => HTMLDetailsElement} */
function fold(title, opened) {
  const element = h("details.hf-fold", h("summary", title), h("div"));
  element.addEventListener("toggle", () => element.open && opened?.());
  return element;
}

/** A block of code with its name and a button that copies it, and says for a moment whether that worked. @type {(name: string, text: string) => HTMLElement} */
function code(name, text) {
  const copying = async () => {
    copier.textContent = (await copy(text)) ? "Copied" : "Not copied";
    setTimeout(() => (copier.textContent = "Copy"), 2000);
  };
  const copier = button("Copy", `copy: ${name}`, copying, { "class": "hp-toggle", "aria-label": `copy: ${name}` });
  const block = h("pre", { "tabindex": 0, "aria-label": name }, h("code", String(text)));
  return h("figure.hp-box.hf-code", h("figcaption", name, copier), block);
}

export { Benchmark };
