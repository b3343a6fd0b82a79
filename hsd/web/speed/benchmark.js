// A benchmark: recorded, or a file that `python -m hsd bench` wrote, which brings what is drawn here along as its view.
import { ask } from "../answers/answers.js";
import { h } from "../kit/dom.js";
import { copy, save } from "../kit/files.js";
import * as page from "../kit/page.js";
import { button, segments } from "../kit/parts.js";
import { draw } from "./charts.js";

const FORMAT = "hsd-bench-view-1";
const MOST = 64e6; // bytes of a file
const RULES = [
  ["tokenwise", "token-wise"],
  ["blockwise", "block"],
  ["hsd", "HSD"],
];
const NO_PAIR = "This benchmark has no setting with both the token-wise rule and HSD.";
const OTHERS =
  "Their papers measured other models on other hardware. The speeds here are medians over repetitions: with few of " +
  "them, differences of some per cent may be noise.";
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
    const opens = "a file that python -m hsd bench wrote";
    const files = [button("Open a file", opens, () => this.input.click()), this.input];
    const kept = [
      button("CSV", "the table with all digits", () => save("hsd-bench.csv", this.view.csv)),
      button("JSON", "what is shown; opens here again", () =>
        save("hsd-bench.json", JSON.stringify({ view: this.view })),
      ),
    ];
    this.facts = h("p.hp-hint");
    this.table = h("div.hp-scroll", { "tabindex": 0, "role": "group", "aria-label": "Results, one line per case" });
    this.charts = fold("Charts", () => this.view && this.plot());
    this.beside = fold("Published numbers beside measured ones");
    this.elsewhere = fold("The same on your machine, and from a program");
    const head = h("div.sp-tools", this.choice.element, files, h("span.hp-grow"), kept);
    const folds = [this.charts, this.beside, this.elsewhere];
    this.element = h("section.hp-card", { "aria-label": "Benchmark" }, head, this.facts, this.table, folds);
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
      if (file.size > MOST)
        throw new Error(`${file.name} has over ${MOST / 1e6} MB: choose a file of python -m hsd bench`);
      this.show(checked(await file.text(), file.name), "");
      page.alert("");
    } catch (error) {
      page.alert(error.message);
    }
  }

  show(view, name) {
    this.view = view;
    const options = this.recorded.map((one) => [one, this.titles[one] ?? one]);
    this.choice.set(name, name ? options : [...options, ["", "your file"]]);
    const measured = new Date(view.date);
    const when = Number.isNaN(measured.getTime()) ? view.date : measured.toISOString().slice(0, 10);
    this.facts.textContent = [when, ...view.facts].join(" · ");
    this.table.replaceChildren(table(view.columns, view.rows));
    this.beside.lastElementChild.replaceChildren(...beside(view, this.published));
    this.programs();
    if (this.charts.open) this.plot();
  }

  async plot() {
    const { view } = this;
    try {
      await draw(this.charts.lastElementChild, view.charts);
    } catch (error) {
      page.alert(error.message);
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
      code("This benchmark", this.view.command),
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

/** The view in a file, or an Error: of a benchmark's lines the last has it, of what --json prints a part. */
function checked(text, name) {
  const wrong = new Error(
    `${name.slice(0, 60)} has no view of a benchmark: open a file written by python -m hsd bench, or what it prints with --report FILE --json`,
  );
  let view;
  try {
    const lines = text.trimEnd();
    view = JSON.parse(
      lines.startsWith("{") && !lines.includes("\n") ? lines : lines.slice(lines.lastIndexOf("\n") + 1),
    ).view;
  } catch {
    throw wrong;
  }
  const texts = (list) => Array.isArray(list) && list.length < 200 && list.every((one) => typeof one === "string");
  const cells = (list, width) =>
    Array.isArray(list) && list.length && list.length < 200 && list.every((row) => texts(row) && row.length === width);
  const rules = (list) => Array.isArray(list) && list.every((line) => line && texts(Object.values(line)));
  const charts = (list) =>
    Array.isArray(list) && list.length <= 3 && list.every((one) => one && Array.isArray(one.data) && one.layout);
  const { format, date, facts, command, columns, rows, charts: drawn, here, csv } = view ?? {};
  const known = format === FORMAT && texts([date, command, csv]) && texts(facts) && cells(columns, 2);
  if (!known || !cells(rows, columns.length) || !charts(drawn) || !rules(here?.rules) || !texts(here?.systems))
    throw wrong;
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
  const head = columns.map(([name, meaning]) => h("th", { scope: "col", title: meaning || null }, name));
  const line = ([first, ...rest]) =>
    h(
      "tr",
      h("th", { scope: "row" }, first),
      rest.map((text) => h("td", text || "–")),
    );
  return h("table.sp-table.sp-bench", h("thead", h("tr", head)), h("tbody", rows.map(line)));
}

/** Published numbers, and the same rules and systems in the benchmark that is shown. */
function beside({ here }, { lines, notes, source, systems }) {
  const heads = [["tokens per target call", ""], ...RULES.map(([, name]) => [name, ""])];
  const cells = (line) => [line.setting, ...RULES.map(([rule]) => line[rule])];
  const shown = (title, list) =>
    h("div", h("h4.hp-subtitle", title), h("div.hp-scroll", table(heads, list.map(cells))));
  const claim = ({ name, source: where, published }, i) => {
    const head = h("h4.hp-subtitle", name, " (", paper(where), ")");
    return h(
      "div",
      { "data-system": name },
      head,
      h("p.hp-note", `Published: ${published}.`),
      h("p.hp-note.sp-here", here.systems[i]),
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
    h("p.hp-note", OTHERS),
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
    h("pre", { "tabindex": 0, "aria-label": name }, h("code", text)),
  );
}

export { Benchmark };
