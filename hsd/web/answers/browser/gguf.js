// The two files of the pair as they lie on a disk: a GGUF file, and a head's safetensors. Only what
// the engine packs.
import { Refusal } from "../refusal.js";

/** @typedef {Omit<Tensor, "take"> & {name: string, offset: number}} PlacedTensor */
/**
 * The beginning of a file, its tensors in the order of their places; end: where it ends, from which
 * offsets count.
 * @typedef {{fields: Record<string, any>, tensors: PlacedTensor[], end: number}} FileHeader
 */

// By GGUF's type: weights and bytes of a block, and the places of the exponents of its own numbers.
/** @type {Record<any, number[]>} */
const KINDS = {
  0: [1, 4, 2],
  1: [1, 2, 0],
  3: [32, 20, 0, 2],
  8: [32, 34, 0],
};
const TEXT = 8;
const LIST = 9;
const F32 = 0;
const BOOL = 7;
const LONGEST_LIST = 2 ** 20; // no field has a longer list
/** @type {Record<string, number | string>} */
const TYPES = {
  F32,
  F16: 1,
  I64: "I64",
  U8: "U8",
};
// By GGUF's type: the method that reads a number, whose name ends with its bits.
const NUMBERS = /** @type {const} */ ([
  "getUint8",
  "getInt8",
  "getUint16",
  "getInt16",
  "getUint32",
  "getInt32",
  "getFloat32",
  "getUint8",
  null,
  null,
  "getBigUint64",
  "getBigInt64",
  "getFloat64",
]);
const LONGEST = 1 << 24; // bytes of the beginning of a file, which lists a vocabulary
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The error of a file of which a part is not as it must be. @param {string} wrong */
const damaged = (wrong) => new Refusal(`this model file is damaged (${wrong}): choose another`);

const cutShort = () => new Refusal("this GGUF file ends before its tensors do: choose another");

/**
 * Throw `damaged(wrong)` where something does not fit.
 * @type {(fits: unknown, wrong: string) => asserts fits}
 */
function need(fits, wrong) {
  if (!fits) throw damaged(wrong);
}

/**
 * Return an object of pairs; throws where a name is there twice.
 * @template T
 * @param {[string, T][]} pairs
 */
function named(pairs) {
  const object = Object.fromEntries(pairs);
  need(Object.keys(object).length === pairs.length, "a name is there twice");
  return object;
}

const viewOf = (/** @type {Bytes} */ bytes) =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** Functions that read a GGUF file's values, one after another. @param {Bytes} bytes */
function reader(bytes) {
  const view = viewOf(bytes);
  let at = 4;
  /** A value that is a number, or true or false. @type {(kind: number) => any} */
  const number = (kind) => {
    const get = NUMBERS[kind];
    if (!get) throw damaged(`a value of type ${kind}`);
    const value = view[get](at, true);
    at += Number.parseInt(get.replace(/\D+/, ""), 10) / 8;
    return kind === BOOL ? value > 0 : Number(value);
  };
  const text = () => {
    const length = number(10);
    at += length;
    if (at > bytes.length) throw cutShort();
    return utf8.decode(bytes.subarray(at - length, at));
  };
  /** A value of any kind. @type {(kind: number) => any} */
  const value = (kind) => {
    if (kind === TEXT) return text();
    if (kind !== LIST) return number(kind);
    const inner = number(4);
    const length = number(10);
    need(inner !== LIST && length <= LONGEST_LIST, `a list of ${length} values`);
    return Array.from({ length }, () => value(inner));
  };
  return { number, text, value, place: () => at };
}

/** Sort tensors by their offsets, in place. @param {PlacedTensor[]} tensors */
const sorted = (tensors) => tensors.sort((a, b) => a.offset - b.offset);

/**
 * A GGUF file's beginning: its fields, its tensors without their data, and where the data begins.
 * @type {(bytes: Bytes) => FileHeader}
 */
function header(bytes) {
  need(String.fromCharCode(...bytes.subarray(0, 4)) === "GGUF", "no GGUF file");
  const { number, text, value, place } = reader(bytes);
  need([2, 3].includes(number(4)), "its version");
  const count = number(10);
  const entries = number(10);
  need(Math.max(count, entries) <= LONGEST_LIST, `${count} tensors, ${entries} fields`);
  /** @type {() => [string, any]} */
  const field = () => [text(), value(number(4))];
  const fields = named(Array.from({ length: entries }, field));
  const tensors = Array.from({ length: count }, () => {
    const name = text();
    const dimensions = number(4);
    need(dimensions === 1 || dimensions === 2, `${name} has ${dimensions} dimensions`);
    const [columns, rows = 1] = Array.from({ length: dimensions }, () => number(10));
    const kind = number(4);
    const offset = number(10);
    need(kind in KINDS, `${name} is stored as type ${kind}`);
    const [weights, size] = KINDS[kind];
    need(
      rows && columns && columns % weights === 0 && rows * columns < 2 ** 40,
      `${name}, ${rows} by ${columns}`,
    );
    return { name, kind, rows, columns, offset, bytes: ((rows * columns) / weights) * size };
  });
  const alignment = fields["general.alignment"] ?? 32;
  const power = Math.log2(alignment);
  need(power >= 3 && power < 19 && Number.isInteger(power), `its alignment is ${alignment}`);
  let at = 0;
  for (const { name, offset, bytes: size } of sorted(tensors)) {
    need(offset >= at && offset % alignment === 0, `${name} begins at ${offset}`);
    at = offset + size;
  }
  const end = count ? Math.ceil(place() / alignment) * alignment : place();
  if (end > bytes.length) throw cutShort();
  return { fields, tensors, end };
}

