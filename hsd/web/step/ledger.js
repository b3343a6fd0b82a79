// The ledger of one branch: draft and target mass side by side, adding up to 1; its candidates one by one; and the
// distribution that the next token was drawn from.
import { h, prose, SIGNS, token } from "../kit/dom.js";
import { adding, count, exact, number, percent, plural, real } from "../kit/format.js";
import { card } from "../kit/parts.js";
import { recipeOf } from "../rules/tests.js";
import * as changes from "./changes.js";
import * as model from "./model.js";
import { pathTo } from "./model.js";

const NAMES = { overlap: "overlap", excess: "excess", deficient: "deficient", remainder: "handed on" };

function ledger(view, node, highlighted) {
  const branch = view.branches.get(node);
  const path = pathTo(view, node).map((id) => ({ piece: view.nodes.get(id).piece, cells: 14 }));
  const after = path.length
    ? ["After ", ...path.slice(-4).flatMap((part) => [part, " "])]
    : ["At the start of the draft, after ", { piece: view.rootPiece, cells: 14 }];
  const body = branch ? h("div", branchBody(view, branch, highlighted)) : view.decided === node ? null : noBranch();
  return card(
    "hp-ledger",
    "The branch in full",
    prose([...after, ": what could come next?"]),
    h(
      "div",
      { class: `hp-ledger-body${branch ? "" : " is-single"}` },
      body,
      h("div", residualPart(view, node), changes.history(view, node)),
    ),
  );
}

function noBranch() {
  return h(
    "p.hp-note",
    "The draft ended here, so there is no branch after this token. Select another token, or press Esc for the one that decided.",
  );
}

function branchBody(view, branch, highlighted) {
  const parts = model.ledger(branch);
  return [
    h(
      "div.hp-stacks",
      stack("draft q", "q", parts.draft),
      stack(branch.capped < 1 ? "target c·p" : "target p", "p", parts.target),
    ),
    explanation(view, branch),
    candidates(view, branch, highlighted),
    hidden(view, branch),
  ];
}

function stack(name, of, parts) {
  const segment = ([kind, share]) =>
    h("span", {
      class: `hp-segment is-${of} is-${kind}`,
      style: `width:${(100 * share).toFixed(3)}%`,
      title: `${NAMES[kind]} ${number(share)}`,
    });
  const shown = adding(parts.map(([, share]) => share));
  const total = parts.map(([kind], i) => `${NAMES[kind]} ${shown[i]}`).join(" + ");
  return h(
    "div.hp-stack",
    h("span.hp-stack-name", name),
    h(
      "span",
      { "class": "hp-stack-bar", "role": "img", "aria-label": `${name}: ${total}, together 1` },
      parts.filter(([, share]) => share > 0).map(segment),
    ),
    h(
      "span.hp-sum",
      parts.map(([kind], i) => [
        i ? " + " : "",
        h(
          "span.hp-sumpart",
          h("span", { class: `hp-swatch is-${kind === "overlap" ? of : kind}` }),
          ` ${NAMES[kind]} ${shown[i]}`,
        ),
      ]),
      " = 1",
    ),
  );
}

const PARTS = "Overlap is what both agree on. Excess: the draft proposes it too often. Deficient: too rarely.";

function explanation(view, { capped, joint_q: joint, excess, deficient }) {
  const c = exact(capped);
  const due = view.isTrie
    ? `${capped < 1 ? `c = ${c} is the capped ratio of the path here from the start of the step. ` : ""}All of this is before any rejection.`
    : capped < 1
      ? `Only c = ${c} of the target's mass is due here; the rest was already handed to earlier positions.`
      : "Here c = 1, so the whole target counts and both are equally large.";
  const [reached, more, less] = [joint, joint * excess, joint * deficient].map((x) => exact(x));
  const whole =
    joint < 1 ? ` The draft comes here with probability ${reached}: jointly excess ${more}, deficient ${less}.` : "";
  return h("p.hp-hint", `${PARTS} ${due}${whole}`);
}

function candidates(view, branch, highlighted) {
  const c = branch.capped;
  const largest = Math.max(...branch.top.map((top) => Math.max(top.q, c * top.p)), 1e-9);
  const drafted = new Set((view.children.get(branch.node) || []).map((id) => view.nodes.get(id).token));
  const drawn = view.drawn && view.own.residual && view.own.residual.node === branch.node ? view.drawn : null;
  const row = (top) => {
    const origin = drafted.has(top.token) ? "draft" : drawn && drawn.token === top.token ? drawn.origin : null;
    return h(
      "tr",
      { "class": top.token === highlighted ? "is-active" : null, "data-token": top.token },
      h(
        "th",
        { scope: "row" },
        h("span", { class: `hp-sign is-${origin}` }, origin ? SIGNS[origin] : ""),
        token(top.piece, { cells: 16 }),
      ),
      h("td.hp-bars", twin(top.q, c * top.p, largest)),
      h("td", number(top.q)),
      h("td", number(c * top.p)),
      h("td.hp-part", surplus(top.q, c * top.p)),
    );
  };
  return h(
    "table.hp-candidates",
    h(
      "thead",
      h(
        "tr",
        ["token", "", "q", c < 1 ? "c·p" : "p", "difference"].map((name) => h("th", { scope: "col" }, name)),
      ),
    ),
    h("tbody", [...branch.top].sort((a, b) => Math.max(b.q, c * b.p) - Math.max(a.q, c * a.p)).map(row)),
  );
}

function surplus(q, cp) {
  const gap = Math.abs(q - cp);
  if (gap === 0) return "equal";
  return h(
    "span",
    h("span", { class: `hp-swatch is-${q > cp ? "excess" : "deficient"}`, title: q > cp ? "excess" : "deficient" }),
    h("span.hp-part-word", q > cp ? " excess" : " deficient"),
    ` ${number(gap)}`,
  );
}

