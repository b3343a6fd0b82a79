// The text so far: prompt, then the tokens of every step, marked by where they came from.
// A character that several tokens spell stands with the last of them, and bears its origin; until it is whole, bytes stand.
// Extended as tokens come; moving to another step only changes classes.
import { afterLayout, h, SIGNS } from "../kit/dom.js";
import * as format from "../kit/format.js";
import { plural, shorten, visible } from "../kit/format.js";
import { begin, Running, together, written } from "../kit/spans.js";
import { fuzzy, readAlone } from "./model.js";
import { mended, tokensOf } from "./tokens.js";

const PROMPT_SHOWN = 160;
const PROMPT_MORE = 2000;
const ASKED_SHOWN = 600; // characters of a question
const SHORT = 16; // tokens, of which the last may be completed
const SPACE = visible(" ");
const OVERRULED = "kept though the exact test would have rejected it";
const NAMES = { draft: "from the draft, kept", correction: "correction", bonus: "bonus" };

function legend() {
  const item = (origin, words) => h("span", h("span", { class: `hp-sign is-${origin}` }, SIGNS[origin]), " ", words);
  return h("p.hp-hint.hp-keyline", item("draft", "kept"), item("correction", "correction"), item("bonus", "bonus"));
}

/** What a chat template put before and after a question unfolds by a button. */
function question(text, tokens) {
  const title = "what the model really reads: the question in its chat template";
  const whole = () => box.replaceChildren(...ending(tokens, PROMPT_SHOWN));
  const box = h(
    "span.hp-prompt",
    h("bdi", { dir: "auto" }, text.length > ASKED_SHOWN ? `… ${[...text].slice(-ASKED_SHOWN).join("")}` : text),
    " ",
    more("chat template", whole, { title }),
    h("br"),
  );
  return box;
}

const more = (words, onclick, attributes = {}) =>
  h("button.hp-more", { type: "button", onclick, ...attributes }, words);

/** The last `count` tokens, after a button that brings some of those before them. */
function ending(tokens, count) {
  const hidden = begin(tokens, count);
  return [earlier(tokens.slice(0, hidden)), ...written(tokens.slice(hidden)).map((parts) => put(parts, h("span")))];
}

function earlier(hidden) {
  if (!hidden.length) return "";
  const bring = () => button.replaceWith(h("span", ending(hidden, PROMPT_MORE)));
  const button = more(`… ${plural(hidden.length, "earlier token")}`, bring);
  return button;
}

/** Put what a token adds to the text into `out`, and that into `place`. */
function put(parts, out, place = h("span")) {
  const [start, end] = [parts[0], parts.at(-1)].map((part) => (part && !part.bytes ? part.text : ""));
  const mark = ({ text }) => h("span.hp-token", h("span.hp-mark", `${text} `));
  out.replaceChildren(...parts.map((part) => (part.bytes ? mark(part) : wrapped(part.text))));
  // A line may break before a space and must break after a line end; words stay whole.
  place.replaceChildren(/^\s/.test(start) ? h("wbr") : "", out, /\n$/.test(end) ? h("br") : "");
  return place;
}

/** A piece with its line ends and other unseen signs marked; a line end in the middle of the piece also ends the line. */
function wrapped(piece) {
  const box = h(/^<.*>$/.test(piece) ? "bdi.hp-token" : "span.hp-token");
  const full = visible(piece);
  if (full.length > 60) {
    box.setAttribute("title", full);
    box.append(shorten(piece, 48));
    return box;
  }
  const runs = format.runs(piece);
  const special = /^<\|.*\|>$/.test(piece); // such as the token that begins a text
  for (const run of runs) {
    const marked = special || (run.mark && run.text !== SPACE);
    box.append(marked ? h("span.hp-mark", run.text) : run.text.replaceAll(SPACE, " "));
    if (run.line && run !== runs[runs.length - 1]) box.append(h("br"));
  }
  return box;
}

