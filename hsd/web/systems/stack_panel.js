// The model stack: each model drafts for the next larger one.
import { RULES, SHARED, THRESHOLD } from "./levels_controls.js";
import { listed, section } from "./levels_panel.js";
import * as recorded from "./recorded.js";
import * as totalsCard from "./stack_totals.js";

const STACKS = [
  ["0_1_2", "all three: smallest, middle, target"],
  ["0_2", "smallest and target"],
  ["1_2", "middle and target"],
  ["1_0_2", "wrong order: middle, smallest, target"],
];
const FIELDS = [
  { name: "stack", label: "Models", hint: "From the bottom up.", options: STACKS },
  {
    name: "thresholds",
    at: 0,
    label: ({ thresholds }) => (thresholds.length > 1 ? "T of the bottom model" : "T of the draft"),
    hint: "Tokens drafted per request.",
    range: THRESHOLD,
  },
  {
    name: "thresholds",
    at: 1,
    label: "T of the middle model",
    hint: "Tokens settled before the target is asked.",
    range: THRESHOLD,
    wanted: ({ thresholds }) => thresholds.length > 1,
  },
  {
    name: "level_rules",
    at: 0,
    label: "Rule of the middle model",
    hint: "How it checks drafts.",
    options: RULES,
    wanted: ({ thresholds }) => thresholds.length > 1,
  },
  { name: "rule", label: "Rule of the target", hint: "How it checks what it is handed.", options: RULES },
  ...SHARED,
];

/** A stack needs a threshold for each model below the target, and a rule for each between the ends. */
function fit(asked) {
  const stack = listed(asked.stack).length ? listed(asked.stack) : ["0", "1", "2"];
  const below = stack.length - 1;
  const thresholds = listed(asked.thresholds).map(String);
  const rules = listed(asked.level_rules);
  return {
    ...asked,
    stack: stack.join("_"),
    thresholds: Array.from({ length: below }, (_, i) => (i < thresholds.length ? thresholds[i] : "5")),
    level_rules: Array.from({ length: below - 1 }, (_, i) => rules[i] || asked.rule),
  };
}

/** The recorded vanilla run on the same prompt at the same temperature and seed, or null. */
async function beside(tools, { prompt, setup }) {
  const same = (asked) =>
    asked.system === "speculative" &&
    asked.rule === "tokenwise" &&
    asked.prompt === prompt.text &&
    Number(asked.temperature) === setup.temperature &&
    Number(asked.seed) === setup.seed;
  const [found] = recorded.list(tools, same);
  const reply = found ? await recorded.read(tools, found.name) : null;
  return reply && !reply.error ? reply : null;
}

section("stack", { order: 1 }, (tools) => ({
  name: "stack",
  system: "stack",
  title: "Model stack: models that draft for each other",
  hint:
    "The bottom model drafts, each model above checks what it is handed and settles it, and the target has the " +
    "last word. With an exact rule at every level the text follows the target exactly.",
  fields: FIELDS,
  fit,
  stage: {
    title: "Level by level",
    hint: "Tokens stand in the column of their place in the text. What a level keeps rises one lane.",
    context: 2,
  },
  extras: [totalsCard.create((trace) => beside(tools, trace))],
}));
