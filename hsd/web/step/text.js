// The text so far: prompt, then the tokens of every step, marked by where they came from.
// Built once and extended; moving to another step only changes classes.
import { afterLayout, h, SIGNS } from "../kit/dom.js";
import * as format from "../kit/format.js";
import { plural, shorten, visible } from "../kit/format.js";

const PROMPT_SHOWN = 160;
const PROMPT_MORE = 2000;
const ASKED_SHOWN = 600; // characters of a question
const SPACE = visible(" ");
const NAMES = { draft: "from the draft, kept", correction: "correction", bonus: "bonus" };

function legend() {
  const item = (origin, words) =>
    h("span", {}, h("span", { class: `hp-sign is-${origin}` }, SIGNS[origin]), " ", words);
  return h(
    "p",
    { class: "hp-hint hp-keyline" },
    item("draft", "kept"),
    item("correction", "correction"),
    item("bonus", "bonus"),
  );
}

/** What the text goes on from; what a chat template put before and after a question unfolds by a button. */
function promptPart({ text, pieces }) {
  const read = pieces.join("");
  const at = text ? read.lastIndexOf(text) : -1;
  if (at <= 0 || read.endsWith(text)) return h("span.hp-prompt", ending(pieces, PROMPT_SHOWN));
  const title = "what the model really reads: the question in its chat template";
  const whole = () => box.replaceChildren(...ending(pieces, PROMPT_SHOWN).flat());
  const box = h(
    "span.hp-prompt",
    h("bdi", { dir: "auto" }, text.length > ASKED_SHOWN ? `… ${text.slice(-ASKED_SHOWN)}` : text),
    " ",
    more("chat template", whole, { title }),
    h("br"),
  );
  return box;
}

const more = (words, onclick, attributes = {}) =>
  h("button.hp-more", { type: "button", onclick, ...attributes }, words);

/** The last `count` pieces, after a button that brings some of those before them. */
function ending(pieces, count) {
  const hidden = pieces.length - count;
  const shown = pieces.slice(-count).map((piece) => breakable(piece, wrapped(piece)));
  if (hidden <= 0) return shown;
  const earlier = () => button.replaceWith(h("span", ending(pieces.slice(0, hidden), PROMPT_MORE)));
  const button = more(`… ${plural(hidden, "earlier token")}`, earlier);
  return [button, ...shown];
}

/** A line may break before a space and must break after a line end; words stay whole. */
function breakable(piece, element) {
  return [/^\s/.test(piece) ? h("wbr") : "", element, /\n$/.test(piece) ? h("br") : ""];
}

/** A piece with its line ends and other unseen signs marked; a line end in the middle of the piece also ends the line. */
function wrapped(piece) {
  const box = h("bdi", { class: "hp-token", dir: "auto" });
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
    box.append(marked ? h("span", { class: "hp-mark" }, run.text) : run.text.replaceAll(SPACE, " "));
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
    h("div", { class: "hp-head" }, h("h3", { class: "hp-title" }, "Text so far"), legend()),
    flow,
  );
  const groups = [];
  let supposed = null; // {group, written: its children}, while it shows what a step would keep

  function group(step, index) {
    const tokens = step.committed.map((committed) =>
      breakable(
        committed.piece,
        h(
          "span",
          { class: `hp-out is-${committed.origin}`, title: `step ${index + 1}: ${NAMES[committed.origin]}` },
          wrapped(committed.piece),
        ),
      ),
    );
    return h("span", { "class": "hp-group", "data-step": index, "onclick": () => onStep(index) }, tokens);
  }

  function load(trace) {
    groups.length = 0;
    supposed = null;
    flow.replaceChildren(promptPart(trace.prompt));
    extend(trace.steps, 0);
  }

  function extend(steps, from) {
    for (const [i, step] of steps.entries()) {
      groups.push(group(step, from + i));
      flow.append(groups[groups.length - 1]);
    }
  }

  /** The pieces that a step would keep in place of what it wrote; null for what it wrote. */
  function suppose(index, pieces) {
    if (supposed) supposed.group.replaceChildren(...supposed.written);
    supposed = pieces && { group: groups[index], written: [...groups[index].childNodes] };
    if (!supposed) return;
    const kept = pieces.map((piece) => breakable(piece, h("span.hp-out.is-draft.is-supposed", wrapped(piece))));
    supposed.group.replaceChildren(...kept.flat(), h("span.hp-out.is-supposed", { title: "what would follow" }, " …"));
  }

  function select(index) {
    groups.forEach((element, i) => {
      const state = `hp-group${i === index ? " is-now" : i > index ? " is-later" : ""}`;
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
