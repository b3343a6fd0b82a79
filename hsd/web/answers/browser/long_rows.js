// Rows over a vocabulary that stay in the engine's memory: C makes their sums and draws, see
// hsd/engine/rows.h, and JavaScript gets numbers.

/** A row in an engine's memory, which it has until the next step. */
class LongRow extends Float32Array {
  static get [Symbol.species]() {
    return Float32Array; // copies are JavaScript's own
  }

  /**
   * @param {LongRows} engine
   * @param {number} place
   * @param {number} width
   */
  constructor(engine, place, width) {
    super(engine.buffer, place, width);
    this.engine = engine;
  }
}

/**
 * The rows of one engine: their memory, and what C makes of them. Rows of two arguments have one
 * width and lie in the same memory.
 * @implements {RowEngine}
 */
class LongRows {
  width = 0; // of the widest row that there is room for
  places = /** @type {number[]} */ ([]); // of the rows that a step may have
  used = 0; // how many of them this step has

  /** @param {import("./engine.js").Engine} engine */
  constructor(engine) {
    this.engine = engine;
  }

  get buffer() {
    return this.engine.memory.buffer;
  }

  /** Room of C for the numbers that it makes on the way: 8 bytes for each number of a row. */
  get room() {
    return this.engine.powers;
  }

  /**
   * Take memory for the rows of a step, which are so many at most, of this width.
   * @param {number} width
   * @param {number} count
   */
  reserve(width, count) {
    if (width > this.width) this.places = [];
    this.width = Math.max(width, this.width);
    this.engine.widen(this.width);
    const more = count - this.places.length;
    if (more <= 0) return;
    const size = 4 * this.width;
    const begin = this.engine.made("take", this.engine.place, size * more);
    for (let i = 0; i < more; i += 1) this.places.push(begin + size * i);
  }

  /** A step begins: the rows of the last one are forgotten. */
  forget() {
    this.used = 0;
  }

  /**
   * Return a row for this step, with any numbers in it; null where there is no room for one more.
   * @param {number} width
   */
  fresh(width) {
    if (this.used === this.places.length || width > this.width) return null;
    this.used += 1;
    return new LongRow(this, this.places[this.used - 1], width);
  }

  /** @type {RowEngine["sum"]} */
  sum({ byteOffset, length }) {
    return this.engine.calls.total(byteOffset, length);
  }

  /** @type {RowEngine["entropy"]} */
  entropy({ byteOffset, length }) {
    return this.engine.calls.entropy(byteOffset, length);
  }

  /** @type {RowEngine["leftOver"]} */
  leftOver(a, b, p, q) {
    const { calls } = this.engine;
    calls.surplus(p.byteOffset, q.byteOffset, p.length, a, b, this.room);
    return new Float64Array(this.buffer, this.room, 1)[0];
  }

  /** @type {RowEngine["residual"]} */
  residual(p, q, a, b) {
    const row = this.fresh(p.length);
    if (!row) return null;
    this.engine.calls.residual(p.byteOffset, q.byteOffset, p.length, a, b, row.byteOffset);
    return row;
  }

  /** @type {RowEngine["largest"]} */
  largest({ byteOffset, length }, count) {
    const found = this.engine.calls.largest(byteOffset, length, count, this.room);
    return Array.from(new Int32Array(this.buffer, this.room, found));
  }

  /** @type {RowEngine["pick"]} */
  pick({ byteOffset, length }, u) {
    return this.engine.calls.pick(byteOffset, length, u, this.room);
  }

  /** @type {(row: {length: number}, token: number) => WideRow} */
  oneHot({ length }, token) {
    const row = this.zeros(length);
    row[token] = 1;
    return row;
  }

  /** A row of zeros for this step. @param {number} width */
  zeros(width) {
    return this.fresh(width)?.fill(0) ?? new Float32Array(width);
  }

  /**
   * Return a row of this size with the numbers of a row over `tokens` in their places, and 0
   * elsewhere.
   * @type {(row: ArrayLike<number>, tokens: number[], size: number) => WideRow}
   */
  spread(row, tokens, size) {
    const whole = this.zeros(size);
    for (let i = 0; i < row.length; i += 1) {
      whole[tokens[i]] = row[i];
    }
    return whole;
  }
}

export { LongRow, LongRows };
