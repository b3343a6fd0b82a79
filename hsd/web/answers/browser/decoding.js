// Decoding as hsd/decoding has it, for one draft: draft, score by one pass, judge by the rules of the page, commit, record.
import { openResidual } from "../../rules/audit.js";
import { CHAINS, kept, next, pick, place, VANILLA } from "../../rules/law.js";
import { draftOf, lawOver } from "./merged.js";
import { coupledCoin, winner } from "../../rules/coupled.js";
import { recipeOf } from "../../rules/tests.js";
import { Refusal } from "../refusal.js";
import { streams } from "./numbers.js";
import { longest } from "./options.js";
import { Recorder } from "./record.js";
import { likeliest, probabilities, Rows, UNCHANGED } from "./sampling.js";
import { chain } from "./stopping.js";

const LONGEST = 3; // tokens that must agree at best for a copy; then fewer are tried
const BELOW_ONE = 1 - 2 ** -53;
const LAPS = { draft: 0, target: 0, verify: 0 };
const [ROWS, SMALL] = [new Rows(), new Rows(Float64Array)]; // of the one run that is at its step
const now = () => performance.now() / 1000;

/** The token that a number picks from a row, or that wins it by times. */
const picked = (row, by) => (typeof by === "number" ? pick(row, by) : winner(row, by));

/** A target's text that gives rows of probabilities; `raw`, where it is asked for, those of the last reading with nothing cut off. */
class Target {
  constructor(model, sampling, keepsRaw) {
    Object.assign(this, { text: model.start(), rows: ROWS, sampling, keepsRaw });
  }

  /** The rows after the last `keep` of the tokens that are new. */
  read(tokens, keep) {
    const rows = this.text.read(tokens, keep, (row) => this.rows.copy(row));
    if (this.keepsRaw) this.raw = rows.map((row) => probabilities(this.rows.copy(row), UNCHANGED));
    return rows.map((row) => probabilities(row, this.sampling));
  }
}

/** Drafts by the head, one token after another; where γ is "auto", while a further token pays, to the end of the text. */
class Drafter {
  constructor(head, target, options) {
    const { rows, text } = target;
    Object.assign(this, { text: head.start(text), tokens: head.vocab, size: text.model.vocab, rows, ...options });
  }

  read(tokens) {
    return this.text.read(tokens, 1)[0];
  }

  row(logits, sampling = this.sampling) {
    return this.rows.spread(probabilities(logits.slice(), sampling), this.tokens, this.size);
  }

  propose(text, draws) {
    const found = { tokens: [], q: [], raw: [], support: this.tokens };
    const { gamma, confidence, temperature } = this.sampling;
    const going = gamma === "auto" ? chain(this.stopping, confidence, temperature) : null;
    let unread = text.slice(this.text.length);
    for (const number of draws) {
      if (going && !going.mayPay()) break;
      const logits = this.read(unread);
      const shares = going && this.row(logits, UNCHANGED);
      if (going && !going.pays(shares[likeliest(shares)])) break;
      const row = this.row(logits);
      const token = picked(row, number);
      unread = [token];
      found.q.push(row);
      if (this.keepsRaw) found.raw.push(this.row(logits, UNCHANGED));
      found.tokens.push(token);
      going?.add(shares[token]);
      if (going && this.ends.includes(token)) break;
    }
    return found;
  }

  extend(token) {
    return this.row(this.read([token]));
  }

  settle(length) {
    this.text.crop(length);
  }

  /** Roll back to this many tokens of the text with its draft, and go on as drafting would have. */
  rewind(length) {
    this.text.rewind(length);
  }
}

/** At most `most` tokens that followed the latest earlier occurrence of the last 3 tokens; else of the last 2, or 1. */
function followed(text, most) {
  for (let size = Math.min(LONGEST, text.length - 1); size > 0; size -= 1) {
    const tail = text.length - size;
    for (let begin = tail - 1; begin >= 0; begin -= 1)
      if (text.slice(begin, begin + size).every((token, i) => token === text[tail + i]))
        return text.slice(begin + size, begin + size + most);
  }
  return [];
}

/** Copies what followed the text's last tokens before; all of a copy's mass is on one token. */
class Copier {
  constructor(_, target) {
    Object.assign(this, { rows: target.rows, size: target.text.model.vocab, copied: [], begin: 0, length: 0 });
  }

  propose(text, draws) {
    const tokens = followed(text, draws.length);
    const certain = (token) => this.rows.spread([1], [token], this.size);
    Object.assign(this, { copied: tokens.map(certain), begin: text.length });
    return { tokens, q: this.copied, support: [...new Set(tokens)] };
  }