/** q over c·p: the common part plain, what goes beyond it hatched. */
function twin(q, cp, largest) {
  const width = (x) => `width:${((100 * x) / largest).toFixed(2)}%`;
  const both = Math.min(q, cp);
  const line = (of, kind, whole) =>
    h(
      "span.hp-twin",
      h("span", { class: `hp-segment is-${of} is-overlap`, style: width(both) }),
      h("span", { class: `hp-segment is-${of} is-${kind}`, style: width(whole - both) }),
    );
  return [line("q", "excess", q), line("p", "deficient", cp)];
}

function hidden(view, branch) {
  const { vocab_size: size } = view.trace.setup;
  if (branch.top.length >= size) return h("p.hp-hint", `All ${count(size)} tokens shown.`);
  return h(
    "p.hp-hint",
    `${branch.top.length} of ${count(size)} tokens shown; the rest holds ${percent(branch.rest_p)} of p and ${percent(branch.rest_q)} of q.`,
  );
}

/** Where the next token came from: the deficient parts scaled up to 1, or the target itself. */
function residualPart(view, node) {
  const { residual } = view.own;
  if (!residual || residual.node !== node) return elsewhere(view, residual);
  const bonus = residual.origin === "bonus";
  const title = bonus || whole(residual) ? "Drawn from the target" : "Drawn from the residual";
  const why = bonus
    ? "The draft proposed nothing here, so nothing was rejected and there is no q to compare with: the next token simply follows the target."
    : residualWords(view, residual);
  const largest = Math.max(...residual.top.map((top) => top.probability), 1e-9);
  return h(
    "div.hp-residual",
    h("h4.hp-subtitle", title),
    h("p.hp-hint", why),
    h(
      "table.hp-candidates",
      h(
        "tbody",
        [...residual.top].sort((a, b) => b.probability - a.probability).map((top) => residualRow(view, top, largest)),
      ),
    ),
    h(
      "p.hp-hint",
      `${residual.top.length} of ${count(view.trace.setup.vocab_size)} tokens shown; the rest holds ${percent(residual.rest)}.`,
    ),
    drawSentence(view, residual),
  );
}

/** A rule may take the whole target for its residual: its factor of q is 0, and w = 1/0. */
const whole = (residual) => residual.origin === "correction" && real(residual.weight) === Infinity;

/** Which part of the branch the residual is, in words; not every rule weighs the target by c. */
function residualWords(view, residual) {
  const { node } = residual;
  const weight = real(residual.weight);
  if (view.isTrie) return leftByTests(view, node);
  const own = recipeOf(view.rule, model.settingsOf(view.trace.setup.options))?.residual;
  if (own) return own;
  if (view.own.info.forward)
    return "Vanilla compares p with q directly, without c: what the target has more of, max(p − q, 0), scaled up to 1.";
  const branch = view.branches.get(node);
  if (branch && Math.abs(branch.capped - weight) > 1e-4 * weight)
    return `Naive HSD uses the ratio without its cap, r = ${exact(weight)}: max(r·p − q, 0), scaled up to 1.`;
  return `Only the deficient parts, max(${weight === 1 ? "" : "c·"}p − q, 0), scaled up to 1: exactly what the draft left out.`;
}

/** In a tree the rejections on this branch, one after another, made the target into what is drawn from. */
function leftByTests(view, node) {
  const last = view.own.changes.filter((change) => change.node === node).pop();
  if (!last) return "No rejection changed this branch, so this is its target.";
  return `What the rejections left of the target here: its state after test ${last.after}, the last that changed it.`;
}

const fromTarget = (residual) => residual.origin === "bonus" || whole(residual);

function residualRow(view, top, largest) {
  const drawn = view.drawn && view.drawn.token === top.token;
  return h(
    "tr",
    { class: drawn ? "is-drawn" : null },
    h(
      "th",
      { scope: "row" },
      h("span", { class: `hp-sign is-${view.drawn ? view.drawn.origin : ""}` }, drawn ? SIGNS[view.drawn.origin] : ""),
      token(top.piece, { cells: 16 }),
    ),
    h(
      "td.hp-bars",
      h(
        "span.hp-twin.is-tall",
        h("span", {
          class: `hp-segment is-p ${fromTarget(view.own.residual) ? "is-overlap" : "is-deficient"}`,
          style: `width:${((100 * top.probability) / largest).toFixed(2)}%`,
        }),
      ),
    ),
    h("td", percent(top.probability)),
  );
}

function drawSentence(view, residual) {
  if (!view.drawn) return null;
  const likeliest = recipeOf(view.rule, model.settingsOf(view.options))?.follow;
  const drawn = view.drawn.outcome && !likeliest;
  const chance = drawn ? ` It had a chance of ${percent(view.drawn.outcome.probability)}.` : "";
  return h(
    "p.hp-note",
    prose([
      likeliest ? "Nothing is drawn: the likeliest token is " : `The draw number ${number(residual.draw)} picked `,
      { piece: view.drawn.piece, origin: view.drawn.origin, cells: 18 },
      ".",
      chance,
    ]),
  );
}

function elsewhere(view, residual) {
  if (!residual) {
    const words = view.original
      ? "With these coins and this rule nothing was drawn in the run: this only shows what could have followed."
      : "The text ended with the kept tokens: nothing was drawn.";
    return h("div.hp-residual", h("p.hp-note", words));
  }
  const where =
    residual.node === 0 ? "at the start of the draft" : `after ${plural(view.depth.get(residual.node), "kept token")}`;
  return h(
    "div.hp-residual",
    h("p.hp-note", `The next token was drawn ${where}, not on this branch. Press Esc to go there.`),
  );
}

export { ledger };
