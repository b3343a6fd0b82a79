// EAGLE-3: a head on the target's own features drafts a tree, which the target reads in one pass.
import { facts, layout } from "../../kit/facts.js";
import { SHARED } from "../controls.js";
import * as panel from "../panel.js";
import { choice } from "../parts.js";
import { moments } from "./model.js";
import { isChosen, Player } from "./player.js";

const TREES = { "grown": "chosen: the k likeliest", "distinct-comb": "sampled: drawn at random" };
const CHOSEN = "grown";
const { vanilla: VANILLA } = layout(CHOSEN); // the only rule for a tree that is chosen
const PAIRS = [
  ["smollm2", "SmolLM2 and its EAGLE-3 head"],
  ["tiny", "the toy pair: a draft model, no head"],
];
const RULES = facts.rules
  .filter(({ name, asked, trees, lossless }) => name === asked && lossless && trees.includes("distinct-comb"))
  .map(({ name, title, kind }) => [name, kind === "chain" ? `Draft after draft: ${title}` : title]);
const chosen = ({ tree }) => tree === CHOSEN;
const FIELDS = [
  { name: "pair", label: "Models", hint: "Who drafts, and who judges.", options: PAIRS },
  { name: "drafts", label: "k", hint: "Next tokens at each place.", range: [2, 8, 1] },
  { name: "gamma", label: "Depth", hint: "Levels of the tree.", range: [1, 8, 1] },
  { name: "nodes", label: "m", hint: "Rows read; 0: k × depth + 1.", range: [0, 64, 1], wanted: chosen },
  { name: "rule", label: "Rule", hint: "How the tree is judged.", options: RULES, wanted: (asked) => !chosen(asked) },
  ...SHARED,
];
const START = { pair: "smollm2", system: "speculative", drafts: "4", gamma: "5", nodes: "16" };

/** A chosen tree has one rule; a drawn one keeps all its nodes. */
function fit(asked) {
  const tree = asked.tree in TREES ? asked.tree : CHOSEN;
  if (tree === CHOSEN) return { ...START, ...asked, tree, rule: VANILLA, shadow: "" };
  const rule =
    RULES.some(([name]) => name === asked.rule) && asked.rule !== VANILLA ? asked.rule : facts.compared.at(-1);
  return { ...START, ...asked, nodes: "0", tree, rule, shadow: "" };
}

/**
 * How the tree comes about. Where a recorded run is shown, the other tree is too; a run of one's own is made again.
 * actions: of controls.js.
 */
function treeSwitch(presets, actions) {
  let now = null;
  const turn = (tree) => {
    const other = presets.find((preset) => preset.asked.tree === tree);
    if (now.name && other) return actions.preset(other.name);
    actions.edit({ ...now.asked, tree });
    return actions.run();
  };
  const { element, set } = choice("tree", TREES, turn, "How the tree comes about:");
  const update = (asked, { name }) => {
    now = { asked, name };
    set(asked.tree);
  };
  return { element, update };
}

/** The last moment of the first step that keeps some of a tree and drops some; of the first step where none does. */
function telling({ steps, setup }) {
  const worth = steps.map(({ kept, depth }) => (kept > 1 && kept < depth ? kept : 0));
  const step = Math.max(0, worth.indexOf(Math.max(...worth)));
  return moments(steps, isChosen(setup)).findIndex((one) => one.step === step && one.event === null);
}

const draw = (root, tools) =>
  panel.draw(root, tools, {
    name: "eagle",
    title: "EAGLE-3: a head on the target's own features drafts a tree",
    hint:
      "Instead of a model of its own, one layer drafts from what the target knew. It proposes several tokens at every " +
      "place, so the draft is a tree; the target reads all of it in one pass and follows one path.",
    fits: ({ tree }) => tree in TREES,
    fields: FIELDS,
    fit,
    above: treeSwitch,
    player: (changed) => new Player({ changed }),
    telling,
    extras: [],
  });

export { draw };
