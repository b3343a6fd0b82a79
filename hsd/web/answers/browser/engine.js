// The portable engine, hsd/engine/engine.wasm, called as engine.py, model.py and head.py call it:
// the same module and the same calls in the same order give the same bits. It runs on several
// threads where a page may share memory among them.
import { processors, sharedMemory, startWorker } from "../../kit/features.js";
import { Refusal } from "../refusal.js";
import { need, numbers } from "./gguf.js";
import { LongRow, LongRows } from "./long_rows.js";

const ROWS = 8; // tokens of one pass, at most
const STAGED = 1 << 20; // bytes of a tensor that are handed over at once
const Q4_1 = 3; // as GGUF numbers it
const LONGEST = 8192; // tokens of a text
const MOST_THREADS = 4; // more have not been measured
// of 64 KiB: shared memory is reserved at once, and phones have little
const PAGES = { initial: 64, maximum: 16_384 };
// tensors whose rows the file has in the order of its own rotary positions
const TURNED = /\.attn_[qk]\.weight$/;
const PRODUCTS = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"];
const NORMS = ["attn_norm", "ffn_norm"];
const PARTS = [...NORMS, ...PRODUCTS]; // of a layer, as the engine takes them
const ALONE = { threads: 1, memory: null };
const LAYER = "midlayer.";

/** @type {(begin: number, count: number) => number[]} */
function range(begin, count) {
  return Array.from({ length: count }, (_, i) => begin + i);
}

/**
 * Return how many threads there may be, and the memory that they share: one thread with a memory of
 * its own, unless the page's server isolates it from pages of others.
 * @returns {Sharing}
 */
function sharing(most = Math.min(processors(), MOST_THREADS)) {
  const memory = most > 1 ? sharedMemory(PAGES) : null;
  return memory ? { threads: most, memory } : ALONE;
}

/** One instance of the module, with the weights that are put into it. */
class Engine {
  staged = 0; // bytes at `staging`, to hand over a part of a tensor
  staging = 0;
  softened = 0; // numbers of a row for which there is room at `powers`
  powers = 0;
  longRows = new LongRows(this);

  /**
   * module: for as many threads as `sharing` gives; they help once `there` resolves.
   * @param {WebAssembly.Module} module
   * @param {Sharing} sharing
   */
  constructor(module, { threads, memory } = /** @type {Sharing} */ (ALONE)) {
    const { exports } = new WebAssembly.Instance(module, memory ? { env: { memory } } : {});
    this.calls = /** @type {Record<string, (...numbers: number[]) => number>} */ (exports);
    this.memory = memory ?? /** @type {WebAssembly.Memory} */ (exports.memory);
    this.threads = threads;
    this.place = this.calls.engine();
    // a worker that never waits starts none
    const helpers = range(1, threads - 1).map(() => this.helped(module));
    this.there = Promise.all(helpers);
    if (memory) this.calls.share(this.place, threads);
  }

  helped(/** @type {WebAssembly.Module} */ module) {
    const helper = startWorker(new URL("./helper.js", import.meta.url));
    helper?.postMessage({
      module,
      memory: this.memory,
      engine: this.place,
      stack: this.made("stack", this.place),
    });
    return new Promise((resolve) => {
      if (!helper) return resolve(null);
      helper.onmessage = resolve;
      helper.onerror = resolve; // nothing waits for a helper that fails
    });
  }

  /**
   * Call a function of the engine that takes memory. Returns the place of its result; throws
   * Refusal where there is no more memory.
   * @param {string} name
   * @param {number[]} numbers
   */
  made(name, ...numbers) {
    const place = this.calls[name](...numbers);
    if (!place)
      throw new Refusal(
        "this browser gives no more memory: close other tabs, or choose a shorter text",
      );
    return place;
  }

  /**
   * Copy bytes to a place that has room for so many.
   * @param {number} place
   * @param {number} room
   * @param {Uint8Array} bytes
   */
  write(place, room, bytes) {
    if (bytes.length > room)
      throw new Refusal(`${bytes.length} bytes do not fit: choose another file`);
    new Uint8Array(this.memory.buffer, place, bytes.length).set(bytes);
  }

