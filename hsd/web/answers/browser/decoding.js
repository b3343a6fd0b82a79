// Decoding as hsd/decoding has it, for one draft: draft, score by one pass, judge by the rules of
// the page, commit, record.
import { facts } from "../../kit/facts.js";
import { openResidual } from "../../rules/audit.js";
import { kept, likeliest, next, pick, place, chain as ruleOf, VANILLA } from "../../rules/law.js";
import { draftOf, lawOver } from "./merged.js";
import { coupledCoin, winner } from "../../rules/coupled.js";
import { recipeOf } from "../../rules/tests.js";
import { Refusal } from "../refusal.js";
import { HeadText, TargetText } from "./engine.js";
import { streams } from "./numbers.js";
import { longest } from "./options.js";
import { Recorder } from "./record.js";
import { median } from "./report.js";
import { rowsOf, spread } from "./sampling.js";
import { chain } from "./stopping.js";

const BELOW_ONE = 1 - 2 ** -53;
const now = () => performance.now() / 1000;

/**
 * The token that a number picks from a row, or that wins it by times.
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
  const wide = (/** @type {WideRow} */ row) => spread(row, head.vocab, target.model.vocab);
  /** The row after tokens that are new. @type {(tokens: number[], raw: boolean) => Sampled} */
  const read = (tokens, raw) =>
    text.read(tokens, 1, (logits) => rowsOf(logits, options, target.engine, raw, wide))[0];
  return {
    text,
    propose(whole, draws) {
      const draft = {
        tokens: /** @type {number[]} */ ([]),
        rows: /** @type {Sampled[]} */ ([]),
        support: head.vocab,
      };
      const going = gamma === "auto" ? chain(about.config.stopping, confidence, temperature) : null;
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
    settle: (length) => text.crop(length),
    rewind: (length) => text.rewind(length),
  };
}

/**
 * At most `most` tokens that followed the latest earlier occurrence of the last `agreeing` tokens;
 * else of fewer.
 * @type {(text: number[], most: number, agreeing: number) => number[]}
 */
function followed(text, most, agreeing) {
  for (let size = Math.min(most && agreeing, text.length - 1); size > 0; size -= 1) {
    const tail = text.length - size;
    for (let begin = tail - 1; begin >= 0; begin -= 1)
      if (text.slice(begin, begin + size).every((token, i) => token === text[tail + i]))
        return text.slice(begin + size, begin + size + most);
  }
  return [];
}

/**
 * Copies what followed the text's last tokens before, for plain decoding nothing; all of a copy's
 * mass is on one token.
 * @type {MakeProposer}
 */
function copier(_, target, { proposer }) {
  let rows = /** @type {Sampled[]} */ ([]);
  let begin = 0;
  let length = 0;
  const settle = (/** @type {number} */ to) => void (length = to);
  return {
    propose(text, draws) {
      const tokens = followed(text, draws.length, recordOf(proposer).longest);
      const certain = tokens.map((token) => spread([1], [token], target.model.vocab));
      rows = certain.map((row) => ({ row, raw: row }));
      begin = text.length;
      return { tokens, rows, support: [...new Set(tokens)] };
    },
    extend: () => rows[(length += 1) - begin].row,
    settle,
    rewind: settle,
  };
}

const recordOf = (/** @type {string} */ name) =>
  facts.proposers.find((one) => one.name === name) ?? facts.proposers[0];

