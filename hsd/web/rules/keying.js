// What the keys of random numbers do to a text, as hsd/conform/keying.py enumerates it: several steps of one rule, with
// the same rows after every text. A number enters through thresholds only, so what is known of it is an interval, in
// which it is still uniform. A state is what is known of the numbers of positions that are still to come.
import { joints } from "./audit.js";
import { totalVariation } from "./divergence.js";
import { lawOf, next, order, range } from "./law.js";

const TEXT = 6; // tokens of the text that is judged
const MOST_BRANCHES = 1500; // outcomes of a step times its length
const MOST_STATES = 500;
const LONG_RUN = 200; // steps after which the long run must have settled
const NEAR = 1e-10; // two values for the long run that are as near as this are one
const EMPTY = 1e-13; // parts of [0, 1) that are shorter are rounding

const rounded = (x) => Math.round(x * 1e13) / 1e13; // so that states reached on two ways are one

/** Where the tokens' parts of [0, 1) end; the last one is 1, whatever was rounded. */
function endsOf(row) {
  let total = 0;
  const ends = row.map((x) => (total += x));
  return ends.map((x) => (x >= total ? 1 : x));
}

/** Call visit(how likely, which part) for each part of [0, 1) in which the number at `place` may be, known meanwhile. */
function draw(known, place, ends, visit) {
  const [low, high] = [known[place], known[place + 1]];
  let begin = 0;
  ends.forEach((end, part) => {
    const [a, b] = [Math.max(low, begin), Math.min(high, end)];
    begin = Math.max(begin, end);
    if (b - a <= EMPTY) return;
    [known[place], known[place + 1]] = [rounded(a), rounded(b)];
    visit((b - a) / (high - low), part);
  });
  [known[place], known[place + 1]] = [low, high];
}

/** Decoding step by step. keying: as in facts.json; model: as in audit.js, of which the first rows are used. */
class Steps {
  constructor(rule, keying, { p, q, vocab, gamma, settings }) {
    Object.assign(this, { rule, keying, vocab, gamma, settings });
    this.p = range(gamma + 1).map(() => p[0]);
    this.q = range(gamma).map(() => q[0]);
    this.alone = joints(range(TEXT).map(() => p[0]));
    this.draftEnds = endsOf(q[0]);
    this.streams = [...new Set([keying.draft, keying.coin, keying.after])];
    this.laws = new Map();
    this.states = new Map();
    this.start = this.state(this.streams.flatMap(() => this.p.flatMap(() => [0, 1])));
  }

  /** Where what is known of a stream's number at a position stands: its lower end, and after it the upper one. */
  place(stream, at) {
    return 2 * (this.streams.indexOf(this.keying[stream]) * (this.gamma + 1) + at);
  }

  /** The state with these intervals. Throws RangeError for too many of them. */
  state(known) {
    const key = known.join();
    if (!this.states.has(key)) {
      if (this.states.size === MOST_STATES) throw new RangeError(`more than ${MOST_STATES} states`);
      this.states.set(key, { known, moves: null, laws: {} });
    }
    return this.states.get(key);
  }

  /** What is left of it for the next step, after one that committed `count` tokens. */
  after(known, count) {
    const width = 2 * (this.gamma + 1);
    return this.streams.flatMap((name, s) => {
      const back = this.keying.returns.includes(name) ? known.slice(s * width + 2 * count, (s + 1) * width) : [];
      while (back.length < width) back.push(0, 1);
      return back;
    });
  }

  /** All that a step may do in a state: [{tokens, count, then, weight}], the tokens as a number in base V. */
  moves(state) {
    if (state.moves) return state.moves;
    const found = new Map();
    this.outcomes([...state.known], (weight, known, tokens, count) => {
      const then = this.state(this.after(known, count));
      if (!found.has(then)) found.set(then, new Map());
      const moves = found.get(then);
      const code = tokens + this.vocab ** count; // the 1 in front tells how many there are
      if (!moves.has(code)) moves.set(code, { tokens, count, then, weight: 0 });
      moves.get(code).weight += weight;
    });
    state.moves = [...found.values()].flatMap((moves) => [...moves.values()]);
    return state.moves;
  }

