/* Inner products for x86 with AVX-512 and VNNI, for x86 with AVX2, and for ARM with its dot product
   of bytes.

   A tile has 32 outputs beside each other. Each of its words of 32 bits has a few weights of one
   output. Machines that multiply bytes (BYTES) split an activation of 16 bits into an upper byte
   with a sign and a lower byte without, and sum the products of each apart. AVX2 has no exact
   product of bytes: it multiplies pairs of 16 bits. */

enum { WIDE = 32 };
enum { GROUPS = WIDE / LANES };
typedef unsigned WU __attribute__((vector_size(4 * LANES)));
typedef short WS __attribute__((vector_size(4 * LANES)));
typedef _Float16 WH __attribute__((vector_size(2 * LANES), aligned(2)));
typedef short Shorts __attribute__((vector_size(2 * BLOCK), aligned(2)));
typedef signed char Chars __attribute__((vector_size(BLOCK), aligned(1)));
typedef int Ints __attribute__((vector_size(4 * BLOCK)));

/* 32 outputs by a block of weights of 4 bits: a weight is scale * bits + low. */
typedef struct {
  unsigned words[BLOCK / 8][WIDE];
  Half scale[WIDE];
  Half low[WIDE];
} Tile4;

/* 32 outputs by a block of weights of 8 bits with a sign: a weight is scale * bits. */
typedef struct {
  unsigned words[BLOCK / 4][WIDE];
  float scale[WIDE];
} Tile8;

/* A block of a row of activations: 16-bit integers, whole or in upper and lower bytes. An
   activation is scale * integer; `sum` is that of the block's activations. correction: where an
   integer product of 8-bit weights begins, so that HIGH_BIAS falls out. */
typedef struct {
  union {
    short whole[BLOCK];
    struct {
      signed char high[BLOCK];
      signed char low[BLOCK];
    };
  };
  float scale;
  float sum;
  int correction;
  int unused;
} Entry;
enum { ENTRY = sizeof(Entry) };

/* What differs between these processors:
   TOGETHER: groups of outputs that are computed at once, as many as there are registers for.
   LOW_BIAS: what a lower byte is reduced by, so that it has a sign. HIGH_BIAS: what a weight of 8
   bits is increased by, so that it has none.
   with_sign, without_sign: four weights of each output, from a word with weights of 8 bits, or the
   first or second four from one with weights of 4 bits.
   dot: adds the products of four weights of each output with the activations from 4i on. */
typedef struct {
  WI a;
  WI b;
} Weights;
typedef struct {
  WI high;
  WI low;
} Dots;

/* The word of 32 bits at p, once for every output. */
INLINE WI four_of(const void *p) {
  return *(const int *)p - (WI){};
}

#ifdef __AVX2__
#include <cpuid.h>
#include <immintrin.h>
/* How many tiles ahead of the one in use memory is fetched: Intel's own prefetch stops at the end
   of every page. 0 on other processors, where more has not been tried. */
static int tiles_ahead(void) {
  unsigned most, b, c, d;
  __cpuid(0, most, b, c, d);
  return b == signature_INTEL_ebx ? 5 : 0;
}
#endif
#if defined __AVX512F__
enum { TOGETHER = 2, BYTES = 1, LOW_BIAS = 0, HIGH_BIAS = 128 };
INLINE Weights with_sign(WI words) {
  return (Weights){words ^ (int)0x80808080, words};
}
INLINE void dot(Dots *d, Weights w, const Entry *x, int i) {
  __m512i high = (__m512i)four_of(x->high + 4 * i);
  d->high = (WI)_mm512_dpbusd_epi32((__m512i)d->high, (__m512i)w.a, high);
  __m512i low = (__m512i)four_of(x->low + 4 * i);
  d->low = (WI)_mm512_dpbusd_epi32((__m512i)d->low, low, (__m512i)w.b);
}
#elif defined __AVX2__
enum { TOGETHER = 1, BYTES = 0, LOW_BIAS = 0, HIGH_BIAS = 0 };
INLINE Weights with_sign(WI words) {
  WI a = (WI)((WS)words << 8 >> 8);
  WI b = (WI)((WS)words >> 8);
  return (Weights){a, b};
}
INLINE void dot(Dots *d, Weights w, const Entry *x, int i) {
  const short *whole = x->whole + 4 * i;
  d->low += (WI)_mm256_madd_epi16((__m256i)w.a, (__m256i)four_of(whole));
  d->low += (WI)_mm256_madd_epi16((__m256i)w.b, (__m256i)four_of(whole + 2));
}
#else
#include <arm_neon.h>
static int tiles_ahead(void) {
  return 0;
}
enum { TOGETHER = 2, BYTES = 1, LOW_BIAS = 128, HIGH_BIAS = 0 };
INLINE Weights with_sign(WI words) {
  return (Weights){words, words};
}
INLINE void dot(Dots *d, Weights w, const Entry *x, int i) {
  int8x16_t high = (int8x16_t)four_of(x->high + 4 * i);
  d->high = (WI)vdotq_s32((int32x4_t)d->high, (int8x16_t)w.a, high);
  int8x16_t low = (int8x16_t)four_of(x->low + 4 * i);
  d->low = (WI)vdotq_s32((int32x4_t)d->low, (int8x16_t)w.a, low);
}
#endif

INLINE Weights without_sign(WU words, int second) {
  if (BYTES) {
    WI q = (WI)(words >> (second ? 4 : 0) & 0x0f0f0f0f);
    return (Weights){q, q};
  }
  WI a = (WI)(words >> (second ? 8 : 0) & 0x000f000f);
  WI b = (WI)(words >> (second ? 12 : 4) & 0x000f000f);
  return (Weights){a, b};
}

