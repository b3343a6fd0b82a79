// What rules keep of a tree on average, over all coins: one number for all of them where it was chosen, one each where
// it was drawn.
import { h, prose } from "../../kit/dom.js";
import { rule } from "../../kit/facts.js";
import { exact, number, plural, same, short, visible } from "../../kit/format.js";
import { folded, say } from "../../kit/parts.js";
import { div, p, span, table } from "../parts.js";
import { meanKept, worth } from "./model.js";

/** onLight(node or null): the pointer is on its part of a bar. */
function worthCard({ onLight }) {
  const [bars, said, run] = [div("hs-bars eg-worth"), p("eg-worth-said"), p("hp-hint")];
  const each = h("div");
  const all = h("details", { class: "eg-each" }, h("summary", {}, "Node by node"), each);
  const hint =
    "How many tokens of this very tree are kept on average over all coins. Coins decide one run, not a rule.";
  const element = folded("sy-eg-worth", "What a rule can gain on this tree", hint, bars, said, all, run);

  function update(trace, tree) {
    const { rows, sum } = worth(tree);
    const drafted = rows.length > 0;
    all.hidden = !drafted || !tree.chosen;
    if (!drafted) bars.replaceChildren();
    else if (tree.chosen) bars.replaceChildren(...rows.map((row, i) => depthBar(row, i + 1, onLight)));
    else bars.replaceChildren(...ruleBars(tree));
    if (drafted && tree.chosen) each.replaceChildren(nodeTable(tree));
    said.replaceChildren(...prose(!drafted ? ["Nothing was drafted in this step."] : sentence(tree, rows, sum)));
    say(run, whole(trace));
  }

  return { element, update };
}

const bar = (attributes, name, parts, figure) => {
  const track = span("hs-track eg-track", parts);
  return h("div", { class: "hs-bar", ...attributes }, span("hs-bar-name", name), track, span("hs-bar-sum", figure));
};

/** The chance that so many tokens at least are kept, a part of the bar for each node that would be the last of them. */
function depthBar({ nodes, sum }, depth, onLight) {
  const parts = nodes.map(({ id, piece, reach }) => {
    const attributes = {
      "class": "eg-part",
      "style": `width:${(100 * reach).toFixed(2)}%`,
      "title": `node ${id} “${visible(piece)}”: p(path) ${number(reach)}`,
      "data-part": id,
      "onpointerenter": () => onLight(id),
      "onpointerleave": () => onLight(null),
    };
    return h("i", attributes, reach > 0.07 ? short(reach) : null);
  });
  return bar({ "data-depth": depth }, `at least ${plural(depth, "token")}`, parts, number(sum));
}

function nodeTable({ nodes }) {
  let sum = 0;
  const rows = nodes.slice(1).map(({ id, line, p: chance, reach }) => {
    sum += reach;
    const path = line.map((one) => visible(nodes[one].piece)).join(" ");
    return {
      level: id,
      head: String(id),
      cells: [{ text: path, class: "eg-path" }, number(chance), number(reach), number(sum)],
    };
  });
  return table("the nodes of the tree", "eg-nodes", ["node", "its path", "p", "p(path)", "sum so far"], rows);
}

function sentence(tree, rows, sum) {
  const kept = tree.step.expected_kept;
  if (!tree.chosen)
    return Object.keys(kept).length
      ? [
          "Where tokens were ",
          { term: "drawn", words: "drawn" },
          ", rules differ: the same tree and the same chances, but other tests. Which of them keeps more differs from tree to tree.",
        ]
      : ["This trace does not say what the rules keep on average: its tree has too many nodes, or the trace is old."];
  const added = rows.map((row) => exact(row.sum)).join(" + ");
  const own = kept[tree.step.verdict ? tree.step.verdict.rule : ""];
  const start = ["Σ p(path) = ", added, rows.length > 1 ? ` ≈ ${exact(sum)} tokens. ` : " tokens. "];
  const most = "No exact rule keeps more of a tree whose tokens were ";
  const reached =
    own === undefined
      ? "."
      : same(own, sum)
        ? `, and this rule reaches it: worked out from its own tests it keeps ${same(own, sum)}.`
        : `. Worked out from its own tests this rule keeps ${exact(own)}.`;
  return [...start, most, { term: "chosen", words: "chosen" }, reached];
}

/** [rule, number] in the order of all menus. */
const inOrder = (rules) => Object.entries(rules).sort(([a], [b]) => rule(a).order - rule(b).order);

/** Expected tokens kept, a bar for each rule. */
function ruleBars({ step }) {
  const told = inOrder(step.expected_kept);
  const longest = Math.max(...told.map(([, kept]) => kept), 1e-9);
  return told.map(([name, kept]) => {
    const own = step.verdict && step.verdict.rule === name;
    const part = h("i", { class: `eg-part is-rule${own ? " is-own" : ""}`, style: `width:${(100 * kept) / longest}%` });
    return bar({ "data-rule": name }, `${rule(name).title}${own ? " (this run)" : ""}`, [part], number(kept));
  });
}

/** The same over the run. */
function whole({ steps }) {
  const mean = meanKept(steps);
  if (!mean) return "";
  const named = inOrder(mean.rules).map(([name, kept]) => `${rule(name).short} ${number(kept)}`);
  return `Averaged over the ${plural(mean.trees, "tree")} of this run, again over all coins: ${named.join(", ")}.`;
}

export { worthCard };