/** A run under way. */
class Decoding {
  begin = now();
  finish = /** @type {Result["finish"]} */ ("cancelled");
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
      const [size, context] = [this.prompt.length, target.context].map((n) =>
        n.toLocaleString("en"),
      );
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
    this.read(this.prompt.slice(0, -1), 0); // its last token is fed by the first round
    this.seconds = now() - this.begin;
  }

  /** How many tokens may still come. */
  get room() {
    const most = this.prompt.length + this.options.max_new_tokens;
    return Math.min(most, this.pair.target.context) - this.text.length;
  }

  /**
   * The target's rows after the last `keep` of the tokens that are new.
   * @param {number[]} tokens
   * @param {number} keep
   */
  read(tokens, keep) {
    const { engine } = this.target;
    return this.target.read(tokens, keep, (logits) =>
      rowsOf(logits, this.options, engine, this.keepsRaw),
    );
  }

  /** The next step as a trace has it; null at the end. */
  step() {
    if (this.finish !== "cancelled" || this.room <= 0) return null;
    const start = now();
    const { target, proposer } = this;
    const calls = () => [target, proposer.text].map((text) => text?.times.length ?? 0);
    const length = this.text.length;
    const before = calls();
    const { times, lap } = clock();
    const played = this.play(Math.min(this.longest, this.room - 1), lap);
    this.text.push(...played.committed);
    const details = this.bare ? /** @type {StepDetails} */ ({}) : this.recorder.details(played);
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
    if (this.pair.codec.ends.includes(this.text[this.text.length - 1])) this.finish = "end";
    else if (this.room <= 0)
      this.finish =
        this.text.length - this.prompt.length < this.options.max_new_tokens ? "context" : "length";
    this.seconds += now() - start;
    return step;
  }

  /**
   * One round: everything that it decided, and the tokens that it adds to the text.
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
    // what follows it is no part of the draft
    const end = whole.tokens.findIndex((token) => ends.includes(token));
    const tokens = end < 0 ? whole.tokens : whole.tokens.slice(0, end + 1);
    lap("draft");
    const read = this.read([...this.text.slice(this.target.length), ...tokens], tokens.length + 1);
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
    const round = { ...draft, ...decided, law, row, token, kept: count, extra: [], extraDraws: [] };
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
    this.proposer.settle(length);
    return { ...round, bonus: count === tokens.length, committed };
  }

  /**
   * Naive HSD after a rejection: the block's other positions from residuals, one call of the target
   * each.
   * @param {DraftedRows & Pick<Round, "kept" | "extra" | "extraDraws">} round
   * @param {number} token
   * @param {number} proposed - tokens of the whole draft
   */
  resample({ tokens, p, q, kept: count, extra, extraDraws }, token, proposed) {
    const missing = proposed - count - 1;
    if (count === tokens.length || missing <= 0) return;
    let log = 0;
    for (let t = 0; t < count; t += 1) log += Math.log(p[t][tokens[t]]) - Math.log(q[t][tokens[t]]);
    let last = token;
    let pRow = p[count];
    let qRow = q[count];
    for (let i = 0; i < missing && !this.pair.codec.ends.includes(last); i += 1) {
      log += Math.log(pRow[last]) - Math.log(qRow[last]);
      const position = this.text.length + count + i;
      this.target.crop(position);
      this.proposer.rewind(position);
      [{ row: pRow }] = this.read([last], 1);
      qRow = this.proposer.extend(last);
      const row = openResidual(Math.exp(Math.min(log, 0)), Math.exp(Math.min(-log, 0)), pRow, qRow);
      const [number] = this.numbers.after(1);
      last = pick(row, number);
      extra.push(last);
      extraDraws.push(number);
    }
  }

  /** How the run stands. @returns {Result} */
  result() {
    const [before, whole] = [this.prompt, this.text].map((ids) => this.pair.codec.decode(ids));
    const own = () => this.pair.codec.decode(this.text.slice(this.prompt.length));
    const text = whole.startsWith(before) ? whole.slice(before.length) : own();
    return { text, finish: this.finish, seconds: this.seconds };
  }

  /**
   * Seconds of a pass over so many rows after the text, the middle one of a few. What it reads is
   * forgotten.
   * @param {number} rows
   */
  timed(rows) {
    const { length } = this.target;
    const seconds = [1, 2, 3].map(() => {
      this.target.read(this.text.slice(-rows), rows, () => null);
      this.target.crop(length);
      return this.target.times[this.target.times.length - 1][1];
    });
    return median(seconds);
  }

  close() {
    this.target.close();
    this.proposer.text?.close();
  }
}

/**
 * What equal numbers decide, recorded by numbers that would have led to the same, as
 * hsd/decoding/coupled.py does.
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
    // the picks count
    return Math.min(picks[t] === x ? Math.min(u, h * BELOW_ONE) : Math.max(u, h), BELOW_ONE);
  });
  const row = next(law, count);
  const token = picks[count];
  const places = tokens.map((x, t) => place(q[t], x, draws[t]));
  return { coins, draws: places, row, token, number: place(row, token, number) };
}

/** Adds up where a step's time goes: `lap` books the time since the last one under a name. */
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