/* The lowest bit of the block's weight k in its word, for weights of 8 and of 4 bits. */
static int shift8(int k) {
  return BYTES ? k % 4 * 8 : k % 2 * 16 + k / 2 % 2 * 8;
}
static int shift4(int k) {
  return BYTES ? k % 4 * 8 + k / 4 % 2 * 4 : k % 2 * 16 + k / 2 % 4 * 4;
}

/* Write a block of output o of a tile, whose words are still zero there. */
static void put8(Tile8 *to, int o, const signed char *q, float scale) {
  to->scale[o] = scale;
  EACH (k, BLOCK)
    to->words[k / 4][o] |= (unsigned)(Byte)q[k] << shift8(k);
}
static void put4(Tile4 *to, int o, const Byte *q, Half scale, Half low) {
  to->scale[o] = scale;
  to->low[o] = low;
  EACH (k, BLOCK)
    to->words[k / 8][o] |= (unsigned)q[k] << shift4(k);
}

/* Weight k of output o. */
static int get8(const Tile8 *from, int o, int k) {
  return (signed char)(from->words[k / 4][o] >> shift8(k));
}

/* Write row r of a block of activations, of `rows` rows: integers x, their scale, and the sum of
   the activations. */
static void put_entry(Byte *block, int rows, int r, const short *x, float scale, float sum) {
  (void)rows;
  Entry *to = (Entry *)block + r;
  Shorts whole = *(const Shorts *)x;
  to->scale = scale;
  to->sum = sum;
  if (BYTES) {
    Chars high = __builtin_convertvector(whole >> 8, Chars);
    *(Chars *)to->high = high;
    *(Chars *)to->low = __builtin_convertvector((whole & 255) - LOW_BIAS, Chars);
    to->correction = -HIGH_BIAS * __builtin_reduce_add(__builtin_convertvector(high, Ints));
  } else {
    *(Shorts *)to->whole = whole;
    to->correction = 0;
  }
}

/* Fetch an eighth of the cache lines of so many bytes, those from line i on. */
INLINE void fetch(const void *from, int bytes, int i) {
  UNROLL
  for (int at = 64 * i; at < bytes; at += 64 * BLOCK / 4)
    __builtin_prefetch((const Byte *)from + at, 0, 2);
}

/* Multiply n rows of activations by 32 outputs, of weights w of 4 bits if `four`, else of 8. The
   tile that lies `ahead` tiles further on is fetched meanwhile. `stride`: numbers between the rows
   of `out`. `four` and n are constants once inlined. */
INLINE void product(const void *w, const Byte *activations, int blocks, float *out, int stride,
                    int ahead, const int four, const int n) {
  const Entry *x = (const Entry *)activations;
  const Entry ones = {
      .high = {[0 ... BLOCK - 1] = 1},
      .low = {[0 ... BLOCK - 1] = 1},
  };
  W sums[GROUPS][MOST];
  EACH_UNROLLED (g, GROUPS)
    EACH_UNROLLED (r, n)
      sums[g][r] = (W){};
  for (int b = 0; b < blocks; b++, x += n) {
    const Tile4 *t4 = (const Tile4 *)w + b;
    const Tile8 *t8 = (const Tile8 *)w + b;
    UNROLL
    for (int first = 0; first < GROUPS; first += TOGETHER) {
      Dots dots[TOGETHER][MOST];
      Dots all[TOGETHER]; /* sums of the weights alone, to make up for LOW_BIAS */
      EACH_UNROLLED (g, TOGETHER)
        all[g] = (Dots){};
      EACH_UNROLLED (g, TOGETHER)
        EACH_UNROLLED (r, n) {
          WI high = four ? (WI){} : x[r].correction - (WI){};
          dots[g][r] = (Dots){high, (WI){}};
        }
      EACH_UNROLLED (i, BLOCK / 4) {
        Weights q[TOGETHER];
        if (!first) {
          const void *next = four ? (const void *)(t4 + ahead) : t8 + ahead;
          fetch(next, four ? sizeof *t4 : sizeof *t8, i);
        }
        EACH_UNROLLED (g, TOGETHER) {
          int o = (first + g) * LANES;
          q[g] = four ? without_sign(*(const WU *)(t4->words[i / 2] + o), i % 2)
                      : with_sign(*(const WI *)(t8->words[i] + o));
          if (LOW_BIAS)
            dot(&all[g], q[g], &ones, i);
        }
        EACH_UNROLLED (r, n)
          EACH_UNROLLED (g, TOGETHER)
            dot(&dots[g][r], q[g], x + r, i);
      }
      EACH_UNROLLED (g, TOGETHER) {
        int o = (first + g) * LANES;
        W scale = four ? __builtin_convertvector(*(const WH *)(t4->scale + o), W)
                       : *(const W *)(t8->scale + o);
        W low = four ? __builtin_convertvector(*(const WH *)(t4->low + o), W) : scale;
        EACH_UNROLLED (r, n) {
          Dots d = dots[g][r];
          WI whole = BYTES ? (d.high << 8) + d.low + all[g].low * LOW_BIAS : d.low;
          W *to = &sums[first + g][r];
          *to = *to + __builtin_convertvector(whole, W) * (x[r].scale - (W){}) * scale;
          if (four)
            *to = *to + low * (x[r].sum - (W){});
        }
      }
    }
  }
  EACH_UNROLLED (r, n)
    EACH_UNROLLED (g, GROUPS)
      *(W *)(out + r * stride + g * LANES) = sums[g][r];
}
