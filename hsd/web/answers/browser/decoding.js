// Decoding as hsd/decoding has it, for one draft: draft, score by one pass, judge by the rules of
// the page, commit, record.
import { facts } from "../../kit/facts.js";
import { openResidual } from "../../rules/audit.js";
import { kept, likeliest, next, pick, place, chain as ruleOf, VANILLA } from "../../rules/law.js";
import { draftOf, lawOver } from "./draft_rows.js";
import { coupledCoin, winner } from "../../rules/coupled.js";
import { recipeOf } from "../../rules/tests.js";
import { Refusal } from "../refusal.js";
import { HeadText, TargetText } from "./engine.js";
import { streams } from "./numbers.js";
import { longest } from "./options.js";
import { Recorder } from "./record.js";
import { rowsOf } from "./sampling.js";
import { stoppingState } from "./stopping.js";

/**
 * What a proposer drafted; support: all tokens that it could have drafted.
 * @typedef {{tokens: number[], rows: Sampled[], support: number[]}} Proposal
 */
/**
 * @typedef {object} Proposer
 * @property {HeadText} [text]
 * @property {(text: number[], draws: (number | Row)[]) => Proposal} propose
 * @property {(token: number) => Row} extend
 * @property {(length: number, count: number) => void} settle
 * @property {(length: number) => void} rewind
 */
/**
 * @callback MakeProposer
 * @param {Pair} pair
 * @param {TargetText} target
 * @param {FlatOptions} options
 * @param {boolean} keepsRaw
 * @returns {Proposer}
 */

const BELOW_ONE = 1 - 2 ** -53;
const now = () => performance.now() / 1000;

/**
 * Return the token that a number picks from a row, or that wins the row by times.
 * @type {(row: Row, by: number | Row) => number}
 */
const picked = (row, by) => (typeof by === "number" ? pick(row, by) : winner(row, by));

/**
 * Make a proposer that drafts with the head, token by token: γ tokens, or for "auto" while one more
 * pays.
 * @type {MakeProposer}
 */
function drafter({ head, about, codec }, target, options, keepsRaw) {
  const text = new HeadText(head, target);
  const { gamma, confidence, temperature } = options;
  const going =
    gamma === "auto" ? stoppingState(about.config.stopping, confidence, temperature) : null;
  const { longRows } = target.engine;
  const wide = (/** @type {WideRow} */ row) => longRows.spread(row, head.vocab, target.model.vocab);
  /**
   * Read new tokens; returns the row after them.
   * @type {(tokens: number[], raw: boolean) => Sampled}
   */
  const read = (tokens, raw) => {
    const make = (/** @type {WideRow} */ logits) =>
      rowsOf(logits, options, target.engine, raw, wide);
    return text.read(tokens, 1, make)[0];
  };
  return {
    text,
    propose(whole, draws) {
      const draft = {
        tokens: /** @type {number[]} */ ([]),
        rows: /** @type {Sampled[]} */ ([]),
        support: head.vocab,
      };
      going?.begin();
      let unread = whole.slice(text.length);
      for (const number of draws) {
        if (going && !going.mayPay()) break;
        const row = read(unread, Boolean(going) || keepsRaw);
        if (going && !going.pays(row.raw[likeliest(row.raw)])) break;
        const token = picked(row.row, number);
        unread = [token];
        draft.tokens.push(token);
        draft.rows.push(row);
        going?.add(row.raw[token]);
        if (going && codec.ends.includes(token)) break;
      }
      return draft;
    },
    extend: (token) => read([token], false).row,
    settle(length, count) {
      text.crop(length);
      going?.learn(count);
    },
    rewind: (length) => text.rewind(length),
  };
}

/**
 * Return at most `most` tokens that followed the latest earlier occurrence of the last `agreeing`
 * tokens, or of as many of them as occurred before.
 * @type {(text: number[], most: number, agreeing: number) => number[]}
 */
function followed(text, most, agreeing) {
  const longestTail = Math.min(most && agreeing, text.length - 1);
  for (let size = longestTail; size > 0; size -= 1) {
    const tail = text.slice(-size);
    for (let end = text.length - 1; end >= size; end -= 1) {
      const begin = end - size;
      if (tail.every((token, i) => token === text[begin + i])) return text.slice(end, end + most);
    }
  }
  return [];
}

/**
 * Copies what followed the text's last tokens before, for plain decoding nothing; all of a copy's
 * mass is on one token.
 * @type {MakeProposer}
 */
function copier(_, target, { proposer }) {
  /** @type {Sampled[]} */
  let rows = [];
  let begin = 0;
  let length = 0;
  const settle = (/** @type {number} */ to) => {
    length = to;
  };
  return {
    propose(text, draws) {
      const tokens = followed(text, draws.length, recordOf(proposer).longest);
      const { longRows } = target.engine;
      const whole = { length: target.model.vocab };
      const certain = tokens.map((token) => longRows.oneHot(whole, token));
      rows = certain.map((row) => ({ row, raw: row }));
      begin = text.length;
      return { tokens, rows, support: [...new Set(tokens)] };
    },
    extend() {
      length += 1;
      return rows[length - begin].row;
    },
    settle,
    rewind: settle,
  };
}

