// The tracks: for every lane its name, counts, a bar with one block per step, and its text. They show what they get.
import { h } from "../kit/dom.js";
import { number, plural, runs } from "../kit/format.js";

const NAMES = { draft: "kept from the draft", correction: "correction", bonus: "bonus" };
const LINE = 22; // pixels, as in race.css: whole lines are scrolled
const PLAIN = { "␣": " ", "⏎": "\n", "⇥": " " };

const seconds = (x) => `${x < 10 ? x.toFixed(3) : x.toFixed(1)} s`;

/** A piece as readable text: spaces and line ends as such, other characters that show nothing by their signs. */
const readable = (piece) =>
  runs(piece)
    .map(({ mark, text }) => (mark && PLAIN[text]) || text)
    .join("");

class Track {
  /** notes: what a reader must know of the lane, such as exits that were not trained. */
  constructor(index, { name, lossless, served }, notes = []) {
    Object.assign(this, { ids: [], blocks: [], texts: [], ends: [], shown: 0, timed: false, total: 0 });
    this.counts = h("span.rc-counts");
    this.note = h("span.rc-state");
    this.bar = h("div.rc-bar", { role: "img" });
    this.flow = h("p.rc-flow", { "dir": "auto", "tabindex": 0, "aria-label": `text of ${name}` });
    const mark = lossless || served ? null : h("span.rc-warning", "✕ not lossless");
    const title = h("h4.rc-name", h("span.rc-number", index + 1), name, mark);
    this.bar.hidden = this.flow.hidden = Boolean(served);
    const line = h("div.rc-line", title, this.counts, this.note);
    const hints = notes.map((words) => h("p.hp-hint", words));
    this.element = h("li.rc-track", { "data-lane": index }, line, hints, this.bar, this.flow);
    this.count();
  }

  /** Steps that are shown at once. */
  extend(steps) {
    const known = this.ends.length;
    for (const step of steps) {
      const { tokens, calls } = this.ends.at(-1) || { tokens: 0, calls: 0 };
      this.ends.push({ tokens: tokens + step.tokens.length, calls: calls + step.calls, end: step.end });
      this.ids.push(...step.tokens);
      this.blocks.push(block(step));
      this.texts.push(text(step));
    }
    this.bar.append(...this.blocks.slice(known));
    this.flow.append(...this.texts.slice(known));
    this.show(this.ends.length);
  }

  /** The bar's full width stands for so many tokens. */
  scale(tokens) {
    this.bar.style.setProperty("--rc-share", String(this.ids.length / Math.max(tokens, 1)));
  }

  /** Show the steps that had ended at this time. */
  at(time) {
    const later = this.ends.findIndex(({ end }) => end > time);
    this.show(later < 0 ? this.ends.length : later);
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

  /** What a server, which has no steps, tells of a run. */
  tell({ tokens, drafts }) {
    this.counts.textContent = `${plural(tokens, "token")}${drafts ? ` · ${plural(drafts, "draft")} in all runs` : ""}`;
  }

  state(words, kind = "") {
    this.note.textContent = words;
    this.note.dataset.kind = kind;
  }
}

/** One block per step, as wide as it has tokens: what was kept of the draft, then what the target added. */
function block({ kept, tokens, last }) {
  const own = Math.min(kept, tokens.length);
  const part = (origin, n) => n > 0 && h(`span.rc-part.is-${origin}`, { style: `flex-grow: ${n}` });
  const parts = [part("draft", own), part(last, tokens.length - own)];
  return h("span.rc-block", { style: `flex-grow: ${tokens.length}` }, parts);
}

function text({ kept, pieces, last }) {
  const out = (origin, piece) => h(`bdi.rc-out.is-${origin}`, { title: NAMES[origin] }, readable(piece));
  return h(
    "span.rc-step",
    pieces.map((piece, i) => out(i < kept ? "draft" : last, piece)),
  );
}

export { Track, seconds };
