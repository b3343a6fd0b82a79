/* Inner products for WebAssembly, of 16-bit integers: one instruction multiplies eight.

   Also measured, on x86 without VNNI, by relaxed dot products of bytes. Two halves of 8 bits, which
   give the same sums, took 1.6 times as long for three rows. One half alone, which is another
   model, took .85 to 1 times as long.

   A tile has 8 outputs beside each other. A block's words are 16 vectors of 16 weights: as bytes,
   or as nibbles of words of 16 bits, where vector i of the words has the vectors 4i to 4i + 3 of
   weights. Planes have the further bits of the same weights in the same order. Scales of a block
   are, by kind: 8 of float32 (BITS_8); 8 and as many lows (BITS_4, BITS_5); 8 bytes and as many
   lows (BITS_4K, BITS_5K), or 8 bytes for each half of the block (BITS_6K), with the octet's header
   in float32. */

/* ENTRY: bytes of a block of a row of activations. These are 32 integers, their scale four times,
   and the sum of the activations four times. */
enum { ENTRY = 96 };

/* Where a block has weight k of output o. It has 16 vectors of 16 weights; 8 of these are for
   each group of four outputs: a pair for each of four lanes. Four vectors serve the four pairs of
   eight inputs. The lanes of vectors 0 and 1 meet the pairs of activations in order: lane l the
   pair l. Those of vectors 2 and 3 meet them with their halves swapped. Lane l belongs to output l
   in vectors 0 and 2, and to the next output in 1 and 3. So two arrangements of the activations
   serve four outputs. */
static int place(int o, int k) {
  int pair = k / 2 % 4;
  int odd = (pair - o) & 1;
  int lane = odd ? (o + 3) % 4 : o % 4;
  int vector = k / 8 * 4 + odd + (pair == lane ? 0 : 2);
  return vector * 16 + o / 4 * 8 + lane * 2 + k % 2;
}

/* Where the planes have the lowest of the `many` further bits of the weight at a place: the word of
   16 bits, and the bit. */
static int plane_word(int at, int many) {
  return (many > 1 ? at / 128 * 16 : 0) + at % 16;
}
static int plane_bit(int at, int many) {
  return at / 16 * many % 16;
}

/* Write the bits of a block of output o, which are still zero there. */
INLINE void put_weights(const int kind, Byte *block, int o, const Byte *q) {
  Half *words = (Half *)block;
  Half *planes = words + 64;
  int many = form_of(kind).planes * 8 / BLOCK;
  EACH (k, BLOCK) {
    int at = place(o, k);
    if (kind == BITS_8) {
      block[at] = q[k];
      continue;
    }
    words[at / 64 * 16 + at % 16] |= (Half)((q[k] & 15) << at / 16 % 4 * 4);
    if (many)
      planes[plane_word(at, many)] |= (Half)(q[k] >> 4 << plane_bit(at, many));
  }
}

/* The bits of weight k of output o, those of 8 with their sign. */
static int get_weight(int kind, const Byte *block, int o, int k) {
  const Half *words = (const Half *)block;
  const Half *planes = words + 64;
  int many = form_of(kind).planes * 8 / BLOCK;
  int at = place(o, k);
  if (kind == BITS_8)
    return ((const signed char *)block)[at];
  int low = words[at / 64 * 16 + at % 16] >> at / 16 % 4 * 4 & 15;
  if (!many)
    return low;
  return (planes[plane_word(at, many)] >> plane_bit(at, many) & ((1 << many) - 1)) << 4 | low;
}

/* Write row r of a block of activations, of `rows` rows: integers x, their scale, and the sum of
   the activations. A block has four vectors of integers, each of every row in turn, and then the
   scales and the sums of all rows, each four times. */
static void put_entry(Byte *block, int rows, int r, const short *x, float scale, float sum) {
  V *to = (V *)block;
  EACH (i, 4)
    to[i * rows + r] = ((const V *)x)[i];
  to[4 * rows + r] = scale - (V){};
  to[5 * rows + r] = sum - (V){};
}

/* Keeps the compiler from moving later loads to before this: it would load all of a block first,
   for which there are not enough registers. */
#define HERE(v) __asm__ volatile("" : "+r"(v) : : "memory")

/* Move bits up by as many places as `from` is below 4, or down. */
INLINE v128_t moved(v128_t bits, const int from) {
  return from < 4 ? wasm_i16x8_shl(bits, 4 - from) : wasm_u16x8_shr(bits, from - 4);
}

/* Vector v of the weights of the outputs from o on, of 4, 5 or 6 bits; those of 6 with their sign.
 */