const recordOf = (/** @type {string} */ name) =>
  facts.proposers.find((proposer) => proposer.name === name) ?? facts.proposers[0];

/** A run under way. */
class Decoding {
  begin = now();
  /** @type {Result["finish"]} */
  finish = "cancelled";
  count = 0; // of steps

  constructor(
    /** @type {Pair} */ pair,
    /** @type {RunRequest} */ { prompt, options, settings, bare = false },
  ) {
    const { codec, target } = pair;
    this.bare = bare;
    this.pair = pair;
    this.options = options;
    this.settings = settings;
    this.prompt = [...codec.encode(prompt, options.prompt_as || "chat"), ...options.forced];
    if (this.prompt.length >= target.context) {
      const size = this.prompt.length.toLocaleString("en");
      const context = target.context.toLocaleString("en");
      throw new Refusal(
        `the prompt has ${size} tokens, the context ${context}: shorten the prompt`,
      );
    }
    this.text = [...this.prompt];
    this.plain = options.system === "plain";
    this.longest = this.plain ? 0 : longest(options.gamma);
    this.coupled = ruleOf(options.rule).recipe.coupled;
    this.rule = this.plain && !this.coupled ? VANILLA : options.rule;
    this.numbers = streams(options.seed);
    const rules = [this.rule, options.shadow].filter((name) => name && !this.plain);
    this.keepsRaw = rules.some((name) => recipeOf(name, settings)?.follow === "mixture");
    this.target = new TargetText(target);
    const propose = this.plain || recordOf(options.proposer).copies ? copier : drafter;
    this.proposer = propose(pair, this.target, options, this.keepsRaw);
    this.recorder = new Recorder(
      codec,
      this.rule,
      this.plain ? this.rule : options.shadow || null,
      settings,
    );
    target.engine.longRows.reserve(target.vocab, this.rows);
    this.read(this.prompt.slice(0, -1), 0); // its last token is fed by the first round
    this.seconds = now() - this.begin;
  }

  /** How many tokens may still come. */
  get room() {
    const most = this.prompt.length + this.options.max_new_tokens;
    return Math.min(most, this.pair.target.context) - this.text.length;
  }

  /**
   * How many long rows a step has: those of target and draft, twice where they are also wanted at
   * temperature 1, the draft's likeliest tokens, and the rows from which two rules draw. The few
   * that some rules have beyond these lie in JavaScript's memory.
   */
  get rows() {
    const { longest: most, keepsRaw } = this;
    const drafted = keepsRaw || this.options.gamma === "auto" ? 2 * most : most;
    return (keepsRaw ? 2 : 1) * (most + 1) + drafted + most + 2;
  }

  /**
   * Read new tokens with the target; returns its rows after the last `keep` of them.
   * @param {number[]} tokens
   * @param {number} keep
   */
  read(tokens, keep) {
    const { engine } = this.target;
    return this.target.read(tokens, keep, (logits) =>
      rowsOf(logits, this.options, engine, this.keepsRaw),
    );
  }

  /** Make the next step; returns it as a trace has it, null at the end. */
  step() {
    if (this.finish !== "cancelled" || this.room <= 0) return null;
    const start = now();
    const { target, proposer } = this;
    const texts = [target, proposer.text];
    const calls = () => texts.map((text) => text?.times.length ?? 0);
    const length = this.text.length;
    const most = Math.min(this.longest, this.room - 1);
    target.engine.longRows.forget();
    for (const text of texts) text?.hold(length + most + 1);
    const before = calls();
    const { times, lap } = clock();
    const played = this.play(most, lap);
    this.text.push(...played.committed);
    const details = this.bare
      ? /** @type {ReturnType<Recorder["details"]>} */ ({})
      : this.recorder.details(played);
    lap("rest");
    const work = calls().map((count, i) => ({
      calls: count - before[i],
      layers: 0,
      computed: 0,
      heads: 0,
    }));
    const step = {
      index: this.count,
      context_length: length,
      drafted: played.tokens.length,
      depth: played.tokens.length,
      kept: played.kept,
      target_calls: 1 + played.extra.length,
      work: work[0],
      below: proposer.text ? [work[1]] : [],
      committed: this.recorder.committed(played.committed, played.kept, played.bonus),
      times,
      start: start - this.begin,
      ...details,
    };
    this.count += 1;
    if (this.pair.codec.ends.includes(this.text[this.text.length - 1])) {
      this.finish = "end";
    } else if (this.room <= 0) {
      const count = this.text.length - this.prompt.length;
      this.finish = count < this.options.max_new_tokens ? "context" : "length";
    }
    this.seconds += now() - start;
    return step;
  }