  tell(/** @type {string} */ name, /** @type {number[]} */ values) {
    if (values.length > ROWS)
      throw new RangeError(`${values.length} tokens in one pass, of at most ${ROWS}`);
    const place = this.calls[name](this.place);
    new Int32Array(this.memory.buffer, place, values.length).set(values);
  }

  /**
   * Return make(row) for each of some rows of numbers, which are there until the next call.
   * @type {<T>(place: number, count: number, width: number, make: (row: Float32Array) => T) => T[]}
   */
  rows(place, count, width, make) {
    this.widen(width);
    return range(0, count).map((i) =>
      make(new LongRow(this.longRows, place + 4 * i * width, width)),
    );
  }

  /** Have room at `powers` for so many numbers in double precision, and then in single. */
  widen(/** @type {number} */ width) {
    if (width <= this.softened) return;
    this.powers = this.made("take", this.place, 12 * width);
    this.softened = width;
  }

  vector(/** @type {ArrayLike<number>} */ numbers) {
    const place = this.made("take", this.place, 4 * numbers.length);
    new Float32Array(this.memory.buffer, place, numbers.length).set(numbers);
    return place;
  }

  /**
   * The softmax of a row that `rows` gives, at a temperature above 0. brief: it is there until the
   * next call, not until the next step.
   * @type {(row: WideRow, temperature: number, brief: boolean) => WideRow}
   */
  soften({ byteOffset, length }, temperature, brief) {
    const row = brief ? null : this.longRows.fresh(length);
    const place = row?.byteOffset ?? this.powers + 8 * length; // behind numbers in double precision
    this.calls.soften(byteOffset, length, temperature, place, this.powers);
    if (row) return row;
    const softened = new LongRow(this.longRows, place, length);
    return brief ? softened : softened.slice();
  }

  /**
   * Pack a matrix. width: of attention's heads where the file has the numbers that turn together
   * beside each other.
   * @param {Tensor} tensor
   */
  async matrix({ kind, rows, columns, bytes, take }, width = 0) {
    const overhang = (rows % (width || 32)) + (rows % 32) + (columns % 32);
    need(overhang === 0 && columns <= 8192, `${rows} by ${columns}`);
    const place = this.made("matrix", this.place, Number(kind), rows, columns);
    const row = bytes / rows;
    const group = width || 1;
    const room = Math.max(STAGED, row * group);
    if (room > this.staged) {
      this.staging = this.made("take", this.place, room);
      this.staged = room;
    }
    const part = Math.floor(this.staged / row / group) * group;
    for (let first = 0; first < rows; first += part) {
      const count = Math.min(part, rows - first);
      this.write(this.staging, this.staged, await take(count * row));
      this.calls.pack(place, first, count, Number(kind), this.staging, width);
    }
    return place;
  }

  /**
   * Put all tensors of a file here. Resolves to a function that gives the place of a tensor by its
   * name, without ".weight". width: of the heads of attention.
   * @param {ModelFile["tensors"]} tensors
   */
  async tensors(tensors, width = 0) {
    /** @type {Record<string, number>} */
    const places = {};
    for (const [name, tensor] of Object.entries(tensors)) {
      places[name] = name.endsWith("norm.weight")
        ? this.vector(await numbers(tensor))
        : await this.matrix(tensor, TURNED.test(name) ? width : 0);
    }
    return (/** @type {string} */ name) => places[`${name}.weight`];
  }
}

/**
 * Load a Llama of SmolLM2's shape. file: see readGguf; tapped: after how many layers hidden states
 * are kept for a head.
 * @param {Engine} engine
 * @param {ModelFile} file
 * @param {number[]} tapped
 */
