// The ledger of one branch: draft and target mass side by side, adding up to 1; its candidates one
// by one; and the distribution that the next token was drawn from.
import { h, prose, SIGNS, token } from "../kit/dom.js";
import { adding, count, exact, number, percent, real } from "../kit/format.js";
import { card } from "../kit/controls.js";
import { recipeOf } from "../rules/tests.js";
import { listing, plain, say } from "./sentences.js";
import { draftedAfter, pathTo, settingsOf } from "./model.js";
import { counts, segment, twin } from "./counts.js";

const NAMES = {
  overlap: "overlap",
  excess: "excess",
  deficient: "deficient",
  remainder: "handed on",
};
const FORCE = "Click a token to force it here and decode on from it.";

/**
 * The card of the branch after a node. token: one of it that is selected; force: decodes on with
 * another one there, if anything does.
 * @param {View} view
 * @param {{node: number, token?: number, force?: (token: number) => void}} how
 * @returns {HTMLElement}
 */
function ledger(view, { node, token: highlighted, force }) {
  const branch = view.branches.get(node);
  const path = pathTo(view, node).slice(-4);
  const pieces = path.map((id) => ({ piece: view.nodes.get(id).piece, cells: 14 }));
  const after = pieces.length
    ? ["After ", ...pieces.flatMap((part) => [part, " "])]
    : ["At the start of the draft, after ", { piece: view.rootPiece, cells: 14 }];
  const end = view.decided !== node && h("p.hp-note", plain(say("ledger_end", {})));
  const body = branch ? h("div", branchBody(view, branch, highlighted)) : end;
  const whole = h(
    `div.hp-ledger-body${branch ? "" : ".is-single"}`,
    body,
    residualPart(view, node),
  );
  const question = prose([...after, ": what could come next?", force ? ` ${FORCE}` : ""]);
  for (const row of force ? whole.querySelectorAll("[data-token]") : []) {
    const place = row.querySelector(".hp-token");
    const id = Number(row.getAttribute("data-token"));
    const button = h("button.hp-more", {
      type: "button",
      title: FORCE,
      onclick: () => force?.(id),
    });
    place?.replaceWith(button);
    button.append(place ?? "");
  }
  return card("hp-ledger", "The branch in full", question, whole);
}

/**
 * The masses of a branch, and its recorded tokens. highlighted: the token that is selected.
 * @type {(view: View, branch: Branch, highlighted?: number) => Child}
 */
function branchBody(view, branch, highlighted) {
  const { capped: c, excess, deficient, joint_q: joint, top, rest_p: p, rest_q: q } = branch;
  const changes = view.own.changes.filter(({ node }) => node === branch.node);
  const struck = changes.map(({ after }) => `test ${after}`);
  const size = view.trace.setup.vocab_size;
  const ofAll = {
    reached: exact(joint),
    more: exact(joint * excess),
    less: exact(joint * deficient),
  };
  const facts = {
    tree: view.isTrie,
    c: c < 1 ? exact(c) : null,
    struck: listing(struck),
    ...(joint < 1 && ofAll),
    whole: top.length === size,
    shown: top.length,
    all: count(size),
    p: percent(p),
    q: percent(q),
  };
  const overlap = /** @type {[MassKind, number]} */ (["overlap", 1 - excess]);
  const stacks = [
    stack("draft q", "q", [overlap, ["excess", excess]]),
    stack(c < 1 ? "target c·p" : "target p", "p", [
      overlap,
      ["deficient", deficient],
      ["remainder", 1 - c],
    ]),
  ];
  return [
    counts(view, branch.node),
    h("div.hp-stacks", { "data-branch": branch.node }, stacks),
    h("p.hp-hint", plain(say("ledger_masses", facts))),
    candidates(view, branch, highlighted),
    h("p.hp-hint", plain(say("ledger_shown", facts))),
  ];
}

/** The sign of a kind of mass. @type {(kind: string, attributes?: Attributes) => HTMLElement} */
const swatch = (kind, attributes = {}) => h(`span.hp-swatch.is-${kind}`, attributes);

/**
 * A bar of a mass of 1 and its parts, and the parts as a sum.
 * @type {(name: string, of: "q" | "p", parts: [MassKind, number][]) => HTMLElement}
 */
function stack(name, of, parts) {
  const shown = adding(parts.map(([, share]) => share));
  const total = parts.map(([kind], i) => `${NAMES[kind]} ${shown[i]}`);
  const segments = parts.map(([kind, share]) => {
    const title = `${NAMES[kind]} ${number(share)}`;
    return share > 0 && segment(of, kind, share, { title });
  });
  const words = { "role": "img", "aria-label": `${name}: ${total.join(" + ")}, together 1` };
  const sum = parts.map(([kind], i) => {
    const inside = [swatch(kind === "overlap" ? of : kind), ` ${total[i]}`];
    return [i ? " + " : "", h("span.hp-sumpart", { "data-column": kind }, inside)];
  });
  return h(
    "div.hp-stack",
    h("span.hp-stack-name", name),
    h("span.hp-stack-bar", words, segments),
    h("span.hp-sum", sum, " = 1"),
  );
}

/**
 * A row of a table of tokens: the token with the sign of its origin, bars, and figures.
 * @param {string} piece
 * @param {Origin | null} origin
 * @param {Child} bars
 * @param {Child[]} figures
 * @param {Attributes} attributes
 */
