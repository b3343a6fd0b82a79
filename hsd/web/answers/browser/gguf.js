// The two files of the pair as they lie on a disk: a GGUF file, and a head's safetensors. Only what the engine packs.
import { Refusal } from "../refusal.js";

const KINDS = { 0: [1, 4], 1: [1, 2], 3: [32, 20], 8: [32, 34] }; // weights and bytes of a block, by GGUF's type
const ALIGNMENT = 32;
const [TEXT, LIST, F32, F16] = [8, 9, 0, 1];
const NUMBERS = {
  0: ["getUint8", 1],
  1: ["getInt8", 1],
  2: ["getUint16", 2],
  3: ["getInt16", 2],
  4: ["getUint32", 4],
  5: ["getInt32", 4],
  6: ["getFloat32", 4],
  7: ["getUint8", 1],
  10: ["getBigUint64", 8],
  11: ["getBigInt64", 8],
  12: ["getFloat64", 8],
};
const utf8 = new TextDecoder("utf-8");

class Reader {
  constructor(bytes) {
    Object.assign(this, { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), at: 4 });
  }

  number(kind) {
    const [get, size] = NUMBERS[kind];
    const value = this.view[get](this.at, true);
    this.at += size;
    return typeof value === "bigint" ? Number(value) : value;
  }

  text() {
    const length = this.number(10);
    this.at += length;
    return utf8.decode(this.bytes.subarray(this.at - length, this.at));
  }

  value(kind) {
    if (kind === TEXT) return this.text();
    if (kind !== LIST) return this.number(kind);
    const [inner, length] = [this.number(4), this.number(10)];
    return Array.from({ length }, () => this.value(inner));
  }
}

/** {fields, tensors}: what the file says of itself, and by name {kind, rows, columns, data}, views of `bytes`. */
function readGguf(bytes) {
  const reader = new Reader(bytes);
  if (utf8.decode(bytes.subarray(0, 4)) !== "GGUF") throw new Refusal("this is no GGUF file: choose another");
  reader.number(4); // its version
  const [count, told] = [reader.number(10), reader.number(10)];
  const fields = Object.fromEntries(
    Array.from({ length: told }, () => [reader.text(), reader.value(reader.number(4))]),
  );
  const places = Array.from({ length: count }, () => {
    const [name, dimensions] = [reader.text(), reader.number(4)];
    const sizes = Array.from({ length: dimensions }, () => reader.number(10));
    return { name, sizes, kind: reader.number(4), offset: reader.number(10) };
  });
  const alignment = fields["general.alignment"] ?? ALIGNMENT;
  const begin = Math.ceil(reader.at / alignment) * alignment;
  const tensor = ({ name, sizes: [columns, ...more], kind, offset }) => {
    const [weights, size] = KINDS[kind];
    const rows = more.reduce((product, x) => product * x, 1);
    const data = bytes.subarray(begin + offset, begin + offset + ((rows * columns) / weights) * size);
    return [name, { kind, rows, columns, data }];
  };
  return { fields, tensors: Object.fromEntries(places.map(tensor)) };
}

/** The tensors of a safetensors file, in the same form; of whole numbers their values as `numbers`. */
function readSafetensors(bytes) {
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const head = JSON.parse(utf8.decode(bytes.subarray(8, 8 + length)));
  delete head.__metadata__;
  const tensor = ([name, { dtype, shape, data_offsets: ends }]) => {
    const data = bytes.subarray(...ends.map((end) => 8 + length + end));
    const columns = shape.at(-1);
    const rows = shape.reduce((product, x) => product * x, 1) / columns;
    if (dtype === "I64") return [name, { numbers: Array.from(new BigInt64Array(data.slice().buffer), Number) }];
    return [name, { kind: dtype === "F16" ? F16 : F32, rows, columns, data }];
  };
  return Object.fromEntries(Object.entries(head).map(tensor));
}

/** A tensor's numbers as Float32Array. */
function floats({ kind, data }) {
  if (kind === F32) return new Float32Array(data.slice().buffer);
  return Float32Array.from(new Uint16Array(data.slice().buffer), (bits) => {
    const [sign, power, rest] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
    return sign * (power ? (1 + rest / 1024) * 2 ** (power - 15) : rest * 2 ** -24);
  });
}

export { floats, readGguf, readSafetensors };