async function loadModel(engine, { fields, tensors }, tapped) {
  if (fields["general.architecture"] !== "llama")
    throw new Refusal("this file holds another model: choose SmolLM2's");
  const field = (/** @type {string} */ name) => fields[`llama.${name}`];
  const layers = field("block_count");
  const heads = field("attention.head_count");
  const groups = field("attention.head_count_kv");
  const hidden = field("embedding_length");
  const inner = field("feed_forward_length");
  const most = field("context_length");
  const width = hidden / heads;
  const vocab = tensors["token_embd.weight"]?.rows ?? 0;
  const shape = [hidden, inner, heads, groups, width, layers];
  const rates = [field("rope.freq_base"), field("attention.layer_norm_rms_epsilon")];
  const sizes = [...shape, most];
  const positive = (/** @type {unknown} */ x) => typeof x === "number" && x > 0 && x < 2 ** 31;
  need([...rates, ...sizes].every(positive) && sizes.every(Number.isInteger), "its numbers");
  need(inner <= 8192 && layers <= 64, "its numbers");
  need([32, 64, 128].includes(width) && heads % (3 * groups) === 0, "another shape");
  const rows = [1, 1, hidden, groups * width, groups * width, hidden, inner, inner, hidden];
  /** @type {(name: string, rows: number, columns?: number) => void} */
  const held = (name, r, c = hidden) => {
    const tensor = tensors[`${name}.weight`];
    const fits = tensor?.rows === r && tensor.columns === c;
    need(fits && (r > 1 || tensor.kind === 0), `${name}, its form`);
  };
  held("output_norm", 1);
  held("token_embd", tensors["token_embd.weight"]?.kind === Q4_1 ? 0 : vocab);
  for (const i of range(0, layers)) {
    PARTS.forEach((part, k) => {
      held(`blk.${i}.${part}`, rows[k], part === "ffn_down" ? inner : hidden);
    });
  }
  need(Object.keys(tensors).length === 9 * layers + 2, "other tensors than SmolLM2's");
  const of = await engine.tensors(tensors, width);
  const place = engine.made(
    "model",
    engine.place,
    ...shape,
    ...rates,
    of("token_embd"),
    of("output_norm"),
  );
  for (const i of range(0, layers)) {
    const parts = PARTS.map((part) => of(`blk.${i}.${part}`));
    engine.calls.layer(place, i, ...parts);
  }
  for (const layer of tapped) engine.calls.tap(place, layer);
  return {
    engine,
    place,
    hidden,
    vocab,
    layers,
    context: Math.min(most, LONGEST),
    parameters: parametersOf(tensors),
  };
}

/** A text that a model reads, and that may be cut back. */
class TargetText {
  length = 0;
  /** @type {PassTime[]} */
  times = [];

  /**
   * place: of the text in the engine; width: of a row of logits. A head's text has its own.
   * @param {Model} model
   */
  constructor(model, place = model.engine.made("text", model.place), width = model.vocab) {
    this.engine = model.engine;
    this.model = model;
    this.place = place;
    this.width = width;
  }

  /**
   * Read tokens; returns make(logits) after each of the last `keep` of them. How many tokens were
   * read, and the seconds, are added to `times`.
   * @type {<T>(tokens: number[], keep: number, make: (row: Float32Array) => T) => T[]}
   */
  read(tokens, keep, make) {
    const begin = performance.now();
    /** @type {any[]} */
    const rows = [];
    for (let done = 0; done < tokens.length; ) {
      const many = Math.min(this.most(), ROWS, tokens.length - done);
      const wanted = Math.max(0, Math.min(many, done + many - (tokens.length - keep)));
      this.tell(tokens.slice(done, done + many));
      this.pass(many, wanted);
      const { calls, place } = this.engine;
      rows.push(...this.engine.rows(calls.logits(place), wanted, this.width, make));
      this.length += many;
      done += many;
    }
    this.times.push([tokens.length, (performance.now() - begin) / 1000]);
    return rows;
  }

  /**
   * Take memory for all that reading up to so many tokens needs: no view of memory that is not shared
   * lasts when more of it is taken.
   * @param {number} length
   */
  hold(length) {
    this.engine.made("hold", this.place, Math.min(length, LONGEST));
  }

  /** How many tokens one pass may read. */
  most() {
    return ROWS;
  }

  /**
   * Read so many tokens, with logits after the last `wanted`.
   * @param {number} many
   * @param {number} wanted
   */
  pass(many, wanted) {
    this.engine.made("forward", this.place, many, wanted, 0);
  }

  /** Forget tokens from `length` on. @param {number} length */
  crop(length) {
    if (length >= this.length) return;
    this.length = Math.max(length, 0);
    this.engine.calls.cut(this.place, this.length);
  }

