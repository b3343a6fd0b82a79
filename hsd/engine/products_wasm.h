/* Products for WebAssembly, of 16-bit integers: eight at a time by one instruction. Tried beside it, on x86 without VNNI:
   two halves of 8 bits by relaxed dot products, the same sums, took 1.6 times as long for three rows; one half alone, which
   is another model, .85 to 1. */

/* 8 outputs by 32 weights of 4 or 8 bits: scales, minima, and vectors of a pair of weights for each of four outputs:
   which pair of which output is told by `place`. The nibbles j of vector i of 4 bits are the vector 4i + j of 8 bits. */
enum { WIDE = 8, ENTRY = 96 };
typedef struct { float scale[8], low[8]; Half words[4 * 2 * 8]; } Tile4;
typedef struct { float scale[8]; signed char words[16 * 2 * 8]; } Tile8;

/* Where a block has weight k of output o: in the words of 8 bits, 16 for each vector, 8 for each group. Lane l of a vector
   meets the pair l of the activations in vectors 0 and 1 of four, and the pair across from it in 2 and 3; it is of output
   l in 0 and 2, and of the next one in 1 and 3. So two arrangements of the activations serve four outputs. */
static int place(int o, int k) {
  int pair = k / 2 % 4, odd = (pair - o) & 1, lane = odd ? (o + 3) % 4 : o % 4;
  return (k / 8 * 4 + odd + (pair == lane ? 0 : 2)) * 16 + o / 4 * 8 + lane * 2 + k % 2;
}

static void put8(Tile8 *to, int o, const signed char *q, float scale) {
  to->scale[o] = scale;
  EACH(k, BLOCK) to->words[place(o, k)] = q[k];
}
static int get8(const Tile8 *from, int o, int k) { return from->words[place(o, k)]; }
static void put4(Tile4 *to, int o, const Byte *q, Half scale, Half low) {
  to->scale[o] = half(scale), to->low[o] = half(low);
  EACH(k, BLOCK) {
    int at = place(o, k);
    to->words[at / 64 * 16 + at % 16] |= (Half)(q[k] << at / 16 % 4 * 4);
  }
}

/* For each block: the integers of its 16 pairs, a vector for each row that has the pair four times, then the rows' scales,
   and scale times sum, four times each. */
static void put_entry(Byte *block, int rows, int r, const short *x, float scale, float sum) {
  V *to = (V *)block;
  EACH(i, 4) to[i * rows + r] = ((const V *)x)[i];
  to[4 * rows + r] = scale - (V){}, to[5 * rows + r] = sum - (V){};
}

/* Keeps the compiler from moving what comes later to before this: it would load all of a block first, for which there
   are not registers enough. */
#define HERE(v) __asm__ volatile("" : "+r"(v) : : "memory")

/* n rows of activations by eight outputs, `wide` groups of four at a time, as many as there are registers for. `four`
   and n are constants once inlined. */
INLINE void product(const void *w, const Byte *a, int blocks, float *out, int stride, int ahead, const int four, const int n) {
  (void)ahead;
  const int wide = n > 2 ? 1 : 2;
  const v128_t nibble = wasm_i16x8_splat(15), zero = wasm_i32x4_splat(0);
  V sums[2][4];
  UNROLL EACH(r, n) sums[0][r] = sums[1][r] = (V){};
  for (int b = 0; b < blocks; b++, a += n * ENTRY) {
    const Tile4 *w4 = (const Tile4 *)w + b;
    const Tile8 *w8 = (const Tile8 *)w + b;
    UNROLL for (int first = 0; first < 2; first += wide) {
      v128_t dots[2][4][2];
      UNROLL EACH(g, wide) UNROLL EACH(r, n) dots[g][r][0] = dots[g][r][1] = zero;
      UNROLL EACH(i, 4) {
        v128_t words[2], xs[4];
        UNROLL EACH(r, n) xs[r] = wasm_v128_load(a + (i * n + r) * 16);
        if (four) UNROLL EACH(g, wide) words[g] = wasm_v128_load(w4->words + (i * 2 + first + g) * 8);
        UNROLL EACH(j, 4) {
          if (j == 2) UNROLL EACH(r, n) xs[r] = wasm_i32x4_shuffle(xs[r], xs[r], 2, 3, 0, 1);
          UNROLL EACH(g, wide) {
            v128_t q = !four   ? wasm_i16x8_load8x8(w8->words + (i * 8 + j * 2 + first + g) * 8)
                       : j < 3 ? wasm_v128_and(wasm_u16x8_shr(words[g], j * 4), nibble)
                               : wasm_u16x8_shr(words[g], 12);
            UNROLL EACH(r, n) {
              dots[g][r][j % 2] = wasm_i32x4_add(dots[g][r][j % 2], wasm_i32x4_dot_i16x8(q, xs[r]));
              HERE(dots[g][r][j % 2]);
            }
          }
        }
      }
      UNROLL EACH(r, n) {
        V scale = *((const V *)a + n * 4 + r), sum = *((const V *)a + n * 5 + r);
        UNROLL EACH(g, wide) {
          V *to = &sums[first + g][r];
          v128_t next = wasm_i32x4_shuffle(dots[g][r][1], dots[g][r][1], 3, 0, 1, 2);
          V whole = (V)wasm_f32x4_convert_i32x4(wasm_i32x4_add(dots[g][r][0], next));
          *to = *to + whole * scale * *(const V *)((four ? w4->scale : w8->scale) + 4 * (first + g));
          if (four) *to = *to + *(const V *)(w4->low + 4 * (first + g)) * sum;
        }
      }
    }
  }
  UNROLL EACH(r, n) *(V *)(out + r * stride) = sums[0][r], *(V *)(out + r * stride + 4) = sums[1][r];
}
