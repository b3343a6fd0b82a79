// A benchmark: recorded, or a file that `python -m hsd bench` wrote, which brings what is drawn here along as its view.
import { ask } from "../answers/answers.js";
import { draw } from "../kit/charts.js";
import { h } from "../kit/dom.js";
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
  /** page: what ask("page") gives. */
  constructor({ pairs, recorded }) {
    this.recorded = recorded.benchmark.keys;
    this.titles = Object.fromEntries(pairs.map(({ name, title }) => [name, title.split(" · ")[0]]));
    Object.assign(this, { view: null, published: null, chosen: "/run", snippets: [] });
    this.choice = segments("Benchmark", (name) => this.choose(name));
    this.input = h("input.hp-unseen", {
      type: "file",
      accept: ".jsonl,.json",
      "aria-label": "file of a benchmark",
      tabindex: -1,
      onchange: () => this.read(),
    });
    const files = [button("Open a file", OPENS, () => this.input.click()), this.input];
    const kept = [
      button("CSV", "the table with all digits", () => save("hsd-bench.csv", this.view.csv)),
      button("JSON", "what is shown; opens here again", () =>
        save("hsd-bench.json", JSON.stringify({ view: this.view })),
      ),
    ];
    this.facts = h("p.hp-hint");
    this.kinds = segments("Kind of text", (kind) => this.only(kind));
    this.table = scroller("Results, one line per case");
    this.charts = fold("Charts", () => this.view && this.plot());
    this.beside = fold("Published numbers beside measured ones");
    this.elsewhere = fold("The same on your machine, and from a program");
    const head = h("div.sp-tools", this.choice.element, files, h("span.hp-grow"), kept);
    const [told, folds] = [
      [this.facts, this.kinds.element],
      [this.charts, this.beside, this.elsewhere],
    ];
    this.element = h("section.hp-card", { "aria-label": "Benchmark" }, head, told, this.table, folds);
  }

  open() {
    return this.choose(this.recorded[0]);
  }

  async choose(name) {
    try {
      const view = await ask("benchmark", { name });
      this.published = view.published;
      this.show(view, name);
    } catch (refusal) {
      page.alert(refusal.message);
    }
  }

  /** A file of the visitor's. A broken one is told in a line, and what was shown stays. */
  async read() {
    const [file] = this.input.files;
    this.input.value = "";
    if (!file) return;
    try {
      if (file.size < MOST) this.show(viewIn(await file.text()), "");
      page.alert(file.size < MOST ? "" : `${file.name.slice(0, 60)} has over ${MOST / 1e6} MB: ${OPENS}`);
    } catch {
      page.alert(`${file.name.slice(0, 60)} has no view of a benchmark: ${OPENS}`);
    }
  }

  /** Throws, and changes nothing, if a view from outside is not valid. name: "" for a file's. */
  show(view, name) {
    const parts = [table(view.columns, view.rows), beside(view, this.published), code("This benchmark", view.command)];
    for (const rows of Object.values(view.kinds ?? {})) table(view.columns, rows);
    this.facts.textContent = [view.date.slice(0, 10), ...view.facts].join(" · ");
    this.view = view;
    const options = this.recorded.map((one) => [one, this.titles[one] ?? one]);
    this.choice.set(name, name ? options : [...options, ["", "your file"]]);
    this.only("");
    this.beside.lastElementChild.replaceChildren(...parts[1]);
    this.command = parts[2];
    this.programs();
    if (this.charts.open) this.plot();
  }

  /** The table of one kind of prompts, "" for all. */
  only(kind) {
    const { columns, rows } = this.view;
    const kinds = this.view.kinds ?? {};
    const names = Object.keys(kinds);
    this.kinds.element.hidden = !names.length;
    this.kinds.set(kind, [["", "all kinds"], ...names.map((name) => [name, name])]);
    this.table.replaceChildren(table(columns, kind ? kinds[kind] : rows));
  }

  async plot() {
    try {
      await draw(this.charts.lastElementChild, this.view.charts);
    } catch {
      page.alert("these charts could not be drawn: open them again, or reload the page");
    }
  }

  /** programs: that ask this app for the last lane of a race. */
  offer(programs) {
    this.snippets = programs;
    if (this.view) this.programs();
  }

  programs() {
    const here = window.location.origin + window.location.pathname;
    const one = this.snippets.find(({ name }) => name === this.chosen);
    const name = (snippet) => {
      const state = { "aria-pressed": String(snippet === one), "data-name": snippet.name };
      const choose = () => {
        this.chosen = snippet.name;
        this.programs();
      };
      return button(snippet.name, null, choose, state);
    };
    const program = (words, kind) => code(words, one[kind].replaceAll("@APP@", here));
    this.elsewhere.lastElementChild.replaceChildren(
      this.command,
      code("With a pair of your own, each a Hub id or a folder", OWN),
      ...(one
        ? [
            h("div.hp-segments", { "role": "group", "aria-label": "Endpoint" }, this.snippets.map(name)),
            program("Python", "python"),
            program("Shell with curl", "curl"),
          ]
        : []),
    );
  }
}

