// The text so far: prompt, then the tokens of every step, marked by where they came from. A
// character that several tokens spell stands with the last of them, and bears its origin; until it
// is whole, its bytes are shown. Extended as tokens come; moving to another step only changes
// classes.
import { afterLayout, h, SIGNS } from "../kit/dom.js";
import { plural, runs, shorten, visible } from "../kit/format.js";
import { term } from "../kit/glossary.js";
import { begin, Running, together, written } from "../kit/spans.js";
import { follow } from "./cells.js";
import { fuzzy, readAlone } from "./model.js";
import * as shade from "./shade.js";

const PROMPT_SHOWN = 160;
const PROMPT_MORE = 2000;
const ASKED_SHOWN = 600; // characters of a question
const SHORT = 16; // tokens, of which the last may be completed
const SPACE = visible(" ");
const OVERRULED = "kept though the exact test would have rejected it";
const NAMES = { draft: "from the draft, kept", correction: "correction", bonus: "bonus" };
const TEMPLATE = "what the model really reads: the question in its chat template";

/**
 * A question, and a button that shows it in its chat template.
 * @type {(text: string, tokens: Token[]) => HTMLElement}
 */
function question(text, tokens) {
  const end = [...text].slice(-ASKED_SHOWN).join("");
  const shown = text.length > ASKED_SHOWN ? `… ${end}` : text;
  const unfold = () => box.replaceChildren(...ending(tokens, PROMPT_SHOWN));
  const button = more("chat template", unfold, TEMPLATE);
  /** @type {HTMLElement} */
  const box = h("span.hp-prompt", h("bdi", { dir: "auto" }, shown), " ", button, h("br"));
  return box;
}

/** @type {(words: string, onclick: () => void, title?: string) => HTMLButtonElement} */
const more = (words, onclick, title) =>
  h("button.hp-more", { type: "button", onclick, title }, words);

/**
 * The last `count` tokens, after a button that brings some of those before them.
 * @type {(tokens: Token[], count: number) => Node[]}
 */
function ending(tokens, count) {
  const hidden = begin(tokens, count);
  return [
    ...earlier(tokens.slice(0, hidden)),
    ...written(tokens.slice(hidden)).map((parts) => put(parts, h("span"))),
  ];
}

/**
 * A button that shows hidden tokens, in a list; an empty list where none are hidden.
 * @type {(hidden: Token[]) => HTMLElement[]}
 */
function earlier(hidden) {
  const bring = () => button.replaceWith(h("span", ending(hidden, PROMPT_MORE)));
  const button = more(`… ${plural(hidden.length, "earlier token")}`, bring);
  return hidden.length ? [button] : [];
}

/**
 * Put what a token adds to the text into `out`, and that into `place`.
 * @type {(parts: Span[], out: HTMLElement, place?: HTMLElement) => HTMLElement}
 */
function put(parts, out, place = h("span")) {
  const { text: end = "", bytes = false } = parts.at(-1) ?? {};
  const mark = (/** @type {string} */ text) => h("span.hp-token", h("span.hp-mark", `${text} `));
  const pieces = parts.map(({ text, bytes }) => (bytes ? mark(text) : wrapped(text)));
  out.replaceChildren(...pieces);
  place.replaceChildren(out, !bytes && /\n$/.test(end) ? h("br") : "");
  return place;
}

/**
 * A piece with its line ends and other unseen signs marked; a line end in the middle of the piece
 * also ends the line.
 * @param {string} piece
 */
function wrapped(piece) {
  const tag = /^<.*>$/.test(piece) ? "bdi.hp-token" : "span.hp-token";
  const full = visible(piece);
  if (full.length > 60) return h(tag, { title: full }, shorten(piece, 48));
  const special = /^<\|.*\|>$/.test(piece); // such as the token that begins a text
  const parts = runs(piece).map(({ text, mark, line }, i, all) => [
    special || (mark && text !== SPACE) ? h("span.hp-mark", text) : text.replaceAll(SPACE, " "),
    line && i < all.length - 1 && h("br"),
  ]);
  return h(tag, parts);
}

/**
 * The card of the text. onStep: a step of it was clicked.
 * @param {(index: number) => void} onStep
 */
