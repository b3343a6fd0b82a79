/* Inner products for WebAssembly, of 16-bit integers: one instruction multiplies eight.

   Also measured, on x86 without VNNI, by relaxed dot products of bytes. Two halves of 8 bits, which
   give the same sums, took 1.6 times as long for three rows. One half alone, which is another
   model, took .85 to 1 times as long. */

/* ENTRY: bytes of a block of a row of activations. These are 32 integers, their scale four times,
   and the sum of the activations four times. */
enum { WIDE = 8, ENTRY = 96 };

/* 8 outputs by a block of weights of 4 bits: a weight is scale * bits + low. Vector i of `words`
   has four nibbles in each word: nibbles j of all its words are the vector 4i + j of a Tile8. */
typedef struct {
  float scale[8];
  float low[8];
  Half words[4 * 2 * 8];
} Tile4;

/* 8 outputs by a block of weights of 8 bits: a weight is scale * bits. A vector has one pair of
   weights for each of four outputs: `place` says which. */
typedef struct {
  float scale[8];
  signed char words[16 * 2 * 8];
} Tile8;

/* Where a Tile8 has weight k of output o. A block has 16 vectors of 16 weights; 8 of these are for
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

/* Write a block of output o of a tile, whose words are still zero there. */
static void put8(Tile8 *to, int o, const signed char *q, float scale) {
  to->scale[o] = scale;
  EACH (k, BLOCK)
    to->words[place(o, k)] = q[k];
}
static void put4(Tile4 *to, int o, const Byte *q, Half scale, Half low) {
  to->scale[o] = half(scale);
  to->low[o] = half(low);
  EACH (k, BLOCK) {
    int at = place(o, k);
    int word = at / 64 * 16 + at % 16;
    to->words[word] |= (Half)(q[k] << at / 16 % 4 * 4);
  }
}

/* Weight k of output o. */
static int get8(const Tile8 *from, int o, int k) {
  return from->words[place(o, k)];
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

/* Multiply n rows of activations by eight outputs, of weights w of 4 bits if `four`, else of 8.
   They are computed in groups of four: `wide` groups at a time, as many as there are registers for.
   `stride`: numbers between the rows of `out`. `four` and n are constants once inlined. */
INLINE void product(const void *w, const Byte *a, int blocks, float *out, int stride, int ahead,
                    const int four, const int n) {
  (void)ahead;
  const int wide = n > 2 ? 1 : 2;
  const v128_t nibble = wasm_i16x8_splat(15);
  const v128_t zero = wasm_i32x4_splat(0);
  V sums[2][4];
  EACH_UNROLLED (r, n)
    sums[0][r] = sums[1][r] = (V){};
  for (int b = 0; b < blocks; b++, a += n * ENTRY) {
    const Tile4 *w4 = (const Tile4 *)w + b;
    const Tile8 *w8 = (const Tile8 *)w + b;
    UNROLL
    for (int first = 0; first < 2; first += wide) {
      v128_t dots[2][4][2];
      EACH_UNROLLED (g, wide)
        EACH_UNROLLED (r, n)
          dots[g][r][0] = dots[g][r][1] = zero;
      EACH_UNROLLED (i, 4) {
        v128_t words[2];
        v128_t xs[4];
        EACH_UNROLLED (r, n)
          xs[r] = wasm_v128_load(a + (i * n + r) * 16);
        if (four)
          EACH_UNROLLED (g, wide)
            words[g] = wasm_v128_load(w4->words + (i * 2 + first + g) * 8);
        EACH_UNROLLED (j, 4) {
          if (j == 2)
            EACH_UNROLLED (r, n)
              xs[r] = wasm_i32x4_shuffle(xs[r], xs[r], 2, 3, 0, 1);
          EACH_UNROLLED (g, wide) {
            v128_t q;
            if (!four)
              q = wasm_i16x8_load8x8(w8->words + (i * 8 + j * 2 + first + g) * 8);
            else if (j < 3)
              q = wasm_v128_and(wasm_u16x8_shr(words[g], j * 4), nibble);
            else
              q = wasm_u16x8_shr(words[g], 12);
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
          int o = 4 * (first + g);
          V *to = &sums[first + g][r];
          v128_t odd = dots[g][r][1];
          v128_t next = wasm_i32x4_shuffle(odd, odd, 3, 0, 1, 2);
          V whole = (V)wasm_f32x4_convert_i32x4(wasm_i32x4_add(dots[g][r][0], next));
          const float *scales = four ? w4->scale : w8->scale;
          *to = *to + whole * scale * *(const V *)(scales + o);
          if (four)
            *to = *to + *(const V *)(w4->low + o) * sum;
        }
      }
    }
  }
  EACH_UNROLLED (r, n) {
    *(V *)(out + r * stride) = sums[0][r];
    *(V *)(out + r * stride + 4) = sums[1][r];
  }
}
