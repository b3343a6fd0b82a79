// The two files of the pair as they lie on a disk: a GGUF file, and a head's safetensors. Only what the engine packs. They
// are read part by part as they come, and never held as a whole.
import { Refusal } from "../refusal.js";

const KINDS = { 0: [1, 4], 1: [1, 2], 3: [32, 20], 8: [32, 34] }; // weights and bytes of a block, by GGUF's type
const [TEXT, LIST, F32, BOOL, LONGEST_LIST] = [8, 9, 0, 7, 2 ** 20]; // no field has a longer list
const TYPES = { F32, F16: 1, I64: "I64" };
const NUMBERS = /** @type {const} */ ([
  ...["getUint8", "getInt8", "getUint16", "getInt16", "getUint32", "getInt32", "getFloat32", "getUint8"],
  ...[null, null, "getBigUint64", "getBigInt64", "getFloat64"], // by GGUF's type, with the bits of each
]);
const product = (numbers) => numbers.reduce((all, x) => all * x, 1);
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** What a visitor reads where something in a file is not as it must be. @param {string} wrong */
const damaged = (wrong) => new Refusal(`this model file is damaged (${wrong}): choose another`);

/** Throws it where something does not fit. @type {(fits: unknown, wrong: string) => asserts fits} */
function need(fits, wrong) {
  if (!fits) throw damaged(wrong);
}

/** An object of pairs, no name twice. */
function named(pairs) {
  const found = Object.fromEntries(pairs);
  need(Object.keys(found).length === pairs.length, "a name is there twice");
  return found;
}

class Reader {
  constructor(bytes) {
    Object.assign(this, { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), at: 4 });
  }

  number(kind) {
    const get = NUMBERS[kind];
    if (!get) throw damaged(`a value of type ${kind}`);
    const value = this.view[get](this.at, true);
    this.at += Number.parseInt(get.replace(/\D+/, ""), 10) / 8;
    return kind === BOOL ? value > 0 : Number(value);
  }

  text() {
    const length = this.number(10);
    this.at += length;
    if (this.at > this.bytes.length) throw new RangeError("the beginning goes on");
    return utf8.decode(this.bytes.subarray(this.at - length, this.at));
  }

  value(kind) {
    if (kind === TEXT) return this.text();
    if (kind !== LIST) return this.number(kind);
    const [inner, length] = [this.number(4), this.number(10)];
    need(inner !== LIST && length <= LONGEST_LIST, `a list of ${length} values`);
    return Array.from({ length }, () => this.value(inner));
  }
}

function joined(one, other) {
  const found = new Uint8Array(one.length + other.length);
  found.set(one);
  found.set(other, one.length);
  return found;
}

async function* inTurn(parts) {
  yield* parts;
}

/** Bytes that come in parts, an iterator's, taken in their order. A part is not looked at once the next is asked for. */
class Source {
  constructor(parts) {
    Object.assign(this, { parts, left: new Uint8Array(0) });
  }

  async more() {
    const { done, value } = await this.parts.next();
    if (done) throw new Refusal("this GGUF file ends before its tensors do: choose another");
    return value;
  }

  /** Reads the rest, which is not used here, so that whoever gives the parts has checked all of them. */
  async drain() {
    while (!(await this.parts.next()).done);
  }

  /** What `read` returns for the beginning, as soon as enough of it is there; its `end` is how many bytes it used. */
  async begin(read) {
    for (let bytes = await this.more(); ; bytes = joined(bytes.slice(), await this.more())) {
      try {
        const found = read(bytes);
        this.left = bytes.subarray(found.end);
        return found;
      } catch (error) {
        need(!(error instanceof TypeError), "a text in it cannot be read");
        if (!(error instanceof RangeError)) throw error; // it goes on in the next part
      }
    }
  }

  /** The next so many bytes. */
  async take(count) {
    let found = this.left.subarray(0, count);
    if (found.length === count) this.left = this.left.subarray(count);
    while (found.length < count) {
      const missing = count - found.length;
      found = found.slice(); // of a part that is over
      this.left = await this.more();
      found = joined(found, this.left.subarray(0, missing));
      this.left = this.left.subarray(missing);
    }
    return found;
  }
}

