// What happened in a step, in sentences for a student. Pure: sentence parts, see dom.prose.
import { number, pair, plural, real } from "../kit/format.js";
import { leaves } from "./drafts.js";
import { coinOf, copies, fuzzy, knobOf } from "./model.js";
import { reason, way } from "./told.js";

const COIN = { term: "coin", words: "coin" };
const THRESHOLD = { term: "threshold", words: "threshold" };
const word = (decision) => ({ draft: "the whole draft", token: `token ${decision.node}` })[decision.test];

const ALONE = " — the target wrote one token by itself.";
const NEW = " — the last token is new, so nothing followed it before that could be copied; the target wrote one token.";
const FREE = " comes free, drawn from the target.";
const EITHER_WAY = "One step can go either way: the two rules put the same coins to different questions.";

/** The headline, how the rule came to it, why the rules part here, and what must be said about the rule. */
function story(view) {
  return { lead: lead(view), detail: detail(view), why: why(view), warning: warning(view) };
}

/** What would have happened with other coins, or by another rule: no word on why, for it did not happen. */
function supposed(view) {
  const { original, step } = view;
  const both = [view.own, ...(view.shadow && !view.sameRule ? [view.shadow] : [])];
  const kept = both.map(({ info, kept: n }) => `${info.short} keeps ${n}`).join(" and ");
  const moved = step.nodes.filter(({ id }) => coinOf(view, id) !== coinOf(original, id));
  const coins = moved.map(({ id }) => `token ${id}: ${pair(coinOf(original, id), coinOf(view, id)).join(" → ")}`);
  const was = `In the run ${original.own.info.short} kept ${original.own.kept}.`;
  return {
    lead: [{ strong: "What if" }, `: ${kept} of ${step.drafted}.`],
    detail: [coins.length ? `The coin of ${coins.join(", of ")}. ` : "The same draft and coins, another rule. ", was],
  };
}

function lead(view) {
  const { step } = view;
  if (step.drafted === 0) return [{ strong: "Nothing was drafted" }, copies(view.options) ? NEW : ALONE];
  const kept = keptWords(view);
  if (!step.shadow)
    return [...kept, step.nodes.length ? "." : " — this run was recorded without the details of its steps."];
  const { rule, info } = view.shadow;
  const other = rule === "tokenwise" ? { term: "vanilla", words: info.short } : info.short;
  if (view.sameRule) return [...kept, " — this run is ", other, " itself: ", ...otherReason(view, false), "."];
  const agrees = [" — ", other, ` would have kept ${same(view)}: `];
  if (!view.differs) return [...kept, ...agrees, ...otherReason(view, false), "."];
  const all = !view.isTrie && step.shadow.kept === step.drafted;
  const amount = all ? `all ${step.drafted}` : String(step.shadow.kept);
  return [...kept, " — ", other, ` would have kept ${amount}, because `, ...otherReason(view, true), "."];
}

/** Of a tree only one path can be kept, so the number drafted is not what one could hope for. */
function keptWords(view) {
  const { kept, drafted } = view.step;
  if (!view.isTrie || !view.detail) return [{ strong: `Kept ${kept} of ${drafted}` }];
  const many = leaves(view).length;
  const drafts = many === 1 ? "one draft, drawn by all" : plural(many, "different draft");
  return [{ strong: `Kept ${kept} of at most ${view.deepest}` }, ` (${plural(drafted, "token")} in ${drafts})`];
}

/** As many tokens need not be the same ones where several drafts were made. */
function same({ own, shadow, isTrie }) {
  if (own.last !== shadow.last) return "as many, but others";
  return own.kept || !isTrie ? "the same" : "none either";
}

/** Why the other rule stopped where it did: a forward one at its first failure, any other at its first success. */
function otherReason(view, its) {
  if (view.isTrie) return reason(view, view.shadow);
  const { decisions } = view.shadow;
  if (decisions.length && decisions[0].coinless) return likelyReason(view, decisions);
  if (decisions.length && decisions[0].test !== "token") return successReason(view, decisions);
  const failed = decisions.find((decision) => !decision.accepted);
  if (!failed)
    return [its ? "each of its " : "every ", { ...COIN, words: its ? "coins" : "coin" }, " was below its ", THRESHOLD];
  const [coin, threshold] = pair(failed.coin, failed.threshold);
  const position = view.depth.get(failed.node);
  return [its ? "its " : "the ", COIN, ` for token ${position} (${coin}) was not below ${threshold}`];
}

/** Of a rule that asks no coin, but whether the target finds the token likely enough. */
function likelyReason(view, decisions) {
  const failed = decisions.find((decision) => !decision.accepted);
  if (!failed) return ["the target finds each token likely enough"];
  const [bar, p] = pair(...failed.sides);
  return [`the target gives token ${view.depth.get(failed.node)} only ${p}, not above ${bar}`];
}