/** The view in a file: of a benchmark's lines the last one has it, of what --json prints it is a part. */
function viewIn(text) {
  const lines = text.trimEnd();
  const { view } = JSON.parse(lines.slice(lines.lastIndexOf("\n") + 1));
  if (view.format !== FORMAT) throw new Error("of another version");
  return view;
}

// ---- parts

/** A part that is folded at first. opened(): it is seen. */
function fold(title, opened) {
  const element = h("details.sp-fold", h("summary", title), h("div"));
  element.addEventListener("toggle", () => element.open && opened?.());
  return element;
}

/** columns: [name, meaning]; the first cell of a row names it. */
function table(columns, rows) {
  const head = columns.map(([name, meaning]) => h("th", { scope: "col", title: meaning || null }, String(name)));
  const line = ([first, ...rest]) =>
    h(
      "tr",
      h("th", { scope: "row" }, String(first)),
      rest.map((text) => h("td", String(text || "–"))),
    );
  return h("table.sp-table.sp-bench", h("thead", h("tr", head)), h("tbody", rows.map(line)));
}

/** Published numbers, and the same rules and systems in the benchmark that is shown. */
function beside({ here }, { lines, notes, source, systems }) {
  const rules = Object.keys(lines[0]).filter((name) => name !== "setting");
  const heads = [["tokens per target call", ""], ...rules.map((name) => [rule(name).short, ""])];
  const cells = (line) => [line.setting, ...rules.map((name) => line[name])];
  const shown = (title, list) => h("div", h("h4.hp-subtitle", title), scroller(title, table(heads, list.map(cells))));
  const claim = ({ name, source: where, published }, i) => {
    const head = h("h4.hp-subtitle", name, " (", paper(where), ")");
    return h(
      "div",
      { "data-system": name },
      head,
      h("p.hp-note", `Published: ${published}.`),
      h("p.hp-note.sp-here", String(here.systems[i])),
    );
  };
  const away = ["Published, other models and hardware (", paper(source), ", version 2)"];
  return [
    h(
      "div.sp-columns",
      shown(away, lines),
      here.rules.length ? shown("In the benchmark above", here.rules) : h("p.hp-hint", NO_PAIR),
    ),
    ...notes.map((words) => h("p.hp-note", words)),
    h("div.sp-columns", systems.map(claim)),
  ];
}

function paper(source) {
  const href = `https://${source.replace("arXiv ", "arxiv.org/abs/")}`;
  return h("a", { href, target: "_blank", rel: "noopener noreferrer" }, source);
}

/** A block of code with its name and a button that copies it, and says for a moment whether that worked. */
function code(name, text) {
  const copying = async () => {
    copier.textContent = (await copy(text)) ? "Copied" : "Not copied";
    setTimeout(() => (copier.textContent = "Copy"), 2000);
  };
  const copier = button("Copy", `copy: ${name}`, copying, { "class": "hp-toggle", "aria-label": `copy: ${name}` });
  return h(
    "figure.sp-code",
    h("figcaption", name, copier),
    h("pre", { "tabindex": 0, "aria-label": name }, h("code", String(text))),
  );
}

export { Benchmark };
