// The pair from its files, and a run of it from its first message to its last, with no page: what the worker drives.
import { differs } from "../../step/model.js";
import { Decoding } from "./decoding.js";
import { Engine, Head, Model } from "./engine.js";
import { readGguf, readSafetensors } from "./gguf.js";
import { link, notes, recorded } from "./options.js";
import { Codec } from "./text.js";

const UPDATE = 0.05; // seconds: at most 20 messages of steps each

/** told: what the page knows of it, see hsd/app/browser.py; files: {module, shared, weights, head}: compiled, for what
 * `sharing` gave, and Uint8Arrays one after another. */
async function makePair(told, { module, shared, weights, head }) {
  const engine = new Engine(module, shared);
  const draft = await readSafetensors(head);
  const places = await engine.tensors(draft);
  const file = await readGguf(weights);
  const target = await Model.load(engine, file, told.config.target_layers);
  const codec = new Codec(file.fields, told.chat);
  return { told, target, head: new Head(engine, told.config, draft, places, target), codec };
}

const many = (threads) => (threads > 1 ? `${threads} threads` : "one thread");

/** What a trace says of a model. */
function info({ name, revision, dtype }, { parameters, layers = null, taps = [], vocab }) {
  return { name, revision, parameters, dtype, drafted: Array.isArray(vocab) ? vocab.length : null, layers, taps };
}

/** The prompt, as a trace says it. */
function asked(text, ids, codec) {
  const parts = ids.flatMap((token, i) => (codec.told?.(token).bytes ? [[i, codec.told(token).bytes]] : []));
  const pieces = ids.map((token) => codec.piece(token));
  return { text, ids, pieces, ...(parts.length && { bytes: Object.fromEntries(parts) }) };
}

/** A run as messages, as hsd/app/runs.py has them. asked: see options.js. */
class Run {
  constructor(pair, { prompt, options, settings }) {
    const { told, target, head, codec } = pair;
    const decoding = new Decoding(pair, { prompt, options, settings });
    Object.assign(this, { decoding, telling: null });
    const drafted = options.system !== "plain" && options.proposer === "model";
    const models = [...(drafted ? [info(told.draft, head)] : []), info(told.target, target)];
    const header = {
      trace_version: 2,
      app_version: told.version,
      created: new Date().toISOString().replace(/\.\d+Z$/, "+00:00"),
      setup: {
        options: recorded(options),
        pair: told.name,
        models,
        device: `browser, ${many(target.engine.threads)}`,
        vocab_size: codec.size,
        versions: {},
        notes: notes(options),
      },
      prompt: asked(prompt, decoding.prompt, codec),
    };
    this.first = { header, link: link(prompt, options, told) };
  }

  /** The next steps, as many as come in a moment; with the last of them the result, and which step to look at. */
  next() {
    const { decoding } = this;
    const steps = [];
    for (const begin = performance.now(); performance.now() - begin < 1000 * UPDATE; ) {
      const step = decoding.step();
      if (!step) return { steps, ...this.end(), telling: this.telling ?? 0 };
      steps.push(step);
      if (this.telling === null && differs(step)) this.telling = step.index;
    }
    return { steps };
  }

  /** How it stands, and no more of it. */
  end() {
    const result = this.decoding.result();
    const cost = result.finish === "cancelled" ? "" : this.cost();
    this.decoding.close();
    return { result, finish: result.finish, cost };
  }

  /** What a check of a whole draft costs here, in words; "" without drafts. */
  cost() {
    const rows = this.decoding.longest + 1;
    const left = this.decoding.pair.target.context - this.decoding.target.text.length;
    if (rows === 1 || rows > left || this.decoding.finish === "context") return "";
    const passes = this.decoding.timed(rows) / this.decoding.timed(1);
    return `here a check of ${rows} rows costs ${passes.toFixed(1)} passes; on a GPU about one`;
  }
}

export { makePair, Run };