function successReason(view, decisions) {
  const passed = decisions.find((decision) => decision.accepted);
  if (!passed) return ["none of its tests passed"];
  const [coin, threshold] = pair(passed.coin, passed.threshold);
  const title = testTitle(view, passed);
  return ["its ", COIN, ` for the ${title[0].toLowerCase()}${title.slice(1)} (${coin}) was below ${threshold}`];
}

function detail(view) {
  if (!view.detail) return [];
  if (view.isTrie) return [...way(view, view.own), ...following(view)];
  const told = view.own.info.forward ? forward(view) : backward(view);
  return [...told, ...following(view)];
}

function forward(view) {
  const failed = view.own.decisions.find((decision) => !decision.accepted);
  if (!failed) return ["Token by token, every test passed. ", ...allTheSame(view)];
  const position = view.depth.get(failed.node);
  const unseen = view.step.drafted - position;
  const before =
    position === 1
      ? "The very first token failed"
      : `Token by token, ${position - 1} passed and token ${position} failed`;
  return [
    `${before}${unseen > 0 ? `; the ${unseen} after it ${unseen === 1 ? "was" : "were"} thrown away unread` : ""}. `,
    ...allTheSame(view),
  ];
}

/** The tokens that the fuzzy rule kept and the exact test would have rejected. */
function allTheSame(view) {
  const settings = view.rule === "fuzzy" ? fuzzy(view) : null;
  if (!settings || !settings.overruled.length) return [];
  const several = settings.overruled.length > 1;
  const pieces = settings.overruled.flatMap((id, i) => [i ? ", " : "", { piece: view.nodes.get(id).piece, cells: 14 }]);
  const which = several ? `Tokens ${listed(settings.overruled)} (` : `Token ${settings.overruled[0]} (`;
  const asked = settings.mode === "exact-first" ? (several ? "fail" : "fails") : "would fail";
  const same = several ? "are kept all the same" : "is kept all the same";
  return [
    which,
    ...pieces,
    `) ${asked} the exact test and ${same}: the rows are near, ${settings.name} ≤ ${number(settings.T)}. `,
  ];
}

const listed = (ids) => `${ids.slice(0, -1).join(", ")} and ${ids[ids.length - 1]}`;

function backward(view) {
  const [first, ...others] = view.own.decisions;
  if (!first) return [];
  const name = view.own.info.short;
  const opening = `${name[0].toUpperCase()}${name.slice(1)} tests ${first.test === "token" ? word(first) : "the whole draft first"}`;
  const all = view.step.drafted === 1 ? "it stays" : `all ${view.step.drafted} tokens stay`;
  if (first.accepted) return [`${opening}: the `, COIN, ` ${compare(first)}, so ${all} at once. `];
  const parts = [`${opening}: the `, COIN, ` ${compare(first)}, so it steps back. `];
  const passed = others.find((decision) => decision.accepted);
  if (!passed) return [...parts, "No shorter part passed either: the draft is dropped. "];
  const length = view.depth.get(passed.node);
  const steps = others.length - 1;
  const between = steps > 0 ? `After ${plural(steps, "more step")} back, the` : "The";
  return [
    ...parts,
    `${between} first ${length === 1 ? "token" : plural(length, "token")} passed: ${compare(passed)}. `,
  ];
}

function compare(decision) {
  const [low, high] = pair(...decision.sides);
  return decision.accepted ? `${low} is below ${high}` : `${low} is not below ${high}`;
}

/** The token that follows the kept ones. */
function following(view) {
  const drawn = view.drawn;
  if (!drawn) return view.step.kept ? ["The text ends here, so nothing follows."] : [];
  const token = { piece: drawn.piece, origin: drawn.origin };
  if (drawn.origin === "bonus") {
    return view.step.drafted
      ? [view.isTrie ? "A draft was kept to its end, so " : "All were kept, so ", token, FREE]
      : [token, " was drawn from the target."];
  }
  if (view.isTrie) return [token, " was drawn from what the rejections left of the target there."];
  const replaced = view.spine.map((id) => view.nodes.get(id)).find((node) => node.parent === view.decided);
  const place = replaced ? ["replaces ", { piece: replaced.piece }] : ["follows"];
  return [token, " ", ...place, correctedFrom(view), ...extraCalls(view)];
}

/** What the correction was drawn from; where the weight is infinite, all of the target. */
function correctedFrom(view) {
  const all = view.own.residual && real(view.own.residual.weight) === Infinity;
  return all ? ", drawn from the whole target." : ", drawn from what the draft gave too little of.";
}

/** One sentence on why two rules can part on the same draft and coins. */
function why(view) {
  if (!view.differs || view.sameRule || !view.detail) return "";
  if (view.rule === "fuzzy" && view.shadow.rule === "tokenwise") return fuzzyWhy(view);
  if (Object.hasOwn(WHYS, view.rule) && view.shadow.rule === "tokenwise") return WHYS[view.rule];
  if (view.isTrie || view.own.info.forward || view.shadow.rule !== "tokenwise") return EITHER_WAY;
  return expected(view) || EITHER_WAY;
}

