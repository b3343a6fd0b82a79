// The sixth card: what the keys of random numbers do to a text of several steps, worked out while it is open.
import { h } from "../kit/dom.js";
import { facts, rule as known } from "../kit/facts.js";
import { card, say } from "../kit/parts.js";
import { ROUNDING } from "../rules/audit.js";
import { audit, TEXT, tooLarge } from "../rules/keying.js";
import { capital, distance, four, short } from "./words.js";

const PATIENCE = 150; // milliseconds without a change until it is worked out
const PAGE = new URL("../docs/random_numbers.md", import.meta.url).href;
const COLUMNS = ["1 step", "2 steps", "3 steps", `Text, ${TEXT} tokens`, "Tokens, first step", "In the long run"];
const FINE_PRINT =
  `Total variation of the first ${TEXT} tokens from the target, when one, two or three steps are taken and the target ` +
  "goes on alone, and when the whole text is made of steps; and the tokens that a step commits. Exact, with no sampling.";
const CONDITION = "What suffices: a number is read once, or never again after its reading had a say in what is kept.";

/** actions: keys(open). */
function keysCard(actions) {
  const lines = facts.keyings.map((keying) => ({ keying, ...line(keying) }));
  const heads = ["Numbers", ...COLUMNS].map((words) => h("th", { scope: "col" }, words));
  const rows = lines.map((one) => one.element);
  const table = h("table.hl-rules.hl-keys", h("thead", h("tr", heads)), h("tbody", rows));
  const problem = h("p.hp-problem", { role: "status" });
  const sentence = h("p.hl-say", { "aria-live": "polite" });
  const page = h("a", { href: PAGE, target: "_blank", rel: "noopener" }, "What your random numbers must be");
  const condition = h("p", CONDITION, " Why, in ten lines: ", page, ".");
  const body = h("div.hl-keys-body", sentence, table, h("p.hp-hint", FINE_PRINT));
  const fold = h(
    "details.hl-position",
    { ontoggle: () => fold.open !== shown && actions.keys(fold.open) },
    h("summary", h("b", "Every way to key the numbers")),
    problem,
    body,
    condition,
  );
  const element = card(
    "hl-comes-again",
    "Random numbers that come again",
    "A number made from (seed, position) comes again when a later step reads that position. Each step may be exact and the text still not.",
    fold,
  );
  let [shown, worked, timer] = [false, "", null];

  function update({ valid, model }) {
    element.hidden = valid.kind === "step";
    fold.open = shown = valid.keys;
    const wrong = unfit(valid);
    say(problem, wrong);
    body.hidden = Boolean(wrong);
    const key = wrong || !shown ? "" : JSON.stringify([valid.rule, model]);
    if (key === worked) return;
    worked = key;
    clearTimeout(timer);
    if (key) begin(valid.rule, model);
  }

  /** One way after another, so that the page stays alive. */
  function begin(rule, model) {
    const left = [...lines];
    const found = {};
    table.setAttribute("aria-busy", "true");
    const more = () => {
      const { keying, show } = left.shift();
      found[keying.name] = attempt(rule, keying, model);
      show(found[keying.name]);
      if (left.length) timer = setTimeout(more);
      else say(sentence, words(rule, found, model.gamma));
      table.setAttribute("aria-busy", String(left.length > 0));
    };
    timer = setTimeout(more, PATIENCE);
  }

  return { element, update };
}

/** Why several steps of it cannot be worked out, in one line; empty if they can. */
function unfit({ kind, rule, vocab, gamma }) {
  if (kind === "own")
    return "These rows differ by position, and keys need rows that never change: choose the same p and q.";
  if (known(rule).resamples)
    return `${capital(short(rule))} draws the rest of a block by further calls: pick another rule.`;
  return tooLarge({ vocab, gamma }) ? "Too many outcomes for several steps: reduce γ or take fewer tokens." : "";
}

/** The numbers of one way; null where they would take too long. */
function attempt(rule, keying, model) {
  try {
    return audit(rule, keying, model);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return null;
  }
}

function line({ name, words: about }) {
  const cells = COLUMNS.map((column) => h("td", { "data-label": column }));
  const head = h("th", { scope: "row" }, name, h("span.hp-hint", about));
  const element = h("tr", { "data-keying": name }, head, cells);
  const show = (found) => {
    const texts = found ? [...found.variations.map(distance), four(found.first), four(found.long)] : [];
    cells.forEach((cell, i) => say(cell, texts[i] || "too many states"));
    cells.forEach((cell, i) => cell.classList.toggle("is-bad", found?.variations[i] >= ROUNDING));
  };
  return { element, show };
}

/** What the numbers say about a rule: with fresh ones, and with keys by position. */
function words(rule, { fresh, position }, gamma) {
  const name = capital(short(rule));
  const off = fresh.variations.at(-1);
  if (off >= ROUNDING)
    return `${name} is not lossless here with fresh numbers either: ${distance(off)} over ${TEXT} tokens. No key makes up for that.`;
  if (!position) return `Keys by position make too many states here for ${short(rule)}: reduce γ or take fewer tokens.`;
  const text = position.variations.at(-1);
  if (text >= ROUNDING)
    return (
      `Keyed by position, with a salt for each stream, every single step of ${short(rule)} is exact, and the text is off by ` +
      `${distance(text)}: the rule reads numbers beyond the place where it stops, and the next step meets them again. ` +
      `In the long run a step brings ${four(position.long)} tokens, with fresh numbers ${four(fresh.long)}.`
    );
  if (known(rule).forward || gamma === 1)
    return `${name} may key its numbers by position, with a salt for each stream: what was read beyond the place where it stops had no say in what is kept.`;
  return `Nothing is seen of keys by position here, but ${short(rule)} reads numbers beyond the place where it stops: other rows show a difference.`;
}

export { keysCard };
