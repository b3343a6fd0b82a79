// The tests under the tokens of the tree: coin against threshold, each with its number in the order taken, the run's rule
// in a circle and the other in a square.
import { label, s } from "../kit/dom.js";
import { apart, shorten } from "../kit/format.js";
import { brief } from "./cells.js";
import * as L from "./layout.js";
import { verdicts } from "./model.js";
import { LINE, lines } from "./rows.js";

/** What stands under a drafted token. */
function under(view, item, { tested }) {
  const top = item.y + item.h + 4;
  const list = lines(view, item.id).map((line, i) => {
    const badge = testLine(view, line, item, top + i * LINE);
    badge.dataset.at = tested(line.judged, line.decision);
    return badge;
  });
  return s("g", { "aria-hidden": "true" }, list);
}

/** One line of rows.lines: a test, several that are not listed, or that the token is kept without one. */
function testLine(view, { judged, decision, more, kept }, item, y) {
  const own = judged === view.own;
  const outcome = decision ? (decision.accepted ? "pass" : "fail") : kept ? "carried" : "fail";
  const sign = { pass: "✓", fail: "✕", carried: "✓" }[outcome];
  const words = decision ? compare(decision) : kept ? "kept" : `${more.length} more, all fail`;
  const text = more && more.some((test) => test.accepted) ? `${more.length} more, last passes` : words;
  const number = decision ? String(decision.order) : "";
  const at = 12 + 6 * Math.max(number.length, 1);
  return s(
    "g",
    {
      "class": `hp-badge is-${outcome}`,
      "transform": `translate(${item.x} ${y})`,
      "data-badge": judged.rule,
      "data-order": decision?.order,
    },
    s("rect", { class: "hp-lineback", width: item.w, height: LINE - 2, rx: 4 }),
    marker(number, own),
    label(at + 2, 11.5, sign, "hp-badge-icon"),
    label(at + 14, 11.5, text, "hp-badge-text"),
  );
}

/** The number of a test: round for the run's rule, square for the other. */
function marker(number, own) {
  const width = 8 + 6 * Math.max(number.length, 1);
  return [
    s("rect", {
      class: `hp-marker ${own ? "is-own" : "is-other"}`,
      x: 1.5,
      y: 1.5,
      width,
      height: LINE - 5,
      rx: own ? 6 : 1.5,
    }),
    label(1.5 + width / 2, 11.2, number, "hp-marker-text", { "text-anchor": "middle" }),
  ];
}

/** Under the root of a tree: what the round and the square numbers are. */
function key(view) {
  const y = L.HEADER + L.PILL.root + 22;
  return verdicts(view).map((judged, i) =>
    s(
      "g",
      { transform: `translate(${L.PAD} ${y + i * 18})` },
      marker("1", judged === view.own),
      label(20, 11.5, shorten(judged.info.short, 11), `hp-rowlabel${judged === view.own ? " is-own" : ""}`),
    ),
  );
}

function compare(decision) {
  const [low, high] = decision.sides.map((x) => brief(x, apart(...decision.sides, 2, 1)));
  return `${low} ${decision.accepted ? "<" : "≥"} ${high}`;
}

export { compare, under, key };