  extend() {
    this.length += 1;
    return this.copied[this.length - this.begin];
  }

  settle(length) {
    this.length = length;
  }

  rewind(length) {
    this.length = length;
  }
}

const NOBODY = { propose: () => ({ tokens: [], q: [], support: [] }), settle: () => {} };
const PROPOSERS = { model: (...given) => new Drafter(...given), ngram: (...given) => new Copier(...given) };

/** A run under way. pair: {target, head, codec}; options: see options.js; prompt: text; bare: its steps are not explained. */
class Decoding {
  constructor(pair, { prompt, options, settings, bare = false }) {
    const { codec, target, head } = pair;
    this.bare = bare;
    Object.assign(this, { pair, options, settings, begin: now(), seconds: 0, finish: "cancelled", made: [], count: 0 });
    this.prompt = codec.encode(prompt, options.prompt_as || "chat");
    if (this.prompt.length >= target.context) {
      const [size, context] = [this.prompt.length, target.context].map((n) => n.toLocaleString("en"));
      throw new Refusal(`the prompt has ${size} tokens, the context ${context}: shorten the prompt`);
    }
    this.text = [...this.prompt];
    this.plain = options.system === "plain";
    this.longest = this.plain ? 0 : longest(options.gamma);
    this.coupled = CHAINS.get(options.rule).recipe.coupled;
    this.rule = this.plain && !this.coupled ? VANILLA : options.rule;
    this.numbers = streams(options.seed);
    const asked = [this.rule, options.shadow].filter((name) => name && !this.plain);
    const keepsRaw = asked.some((name) => recipeOf(name, settings)?.follow === "mixture");
    this.target = new Target(target, options, keepsRaw);
    const drafting = { sampling: options, keepsRaw, stopping: pair.told.config.stopping, ends: codec.ends };
    this.proposer = this.plain ? NOBODY : PROPOSERS[options.proposer](head, this.target, drafting);
    this.recorder = new Recorder(codec, this.rule, this.plain ? this.rule : options.shadow || null, settings);
    this.target.read(this.prompt.slice(0, -1), 0); // its last token is fed by the first round
    this.seconds = now() - this.begin;
  }

  get room() {
    const produced = this.text.length - this.prompt.length;
    return Math.min(this.options.max_new_tokens - produced, this.pair.target.context - this.text.length);
  }

  /** The next step as a trace has it; null at the end. */
  step() {
    if (this.finish !== "cancelled" || this.room <= 0) return null;
    const start = now();
    for (const rows of [ROWS, SMALL]) rows.reuse();
    const before = [this.proposer.text, this.target.text].map((text) => text?.calls);
    const [length, clock] = [this.text.length, new Clock(start)];
    const played = this.play(Math.min(this.longest, this.room - 1), clock);
    this.text.push(...played.committed);
    const details = this.bare ? {} : this.recorder.details(played);
    const work = (text, calls) => ({ calls: text.calls - calls, layers: 0, computed: 0, heads: 0 });
    const step = {
      index: this.count,
      context_length: length,
      drafted: played.tokens.length,
      depth: played.tokens.length,
      kept: played.kept,
      target_calls: 1 + played.extra.length,
      work: work(this.target.text, before[1]),
      below: this.proposer.text ? [work(this.proposer.text, before[0])] : [],
      committed: this.recorder.committed(played.committed, played.kept, played.bonus),
      times: clock.times(),
      start: start - this.begin,
      ...details,
    };
    this.made.push(...played.committed);
    this.count += 1;
    this.note(played.committed.at(-1));
    this.seconds += now() - start;
    return step;
  }

  note(last) {
    if (this.pair.codec.ends.includes(last)) this.finish = "end";
    else if (this.room <= 0) this.finish = this.made.length >= this.options.max_new_tokens ? "length" : "context";
  }

  /** One round: everything that it decided, and the tokens that it adds to the text. */
  play(gamma, clock) {
    const [draws, coins, [number]] = [this.numbers.draft(gamma), this.numbers.coins(gamma), this.numbers.after(1)];
    const times = this.coupled ? this.numbers.times(this.text.length, gamma + 1, this.pair.target.vocab) : null;
    const { tokens, q, asked, support, raw } = this.proposed(times ? times.slice(0, gamma) : draws);
    clock.lap("draft");
    const p = this.target.read([...this.text.slice(this.target.text.length), ...tokens], tokens.length + 1);
    clock.lap("target");
    const merged = draftOf(p, q, tokens, support, (size) => SMALL.another(size));
    const draft = { ...merged, raw: this.target.raw && { p: this.target.raw, q: raw } };
    const law = lawOver(this.rule, draft, this.settings);
    const told = times ? byCoupling(draft, law, times, { draws, coins, number }) : { draws, coins, number };
    const count = kept(law, told.coins);
    const ended = count > 0 && this.pair.codec.ends.includes(tokens[count - 1]);
    const row = told.row ?? next(law, count, (found) => ROWS.copy(found));
    const token = ended ? null : (told.token ?? pick(row, number));
    clock.lap("verify");
    const played = { ...draft, ...told, law, row, token, kept: count, extra: [], extraDraws: [] };
    if (CHAINS.get(this.rule).resamples && token !== null) this.resample(played, asked);
    clock.lap("target");
    played.bonus = count === tokens.length;
    played.committed = [...tokens.slice(0, count), ...(ended ? [] : [token]), ...played.extra];
    this.settle(this.text.length + played.committed.length - 1);
    return played;
  }

