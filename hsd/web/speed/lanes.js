// The lanes: for each its name, one bar of tokens a second, and its text. They show what they are
// given.
import { h } from "../kit/dom.js";
import { runs } from "../kit/format.js";
import { lossy } from "../kit/controls.js";
import { Running } from "../kit/spans.js";

const PLAIN = /** @type {Record<string, string>} */ ({ "␣": " ", "⏎": " ", "⇥": " " });
const rateOf = (/** @type {number} */ x) =>
  x >= 20 ? Math.round(x).toLocaleString("en") : x.toFixed(1);

/**
 * The text that a token adds, to be read: spaces as such, other characters that show nothing by
 * their signs.
 * @param {Span[]} parts
 */
function readable(parts) {
  const texts = parts.map(({ text, bytes }) => {
    if (bytes) return `${text} `;
    return runs(text)
      .map((run) => (run.mark && PLAIN[run.text]) || run.text)
      .join("");
  });
  return texts.join("");
}

class Lane {
  running = new Running();
  number = h("span.hf-rate");
  state = h("span.hf-state");
  fill = h("span.hf-fill");
  // of each step its end in seconds, and the tokens until then
  ends = /** @type {{end: number, tokens: number}[]} */ ([]);
  ids = /** @type {number[]} */ ([]);
  parts = /** @type {HTMLElement[]} */ ([]); // an element for each step
  outs = /** @type {HTMLElement[]} */ ([]); // and for each token
  shown = 0;
  rate = /** @type {number | null} */ (null);
  row = /** @type {RaceRow | null} */ (null);

  /**
   * @param {number} index
   * @param {RaceLane} lane
   * @param {string[]} notes - what a reader must know of the lane, as that exits were not trained
   */
  constructor(index, { name, lossless }, notes = []) {
    this.name = name;
    this.lossless = lossless;
    this.text = h("p.hf-text", {
      "role": "group",
      "dir": "auto",
      "translate": "no",
      "aria-label": `text of ${name}`,
      "tabindex": 0,
    });
    const title = h("h3.hf-name", name, lossy({ lossless }), this.state);
    const bar = h("div.hf-bar", this.fill, this.number);
    const hints = notes.map((words) => h("p.hp-hint.hf-notes", words));
    const names = { "data-lane": index, "data-case": name };
    this.element = h("li.hf-lane", names, title, bar, hints, this.text);
    this.draw(1);
  }

  /**
   * Add steps of the run that is shown. All pieces of a step are from the draft but the last one,
   * whose origin is `last`.
   * @param {RaceStep[]} steps
   */
  extend(steps) {
    for (const { tokens, pieces, bytes = [], last, end } of steps) {
      this.ids.push(...tokens);
      this.ends.push({ end, tokens: this.ids.length });
      const outs = pieces.map((_, i) => {
        const kind = i === pieces.length - 1 ? last : "draft";
        return h(`span.hf-out.is-${kind}`);
      });
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

  /**
   * Show the lane as it was at a time.
   * @param {number} time - in seconds; Infinity for the end
   * @param {number} final - tokens a second of the whole run
   */
  at(time, final) {
    const ended = this.ends.filter(({ end }) => end <= time);
    const count = ended.length;
    for (const [i, part] of this.parts.entries()) part.classList.toggle("is-later", i >= count);
    this.shown = count;
    const last = ended.at(-1);
    if (count === this.ends.length) this.rate = final;
    else this.rate = last ? last.tokens / time : 0;
    this.follow();
  }

  /** Set the rate to the tokens a second so far, while the run comes in. */
  soFar() {
    const last = this.ends.at(-1);
    this.rate = last ? last.tokens / last.end : 0;
  }

  /** Draw the bar. @param {number} longest - the rate that fills the row */
  draw(longest) {
    const { rate } = this;
    this.fill.style.width = `${100 * Math.min((rate ?? 0) / longest, 1)}%`;
    this.number.textContent = rate === null ? "not timed" : `${rateOf(rate)} tokens/s`;
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
