// What a moment is in words: sentences as parts (strings and {piece}), for the player's dom.prose and dom.plain.
import { plural, subscript } from "../../kit/format.js";
import { capital } from "../parts.js";
import { handsUp } from "../../step/lanes.js";

/** How the levels are called in sentences, the smallest first. */
function names({ options: { system }, models }) {
  const count = models.length;
  if (system === "hispec") return ["the draft exit", "the checking exit", "the whole model"];
  if (count === 2) return ["the draft", "the target"];
  if (count === 3) return ["the bottom model", "the middle model", "the target"];
  return models.map((_, level) => (level === count - 1 ? "the target" : `model ${subscript(level)}`));
}

/** Parts with commas between them. */
const listed = (pieces) => pieces.flatMap((piece, i) => [i ? ", " : "", { piece }]);

/** The sentence of a moment. */
function told(trace, { step: index, event: at }) {
  const step = trace.steps[index];
  const called = names(trace.setup);
  if (at === null) return targetTold(step, called[called.length - 1]);
  const event = step.events[at];
  return event.kind === "draft" ? draftTold(event, called) : checkTold(step, at, called);
}

function draftTold({ level, asked, committed }, called) {
  return [
    `${capital(called[level + 1])} asks for ${plural(asked, "token")}; ${called[level]} drafts `,
    ...listed(committed.map((one) => one.piece)),
    ".",
  ];
}

function checkTold(step, at, called) {
  const event = step.events[at];
  const { level, asked, held, tested, kept, committed } = event;
  const now = held + committed.length;
  const holds = now > asked ? `${now}, more than the ${asked} it was asked for,` : `${now} of ${asked}`;
  const up = now < asked ? "; the text would end there, so it hands them up" : " and hands them up";
  const then = handsUp(step, at) ? up : " and asks again";
  return [
    ...judged(capital(called[level]), tested.length, kept, ""),
    ...after(committed[kept], kept < tested.length ? tested[kept].piece : null),
    `; it now holds ${holds}${then}.`,
  ];
}

function targetTold(step, called) {
  const replaced = step.kept < step.nodes.length ? step.nodes[step.kept].piece : null;
  return [
    ...judged(capital(called), step.drafted, step.kept, " in one pass"),
    ...after(step.committed[step.kept], replaced),
    `: the text grows by ${plural(step.committed.length, "token")}.`,
  ];
}

/** "The target checks 5 tokens in one pass, keeps 3". */
function judged(who, count, kept, how) {
  if (!count) return [`${who} is handed nothing to check`];
  const share = kept === count ? (count === 1 ? "it" : `all ${count}`) : kept === 0 ? "none" : String(kept);
  return [`${who} checks ${plural(count, "token")}${how}, keeps ${share}`];
}

/** " and puts “x” in place of “y”"; nothing where no token of its own followed. */
function after(own, replaced) {
  if (!own) return [];
  const piece = { piece: own.piece };
  return replaced === null ? [" and adds ", piece] : [" and puts ", piece, ...instead(replaced)];
}

const instead = (piece) => [" in place of ", { piece }];

/** The sentence about one test of a token. */
function testTold({ level, accepted, kept, threshold }, called) {
  const who = called[level];
  if (accepted === null && kept) return `${capital(who)} kept it with a longer part of the block that passed.`;
  if (accepted === null) return `${capital(who)} dropped it untested, with a token before it.`;
  if (accepted && kept) return `${capital(who)} kept it: the coin is below the threshold.`;
  if (kept) return `Its own test at ${who} failed, but a longer part of the block passed, so it was kept.`;
  if (accepted) return `${capital(who)} dropped it although its own test passed.`;
  return `${capital(who)} dropped it: the coin is not below the threshold${threshold === 0 ? ", which is 0" : ""}.`;
}

/** Where a token came from, as parts. */
function bornTold(token, called) {
  const { level, origin } = token.born;
  const place = `, as token ${token.position + 1} of the text.`;
  if (origin === "draft") return [`drafted by ${called[level]}${place}`];
  if (origin === "bonus") return [`added by ${called[level]} as a bonus, all it was handed being kept${place}`];
  const before = token.instead === undefined ? [] : instead(token.instead);
  return [`put in by ${called[level]} as a correction`, ...before, place];
}

/** Where it ended; over: its end has come by the moment that is shown. */
function endTold(token, over) {
  if (!over || !token.end) return "Its next test is still to come.";
  if (token.end.kind === "text") return "It stays in the text.";
  if (token.end.kind === "cut") return "It stood after the end of the text and was cut off.";
  return "It never reached the text.";
}

export { names, told, testTold, bornTold, endTold };