  /**
   * Play one round; returns everything that it decided, and the tokens that it adds to the text.
   * @type {(gamma: number, lap: ReturnType<typeof clock>["lap"]) => Round}
   */
  play(gamma, lap) {
    const draws = this.numbers.draft(gamma);
    const coins = this.numbers.coins(gamma);
    const [number] = this.numbers.after(1);
    const times = this.coupled
      ? this.numbers.times(this.text.length, gamma + 1, this.pair.target.vocab)
      : null;
    const { ends } = this.pair.codec;
    const whole = this.proposer.propose(this.text, times ? times.slice(0, gamma) : draws);
    // what follows the end of the text is no part of the draft
    const end = whole.tokens.findIndex((token) => ends.includes(token));
    const tokens = end < 0 ? whole.tokens : whole.tokens.slice(0, end + 1);
    lap("draft");
    const unread = this.text.slice(this.target.length);
    const read = this.read([...unread, ...tokens], tokens.length + 1);
    lap("target");
    const draft = draftOf(read, whole.rows.slice(0, tokens.length), tokens, whole.support);
    const law = lawOver(this.rule, draft, this.settings);
    const given = { draws, coins, number };
    const decided = times
      ? byCoupling(draft, law, times, given)
      : { ...given, row: null, token: null };
    const count = kept(law, decided.coins);
    const ended = count > 0 && ends.includes(tokens[count - 1]);
    const row = decided.row ?? next(law, count);
    const token = ended ? null : (decided.token ?? pick(row, number));
    lap("verify");
    const round = {
      ...draft,
      ...decided,
      law,
      row,
      token,
      kept: count,
      extra: [],
      extraDraws: [],
    };
    if (ruleOf(this.rule).resamples && token !== null)
      this.resample(round, token, whole.tokens.length);
    lap("target");
    const committed = [
      ...tokens.slice(0, count),
      ...(token === null ? [] : [token]),
      ...round.extra,
    ];
    const length = this.text.length + committed.length - 1;
    this.target.crop(length);
    this.proposer.settle(length, count);
    return { ...round, bonus: count === tokens.length, committed };
  }

  /**
   * Draw the block's other tokens from residuals after a rejection, as naive HSD does, with one
   * call of the target each. They are added to `extra`, their numbers to `extraDraws`.
   * @param {DraftedRows & Pick<Round, "kept" | "extra" | "extraDraws">} round
   * @param {number} token
   * @param {number} proposed - tokens of the whole draft
   */
  resample({ tokens, p, q, kept: count, extra, extraDraws }, token, proposed) {
    const missing = proposed - count - 1;
    if (count === tokens.length || missing <= 0) return;
    const { ends } = this.pair.codec;
    let log = 0;
    for (let t = 0; t < count; t += 1) {
      const x = tokens[t];
      log += Math.log(p[t][x]) - Math.log(q[t][x]);
    }
    let last = token;
    let pRow = p[count];
    let qRow = q[count];
    for (let i = 0; i < missing && !ends.includes(last); i += 1) {
      log += Math.log(pRow[last]) - Math.log(qRow[last]);
      const position = this.text.length + count + i;
      this.target.crop(position);
      this.proposer.rewind(position);
      pRow = this.read([last], 1)[0].row;
      qRow = this.proposer.extend(last);
      const jointP = Math.exp(Math.min(log, 0));
      const jointQ = Math.exp(Math.min(-log, 0));
      const row = openResidual(jointP, jointQ, pRow, qRow);
      const [number] = this.numbers.after(1);
      last = pick(row, number);
      extra.push(last);
      extraDraws.push(number);
    }
  }

  /** The result of the run so far. @returns {Result} */
  result() {
    const { codec } = this.pair;
    const before = codec.decode(this.prompt);
    const whole = codec.decode(this.text);
    const text = whole.startsWith(before)
      ? whole.slice(before.length)
      : codec.decode(this.text.slice(this.prompt.length));
    return { text, finish: this.finish, seconds: this.seconds };
  }

  close() {
    this.target.close();
    this.proposer.text?.close();
  }
}

/**
 * Decide by an exponential race that target and draft share, as hsd/decoding/coupled.py does.
 * Returns draws, coins and a number that would have led to the same.
 * @param {DraftedRows} draft
 * @param {Law} law
 * @param {Row[]} times
 * @param {RoundNumbers} numbers
 */
function byCoupling({ p, q, tokens }, law, times, { draws, number }) {
  const picks = p.map((row, t) => winner(row, times[t]));
  const same = tokens.findIndex((token, t) => token !== picks[t]);
  const count = same < 0 ? tokens.length : same;
  const coins = tokens.map((x, t) => {
    const u = coupledCoin(p[t], q[t], x, times[t]);
    const h = law.threshold[t];
    // the picks decide, whatever rounding did to the coin
    const coin = picks[t] === x ? Math.min(u, h * BELOW_ONE) : Math.max(u, h);
    return Math.min(coin, BELOW_ONE);
  });
  const row = next(law, count);
  const token = picks[count];
  const places = tokens.map((x, t) => place(q[t], x, draws[t]));
  return { coins, draws: places, row, token, number: place(row, token, number) };
}

/** Add up a step's times by name: `lap(name)` adds the time since the last lap. */
function clock() {
  const times = { draft: 0, target: 0, verify: 0, rest: 0 };
  let last = now();
  const lap = (/** @type {keyof typeof times} */ name) => {
    const at = now();
    times[name] += at - last;
    last = at;
  };
  return { times, lap };
}

export { Decoding };
