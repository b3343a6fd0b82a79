// The tracks: for every lane its name, counts, a bar with one block per step, and its text. They show what they get.
import { h } from "../kit/dom.js";
import { number, plural, runs } from "../kit/format.js";

const NAMES = { draft: "kept from the draft", correction: "correction", bonus: "bonus" };
const LINE = 22; // pixels, as in race.css: whole lines are scrolled
const PLAIN = { "␣": " ", "⏎": "\n", "⇥": " " };

/** A piece as readable text: spaces and line ends as such, other characters that show nothing by their signs. */
const readable = (piece) =>
  runs(piece)
    .map((run) => (run.mark ? (PLAIN[run.text] ?? run.text) : run.text))
    .join("");

const seconds = (x) => `${x < 10 ? x.toFixed(3) : x.toFixed(1)} s`;

class Track {
  /** notes: what a reader must know of the lane, such as exits that were not trained. */
  constructor(index, { name, lossless }, notes = []) {
    this.name = h(
      "h4",
      { class: "rc-name" },
      h("span", { class: "rc-number" }, String(index + 1)),
      name,
      lossless ? null : h("span", { class: "rc-warning" }, "✕ not lossless"),
    );
    this.counts = h("span", { class: "rc-counts" });
    this.note = h("span", { class: "rc-state" });
    this.bar = h("div", { class: "rc-bar", role: "img" });
    this.flow = h("p", { "class": "rc-flow", "dir": "auto", "tabindex": 0, "aria-label": `text of ${name}` });
    this.element = h(
      "li",
      { "class": "rc-track", "data-lane": index },
      h("div", { class: "rc-line" }, this.name, this.counts, this.note),
      notes.map((words) => h("p", { class: "rc-hint" }, words)),
      this.bar,
      this.flow,
    );
    this.clear();
  }

  clear() {
    Object.assign(this, { steps: [], ids: [], blocks: [], texts: [], ends: [], shown: 0 });
    this.bar.replaceChildren();
    this.flow.replaceChildren();
    this.count();
  }

  /** Steps that are shown at once. */
  extend(steps) {
    for (const step of steps) {
      const before = this.ends.length ? this.ends[this.ends.length - 1] : { tokens: 0, calls: 0 };
      this.ends.push({ tokens: before.tokens + step.tokens.length, calls: before.calls + step.calls, end: step.end });
      this.steps.push(step);
      this.ids.push(...step.tokens);
      this.blocks.push(block(step));
      this.texts.push(text(step));
    }
    this.bar.append(...this.blocks.slice(this.bar.childElementCount));
    this.flow.append(...this.texts.slice(this.flow.childElementCount));
    this.show(this.steps.length);
  }

  get tokens() {
    return this.ends.length ? this.ends[this.ends.length - 1].tokens : 0;
  }

  /** The bar's full width stands for so many tokens. */
  scale(tokens) {
    this.bar.style.setProperty("--rc-share", String(this.tokens / Math.max(tokens, 1)));
  }

  /** Show the steps that had ended at this time. */
  at(time) {
    let n = 0;
    while (n < this.ends.length && this.ends[n].end <= time) n += 1;
    this.show(n);
  }

  show(n) {
    if (n === this.shown) return;
    const [low, high] = [Math.min(n, this.shown), Math.max(n, this.shown)];
    for (let i = low; i < high; i += 1)
      for (const part of [this.blocks[i], this.texts[i]]) part.classList.toggle("is-later", i >= n);
    this.shown = n;
    this.count();
    this.follow();
  }

  /** Keep the newest words in sight; only the box scrolls, never the page. */
  follow() {
    const last = this.texts[this.shown - 1];
    const over = last ? last.offsetTop + last.offsetHeight - this.flow.clientHeight : 0;
    this.flow.scrollTop = Math.max(0, Math.ceil(over / LINE) * LINE);
  }

  count() {
    const { tokens, calls } = this.ends[this.shown - 1] || { tokens: 0, calls: 0 };
    const rate = calls ? `, ${number(tokens / calls)} per call` : "";
    this.counts.textContent = `${plural(tokens, "token")} · ${plural(calls, "target call")}${rate}`;
    this.bar.setAttribute("aria-label", `${plural(this.shown, "step")} shown: ${this.counts.textContent}`);
  }

  state(words, kind = "") {
    this.note.textContent = words;
    this.note.dataset.kind = kind;
  }
}

const originOf = (step, i) => (i < step.kept ? "draft" : step.last);

/** One block per step, as wide as it has tokens: what was kept of the draft, then what the target added. */
function block(step) {
  const kept = Math.min(step.kept, step.tokens.length);
  const parts = [
    ["draft", kept],
    [step.last, step.tokens.length - kept],
  ].filter(([, n]) => n > 0);
  return h(
    "span",
    { class: "rc-block", style: `flex-grow: ${step.tokens.length}` },
    parts.map(([origin, n]) => h("span", { class: `rc-part is-${origin}`, style: `flex-grow: ${n}` })),
  );
}

function text(step) {
  return h(
    "span",
    { class: "rc-step" },
    step.pieces.map((piece, i) =>
      h("bdi", { class: `rc-out is-${originOf(step, i)}`, title: NAMES[originOf(step, i)] }, readable(piece)),
    ),
  );
}

export { Track, seconds };
