// The model stack: each model drafts for the next larger one.
import { facts } from "../../kit/facts.js";
import { RULES, SHARED, THRESHOLD } from "../controls.js";
import * as levels from "../levels/panel.js";
import { listed, padded } from "../panel.js";
import * as recorded from "../runs.js";
import * as totals from "./totals.js";

const STACKS = [
  ["0_1_2", "all three: smallest, middle, target"],
  ["0_2", "smallest and target"],
  ["1_2", "middle and target"],
  ["1_0_2", "wrong order: middle, smallest, target"],
];
const several = ({ thresholds }) => thresholds.length > 1;
const bottom = (asked) => (several(asked) ? "T of the bottom model" : "T of the draft");
const MIDDLE = { label: "T of the middle model", hint: "Tokens settled before the target is asked.", wanted: several };
const MIDDLE_RULE = {
  label: "Rule of the middle model",
  hint: "How it checks drafts.",
  options: RULES,
  wanted: several,
};
const FIELDS = [
  { name: "stack", label: "Models", hint: "From the bottom up.", options: STACKS },
  { name: "thresholds", at: 0, label: bottom, hint: "Tokens drafted per request.", range: THRESHOLD },
  { name: "thresholds", at: 1, range: THRESHOLD, ...MIDDLE },
  { name: "level_rules", at: 0, ...MIDDLE_RULE },
  { name: "rule", label: "Rule of the target", hint: "How it checks what it is handed.", options: RULES },
  ...SHARED,
];

/** A stack needs a threshold for each model below the target, and a rule for each between the ends. */
function fit(asked) {
  const given = listed(asked.stack);
  const stack = given.length ? given : ["0", "1", "2"];
  const below = stack.slice(1);
  return {
    ...asked,
    stack: stack.join("_"),
    thresholds: padded(asked.thresholds, below.fill("5")),
    level_rules: padded(asked.level_rules, below.slice(1).fill(asked.rule)),
  };
}

/** The recorded vanilla run on the same prompt at the same temperature and seed, or null. */
async function beside(tools, { prompt, setup }) {
  const wanted = { system: "speculative", rule: facts.vanilla, prompt: prompt.text };
  const { sampling, seed } = setup.options;
  const numbers = { temperature: sampling.temperature, seed };
  const same = (asked) =>
    Object.keys(wanted).every((name) => asked[name] === wanted[name]) &&
    Object.keys(numbers).every((name) => Number(asked[name]) === numbers[name]);
  const [found] = recorded.list(tools, same);
  const reply = found ? await recorded.read(tools, found.name) : {};
  return reply.trace || null;
}

const draw = (root, tools) =>
  levels.draw(root, tools, {
    name: "stack",
    title: "Model stack: models that draft for each other",
    hint:
      "The bottom model drafts, each model above checks what it is handed and settles it, and the target has the " +
      "last word. With an exact rule at every level the text follows the target exactly.",
    fields: FIELDS,
    fit,
    stage: {
      title: "Level by level",
      hint: "Tokens stand in the column of their place in the text. What a level keeps rises one lane.",
    },
    extras: [totals.create((trace) => beside(tools, trace))],
  });

export { draw };