/** A GGUF file's beginning: what it says of itself, its tensors without their data, and where that begins. */
function header(bytes) {
  need(String.fromCharCode(...bytes.subarray(0, 4)) === "GGUF", "no GGUF file");
  const reader = new Reader(bytes);
  need([2, 3].includes(reader.number(4)), "its version");
  const [count, told] = [reader.number(10), reader.number(10)];
  need(Math.max(count, told) <= LONGEST_LIST, `${count} tensors, ${told} fields`);
  const fields = named(Array.from({ length: told }, () => [reader.text(), reader.value(reader.number(4))]));
  const tensors = Array.from({ length: count }, () => {
    const [name, dimensions] = [reader.text(), reader.number(4)];
    need(dimensions === 1 || dimensions === 2, `${name} has ${dimensions} dimensions`);
    const [columns, rows = 1] = Array.from({ length: dimensions }, () => reader.number(10));
    const [kind, offset] = [reader.number(4), reader.number(10)];
    need(kind in KINDS, `${name} is stored as type ${kind}`);
    const [weights, size] = KINDS[kind];
    need(rows && columns && columns % weights === 0 && rows * columns < 2 ** 40, `${name}, ${rows} by ${columns}`);
    return { name, kind, rows, columns, offset, bytes: ((rows * columns) / weights) * size };
  });
  const alignment = fields["general.alignment"] ?? 32;
  const power = Math.log2(alignment);
  need(power >= 3 && power < 19 && Number.isInteger(power), `its alignment is ${alignment}`);
  let at = 0;
  for (const { name, offset, bytes: size } of tensors.toSorted((a, b) => a.offset - b.offset)) {
    need(offset >= at && offset % alignment === 0, `${name} begins at ${offset}`);
    at = offset + size;
  }
  const end = count ? Math.ceil(reader.at / alignment) * alignment : reader.at;
  if (end > bytes.length) throw new RangeError("the beginning goes on");
  return { fields, tensors, end };
}

/** A safetensors file's beginning, likewise. */
function safeHeader(bytes) {
  const [view, length] = [new DataView(bytes.buffer, bytes.byteOffset, bytes.length), bytes.length];
  const end = 8 + Number(view.getBigUint64(0, true));
  if (end > length) throw new RangeError("the beginning goes on");
  const told = JSON.parse(utf8.decode(bytes.subarray(8, end)));
  delete told.__metadata__;
  const tensors = Object.entries(told).map(([name, { dtype, shape, data_offsets: place }]) => {
    const [columns, bytes] = [shape.at(-1), place[1] - place[0]];
    return { name, kind: TYPES[dtype], rows: product(shape) / columns, columns, offset: place[0], bytes };
  });
  return { fields: {}, tensors, end };
}

/**
 * {fields, tensors, each}: what the file says of itself, and by name {kind, rows, columns, bytes}. parts: the whole file as
 * Uint8Arrays, one after another. each(use): awaits use(name, tensor, take) for one tensor after another; take(count) gives
 * its next bytes.
 */
async function opened(parts, beginning) {
  const source = new Source(inTurn(parts));
  const { fields, tensors } = await source.begin(beginning);
  const each = async (use) => {
    let at = 0;
    for (const { name, offset, ...tensor } of tensors.toSorted((a, b) => a.offset - b.offset)) {
      await source.take(offset - at);
      await use(name, tensor, (count) => source.take(count));
      at = offset + tensor.bytes;
    }
    await source.drain();
  };
  return { fields, tensors: named(tensors.map(({ name, ...tensor }) => [name, tensor])), each };
}

const readGguf = (parts) => opened(parts, header);
const readSafetensors = (parts) => opened(parts, safeHeader);

/** The numbers of a tensor's bytes: whole ones as an array, others as Float32Array. */
function numbers({ kind }, data) {
  if (kind === TYPES.I64) return Array.from(new BigInt64Array(data.slice().buffer), Number);
  if (kind === F32) return new Float32Array(data.slice().buffer);
  return Float32Array.from(new Uint16Array(data.slice().buffer), (bits) => {
    const [sign, power, rest] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
    return sign * (power ? (1 + rest / 1024) * 2 ** (power - 15) : rest * 2 ** -24);
  });
}

export { need, numbers, readGguf, readSafetensors };
