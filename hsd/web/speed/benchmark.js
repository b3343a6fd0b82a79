// A benchmark: recorded, or a file that `python -m hsd bench` wrote, which brings what is drawn here along as its view.
import { ask } from "../answers/answers.js";
import { draw } from "../kit/charts.js";
import { find, h } from "../kit/dom.js";
import { rule } from "../kit/facts.js";
import { copy, save } from "../kit/files.js";
import * as page from "../kit/page.js";
import { button, scroller, segments } from "../kit/parts.js";

const FORMAT = "hsd-bench-view-1";
const MOST = 64e6; // bytes of a file
const OPENS = "open a file that python -m hsd bench wrote, or what it prints with --report FILE --json";
const NO_PAIR = "This benchmark has no setting with both the token-wise rule and HSD.";
const OWN =
  "python -m hsd bench --target Qwen/Qwen2.5-1.5B-Instruct --draft Qwen/Qwen2.5-0.5B-Instruct --prompts shipped";

class Benchmark {
  view = /** @type {BenchmarkView | null} */ (null);
  published = /** @type {Published | undefined} */ (undefined);
  command = /** @type {Node | null} */ (null);
  chosen = "/run";
  snippets = /** @type {Program[]} */ ([]);
  choice = segments("Benchmark", (/** @type {string} */ name) => this.choose(name));
  facts = h("p.hp-hint");
  kinds = segments("Kind of text", (/** @type {string} */ kind) => this.only(kind));
  table = scroller("Results, one line per case");
  charts = fold("Charts", () => this.view && this.plot(this.view));
  beside = fold("Published numbers beside measured ones");
  elsewhere = fold("The same on your machine, and from a program");

  /** page: what ask("page") gives. @param {Values} page */
  constructor({ pairs, recorded }) {
    this.recorded = /** @type {string[]} */ (recorded.benchmark.keys);
    const titles = pairs.map((/** @type {Named} */ { name, title }) => [name, title.split(" · ")[0]]);
    this.titles = /** @type {Record<string, string>} */ (Object.fromEntries(titles));
    const names = { "aria-label": "file of a benchmark", "accept": ".jsonl,.json" };
    this.input = h("input.hp-unseen", { type: "file", tabindex: -1, onchange: () => this.read(), ...names });
    const files = [button("Open a file", OPENS, () => this.input.click()), this.input];
    const json = () => save("hsd-bench.json", JSON.stringify({ view: this.view }));
    const kept = [
      button("CSV", "the table with all digits", () => save("hsd-bench.csv", this.view?.csv ?? "")),
      button("JSON", "what is shown; opens here again", json),
    ];
    const head = h("div.hp-row", this.choice.element, files, h("span.hp-grow"), kept);
    const parts = [head, this.facts, this.kinds.element, this.table, this.charts, this.beside, this.elsewhere];
    this.element = h("section.hp-card", { "aria-label": "Benchmark" }, parts);
  }

  open() {
    return this.choose(this.recorded[0]);
  }

  async choose(/** @type {string} */ name) {
    try {
      const view = await ask("benchmark", { name });
      this.published = view.published;
      this.show(view, name);
    } catch (refusal) {
      page.alert(refusal instanceof Error ? refusal.message : String(refusal));
    }
  }

  /** A file of the visitor's. A broken one is told in a line, and what was shown stays. */
  async read() {
    const [file] = this.input.files ?? [];
    this.input.value = "";
    if (!file) return;
    try {
      if (file.size < MOST) this.show(viewIn(await file.text()), "");
      page.alert(file.size < MOST ? "" : `${file.name.slice(0, 60)} has over ${MOST / 1e6} MB: ${OPENS}`);
    } catch {
      page.alert(`${file.name.slice(0, 60)} has no view of a benchmark: ${OPENS}`);
    }
  }