const WHYS = {
  ensemble:
    "The ensemble asks vanilla’s question of a mixture of both models. Its threshold is never below vanilla’s, so it never keeps fewer here.",
  typical: "Vanilla asks a coin at every token; typical asks only whether the target finds the token likely enough.",
};

const SAME = 0.005; // tokens; a smaller difference is not seen in two digits

/** What the two rules keep of this draft over all coins: what they kept this time may be luck. */
function expected({ step, rule, own, shadow }) {
  const [mine, theirs] = [step.expected_kept[rule], step.expected_kept[shadow.rule]];
  if (mine === undefined || theirs === undefined) return "";
  const [name, gain] = [own.info.short, mine - theirs];
  if (Math.abs(gain) < SAME)
    return `Over all coins both keep ${number(mine)} tokens of this draft: that they part here is luck.`;
  const [a, b] = pair(mine, theirs);
  const law = `Over all coins ${name} keeps ${a} tokens of this draft and vanilla ${b}`;
  if (Math.sign(gain) !== Math.sign(step.kept - step.shadow.kept)) return `${law}: this time luck decided otherwise.`;
  if (gain > 0) return `${law}: vanilla stops at the first token that fails, ${name} judges them together.`;
  return rule === "hsd-released" ? `${law}.` : `${law}. Over many drafts ${name} keeps more.`;
}

function fuzzyWhy(view) {
  const settings = fuzzy(view);
  if (!settings) return EITHER_WAY;
  if (settings.mode === "divergence-only")
    return "Vanilla asks the coin at every token; FSD in the paper’s mode asks only how far the two rows are apart.";
  return "FSD makes vanilla’s test first and keeps a token that fails it where the rows are near, so it never keeps fewer here.";
}

function extraCalls(view) {
  const more = view.drawn.extra.length;
  if (!more) return [];
  return [` ${plural(more, "further token")} followed, each at the price of one more target call.`];
}

function warning(view) {
  if (view.rule === "hsd-released") {
    return "Not lossless: the released code tests the whole draft without the cap, so it accepts more than it may, and its text does not follow the target exactly.";
  }
  if (view.rule === "fuzzy") return fuzzyWarning(view);
  if (view.rule === "naive-hsd" && view.drawn && view.drawn.extra.length) {
    return `Naive HSD pays for keeping more: this step took ${number(view.step.target_calls)} target calls instead of one.`;
  }
  if (Object.hasOwn(WARNINGS, view.rule)) return WARNINGS[view.rule](number(knobOf(view, view.rule)));
  return view.own.info.lossless ? "" : OFF;
}

const OFF = "Not lossless: its text does not follow the target exactly.";
const WARNINGS = {
  ensemble: (w) =>
    w === "0"
      ? "At w = 0 the draft has no share in what is tested against: this is vanilla, and exact."
      : `Not lossless: the test takes (1 − w)·p + w·q for the target, w = ${w}, and at drafted places the text follows that mixture.`,
  typical: (epsilon) =>
    `Not lossless: a token passes wherever p > min(ε, √ε·e⁻ᴴ), ε = ${epsilon}, however often the draft proposes it. No coin is asked.`,
};

function fuzzyWarning(view) {
  const settings = view.detail ? fuzzy(view) : null;
  if (!settings || !view.step.divergences.length) return OFF;
  const { T, name, unit, drift, bound } = settings;
  if (T < 0)
    return "A tolerance below 0 lets nothing pass, so this is exact: with the exact test first it is vanilla, token by token.";
  if (T === 0) return `At T = 0 a token passes only where both rows are equal, ${name} = 0, so this is exact.`;
  const spent = drift
    ? `spent ${number(drift)}${unit} of drift, at most T × kept = ${number(bound)}`
    : "spent no drift";
  return `Not lossless: a token passes wherever ${name} ≤ T = ${number(T)}, whatever it is. This step ${spent}.`;
}

/** One decision as a title: "Whole draft, 5 tokens", "First 4 tokens", "Token 2"; in a tree with the draft's number. */
function testTitle(view, decision, info = null) {
  const position = view.depth.get(decision.node);
  const tokens = position === 1 ? "token" : plural(position, "token");
  const plain = {
    draft: `Whole draft, ${plural(position, "token")}`,
    prefix: `First ${tokens}`,
    token: `Token ${position}`,
  }[decision.test];
  if (!info || !info.drafts) return plain;
  return `Draft ${decision.draft + 1}: ${plain[0].toLowerCase()}${plain.slice(1)}`;
}

const VERDICTS = {
  kept: { icon: "✓", word: "kept" },
  rejected: { icon: "✕", word: "rejected" },
  over: { icon: "«", word: "stepped over" },
  unreached: { icon: "–", word: "not reached" },
  correction: { icon: "▲", word: "correction" },
  bonus: { icon: "◆", word: "bonus" },
  plain: { icon: "◆", word: "from the target" },
  candidate: { icon: "", word: "not drafted" },
};

export { compare, story, supposed, testTitle, VERDICTS };