function row(piece, origin, bars, figures, attributes) {
  const name = [
    h(`span.hp-sign.is-${origin}`, origin && SIGNS[origin]),
    token(piece, { cells: 16 }),
  ];
  const cells = figures.map((figure) => h("td", figure));
  return h("tr", attributes, h("th", { scope: "row" }, name), h("td.hp-bars", bars), cells);
}

/**
 * The table of the recorded tokens of a branch, the likeliest first.
 * @type {(view: View, branch: Branch, highlighted?: number) => HTMLElement}
 */
function candidates(view, { capped: c, node, top }, highlighted) {
  const most = (/** @type {Candidate} */ { p, q }) => Math.max(q, c * p);
  const all = [...top].sort((a, b) => most(b) - most(a));
  const largest = Math.max(most(all[0]), 1e-9);
  const drafted = draftedAfter(view, node);
  const drawn = view.own.residual?.node === node ? view.drawn : null;
  const originOf = (/** @type {number} */ id) => {
    if (drafted.includes(id)) return "draft";
    return drawn?.token === id ? drawn.origin : null;
  };
  const rows = all.map(({ token: id, piece, q, ...target }) => {
    const p = c * target.p;
    const bars = twin(q / largest, p / largest);
    const figures = [number(q), number(p), surplus(q, p)];
    const css = id === highlighted && "is-active";
    return row(piece, originOf(id), bars, figures, { "class": css, "data-token": id });
  });
  const names = ["token", "", "q", c < 1 ? "c·p" : "p", "difference"];
  const heads = names.map((name) => h("th", { scope: "col" }, name));
  return h("table.hp-candidates", h("thead", h("tr", heads)), h("tbody", rows));
}

/** By how much q or c·p is larger, with its sign. @type {(q: number, cp: number) => Child} */
function surplus(q, cp) {
  if (q === cp) return "equal";
  const kind = q > cp ? "excess" : "deficient";
  return [
    swatch(kind, { title: kind }),
    h("span.hp-part-word", ` ${kind}`),
    ` ${number(Math.abs(q - cp))}`,
  ];
}

/**
 * Where the next token came from: the deficient parts scaled up to 1, or the target itself.
 * @type {(view: View, node: number) => HTMLElement}
 */
function residualPart(view, node) {
  const { residual } = view.own;
  if (!residual || residual.node !== node)
    return h("div.hp-residual", h("p.hp-note", elsewhere(view, residual)));
  // by such a rule q counts nothing
  const whole = residual.origin === "bonus" || real(residual.weight) === Infinity;
  const all = [...residual.top].sort((a, b) => b.probability - a.probability);
  const largest = Math.max(all[0]?.probability ?? 0, 1e-9);
  const facts = residualFacts(view, residual);
  if (facts.opaque)
    return h("div.hp-residual", h("p.hp-note", prose(say("ledger_residual", facts))));
  const kind = whole ? "overlap" : "deficient";
  const rows = all.map(({ token: id, piece, probability }) => {
    const origin = view.drawn?.token === id ? view.drawn.origin : null;
    const bar = h("span.hp-twin.is-tall", segment("p", kind, probability / largest));
    const attributes = { "class": origin && "is-drawn", "data-token": id };
    return row(piece, origin, bar, [percent(probability)], attributes);
  });
  const shown = `${all.length} of ${count(view.trace.setup.vocab_size)} tokens shown`;
  const parts = [
    h("h4.hp-subtitle", whole ? "Drawn from the target" : "Drawn from the residual"),
    h("p.hp-hint", plain(say("ledger_residual", facts))),
    h("table.hp-candidates", h("tbody", rows)),
    h("p.hp-hint", `${shown}; the rest holds ${percent(residual.rest)}.`),
    view.drawn && h("p.hp-note", prose(say("ledger_drawn", facts))),
  ];
  return h("div.hp-residual", parts);
}

/**
 * What the sentences about a residual may name; not every rule weighs the target by c.
 * @type {(view: View, residual: Residual) => ResidualFacts}
 */
function residualFacts(view, { node, origin, weight: given, draw }) {
  const weight = real(given) ?? 1;
  const branch = view.branches.get(node);
  const recipe = recipeOf(view.rule, settingsOf(view.options));
  const { piece, origin: drawnAs, outcome } = view.drawn ?? {};
  return {
    opaque: view.own.info.own !== undefined,
    tree: view.isTrie,
    forward: view.own.info.forward,
    bonus: origin === "bonus",
    weight,
    last: view.own.changes.findLast((change) => change.node === node)?.after,
    words: recipe?.residual,
    naive: branch && Math.abs(branch.capped - weight) > 1e-4 * weight ? exact(weight) : null,
    likeliest: recipe?.follow,
    draw: draw === null ? null : number(draw),
    drawn: { piece, origin: drawnAs, cells: 18 },
    chance: outcome && percent(outcome.probability),
  };
}

/**
 * Where the next token was drawn, of another branch.
 * @type {(view: View, residual: Residual | null) => string}
 */
function elsewhere(view, residual) {
  const facts = {
    supposed: !residual && view.original !== undefined,
    ended: !residual,
    kept: view.depth.get(residual?.node ?? 0),
  };
  return plain(say("ledger_elsewhere", facts));
}

export { ledger };