  outcomes(known, visit) {
    this.drafts(1, known, [], (weight, draft) => {
      const law = this.law(draft);
      this.tests(weight, known, law, 0, (share, kept) =>
        draw(known, this.place("after", kept), law.next[kept], (part, token) => {
          const tokens = draft.slice(0, kept).reduce((code, x) => code * this.vocab + x, 0) * this.vocab + token;
          visit(share * part, known, tokens, kept + 1);
        }),
      );
    });
  }

  drafts(weight, known, draft, visit) {
    if (draft.length === this.gamma) visit(weight, draft);
    else
      draw(known, this.place("draft", draft.length), this.draftEnds, (part, token) =>
        this.drafts(weight * part, known, [...draft, token], visit),
      );
  }

  /** The tests in the rule's order from the one at `index` on, until one decides. */
  tests(weight, known, law, index, visit) {
    const { forward, threshold } = law;
    if (index === this.gamma) return visit(weight, forward ? this.gamma : 0);
    const t = law.order[index];
    draw(known, this.place("coin", t - 1), [threshold[t - 1], 1], (part, failed) => {
      if (Boolean(failed) !== forward) this.tests(weight * part, known, law, index + 1, visit);
      else visit(weight * part, forward ? t - 1 : t);
    });
  }

  /** A draft's law, the order of its tests, and the next token's row after each number of kept ones, as ends of parts. */
  law(draft) {
    const key = draft.join();
    if (!this.laws.has(key)) {
      const law = lawOf(this.rule, this.p, this.q, draft, this.settings);
      const rows = this.p.map((_, t) => endsOf(next(law, t)));
      this.laws.set(key, { ...law, order: order(law), next: rows });
    }
    return this.laws.get(key);
  }

  /** The law of the next `tokens` tokens: `steps` steps, and then the target alone. */
  text(tokens, steps, state = this.start) {
    if (steps === 0 || tokens === 0) return this.alone[tokens];
    const key = `${tokens} ${steps}`;
    if (state.laws[key]) return state.laws[key];
    const found = new Array(this.vocab ** tokens).fill(0);
    for (const move of this.moves(state)) {
      const rest = Math.max(tokens - move.count, 0);
      const begin = Math.floor(move.tokens / this.vocab ** Math.max(move.count - tokens, 0)) * this.vocab ** rest;
      this.text(rest, Math.min(steps - 1, rest), move.then).forEach((x, i) => (found[begin + i] += move.weight * x));
    }
    state.laws[key] = found;
    return found;
  }

  /** Expected tokens of the first step, and in the long run. */
  tokensPerStep() {
    let states = new Map([[this.start, 1]]);
    const found = [];
    while (found.length < LONG_RUN && !(found.length > 3 && Math.abs(found.at(-1) - found.at(-2)) < NEAR)) {
      const then = new Map();
      let tokens = 0;
      for (const [state, weight] of states)
        for (const move of this.moves(state)) {
          tokens += weight * move.weight * move.count;
          then.set(move.then, (then.get(move.then) || 0) + weight * move.weight);
        }
      found.push(tokens);
      states = then;
    }
    return [found[0], found.at(-1)];
  }
}

/** One keying with one rule: {variations after 1, 2, 3 steps and of a whole text, first and long: tokens per step}. */
function audit(rule, keying, model) {
  const steps = new Steps(rule, keying, model);
  const variations = [1, 2, 3, TEXT].map((count) => totalVariation(steps.text(TEXT, count), steps.alone[TEXT]));
  const [first, long] = steps.tokensPerStep();
  return { variations, first, long };
}

const tooLarge = ({ vocab, gamma }) => vocab ** (gamma + 1) * (gamma + 1) > MOST_BRANCHES;

export { audit, tooLarge, TEXT };
