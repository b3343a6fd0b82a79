// One seed, three streams of random numbers, number by number those of hsd/rng.py: Mersenne
// Twisters as torch has them, whose seeds come from the run's by BLAKE2b.
import { generator } from "./twister.js";

// BLAKE2b: the words that it begins with, and in which order each round mixes those of the text.
const START = `6a09e667f3bcc908 bb67ae8584caa73b 3c6ef372fe94f82b a54ff53a5f1d36f1
  510e527fade682d1 9b05688c2b3e6c1f 1f83d9abfb41bd6b 5be0cd19137e2179`
  .split(/\s+/)
  .map((word) => BigInt(`0x${word}`));
const ORDERS = `0123456789abcdef ea489fd61c02b753 b8c052fdae367194 7931dcbe265a40f8 905724afe1bc683d
  2c6a0b834d75fe19 c51fed4a0763928b db7ec13950f4862a 6fe9b308c2d714a5 a2847615fb9e3cd0`.split(
  /\s+/,
);
// The places that are mixed together: the columns of a square of 4 by 4, then its diagonals.
const COLUMNS = [0, 1, 2, 3];
const MIXED = [0, 1].flatMap((shift) =>
  COLUMNS.map((column) => COLUMNS.map((row) => 4 * row + ((column + row * shift) % 4))),
);
/**
 * A word of 64 bits, turned to the right; an array of words drops what lies above.
 * @type {(x: bigint, by: bigint) => bigint}
 */
const turned = (x, by) => (x >> by) | (x << (64n - by));

/**
 * The first 8 bytes of the BLAKE2b hash of at most 128 bytes, as a big-endian number.
 * @param {Uint8Array} bytes
 */
function digest(bytes) {
  const text = new BigUint64Array(16);
  new Uint8Array(text.buffer).set(bytes);
  const first = START[0] ^ 0x01010008n; // 8 bytes, no key
  const v = BigUint64Array.of(first, ...START.slice(1), ...START);
  v[12] ^= BigInt(bytes.length);
  v[14] = ~v[14]; // the last block
  /** @type {(places: number[], digit: string, ...by: bigint[]) => void} */
  const mix = ([a, b, c, d], digit, ...by) => {
    v[a] += v[b] + text[Number.parseInt(digit, 16)];
    v[d] = turned(v[d] ^ v[a], by[0]);
    v[c] += v[d];
    v[b] = turned(v[b] ^ v[c], by[1]);
  };
  for (const order of [...ORDERS, ...ORDERS.slice(0, 2)]) {
    MIXED.forEach((places, i) => {
      mix(places, order[2 * i], 32n, 24n);
      mix(places, order[2 * i + 1], 16n, 63n);
    });
  }
  text[0] = first ^ v[0] ^ v[8];
  return new DataView(text.buffer).getBigUint64(0);
}

/**
 * Return a function that gives the next number of the stream of this name.
 * @type {(seed: number | string, name: string) => () => number}
 */
function stream(seed, name) {
  const bytes = new TextEncoder().encode(`${BigInt(seed)}/${name}`);
  return generator(Number((digest(bytes) >> 1n) & 0xffffffffn));
}

/**
 * Return the random numbers of a run: draft, coins and after, functions that give so many further
 * numbers; and times(begin, count, vocab), a time for every token at each place of the text from
 * `begin` on.
 * @param {number | string} seed - any whole number, or its digits
 */
function streams(seed) {
  const numbersOf = (/** @type {string} */ name) => {
    const next = stream(seed, name);
    return (/** @type {number} */ count) => Array.from({ length: count }, next);
  };
  // by place: of the last call, as the next one begins at places that it had
  /** @type {Map<number, Float64Array>} */
  let known = new Map();
  const timesAt = (/** @type {number} */ place, /** @type {number} */ vocab) => {
    const next = stream(seed, `race/${place}`);
    return Float64Array.from({ length: vocab }, () => -Math.log1p(-next()));
  };
  /** @type {(begin: number, count: number, vocab: number) => Row[]} */
  const times = (begin, count, vocab) => {
    const now = new Map();
    for (let place = begin; place < begin + count; place += 1) {
      now.set(place, known.get(place) ?? timesAt(place, vocab));
    }
    known = now;
    return [...known.values()];
  };
  return {
    draft: numbersOf("draft"),
    coins: numbersOf("coin"),
    after: numbersOf("residual"),
    times,
  };
}

export { streams };