function create(onStep) {
  const flow = h("div", {
    "class": "hp-flow",
    "dir": "auto",
    "tabindex": 0,
    "role": "group",
    "aria-label": "the text",
  });
  const element = h(
    "section",
    { "class": "hp-card hp-text", "aria-label": "Text so far" },
    h("div.hp-head", h("h3.hp-title", "Text so far"), legend()),
    flow,
  );
  const groups = [];
  let prompt = null;
  let options = null; // of the run
  let running = null; // what of the prompt is shown, and the tokens of all steps
  let outs = []; // the element of each, in a place that breaks lines
  let starts = []; // the place of each step's first token
  let supposed = null; // {group, written: its children}, while it shows what a step would keep

  function take(tokens) {
    for (const [i, parts] of running.add(tokens)) put(parts, outs[i], outs[i].parentNode);
  }

  function place(out) {
    outs.push(out);
    return h("span", out);
  }

  function load(trace) {
    prompt = trace.prompt;
    options = trace.setup?.options; // none while a run is awaited
    [running, outs, starts, supposed] = [new Running(), [], [], null];
    groups.length = 0;
    flow.replaceChildren(promptPart(mended(tokensOf(prompt), prompt.text)));
    extend(trace.steps, 0, trace.result?.text);
  }

  /** What the text goes on from. */
  function promptPart(tokens) {
    const read = together(tokens);
    if (prompt.text && read.lastIndexOf(prompt.text) > 0 && !read.endsWith(prompt.text))
      return question(prompt.text, tokens);
    const from = begin(tokens, PROMPT_SHOWN);
    const shown = tokens.slice(from).map(() => place(h("span")));
    take(tokens.slice(from));
    return h("span.hp-prompt", earlier(tokens.slice(0, from)), shown);
  }

  /** text: of all steps, where it is known. */
  function extend(steps, from, text = "") {
    for (const [i, step] of steps.entries()) {
      starts.push(outs.length);
      const spared = step.divergences?.length ? fuzzy(readAlone(step, options))?.overruled : []; // nodes, from 1 on
      const own = step.committed.map((token, k) => place(out(token, from + i, spared?.includes(k + 1))));
      groups.push(h("span.hp-group", { "data-step": from + i, "onclick": () => onStep(from + i) }, own));
    }
    const made = steps.flatMap(({ committed }) => committed);
    take(mended(made, text));
    flow.append(...groups.slice(from));
  }

  function out({ origin, bytes }, index, spared) {
    const spelt = bytes ? `; bytes ${bytes.replace(/..(?=.)/g, "$& ")}` : "";
    const title = `step ${index + 1}: ${spared ? OVERRULED : NAMES[origin]}${spelt}`;
    return h(`span.hp-out.is-${origin}${spared ? ".is-overruled" : ""}`, { title });
  }

  /** The tokens that a step would keep in place of what it wrote; null for what it wrote. */
  function suppose(index, kept) {
    if (supposed) supposed.group.replaceChildren(...supposed.written);
    supposed = kept && { group: groups[index], written: [...groups[index].childNodes] };
    if (!supposed) return;
    const before = running.tokens.slice(0, starts[index]);
    const near = before.slice(begin(before, SHORT));
    const parts = written([...near, ...kept]).slice(near.length);
    const would = parts.map((own) => put(own, h("span.hp-out.is-draft.is-supposed")));
    supposed.group.replaceChildren(...would, h("span.hp-out.is-supposed", { title: "what would follow" }, " …"));
  }

  function select(index) {
    const wholeAt = groups.findIndex((element, i) => i >= index && element.textContent); // what it began may end later
    groups.forEach((element, i) => {
      const now = i === index || (index >= 0 && i === wholeAt);
      const state = `hp-group${now ? " is-now" : i > index ? " is-later" : ""}`;
      if (element.className !== state) element.className = state;
    });
    const now = groups[index];
    if (now) afterLayout(() => keepInView(flow, now));
  }

  return { element, load, extend, select, suppose };
}

/** Scroll only the box, never the page. */
function keepInView(box, element) {
  const outer = box.getBoundingClientRect();
  const inner = element.getBoundingClientRect();
  if (inner.top < outer.top || inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom + 24;
}

export { create };
