// The lanes: for each its name, one bar of tokens a second, and its text. They show what they are given.
import { h } from "../kit/dom.js";
import { runs } from "../kit/format.js";
import { lossy } from "../kit/parts.js";
import { Running } from "../kit/spans.js";

const PLAIN = { "␣": " ", "⏎": " ", "⇥": " " };
const rateOf = (x) => (x >= 20 ? Math.round(x).toLocaleString("en") : x.toFixed(1));

/** What a token adds, as readable text: spaces as such, other characters that show nothing by their signs. */
const readable = (parts) =>
  parts
    .flatMap(({ text, bytes }) => (bytes ? [{ text: `${text} ` }] : runs(text)))
    .map(({ mark, text }) => (mark && PLAIN[text]) || text)
    .join("");

class Lane {
  /** notes: what a reader must know of the lane, such as exits that were not trained. */
  constructor(index, { name, lossless, served }, notes = []) {
    Object.assign(this, { name, lossless, ends: [], ids: [], parts: [], outs: [], shown: 0, rate: null });
    this.running = new Running();
    [this.number, this.state] = [h("span.sp-rate"), h("span.sp-state")];
    this.fill = h("span.sp-fill");
    this.text = h("p.sp-text", {
      "role": "group",
      "dir": "auto",
      "tabindex": 0,
      "aria-label": `text of ${name}`,
      "hidden": served,
    });
    const mark = served ? null : lossy({ lossless });
    const bar = h("div.sp-bar", this.fill, this.number);
    this.element = h(
      "li.sp-lane",
      { "data-lane": index, "data-case": name },
      h("h3.sp-name", name, mark, this.state),
      bar,
      notes.map((words) => h("p.hp-hint.sp-notes", words)),
      this.text,
    );
    this.draw(1);
  }

  /** More steps of the run that is shown: {tokens, pieces, bytes, last, end} each, the last piece from `last`. */
  extend(steps) {
    for (const { tokens, pieces, bytes = [], last, end } of steps) {
      this.ids.push(...tokens);
      this.ends.push({ end, tokens: this.ids.length });
      const kinds = pieces.map((_, i) => (i === pieces.length - 1 ? last : "draft"));
      const outs = kinds.map((kind) => h(`span.sp-out.is-${kind}`));
      this.parts.push(h("span", outs));
      this.outs.push(...outs);
      const added = this.running.add(pieces.map((piece, i) => ({ piece, bytes: bytes[i] })));
      for (const [place, own] of added) this.outs[place].textContent = readable(own);
      this.text.append(this.parts.at(-1));
    }
    this.shown = this.parts.length;
    this.follow();
  }

  /** As it was after so many seconds; Infinity: at its end. final: tokens a second of the whole. */
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

  /** longest: the rate that fills the row. */
  draw(longest) {
    this.fill.style.width = `${100 * Math.min((this.rate ?? 0) / longest, 1)}%`;
    this.number.textContent = this.rate === null ? "not timed" : `${rateOf(this.rate)} tokens/s`;
  }

  say(words) {
    this.state.textContent = words;
  }

  /** Keep the end of what is shown in view. */
  follow() {
    const last = this.parts[this.shown - 1];
    this.text.scrollTop = last ? last.offsetTop + last.offsetHeight - this.text.clientHeight : 0;
  }
}

export { Lane, rateOf };