INLINE v128_t narrow(const Half *words, const int kind, const int o, const int v) {
  const int many = form_of(kind).planes * 8 / BLOCK;
  const Half *planes = words + 64 + (many > 1 ? v / 8 * 16 : 0);
  v128_t word = wasm_v128_load(words + v / 4 * 16 + o * 2);
  v128_t q = wasm_u16x8_shr(word, v % 4 * 4);
  if (v % 4 < 3)
    q = wasm_v128_and(q, wasm_i16x8_splat(15));
  if (many) {
    v128_t plane = moved(wasm_v128_load(planes + o * 2), v * many % 16);
    q = wasm_v128_or(q, wasm_v128_and(plane, wasm_i16x8_splat(many > 1 ? 48 : 16)));
  }
  return many > 1 ? wasm_i16x8_sub(q, wasm_i16x8_splat(32)) : q;
}

/* Four bytes as float32, with a sign or without. */
INLINE V of_bytes(const Byte *from) {
  v128_t wide = wasm_u16x8_extend_low_u8x16(wasm_v128_load32_zero(from));
  return (V)wasm_f32x4_convert_i32x4(wasm_u32x4_extend_low_u16x8(wide));
}
INLINE V of_signed(const Byte *from) {
  v128_t wide = wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(from));
  return (V)wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(wide));
}

/* The scales of the outputs from o on, in a part of a block. */
INLINE V scale_of(const int kind, const float *header, const Byte *scales, int o, int part) {
  if (kind == BITS_6K)
    return *(const V *)(header + o) * of_signed(scales + part * WIDE + o);
  if (form_of(kind).header)
    return *(const V *)(header + o) * of_bytes(scales + o);
  return *(const V *)((const float *)scales + o);
}

/* What is added to the outputs' weights from o on, for kinds with a low. */
INLINE V low_of(const int kind, const float *header, const Byte *scales, int o) {
  if (form_of(kind).header)
    return -*(const V *)(header + WIDE + o) * of_bytes(scales + WIDE + o);
  return *(const V *)((const float *)scales + WIDE + o);
}

/* Multiply n rows of activations by eight outputs, whose weights w are of a kind. They are computed
   in groups of four: `wide` groups at a time, as many as there are registers for. `stride`: numbers
   between the rows of `out`. `kind` and n are constants once inlined. */
INLINE void product(const Byte *w, const Byte *a, int blocks, float *out, int stride, int ahead,
                    const int kind, const int n) {
  (void)ahead;
  const int wide = n > 2 ? 1 : 2;
  const int parts = kind == BITS_6K ? 2 : 1;
  const int with_low = kind != BITS_8 && kind != BITS_6K;
  const v128_t zero = wasm_i32x4_splat(0);
  V sums[2][4];
  EACH_UNROLLED (r, n)
    sums[0][r] = sums[1][r] = (V){};
  for (int b = 0; b < blocks; b++, a += n * ENTRY) {
    const float *header = (const float *)(w + octet_at(kind, b));
    const Byte *block = w + block_at(kind, b);
    const Byte *scales = block + WIDE * (form_of(kind).words + form_of(kind).planes);
    UNROLL
    for (int first = 0; first < 2; first += wide)
      EACH_UNROLLED (part, parts) {
        v128_t dots[2][4][2];
        EACH_UNROLLED (g, wide)
          EACH_UNROLLED (r, n)
            dots[g][r][0] = dots[g][r][1] = zero;
        EACH_UNROLLED (k, 4 / parts) {
          const int i = k + part * 2;
          v128_t xs[4];
          EACH_UNROLLED (r, n)
            xs[r] = wasm_v128_load(a + (i * n + r) * 16);
          EACH_UNROLLED (j, 4) {
            if (j == 2)
              EACH_UNROLLED (r, n)
                xs[r] = wasm_i32x4_shuffle(xs[r], xs[r], 2, 3, 0, 1);
            EACH_UNROLLED (g, wide) {
              const int o = 4 * (first + g);
              v128_t q = kind == BITS_8 ? wasm_i16x8_load8x8(block + (i * 4 + j) * 16 + o * 2)
                                        : narrow((const Half *)block, kind, o, i * 4 + j);
              EACH_UNROLLED (r, n) {
                v128_t *to = &dots[g][r][j % 2];
                *to = wasm_i32x4_add(*to, wasm_i32x4_dot_i16x8(q, xs[r]));
                HERE(*to);
              }
            }
          }
        }
        EACH_UNROLLED (r, n) {
          V scale = *((const V *)a + n * 4 + r);
          V sum = *((const V *)a + n * 5 + r);
          EACH_UNROLLED (g, wide) {
            const int o = 4 * (first + g);
            V *to = &sums[first + g][r];
            v128_t odd = dots[g][r][1];
            v128_t next = wasm_i32x4_shuffle(odd, odd, 3, 0, 1, 2);
            V whole = (V)wasm_f32x4_convert_i32x4(wasm_i32x4_add(dots[g][r][0], next));
            *to = *to + whole * scale * scale_of(kind, header, scales, o, part);
            if (with_low)
              *to = *to + low_of(kind, header, scales, o) * sum;
          }
        }
      }
  }
  EACH_UNROLLED (r, n) {
    *(V *)(out + r * stride) = sums[0][r];
    *(V *)(out + r * stride + 4) = sums[1][r];
  }
}
