// HiSpec: one model in three depths. A shallow exit drafts, a deeper one checks, the whole model has the last word.
import { agreementCard, costCard } from "./hispec_cost.js";
import { legend, under } from "./hispec_layers.js";
import { RULES, SHARED, THRESHOLD } from "./levels_controls.js";
import { listed, section } from "./levels_panel.js";
import { panel } from "./panels.js";

const EXITS = [1, 8, 1];
const fields = (trained) => [
  { name: "exits", at: 0, label: "L_d, draft exit", hint: () => `Trained: ${trained()}.`, range: EXITS },
  { name: "exits", at: 1, label: "L_i, checking exit", hint: "Layers that check first.", range: EXITS },
  { name: "thresholds", at: 0, label: "N_d", hint: "Tokens drafted per check.", range: THRESHOLD },
  { name: "thresholds", at: 1, label: "N_i", hint: "Tokens settled before a target pass.", range: THRESHOLD },
  { name: "rule", label: "Rule at the top", hint: "How the whole model checks.", options: RULES },
  ...SHARED,
];

function fit(asked) {
  const pad = (given, otherwise) => {
    const list = listed(given).map(String);
    return otherwise.map((value, i) => (i < list.length ? list[i] : value));
  };
  return { ...asked, exits: pad(asked.exits, ["2", "4"]), thresholds: pad(asked.thresholds, ["2", "4"]) };
}

panel("hispec", { title: "HiSpec", order: 2 });

section("hispec", { order: 1 }, (tools) => {
  let facts = null;
  const known = () => facts;
  const ready = tools.ask("layer_facts", "").then((reply) => {
    facts = reply;
    return reply.error || "";
  });
  return {
    name: "hispec",
    system: "hispec",
    title: "HiSpec: one model, three depths",
    hint:
      "The first layers draft, a few more check, all of them decide. Each depth goes on from what the one below it " +
      "has computed: no layer reads a token twice, unless the token was forgotten.",
    fields: fields(() => (facts && facts.trained ? facts.trained.join(", ") || "none" : "…")),
    fit,
    ready,
    stage: {
      title: "Depth by depth",
      hint: "Under each exit its layers, one cell for every layer and token; over them the output head.",
      context: 2,
      under: under(known),
      more: legend,
    },
    extras: [costCard(known), agreementCard()],
  };
});
