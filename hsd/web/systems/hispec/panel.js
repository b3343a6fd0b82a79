// HiSpec: one model in three depths. A shallow exit drafts, a deeper one checks, the whole model has the last word.
import { RULES, SHARED, THRESHOLD } from "../controls.js";
import * as levels from "../levels/panel.js";
import { padded } from "../panel.js";
import { agreementCard, costCard } from "./cost.js";
import { legend, under } from "./layers.js";

const EXITS = [1, 8, 1];
const fields = (trained) => [
  { name: "exits", at: 0, label: "L_d, draft exit", hint: () => `Trained: ${trained()}.`, range: EXITS },
  { name: "exits", at: 1, label: "L_i, checking exit", hint: "Layers that check first.", range: EXITS },
  { name: "thresholds", at: 0, label: "N_d", hint: "Tokens drafted per check.", range: THRESHOLD },
  { name: "thresholds", at: 1, label: "N_i", hint: "Tokens settled before a target pass.", range: THRESHOLD },
  { name: "rule", label: "Rule at the top", hint: "How the whole model checks.", options: RULES },
  ...SHARED,
];

const PAIR = ["2", "4"];
const fit = (asked) => ({ ...asked, exits: padded(asked.exits, PAIR), thresholds: padded(asked.thresholds, PAIR) });

function draw(root, tools) {
  let facts = {}; // {layers, trained: [depth, …], head: cost of its row in layers}
  const known = () => facts;
  const ready = tools.ask("layer_facts").then((reply) => {
    facts = reply;
    return reply.error || "";
  });
  return levels.draw(root, tools, {
    name: "hispec",
    title: "HiSpec: one model, three depths",
    hint:
      "The first layers draft, a few more check, all of them decide. Each depth goes on from what the one below it " +
      "has computed: no layer reads a token twice, unless the token was forgotten.",
    fields: fields(() => (facts.trained ? facts.trained.join(", ") || "none" : "…")),
    fit,
    ready,
    stage: {
      title: "Depth by depth",
      hint: "Under each exit its layers, one cell for every layer and token; over them the output head.",
      under: under(known),
      more: legend,
    },
    extras: [costCard(known), agreementCard()],
  });
}

export { draw };
