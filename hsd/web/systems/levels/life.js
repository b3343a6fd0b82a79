// The life of one token: who drew it, every test with its numbers, and where it ended.
import * as dom from "../../kit/dom.js";
import { h } from "../../kit/dom.js";
import { exact } from "../../kit/format.js";
import { folded } from "../../kit/parts.js";
import { capital, div, p, table } from "../parts.js";
import { lifeBy } from "../../step/lanes.js";
import { bornTold, endTold, names, testTold } from "./words.js";

const HEADS = [
  "tested by",
  { text: "p", title: "what this level gave the token" },
  { text: "q", title: "what the level below gave it" },
  { text: "threshold", title: "of its own test" },
  { text: "coin", title: "accepted if it is below the threshold" },
  "outcome",
];
const shown = (x) => (x === null ? "–" : exact(x));
const outcome = (kept) => ({ class: kept ? "is-kept" : "is-dropped", text: kept ? "✓ kept" : "✕ rejected" });

function create() {
  const body = div("lv-life-body");
  const element = folded("sy-life", "Life of a token", "Click a token above to follow it from level to level.", body);

  /** token: of readStep; event: of the moment that is shown. */
  function update(trace, token, event) {
    const called = names(trace.setup);
    const { tests, over } = lifeBy(token, event);
    const rows = tests.map(({ level, p: p_, q, threshold, coin, kept }) => {
      return { level, head: capital(called[level]), cells: [...[p_, q, threshold, coin].map(shown), outcome(kept)] };
    });
    const piece = dom.token(token.piece, { cells: 24, origin: token.born.origin });
    body.replaceChildren(
      p("lv-born", piece, ": ", dom.prose(bornTold(token, called))),
      tests.length ? table("tests of this token, level by level", "", HEADS, rows) : "",
      h(
        "ul",
        { class: "lv-lines" },
        tests.map((test) => h("li", {}, testTold(test, called))),
      ),
      p("lv-end", endTold(token, over)),
    );
  }

  return { element, update };
}

export { create };
