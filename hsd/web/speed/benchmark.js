// A benchmark: recorded, or a file that `python -m hsd bench` wrote, which brings what is drawn
// here along as its view.
import { ask } from "../answers/answers.js";
import { draw } from "../kit/charts.js";
import { find, h } from "../kit/dom.js";
import { copy, save } from "../kit/files.js";
import * as page from "../kit/page.js";
import { button, scroller, segments } from "../kit/controls.js";
import { fileButton, table } from "./tables.js";

const FORMAT = "hsd-bench-view-1";
const OPENS =
  "open a file that python -m hsd bench wrote, or what it prints with --report FILE --json";
const OWN =
  "python -m hsd bench --target Qwen/Qwen2.5-1.5B-Instruct --draft Qwen/Qwen2.5-0.5B-Instruct " +
  "--prompts shipped";

class Benchmark {
  view = /** @type {BenchmarkView | null} */ (null);
  choice = segments("Benchmark", (/** @type {string} */ name) => this.choose(name));
  facts = h("p.hp-hint");
  kinds = segments("Kind of text", (/** @type {string} */ kind) => this.only(kind));
  table = scroller("Results, one line per case");
  charts = fold("Charts", () => this.view && this.plot(this.view));
  elsewhere = fold("The same on your machine");

  /** @param {Values} page - the answer to ask("page") */
  constructor({ pairs, recorded }) {
    this.recorded = /** @type {string[]} */ (recorded.benchmark.keys);
    const titles = pairs.map((/** @type {Named} */ { name, title }) => {
      const [short] = title.split(" · ");
      return [name, short];
    });
    this.titles = /** @type {Record<string, string>} */ (Object.fromEntries(titles));
    const files = fileButton("Open a file", OPENS, "file of a benchmark", (text, name) =>
      this.read(text, name),
    );
    const json = () => save("hsd-bench.json", JSON.stringify({ view: this.view }));
    const csv = () => save("hsd-bench.csv", this.view?.csv ?? "");
    const kept = [
      button("CSV", "the table with all digits", csv),
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

  /**
   * Show the benchmark in a file of the visitor's. Of a broken one a line says so, and what was
   * shown stays.
   * @param {string} text
   * @param {string} name
   */
  read(text, name) {
    try {
      this.show(viewIn(text), "");
      page.alert("");
    } catch {
      page.alert(`${name} has no view of a benchmark: ${OPENS}`);
    }
  }

  /**
   * Show a view of a benchmark. Throws, and changes nothing, where one from outside is not valid.
   * @param {BenchmarkView} view
   * @param {string} name - "" for the view in a file
   */
  show(view, name) {
    table(view.columns, view.rows);
    const command = code("This benchmark", view.command);
    for (const rows of Object.values(view.kinds ?? {})) table(view.columns, rows);
    this.facts.textContent = [view.date.slice(0, 10), ...view.facts].join(" · ");
    this.view = view;
    const options = this.recorded.map(
      (key) => /** @type {[string, string]} */ ([key, this.titles[key] ?? key]),
    );
    if (!name) options.push(["", "your file"]);
    this.choice.set(name, options);
    this.only("");
    const own = code("With a pair of your own, each a Hub id or a folder", OWN);
    const blocks = view.command ? [command, own] : [own];
    inside(this.elsewhere).replaceChildren(...blocks);
    if (this.charts.open) this.plot(view);
  }

  /** Show the table of one kind of prompts, "" for all. @param {string} kind */
  only(kind) {
    if (!this.view) return;
    const { columns, rows, kinds = {} } = this.view;
    const options = Object.keys(kinds).map(
      (name) => /** @type {[string, string]} */ ([name, name]),
    );
    this.kinds.element.hidden = !options.length;
    this.kinds.set(kind, [["", "all kinds"], ...options]);
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

/** The element with the contents of a fold. @param {HTMLElement} fold */
const inside = (fold) => find(":scope > :last-child", fold);

/**
 * The view in a file: of a benchmark's lines the last one has it, of what --json prints it is a
 * part.
 * @param {string} text
 */
function viewIn(text) {
  const lines = text.trimEnd();
  const { view } = JSON.parse(lines.slice(lines.lastIndexOf("\n") + 1));
  if (view.format !== FORMAT) throw new Error("of another version");
  return view;
}

// ---- parts

/**
 * A part that is folded at first. opened(): called whenever it is unfolded.
 * @type {(title: string, opened?: () => unknown) => HTMLDetailsElement}
 */
function fold(title, opened) {
  const element = h("details.hf-fold", h("summary", title), h("div"));
  element.addEventListener("toggle", () => element.open && opened?.());
  return element;
}

/**
 * A block of code with its name and a button that copies it, and says for a moment whether that
 * worked.
 * @type {(name: string, text: string) => HTMLElement}
 */
function code(name, text) {
  const copying = async () => {
    copier.textContent = (await copy(text)) ? "Copied" : "Not copied";
    setTimeout(() => {
      copier.textContent = "Copy";
    }, 2000);
  };
  const title = `copy: ${name}`;
  const names = { "class": "hp-toggle", "aria-label": title };
  const copier = button("Copy", title, copying, names);
  const block = h("pre", { "tabindex": 0, "aria-label": name }, h("code", String(text)));
  return h("figure.hp-box.hf-code", h("figcaption", name, copier), block);
}

export { Benchmark };