function create(onStep) {
  const flow = h("div.hp-flow", {
    dir: "auto",
    translate: "no",
    tabindex: 0,
    role: "group",
    "aria-label": "the text",
  });
  const legend = Object.entries(SIGNS).map(([origin, sign]) => {
    const name = origin === "draft" ? "kept" : origin;
    return h("span", h(`span.hp-sign.is-${origin}`, sign), " ", term(name));
  });
  const head = h("div.hp-head", h("h3.hp-title", "Text so far"), h("p.hp-hint.hp-keyline", legend));
  const shades = shade.create(() => outs.slice(starts[0] ?? outs.length));
  const parts = [head, shades.element, flow];
  const element = h("section.hp-card.hp-text", { "aria-label": "Text so far" }, parts);
  let groups = /** @type {HTMLElement[]} */ ([]);
  let prompt = /** @type {ShownText["prompt"]} */ ({ pieces: [] });
  // of the run; none while one is awaited
  let options = /** @type {SetupOptions | undefined} */ (undefined);
  let running = new Running(); // what of the prompt is shown, and the tokens of all steps
  let outs = /** @type {HTMLElement[]} */ ([]); // the element of each, in a place that breaks lines
  let starts = /** @type {number[]} */ ([]); // the place of each step's first token
  // while it shows what a step would keep
  let supposed = /** @type {{group: HTMLElement, written: Node[]} | null} */ (null);

  function take(/** @type {Token[]} */ tokens) {
    for (const [i, parts] of running.add(tokens))
      put(parts, outs[i], outs[i].parentElement ?? undefined);
  }

  function place(/** @type {HTMLElement} */ out) {
    outs.push(out);
    return h("span", out);
  }

  function load(/** @type {ShownText} */ trace) {
    prompt = trace.prompt;
    options = trace.setup?.options;
    running = new Running();
    outs = [];
    starts = [];
    groups = [];
    supposed = null;
    const tokens = tokensOf(prompt);
    const given = tokens.splice(tokens.length - (prompt.forced ?? 0));
    const names = given.map((_, i) =>
      i < given.length - 1 ? ["given", "given"] : ["forced", "put here by hand"],
    );
    flow.replaceChildren(promptPart(tokens));
    flow.append(...names.map(([css, title]) => place(h(`span.hp-out.is-${css}`, { title }))));
    take(given);
    extend(trace.steps, 0);
    score(trace.scores);
  }

  /** The probabilities of the new tokens are known now. @param {ShownText["scores"]} scores */
  function score(scores) {
    const gamma = options?.draft.gamma;
    shades.set(scores, typeof gamma === "number" ? gamma : 0);
  }

  /** The prompt, or the question in it. */
  function promptPart(/** @type {Token[]} */ tokens) {
    const read = together(tokens);
    const { text } = prompt;
    if (text && read.lastIndexOf(text) > 0 && !read.endsWith(text)) return question(text, tokens);
    const from = begin(tokens, PROMPT_SHOWN);
    const shown = tokens.slice(from).map(() => place(h("span")));
    take(tokens.slice(from));
    return h("span.hp-prompt", earlier(tokens.slice(0, from)), shown);
  }

  /** More steps, the first of them of this number. @type {(steps: Step[], from: number) => void} */
  function extend(steps, from) {
    for (const [i, step] of steps.entries()) {
      starts.push(outs.length);
      // nodes, from 1 on
      const spared = step.divergences.length ? fuzzy(readAlone(step, options))?.overruled : [];
      const index = from + i;
      const own = step.committed.map((token, k) =>
        place(out(token, index, spared?.includes(k + 1))),
      );
      const attributes = { "data-step": index, "onclick": () => onStep(index) };
      groups.push(h("span.hp-group", attributes, own));
    }
    take(steps.flatMap(({ committed }) => committed));
    flow.append(...groups.slice(from));
  }

  /** @type {(token: Committed, index: number, spared?: boolean) => HTMLElement} */
  function out({ origin, bytes }, index, spared) {
    const spelt = bytes ? `; bytes ${bytes.replace(/..(?=.)/g, "$& ")}` : "";
    const words = spared ? OVERRULED : NAMES[origin];
    const title = `step ${index + 1}: ${words}${spelt}`;
    return h(`span.hp-out.is-${origin}${spared ? ".is-overruled" : ""}`, { title });
  }

  /**
   * The tokens that a step would keep in place of what it wrote; null for what it wrote.
   * @type {(index: number, kept: Token[] | null | undefined) => void}
   */
  function suppose(index, kept) {
    if (supposed) supposed.group.replaceChildren(...supposed.written);
    supposed = kept ? { group: groups[index], written: [...groups[index].childNodes] } : null;
    if (!supposed || !kept) return;
    const before = running.tokens.slice(0, starts[index]);
    const near = before.slice(begin(before, SHORT));
    const parts = written([...near, ...kept]).slice(near.length);
    const would = parts.map((own) => put(own, h("span.hp-out.is-draft.is-supposed")));
    supposed.group.replaceChildren(
      ...would,
      h("span.hp-out.is-supposed", { title: "what would follow" }, " …"),
    );
  }

  function select(/** @type {number} */ index) {
    // what it began may end later
    const wholeAt = groups.findIndex((group, i) => i >= index && group.textContent);
    groups.forEach((group, i) => {
      const later = i > index ? "hp-group is-later" : "hp-group";
      const isNow = i === index || (index >= 0 && i === wholeAt);
      const state = isNow ? "hp-group is-now" : later;
      if (group.className !== state) group.className = state;
    });
    const now = groups[index];
    if (now) afterLayout(() => follow(flow, now));
  }

  return {
    element,
    load,
    extend,
    select,
    suppose,
    score,
  };
}

/**
 * The tokens of a prompt as kit/spans.js wants them.
 * @type {(prompt: Pick<Prompt, "pieces" | "bytes">) => Token[]}
 */
const tokensOf = ({ pieces, bytes }) => pieces.map((piece, i) => ({ piece, bytes: bytes?.[i] }));

export { create };
