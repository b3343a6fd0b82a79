// The life of one token: who drew it, every test with its numbers, and where it ended.
import * as dom from "../kit/dom.js";
import * as format from "../kit/format.js";
import { lifeBy } from "./levels_model.js";
import { bornTold, capital, endTold, names, testTold } from "./levels_words.js";
import { card, h } from "./parts.js";

function create() {
  const body = h("div", { class: "lv-life-body" });
  const element = card("life", "Life of a token", "Click a token above to follow it from level to level.", body);

  /** token: of readStep; event: of the moment that is shown. */
  function update(trace, token, event) {
    const called = names(trace.setup);
    const { tests, over } = lifeBy(token, event);
    body.replaceChildren(
      h("p", { class: "lv-born" }, [
        dom.token(token.piece, { cells: 24, origin: token.born.origin }),
        ": ",
        dom.prose(bornTold(token, called)),
      ]),
      tests.length ? table(tests, called) : "",
      h(
        "ul",
        { class: "lv-lines" },
        tests.map((test) => h("li", {}, testTold(test, called))),
      ),
      h("p", { class: "lv-end" }, endTold(token, over)),
    );
  }

  return { element, update };
}

const HEADS = [
  ["tested by", ""],
  ["p", "what this level gave the token"],
  ["q", "what the level below gave it"],
  ["threshold", "of its own test"],
  ["coin", "accepted if it is below the threshold"],
  ["outcome", ""],
];

function table(tests, called) {
  const shown = (x) => (x === null ? "–" : format.exact(x));
  const heads = HEADS.map(([name, title]) => h("th", { scope: "col", title: title || null }, name));
  return h(
    "div",
    { class: "lv-scroll" },
    h(
      "table",
      { class: "lv-table" },
      h("thead", {}, h("tr", {}, heads)),
      h(
        "tbody",
        {},
        tests.map((test) =>
          h(
            "tr",
            { "data-level": test.level },
            h("th", { scope: "row" }, capital(called[test.level])),
            [test.p, test.q, test.threshold, test.coin].map((x) => h("td", {}, shown(x))),
            h("td", { class: test.kept ? "is-kept" : "is-dropped" }, test.kept ? "✓ kept" : "✕ rejected"),
          ),
        ),
      ),
    ),
  );
}

export { create };
