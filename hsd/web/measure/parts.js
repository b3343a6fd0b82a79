// The parts of the Measure screen as elements: table, published numbers, snippets. They hold no state.
import { h } from "../kit/dom.js";
import { copy } from "../kit/files.js";

const RULES = [
  ["tokenwise", "token-wise"],
  ["blockwise", "block"],
  ["hsd", "HSD"],
];
const HELP = {
  "tokens/s": "new tokens per second, reading the prompt included; median over repetitions",
  "speed-up": "against plain decoding of the same target in the same run; median over repetitions",
  "tokens per target call": "also called block efficiency; in brackets the 95 % interval, by a bootstrap over prompts",
  "accepted, %": "drafted tokens that were kept; in brackets the 95 % interval",
  "limit S*": "the speed-up if nothing but the models' forward passes took time",
  "efficiency": "the measured speed-up as a share of the limit; over 1 when the machine was not steady",
  "best γ":
    "the draft length with the highest limit at these costs, and that limit; it assumes the same acceptance at every position",
};

const button = (words, onclick, attributes = {}) =>
  h("button", { type: "button", class: "hm-button", onclick, ...attributes }, words);

/** A button that copies text() and says for a moment whether that worked. */
function copyButton(text, name) {
  const made = button(
    "Copy",
    async () => {
      made.textContent = (await copy(text())) ? "Copied" : "Not copied";
      setTimeout(() => {
        made.textContent = "Copy";
      }, 2000);
    },
    { "aria-label": `copy ${name}` },
  );
  return made;
}

/** A block of code with its name and a button that copies it. */
function code(name, text) {
  return h(
    "figure",
    { class: "hm-code" },
    h(
      "figcaption",
      {},
      name,
      copyButton(() => text, name),
    ),
    h("pre", { tabindex: "0", "aria-label": name }, h("code", {}, text)),
  );
}

function table(heads, lines, { label, help = {} }) {
  const head = heads.map((name) => h("th", { scope: "col", title: help[name] }, name));
  const body = lines.map(([first, ...rest]) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, first),
      rest.map((cell) => h("td", {}, cell || "–")),
    ),
  );
  return h(
    "div",
    { class: "hm-scroll", tabindex: "0", role: "group", "aria-label": label },
    h("table", { class: "hm-table" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)),
  );
}

/** The table of the benchmark that is shown, and what each column means. */
function results(view) {
  const meanings = Object.entries(HELP).filter(([name]) => view.columns.includes(name));
  return [
    table(view.columns, view.rows, { label: "Results, one line per case", help: HELP }),
    h(
      "details",
      { class: "hm-meaning" },
      h("summary", {}, "What the columns mean"),
      h(
        "dl",
        {},
        meanings.map(([name, words]) => [h("dt", {}, name), h("dd", {}, words)]),
      ),
    ),
  ];
}

/** Published numbers, and the same rules in the benchmark that is shown. */
function published({ published: lines, notes, source }, { here, systems }) {
  const heads = ["tokens per target call", ...RULES.map(([, title]) => title)];
  const cells = (line) => [line.setting, ...RULES.map(([rule]) => line[rule])];
  const measured = here.length
    ? table(heads, here.map(cells), { label: "Measured here" })
    : h("p", { class: "hm-hint" }, "The benchmark above has no setting with both the token-wise rule and HSD.");
  return h(
    "section",
    { "class": "hm-card hm-published", "aria-label": "Published numbers" },
    h("h3", {}, "Published beside measured"),
    h(
      "div",
      { class: "hm-pair" },
      h(
        "div",
        {},
        h("h4", {}, "Published, other models and hardware (", paper(source), ", version 2)"),
        table(heads, lines.map(cells), { label: "Published numbers" }),
      ),
      h("div", {}, h("h4", {}, "Measured here: the benchmark above"), measured),
    ),
    notes.map((note) => h("p", { class: "hm-note" }, note)),
    h("h3", {}, "Other systems"),
    h("div", { class: "hm-claims" }, systems.map(claim)),
    h(
      "p",
      { class: "hm-note" },
      "Their papers measured other models on other hardware. The speeds here are medians over repetitions: with few of them, differences of some per cent may be noise.",
    ),
  );
}

const paper = (source) =>
  h(
    "a",
    { href: `https://${source.replace("arXiv ", "arxiv.org/abs/")}`, target: "_blank", rel: "noopener noreferrer" },
    source,
  );

/** What a paper says of its system, and what the benchmark that is shown says of it. */
const claim = ({ name, source, published: words, here }) =>
  h(
    "div",
    { "class": "hm-claim", "data-system": name },
    h("h4", {}, name, " (", paper(source), ")"),
    h("p", { class: "hm-note" }, `Published: ${words}.`),
    h("p", { class: "hm-note hm-here" }, here),
  );

/** How to use another pair, to measure elsewhere, and to ask this app from a program. */
function programs({ command, snippets, note, chosen }, choose) {
  const here = window.location.origin + window.location.pathname;
  const own =
    "python -m hsd bench --target Qwen/Qwen2.5-1.5B-Instruct --draft Qwen/Qwen2.5-0.5B-Instruct --prompts shipped";
  const one = snippets.find((snippet) => snippet.name === chosen) || snippets[0];
  const names = snippets.map(({ name }) =>
    button(name, () => choose(name), { "aria-pressed": String(name === one.name), "data-name": name }),
  );
  const shown = one
    ? ["python", "curl"].map((kind) =>
        code(kind === "python" ? "Python" : "Shell with curl", one[kind].replaceAll("@APP@", here)),
      )
    : [];
  return h(
    "section",
    { "class": "hm-card hm-programs", "aria-label": "Elsewhere and from programs" },
    h("h3", {}, "The same on your machine"),
    h("p", { class: "hm-note" }, "This command measures what is set above, and writes a file that opens here."),
    code("Command line", command),
    h(
      "p",
      { class: "hm-note" },
      "A pair of your own: under “More options” in the sidebar give a target and a draft, each a Hub id or a folder saved by save_pretrained(). Both need the same tokenizer. The fields are there when the app runs on your own machine; to load from the Hub, start it with HF_HUB_OFFLINE=0. On the command line:",
    ),
    code("Own pair", own),
    h("h3", {}, "From a program"),
    h(
      "p",
      { class: "hm-note" },
      "With the sidebar's settings. /run and /compare wait in the same line for the model as everyone.",
    ),
    h("div", { "class": "hm-names", "role": "group", "aria-label": "Endpoint" }, names),
    note ? h("p", { class: "hm-hint" }, note) : null,
    shown,
  );
}

export { button, results, published, programs };