  /**
   * Hand the next tokens to the engine. Throws Refusal where the text has no room for them, or the
   * model does not know one.
   * @param {number[]} tokens
   */
  tell(tokens) {
    if (!this.place) throw new Refusal("this text was closed: press Run again");
    if (this.length + tokens.length > LONGEST)
      throw new Refusal(`a text has at most ${LONGEST} tokens: shorten it`);
    const { vocab } = this.model;
    const known = (/** @type {number} */ token) =>
      Number.isInteger(token) && token >= 0 && token < vocab;
    if (!tokens.every(known))
      throw new Refusal(`the model has tokens 0 to ${vocab - 1}: choose another file`);
    this.engine.tell("tokens", tokens);
    this.engine.tell("positions", range(this.length, tokens.length));
  }

  close() {
    if (this.place) this.engine.calls.shut(this.place);
    this.place = 0;
  }
}

/**
 * Load the project's own head on a model. config: of the head; file: see readSafetensors.
 * @param {Model} target
 * @param {Values} config
 * @param {ModelFile} file
 */
async function loadHead({ engine, place: targetPlace, hidden }, config, { tensors }) {
  const { num_attention_heads: heads, num_key_value_heads: groups = heads } = config;
  const { d2t, t2d: _, ...weights } = tensors; // which tokens it drafts: no parameters
  const vocab = Array.from(await numbers(d2t), (skipped, i) => skipped + i);
  const of = await engine.tensors(weights);
  const products = ["q", "k", "v", "o"].map((part) => of(`${LAYER}self_attn.${part}_proj`));
  products.push(...["gate", "up", "down"].map((part) => of(`${LAYER}mlp.${part}_proj`)));
  const shape = [config.intermediate_size, heads, groups, config.head_dim ?? hidden / heads];
  const matrices = ["fc", `${LAYER}token_proj`, "lm_head"].map(of);
  const norms = ["norm", "taps_norm", `${LAYER}hidden_norm`, `${LAYER}input_layernorm`].map(of);
  const settings = [
    config.rope_theta ?? 10_000,
    config.rms_norm_eps,
    Number(config.norm_output ?? 0),
  ];
  const parameters = [...shape, ...settings, ...matrices, ...norms];
  const place = engine.made("head", targetPlace, ...parameters);
  engine.calls.layer(place, 0, 0, of(`${LAYER}post_attention_layernorm`), ...products);
  return {
    place,
    vocab,
    taps: /** @type {number[]} */ (config.target_layers),
    parameters: parametersOf(weights),
  };
}

/** How many numbers the tensors have. @param {Record<string, Tensor>} tensors */
const parametersOf = (tensors) =>
  Object.values(tensors).reduce((sum, { rows, columns }) => sum + rows * columns, 0);

/** A text read by the head, one step behind `target`, a text of its model. */
class HeadText extends TargetText {
  sure = 0; // how many tokens were read with the target's knowledge
  guessing = false;

  constructor(/** @type {Head} */ head, /** @type {TargetText} */ target) {
    super(target.model, target.engine.made("follow", head.place), head.vocab.length);
    this.head = head;
    this.target = target;
  }

  /** How many of the target's tokens may be used: none after a guess. */
  get known() {
    return this.guessing || this.sure < this.length ? 0 : this.target.length;
  }

  /** How many tokens one pass may read: those that use nothing of the same pass. */
  most() {
    return Math.max(this.known - this.length + 1, 1);
  }

  /**
   * Read so many tokens; the logits are those of the tokens that can be drafted.
   * @param {number} many
   * @param {number} wanted
   */
  pass(many, wanted) {
    const sure = this.known >= this.length;
    this.engine.tell("before", range(this.length - 1, many));
    this.engine.made(
      "guess",
      this.head.place,
      this.place,
      sure ? this.target.place : 0,
      many,
      wanted,
      0,
    );
    if (sure) this.sure = this.length + many;
  }

  /**
   * Forget tokens from `length` on, and all that was read without the target's knowledge.
   * @param {number} length
   */
  crop(length) {
    this.sure = Math.min(length, this.sure);
    this.guessing = false;
    super.crop(this.sure);
  }

  /**
   * Forget tokens from `length` on, and guess from there as if the target had read nothing since
   * the draft began.
   * @param {number} length
   */
  rewind(length) {
    this.sure = Math.min(length, this.sure);
    this.guessing = true;
    super.crop(length);
  }
}

export { Engine, HeadText, loadHead, loadModel, sharing, TargetText };
