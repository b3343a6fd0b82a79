// The pair from its files, and a run of it from its first message to its last, with no page: what the worker drives.
import { differs } from "../../step/model.js";
import { Decoding } from "./decoding.js";
import { Engine, Head, Model } from "./engine.js";
import { readGguf, readSafetensors } from "./gguf.js";
import { link, notes, recorded } from "./options.js";
import { Codec } from "./text.js";

const UPDATE = 0.05; // seconds: at most 20 messages of steps each

/** The pair. told: what the page knows of it, see hsd/app/browser.py; module: compiled for what `sharing` gave. @type {(told: Values, loaded: LoadedFiles) => Promise<Pair>} */
async function makePair(told, { module, shared, weights, head }) {
  const engine = new Engine(module, shared);
  const draft = await readSafetensors(head);
  const places = await engine.tensors(draft.tensors);
  const file = await readGguf(weights);
  const target = await Model.load(engine, file, told.config.target_layers);
  const codec = new Codec(file.fields, told.chat);
  return { told, target, head: new Head(engine, told.config, draft, places, target), codec };
}

const many = (/** @type {number} */ threads) => (threads > 1 ? `${threads} threads` : "one thread");

/** A prompt as a trace has it. forced: how many of its last tokens the text begins with. @type {(text: string, ids: number[], forced: number, codec: Codec) => Prompt} */
function described(text, ids, forced, codec) {
  const tokens = ids.map((id) => codec.described(id));
  const bytes = tokens.flatMap((token, i) => (token.bytes ? [[i, token.bytes]] : []));
  const pieces = tokens.map(({ piece }) => piece);
  return { text, ids, pieces, ...(bytes.length && { bytes: Object.fromEntries(bytes) }), ...(forced && { forced }) };
}

/** A run as messages, as hsd/app/runs.py has them. */
class Run {
  telling = /** @type {number | null} */ (null); // the first step that differs from the other rule's

  constructor(/** @type {Pair} */ pair, /** @type {RunRequest} */ { prompt, options, settings }) {
    const { told, target, head, codec } = pair;
    const decoding = new Decoding(pair, { prompt, options, settings });
    this.decoding = decoding;
    const drafted = options.system !== "plain" && options.proposer === "model";
    const { vocab, taps } = head;
    const drafts = { ...told.draft, parameters: head.parameters, drafted: vocab.length, layers: null, taps };
    const { parameters, layers } = target;
    const models = [...(drafted ? [drafts] : []), { ...told.target, parameters, drafted: null, layers, taps: [] }];
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
      prompt: described(prompt, decoding.prompt, options.forced.length, codec),
    };
    this.first = { header, link: link(prompt, options, told) };
  }

  /** The next steps, as many as come in a moment; with the last of them the result, and which step to look at. */
  next() {
    const steps = /** @type {Step[]} */ ([]);
    const over = this.decoding.some(UPDATE, (step) => steps.push(step));
    this.telling ??= steps.find(differs)?.index ?? null;
    return over ? { steps, ...this.end(), telling: this.telling ?? 0 } : { steps };
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
    const left = this.decoding.pair.target.context - this.decoding.target.length;
    if (rows === 1 || rows > left || this.decoding.finish === "context") return "";
    const passes = this.decoding.timed(rows) / this.decoding.timed(1);
    return `here a check of ${rows} rows costs ${passes.toFixed(1)} passes; on a GPU about one`;
  }
}

export { makePair, Run };