/** A safetensors file's beginning, as `header` has it. @type {(bytes: Bytes) => FileHeader} */
function safeHeader(bytes) {
  const end = 8 + Number(viewOf(bytes).getBigUint64(0, true));
  if (end > bytes.length) throw cutShort();
  const text = utf8.decode(bytes.subarray(8, end));
  const { __metadata__: _, ...entries } = JSON.parse(text);
  const tensors = Object.entries(entries).map(([name, { dtype, shape, data_offsets: place }]) => {
    const [last, rows = 1] = shape.toReversed();
    const columns = dtype === "U8" ? (last / 34) * 32 : last;
    return {
      name,
      kind: TYPES[dtype],
      rows,
      columns,
      offset: place[0],
      bytes: place[1] - place[0],
    };
  });
  return { fields: {}, tensors: sorted(tensors), end };
}

/**
 * Resolve to the bytes of a file from one place to another; fewer where it ends before.
 * @type {(file: Blob, from: number, to: number) => Promise<Bytes>}
 */
async function bytesOf(file, from, to) {
  const buffer = await file.slice(from, to).arrayBuffer();
  return new Uint8Array(buffer);
}

/**
 * Open a file, of which nothing but its beginning is read yet.
 * @type {(file: Blob, beginning: (bytes: Bytes) => FileHeader) => Promise<ModelFile>}
 */
async function opened(file, beginning) {
  const { fields, tensors, end } = await begun(file, beginning);
  const all = tensors.map(({ name, offset, ...tensor }) => {
    let at = end + offset;
    /** @type {Take} */
    const take = async (count) => {
      at += count;
      if (at > file.size) throw cutShort();
      return bytesOf(file, at - count, at);
    };
    const whole = inFull({ ...tensor, take });
    const finite = async (/** @type {number} */ count) =>
      needFinite(name, whole.kind, await whole.take(count));
    return /** @type {[string, Tensor]} */ ([name, { ...whole, take: finite }]);
  });
  return { fields, tensors: named(all) };
}

/**
 * Read the beginning of a file; its errors are those that a visitor reads.
 * @type {(file: Blob, beginning: (bytes: Bytes) => FileHeader) => Promise<FileHeader>}
 */
async function begun(file, beginning) {
  try {
    return beginning(await bytesOf(file, 0, LONGEST));
  } catch (error) {
    need(!(error instanceof TypeError), "a text in it cannot be read");
    throw error instanceof RangeError ? cutShort() : error;
  }
}

const readGguf = (/** @type {Blob} */ file) => opened(file, header);
const readSafetensors = (/** @type {Blob} */ file) => opened(file, safeHeader);

/**
 * All numbers of a tensor: whole ones as an array, others as Float32Array.
 * @param {Tensor} tensor
 */
async function numbers({ kind, bytes, take }) {
  const { buffer } = await take(bytes);
  if (kind === TYPES.I64) return Array.from(new BigInt64Array(buffer), Number);
  return kind === F32 ? new Float32Array(buffer) : Float32Array.from(new Uint16Array(buffer), half);
}

/** The number that 16 bits stand for. @param {number} bits */
function half(bits) {
  const sign = bits >> 15 ? -1 : 1;
  const power = (bits >> 10) & 31;
  const rest = bits & 1023;
  const size = power ? (1 + rest / 1024) * 2 ** (power - 15) : rest * 2 ** -24;
  return sign * size;
}

/**
 * Return a tensor in blocks of 8 bits, as hsd/models/head.py describes them, as one of float32; any
 * other as it is.
 * @param {Tensor} tensor
 * @returns {Tensor}
 */
function inFull(tensor) {
  if (tensor.kind !== TYPES.U8) return tensor;
  const whole = async (/** @type {number} */ count) => {
    const blocks = await tensor.take((count / 128) * 34);
    const numbers = new Float32Array(count / 4);
    let i = 0;
    for (let at = 0; at < blocks.length; at += 34) {
      const most = half(blocks[at] | (blocks[at + 1] << 8));
      for (let k = at + 2; k < at + 34; k += 1) {
        const signed = (blocks[k] << 24) >> 24;
        numbers[i] = (signed / 127) * most;
        i += 1;
      }
    }
    return new Uint8Array(numbers.buffer);
  };
  return { ...tensor, kind: F32, bytes: (tensor.bytes / 34) * 128, take: whole };
}

/**
 * Return a tensor's bytes; throws where a number among them, or a block's scale, is not finite.
 * @type {(name: string, kind: number | string, data: Bytes) => Bytes}
 */
function needFinite(name, kind, data) {
  const [, size, ...places] = KINDS[kind] ?? [];
  const ones = kind === F32 ? 0x7f80 : 0x7c00;
  const view = viewOf(data);
  for (const place of places) {
    for (let at = place; at < data.length; at += size) {
      if ((view.getUint16(at, true) & ones) === ones)
        throw damaged(`${name} has numbers that are not finite`);
    }
  }
  return data;
}

export { need, numbers, readGguf, readSafetensors };
