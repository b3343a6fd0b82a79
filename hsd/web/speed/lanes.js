// The lanes: for each its name, one bar of tokens a second, and its text. They show what they are given.
import { h } from "../kit/dom.js";
import { runs } from "../kit/format.js";
import { lossy } from "../kit/parts.js";
import { Running } from "../kit/spans.js";

const PLAIN = /** @type {Record<string, string>} */ ({ "␣": " ", "⏎": " ", "⇥": " " });
const rateOf = (/** @type {number} */ x) => (x >= 20 ? Math.round(x).toLocaleString("en") : x.toFixed(1));

/** What a token adds, as readable text: spaces as such, other characters that show nothing by their signs. @param {Span[]} parts */
const readable = (parts) =>
  parts
    .flatMap(({ text, bytes }) => (bytes ? [{ text: `${text} `, mark: false }] : runs(text)))
    .map(({ mark, text }) => (mark && PLAIN[text]) || text)
    .join("");

class Lane {
  running = new Running();
  number = h("span.hf-rate");
  state = h("span.hf-state");
  fill = h("span.hf-fill");
  ends = /** @type {{end: number, tokens: number}[]} */ ([]); // of steps: seconds, and tokens until then
  ids = /** @type {number[]} */ ([]);
  parts = /** @type {HTMLElement[]} */ ([]); // an element for each step
  outs = /** @type {HTMLElement[]} */ ([]); // and for each token
  shown = 0;
  rate = /** @type {number | null} */ (null);
  row = /** @type {RaceRow | null} */ (null);

  /** notes: what a reader must know of the lane, such as exits that were not trained. @param {number} index @param {RaceLane} lane */
  constructor(index, { name, lossless, served }, notes = /** @type {string[]} */ ([])) {
    this.name = name;
    this.lossless = lossless;
    const names = { "role": "group", "dir": "auto", "translate": "no", "aria-label": `text of ${name}` };
    this.text = h("p.hf-text", { ...names, tabindex: 0, hidden: served });
    const mark = served ? null : lossy({ lossless });
    const head = [h("h3.hf-name", name, mark, this.state), h("div.hf-bar", this.fill, this.number)];
    const hints = notes.map((words) => h("p.hp-hint.hf-notes", words));
    this.element = h("li.hf-lane", { "data-lane": index, "data-case": name }, head, hints, this.text);
    this.draw(1);
  }

  /** More steps of the run that is shown; their last piece is from `last`. @param {RaceStep[]} steps */
  extend(steps) {
    for (const { tokens, pieces, bytes = [], last, end } of steps) {
      this.ids.push(...tokens);
      this.ends.push({ end, tokens: this.ids.length });
      const kinds = pieces.map((_, i) => (i === pieces.length - 1 ? last : "draft"));
      const outs = kinds.map((kind) => h(`span.hf-out.is-${kind}`));
      const part = h("span", outs);
      this.parts.push(part);
      this.outs.push(...outs);
      const added = this.running.add(pieces.map((piece, i) => ({ piece, bytes: bytes[i] })));
      for (const [place, own] of added) this.outs[place].textContent = readable(own);
      this.text.append(part);
    }
    this.shown = this.parts.length;
    this.follow();
  }

  /** As it was after so many seconds; Infinity: at its end. final: tokens a second of the whole. @param {number} time @param {number} final */
  at(time, final) {
    const count = this.ends.filter(({ end }) => end <= time).length;
    for (const [i, part] of this.parts.entries()) part.classList.toggle("is-later", i >= count);
    this.shown = count;
    this.rate = count === this.ends.length ? final : count ? this.ends[count - 1].tokens / time : 0;
    this.follow();
  }

  /** While it comes in: tokens a second so far. */
  soFar() {
    const last = this.ends.at(-1);
    this.rate = last ? last.tokens / last.end : 0;
  }

  /** longest: the rate that fills the row. @param {number} longest */
  draw(longest) {
    this.fill.style.width = `${100 * Math.min((this.rate ?? 0) / longest, 1)}%`;
    this.number.textContent = this.rate === null ? "not timed" : `${rateOf(this.rate)} tokens/s`;
  }

  say(/** @type {string} */ words) {
    this.state.textContent = words;
  }

  /** Keep the end of what is shown in view. */
  follow() {
    const last = this.parts[this.shown - 1];
    this.text.scrollTop = last ? last.offsetTop + last.offsetHeight - this.text.clientHeight : 0;
  }
}

export { Lane };