  /** Throws, and changes nothing, if a view from outside is not valid. name: "" for a file's. @param {BenchmarkView} view @param {string} name */
  show(view, name) {
    table(view.columns, view.rows);
    const published = this.published ? beside(view, this.published) : [];
    const command = code("This benchmark", view.command);
    for (const rows of Object.values(view.kinds ?? {})) table(view.columns, rows);
    this.facts.textContent = [view.date.slice(0, 10), ...view.facts].join(" · ");
    this.view = view;
    const options = this.recorded.map((one) => /** @type {[string, string]} */ ([one, this.titles[one] ?? one]));
    this.choice.set(name, name ? options : [...options, ["", "your file"]]);
    this.only("");
    inside(this.beside).replaceChildren(...published);
    this.command = command;
    this.programs();
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

  /** programs: that ask this app for the last lane of a race. @param {Program[]} programs */
  offer(programs) {
    this.snippets = programs;
    if (this.view) this.programs();
  }

  programs() {
    const here = window.location.origin + window.location.pathname;
    const one = this.snippets.find(({ name }) => name === this.chosen);
    const name = (/** @type {Program} */ snippet) => {
      const state = { "aria-pressed": String(snippet === one), "data-name": snippet.name };
      const choose = () => {
        this.chosen = snippet.name;
        this.programs();
      };
      return button(snippet.name, null, choose, state);
    };
    const program = (/** @type {string} */ words, text = "") => code(words, text.replaceAll("@APP@", here));
    const names = h("div.hp-segments", { "role": "group", "aria-label": "Endpoint" }, this.snippets.map(name));
    const programs = one ? [names, program("Python", one.python), program("Shell with curl", one.curl)] : [];
    const own = code("With a pair of your own, each a Hub id or a folder", OWN);
    inside(this.elsewhere).replaceChildren(this.command ?? "", own, ...programs);
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

/** A table; the first cell of a row names it. @type {(columns: Columns, rows: unknown[][]) => HTMLElement} */
function table(columns, rows) {
  const head = columns.map(([name, meaning]) => h("th", { scope: "col", title: meaning || null }, String(name)));
  const lines = rows.map(([first, ...rest]) => {
    const cells = rest.map((text) => h("td", String(text || "–")));
    return h("tr", h("th", { scope: "row" }, String(first)), cells);
  });
  return h("table.hf-table.hf-bench", h("thead", h("tr", head)), h("tbody", lines));
}

/** Published numbers, and the same rules and systems in the benchmark that is shown. @type {(view: BenchmarkView, published: Published) => HTMLElement[]} */
function beside({ here }, { lines, notes, source, systems }) {
  const rules = Object.keys(lines[0]).filter((name) => name !== "setting");
  const heads = /** @type {Columns} */ ([
    ["tokens per target call", ""],
    ...rules.map((name) => [rule(name).short, ""]),
  ]);
  const cells = (/** @type {PublishedLine} */ line) => [line.setting, ...rules.map((name) => line[name])];
  const shown = (/** @type {string} */ title, /** @type {PublishedLine[]} */ list, /** @type {Child} */ head = title) =>
    h("div", h("h4.hp-subtitle", head), scroller(title, table(heads, list.map(cells))));
  const claims = systems.map(({ name, source: where, published }, i) => {
    const head = h("h4.hp-subtitle", name, " (", paper(where), ")");
    const measured = h("p.hp-note.hf-here", String(here.systems[i]));
    return h("div", { "data-system": name }, head, h("p.hp-note", `Published: ${published}.`), measured);
  });
  const words = "Published, other models and hardware";
  const away = shown(words, lines, [`${words} (`, paper(source), ", version 2)"]);
  const own = here.rules.length ? shown("In the benchmark above", here.rules) : h("p.hp-hint", NO_PAIR);
  const hints = notes.map((words) => h("p.hp-note", words));
  return [h("div.hf-columns", away, own), ...hints, h("div.hf-columns", claims)];
}

function paper(/** @type {string} */ source) {
  const href = `https://${source.replace("arXiv ", "arxiv.org/abs/")}`;
  return h("a", { href, target: "_blank", rel: "noopener noreferrer" }, source);
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
