// The pair from its files, and a run of it from its first message to its last, with no page: what
// the worker drives.
import { differs } from "../../step/model.js";
import { Decoding } from "./decoding.js";
import { Engine, loadHead, loadModel } from "./engine.js";
import { readGguf, readSafetensors } from "./gguf.js";
import { link, notes, recorded } from "./options.js";
import { Passes, words } from "./passes.js";
import { Codec } from "./text.js";

/**
 * Load the pair.
 * @param {Values} about - what the page knows of it, see hsd/app/browser.py
 * @param {object} loaded
 * @param {WebAssembly.Module} loaded.module - compiled for the result of `sharing`
 * @param {Sharing} [loaded.shared]
 * @param {Blob} loaded.weights
 * @param {Blob} loaded.head
 * @returns {Promise<Pair>}
 */
async function makePair(about, { module, shared, weights, head }) {
  const file = await readGguf(weights);
  const target = await loadModel(new Engine(module, shared), file, about.config.target_layers);
  const drafter = await loadHead(target, about.config, await readSafetensors(head));
  const codec = new Codec(file.fields, about.chat);
  return { about, target, head: drafter, codec, passes: new Passes(target, drafter) };
}

/**
 * Return a prompt as a trace has it. forced: how many of its last tokens are the beginning of the
 * text.
 * @type {(text: string, ids: number[], forced: number, codec: Codec) => Prompt}
 */
function described(text, ids, forced, codec) {
  const tokens = ids.map((id) => codec.described(id));
  /** @type {Record<number, string>} */
  const bytes = {};
  tokens.forEach((token, i) => {
    if (token.bytes) bytes[i] = token.bytes;
  });
  const pieces = tokens.map(({ piece }) => piece);
  return {
    text,
    ids,
    pieces,
    ...(Object.keys(bytes).length && { bytes }),
    ...(forced && { forced }),
  };
}

/** Begin a run for a player, whose messages are as hsd/app/runs.py has them. @type {MakeRun} */
function playedRun(pair, request) {
  const { prompt, options, said = [] } = request;
  const { about, target, head, codec } = pair;
  const decoding = new Decoding(pair, request);
  const drafted = options.system !== "plain" && options.proposer === "model";
  const { vocab, taps } = head;
  const drafts = {
    ...about.draft,
    parameters: head.parameters,
    drafted: vocab.length,
    layers: null,
    taps,
  };
  const { parameters, layers, engine } = target;
  const models = [
    ...(drafted ? [drafts] : []),
    { ...about.target, parameters, drafted: null, layers, taps: [] },
  ];
  const header = {
    trace_version: 2,
    app_version: about.version,
    created: new Date().toISOString().replace(/\.\d+Z$/, "+00:00"),
    setup: {
      options: recorded(options),
      pair: about.name,
      models,
      device: `browser, ${engine.threads > 1 ? `${engine.threads} threads` : "one thread"}`,
      vocab_size: codec.size,
      versions: {},
      notes: notes(options),
    },
    prompt: described(prompt, decoding.prompt, options.forced.length, codec),
  };
  // the first step that differs from the other rule's
  /** @type {number | null} */
  let telling = null;
  return {
    decoding,
    first: { header, link: link(prompt, options, about), cost: said.join("; ") },
    message(step) {
      telling ??= differs(step) ? step.index : null;
      return step;
    },
    last: () => ({
      telling: telling ?? 0,
      cost: [...said, ...checked(pair, options, decoding.longest + 1)].join("; "),
    }),
  };
}

/**
 * Say what a check of a whole draft costs on this machine; nothing without drafts of one length,
 * and where its times are too far apart.
 * @type {(pair: Pair, options: FlatOptions, rows: number) => string[]}
 */
function checked({ passes }, { gamma }, rows) {
  const cost = rows === 1 || gamma === "auto" ? null : passes.check(rows);
  return cost ? [`here a check of ${rows} rows costs ${words(cost, 1)}; on a GPU about one`] : [];
}

export { makePair, playedRun };
