// What a moment of a tree is in words: sentence parts for dom.prose and dom.plain.
import { count, number, pair, percent, plural } from "../../kit/format.js";

/** Who drafts, in sentences; a head reads the target's states at its taps. */
const drafter = ({ models: [{ taps }] }) => (taps?.length ? "the head" : "the draft model");
const listed = (numbers) => numbers.join(", ").replace(/, (\d+)$/, " and $1");
const MOST = 6; // tokens that a sentence lists
const pieces = (all) => [
  ...all.slice(0, MOST).flatMap(({ piece }, i) => [i ? ", " : "", { piece }]),
  all.length > MOST ? ", …" : "",
];

/** tree: see model.js; rootPiece: the last token of the text; fed: how many tokens of it are new to the head. */
function told(trace, tree, moment, { rootPiece, fed }) {
  return TOLD[moment.kind]({ setup: trace.setup, tree, moment, rootPiece, fed });
}

const TOLD = { know, propose, expand, rerank, read, test, keep };

function know({ setup, tree, fed }) {
  const { taps } = setup.models[0];
  const fresh = plural(fed, "new token");
  if (!taps?.length)
    return [`The draft model reads the ${fresh} of the text. It is a model of its own and has no taps.`];
  return [
    `The target has read the text. What it knew of the ${fresh} after its layers ${listed(taps)} (the `,
    { term: "tap", words: "taps" },
    ") goes to ",
    { term: "eagle-head", words: "the head" },
    `: one layer, which now drafts ${plural(tree.levels.length, "level")} deep.`,
  ];
}

function propose({ setup, tree, moment: { level }, rootPiece }) {
  const found = tree.levels[level - 1];
  const parents = new Set(found.map(({ parent }) => parent)).size;
  const drawn = [
    { term: "drawn", words: "drawn at random" },
    ", no two the same at one place: ",
    ...pieces(found),
    ".",
  ];
  const likeliest = { term: "chosen", words: "likeliest" };
  if (level === 1) {
    const start = ["Level 1: after ", { piece: rootPiece }, ` ${drafter(setup)} proposes `];
    if (!tree.chosen) return [...start, `${plural(found.length, "next token")}, `, ...drawn];
    return [...start, `its ${found.length} `, likeliest, " next tokens: ", ...pieces(found), "."];
  }
  if (!tree.chosen) return [`Level ${level}: ${plural(found.length, "token")} more, `, ...drawn];
  const each = parents === 1 ? "the expanded token gets its " : `each of the ${parents} expanded tokens gets its `;
  const many = `${plural(found.length, "candidate")}. The purple bar is the `;
  return [`Level ${level}: ${each}`, likeliest, ` next tokens: ${many}`, { term: "confidence" }, "."];
}

function expand({ setup, tree, moment: { level } }) {
  const found = tree.levels[level - 1];
  const read = found.filter((one) => one.read);
  return [
    `The ${read.length} surest of the ${found.length} are expanded next: ${drafter(setup)} reads them in one pass. `,
    "How sure: the ",
    { term: "confidence" },
    ", its probability of the whole path.",
  ];
}

function rerank({ tree }) {
  const kept = tree.nodes.length - 1;
  const dropped = tree.candidates.length - kept;
  return [
    { term: "rerank", words: "Re-ranking" },
    `: of all ${tree.candidates.length} candidates the ${kept} surest stay, whichever level they are on; the other `,
    `${dropped} are dropped. With a token the one before it stays too, for no path is surer than its beginning.`,
  ];
}

function read({ tree }) {
  return [
    `The target reads the last token of the text and all ${tree.nodes.length - 1} nodes in one pass. By the `,
    { term: "tree-mask", words: "mask" },
    " each sees the text and its own path only; siblings share a ",
    { term: "position-id", words: "position" },
    ". Now each has its p from the target.",
  ];
}

function test({ tree, moment: { index } }) {
  const made = tree.decisions[index];
  const { piece } = tree.nodes[made.node];
  const [coin, threshold] = pair(made.coin, made.threshold);
  const what = { token: "", draft: "the whole path to ", prefix: "the path to " }[made.test];
  return [
    `Test ${made.order}: ${what}`,
    { piece },
    ": the ",
    { term: "coin" },
    ` ${coin} is ${made.accepted ? "below" : "not below"} the `,
    { term: "threshold" },
    ` ${threshold}: `,
    { strong: made.accepted ? "✓ accepted" : "✕ struck out" },
    made.accepted ? "." : struck(made),
  ];
}

/** What follows where a token is struck out. */
function struck({ test: kind, grounds }) {
  if (grounds.form === "chosen") return "; its probability goes to the target's other tokens, in proportion.";
  if (kind !== "token") return "; what stands before it may still be kept.";
  return "; what the draft proposed is taken off the target's row, and the rest judges on.";
}

function keep({ setup, tree }) {
  const { step, last } = tree;
  const own = step.committed[step.kept];
  if (!tree.levels.length)
    return ["Nothing was drafted: the target adds ", { piece: own.piece, origin: own.origin }, "."];
  const path = tree.nodes[last].line.map((id) => tree.nodes[id]);
  const lost = tree.nodes.length - 1 - path.length;
  const kept = path.length ? ["Kept: ", ...pieces(path)] : ["No drafted token is kept"];
  const mine = own && own.origin !== "draft" ? ["; the target adds ", { piece: own.piece, origin: own.origin }] : [];
  return [
    ...kept,
    ...mine,
    `. The text grows by ${plural(step.committed.length, "token")}; of the tree, `,
    `${plural(lost, "row")} of the `,
    { term: "kv-cache", words: "cache" },
    ` ${lost === 1 ? "is" : "are"} dropped`,
    setup.models[0].taps?.length ? ", and the head will read the new tokens again." : ".",
  ];
}

/** One line about a node or a candidate. */
function about(tree, { candidate, node }) {
  const { piece, joint, q } = candidate;
  const line = [{ piece }, ": "];
  const chance = tree.chosen
    ? `the head's q ${number(q)}, of its whole path ${number(joint)}`
    : `drawn with q ${number(q)}`;
  if (!node) return [...line, `${chance}; dropped when the tree was cut.`];
  const made = tree.decisions.filter((one) => one.node === node.id);
  const tests = made.map(({ order, coin, threshold, accepted }) => {
    const [a, b] = pair(coin, threshold);
    return `; test ${order}: coin ${a} ${accepted ? "<" : "≥"} ${b} ${accepted ? "✓" : "✕"}`;
  });
  return [
    ...line,
    `node ${node.id}, ${chance}; the target's p ${number(node.p)}, of its whole path ${number(node.reach)}`,
    ...(made.length ? tests : ["; never tested"]),
    ".",
  ];
}

/** What the head's passes cost beside the target's. */
function costs(setup, { head, target, passes, ratio }, rows) {
  if (!(target > 0)) return "";
  const many = passes ? `${count(passes)} ${passes === 1 ? "pass" : "passes"} of ${drafter(setup)}` : drafter(setup);
  const ms = (seconds) => `${number(1000 * seconds)} ms`;
  const share = ratio < 1 ? `${percent(ratio)} of it` : `${number(ratio)} times as much`;
  return (
    `Time of this step: ${many} ${ms(head)}, one pass of the target over ${plural(rows, "row")} ${ms(target)}; ` +
    `growing the tree took ${share}.`
  );
}

export { told, about, costs, drafter, listed };
