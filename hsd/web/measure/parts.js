// The parts of the Measure screen as elements: table, published numbers, snippets. They hold no state.
import { h } from "../kit/dom.js";
import { copy } from "../kit/files.js";
import { button } from "../kit/parts.js";

const RULES = [
  ["tokenwise", "token-wise"],
  ["blockwise", "block"],
  ["hsd", "HSD"],
];
const HELP = {
  "tokens/s": "new tokens per second, reading the prompt included; median over repetitions",
  "speed-up": "against plain decoding of the same target in the same run; median over repetitions",
  "tokens per target call": "also called block efficiency; in brackets the 95 % interval, by a bootstrap over prompts",
  "AL": "acceptance length, as servers report it: 1 + kept tokens per draft, in brackets the 95 % interval; steps without a draft do not count, and a draft in which the text ended counts a token more than it gave",
  "accepted, %": "drafted tokens that were kept; in brackets the 95 % interval",
  "limit S*": "the speed-up if nothing but the models' forward passes took time",
  "efficiency": "the measured speed-up as a share of the limit; over 1 when the machine was not steady",
  "best γ":
    "the draft length with the highest limit at these costs, and that limit; it assumes the same acceptance at every position",
};

const title = (words) => h("h3.hp-title", words);
const note = (words) => h("p.hm-note", words);

/** A block of code with its name and a button that copies it, and says for a moment whether that worked. */
function code(name, text) {
  const copying = async () => {
    copier.textContent = (await copy(text)) ? "Copied" : "Not copied";
    setTimeout(() => (copier.textContent = "Copy"), 2000);
  };
  const copier = button("Copy", `copy ${name}`, copying, { "class": "hp-toggle", "aria-label": `copy ${name}` });
  const block = h("pre", { "tabindex": "0", "aria-label": name }, h("code", text));
  return h("figure.hm-code", h("figcaption", name, copier), block);
}

function table(heads, lines, { label, help = {} }) {
  const head = heads.map((name) => h("th", { scope: "col", title: help[name] }, name));
  const cell = (text) => h("td", text || "–");
  const body = lines.map(([first, ...rest]) => h("tr", h("th", { scope: "row" }, first), rest.map(cell)));
  const made = h("table.hm-table", h("thead", h("tr", head)), h("tbody", body));
  return h("div.hp-scroll", { "tabindex": "0", "role": "group", "aria-label": label }, made);
}

/** The table of the benchmark that is shown, and what each column means. */
function results(view) {
  const known = Object.entries(HELP).filter(([name]) => view.columns.includes(name));
  const meanings = known.map(([name, words]) => [h("dt", name), h("dd", words)]);
  return [
    table(view.columns, view.rows, { label: "Results, one line per case", help: HELP }),
    h("details.hm-meaning", h("summary", "What the columns mean"), h("dl", meanings)),
  ];
}

const NO_PAIR = "The benchmark above has no setting with both the token-wise rule and HSD.";
const OTHERS =
  "Their papers measured other models on other hardware. The speeds here are medians over repetitions: with few of " +
  "them, differences of some per cent may be noise.";

/** Published numbers, and the same rules in the benchmark that is shown. */
function published({ published: lines, notes, source }, { here, systems }) {
  const heads = ["tokens per target call", ...RULES.map(([, name]) => name)];
  const cells = (line) => [line.setting, ...RULES.map(([rule]) => line[rule])];
  const shown = (list, label) => table(heads, list.map(cells), { label });
  const away = h("h4.hp-subtitle", "Published, other models and hardware (", paper(source), ", version 2)");
  const near = h("h4.hp-subtitle", "Measured here: the benchmark above");
  const measured = here.length ? shown(here, "Measured here") : h("p.hp-hint", NO_PAIR);
  return h(
    "section.hp-card.hm-published",
    { "aria-label": "Published numbers" },
    title("Published beside measured"),
    h("div.hm-pair", h("div", away, shown(lines, "Published numbers")), h("div", near, measured)),
    notes.map(note),
    title("Other systems"),
    h("div.hm-claims", systems.map(claim)),
    note(OTHERS),
  );
}

function paper(source) {
  const href = `https://${source.replace("arXiv ", "arxiv.org/abs/")}`;
  return h("a", { href, target: "_blank", rel: "noopener noreferrer" }, source);
}

/** What a paper says of its system, and what the benchmark that is shown says of it. */
function claim({ name, source, published: words, here }) {
  const head = h("h4.hp-subtitle", name, " (", paper(source), ")");
  return h("div.hm-claim", { "data-system": name }, head, note(`Published: ${words}.`), h("p.hm-note.hm-here", here));
}

const OWN =
  "python -m hsd bench --target Qwen/Qwen2.5-1.5B-Instruct --draft Qwen/Qwen2.5-0.5B-Instruct --prompts shipped";
const PAIR =
  "A pair of your own: under “Options”, “More options”, give a target and a draft, each a Hub id or a folder saved " +
  "by save_pretrained(). Both need the same tokenizer. The fields are there when the app runs on your own machine; to " +
  "load from the Hub, start it with HF_HUB_OFFLINE=0. On the command line:";

/** How to use another pair, to measure elsewhere, and to ask this app from a program. */
function programs({ command, snippets, note: said, chosen }, choose) {
  const here = window.location.origin + window.location.pathname;
  const one = snippets.find(({ name }) => name === chosen) || snippets[0];
  const name = (snippet) => {
    const state = { "aria-pressed": String(snippet === one), "data-name": snippet.name };
    return button(snippet.name, null, () => choose(snippet.name), state);
  };
  const program = (words, kind) => one && code(words, one[kind].replaceAll("@APP@", here));
  return h(
    "section.hp-card.hm-programs",
    { "aria-label": "Elsewhere and from programs" },
    title("The same on your machine"),
    note("This command measures what is set above, and writes a file that opens here."),
    code("Command line", command),
    note(PAIR),
    code("Own pair", OWN),
    title("From a program"),
    note("With the sidebar's settings. /run and /compare wait in the same line for the model as everyone."),
    h("div.hp-segments.hm-names", { "role": "group", "aria-label": "Endpoint" }, snippets.map(name)),
    said ? h("p.hp-hint", said) : null,
    program("Python", "python"),
    program("Shell with curl", "curl"),
  );
}

export { programs, published, results };