  /** A draft up to and including its first end of text. */
  proposed(draws) {
    const { tokens, q, support, raw = q } = this.proposer.propose(this.text, draws);
    const end = tokens.findIndex((token) => this.pair.codec.ends.includes(token));
    const count = end < 0 ? tokens.length : end + 1;
    return { tokens: tokens.slice(0, count), q: q.slice(0, count), asked: tokens.length, support, raw };
  }

  settle(length) {
    this.target.text.crop(length);
    this.proposer.settle(length);
  }

  /** Naive HSD after a rejection: the block's other positions from residuals, one call of the target each. */
  resample({ tokens, p, q, kept: count, token, extra, extraDraws }, asked) {
    const missing = asked - count - 1;
    if (count === tokens.length || missing <= 0) return;
    let log = 0;
    for (let t = 0; t < count; t += 1) log += Math.log(p[t][tokens[t]]) - Math.log(q[t][tokens[t]]);
    let [last, pRow, qRow] = [token, p[count], q[count]];
    for (let i = 0; i < missing && !this.pair.codec.ends.includes(last); i += 1) {
      log += Math.log(pRow[last]) - Math.log(qRow[last]);
      const position = this.text.length + count + i;
      this.target.text.crop(position);
      this.proposer.rewind(position);
      [pRow] = this.target.read([last], 1);
      qRow = this.proposer.extend(last);
      const row = openResidual(Math.exp(Math.min(log, 0)), Math.exp(Math.min(-log, 0)), pRow, qRow);
      const [number] = this.numbers.after(1);
      last = pick(row, number);
      extra.push(last);
      extraDraws.push(number);
    }
  }

  /** How the run stands. */
  result() {
    const { codec } = this.pair;
    const [before, whole] = [codec.decode(this.prompt), codec.decode(this.text)];
    const text = whole.startsWith(before) ? whole.slice(before.length) : codec.decode(this.made);
    return { text, finish: this.finish, seconds: this.seconds };
  }

  /** Seconds of a pass over so many rows after the text, the middle one of a few. What it reads is forgotten. */
  timed(rows) {
    const { text } = this.target;
    const { length } = text;
    const one = () => {
      const begin = now();
      text.read(this.text.slice(-rows), rows);
      const seconds = now() - begin;
      text.crop(length);
      return seconds;
    };
    return [one(), one(), one()].sort((a, b) => a - b)[1];
  }

  close() {
    this.target.text.close();
    this.proposer.text?.close();
  }
}

/** What equal numbers decide, recorded by numbers that would have led to the same, as hsd/decoding/coupled.py does. */
function byCoupling({ p, q, tokens }, law, times, { draws, number }) {
  const picks = p.map((row, t) => winner(row, times[t]));
  const same = tokens.findIndex((token, t) => token !== picks[t]);
  const count = same < 0 ? tokens.length : same;
  const coins = tokens.map((x, t) => {
    const [u, h] = [coupledCoin(p[t], q[t], x, times[t]), law.threshold[t]];
    return Math.min(picks[t] === x ? Math.min(u, h * BELOW_ONE) : Math.max(u, h), BELOW_ONE); // the picks count
  });
  const [row, token] = [next(law, count), picks[count]];
  return {
    coins,
    draws: tokens.map((x, t) => place(q[t], x, draws[t])),
    row,
    token,
    number: place(row, token, number),
  };
}

/** Adds up where a step's time goes. */
class Clock {
  constructor(start) {
    Object.assign(this, { start, last: start, laps: { ...LAPS } });
  }

  lap(name) {
    const at = now();
    this.laps[name] += at - this.last;
    this.last = at;
  }

  times() {
    const { draft, target, verify } = this.laps;
    return { ...this.laps, rest: Math.max(now() - this.start - draft - target - verify, 0) };
  }
}

export { Decoding };
