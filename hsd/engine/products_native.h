/* Products for x86 with AVX-512 and VNNI, for x86 with AVX2, and for ARM with its dot product of bytes. 32 outputs lie
   beside each other, and a word of 32 bits has a few weights of each. With bytes, an activation is an upper one with a
   sign and a lower one without, each with products of its own; AVX2 has no exact product of bytes, and takes pairs of 16
   bits. */

enum { WIDE = 32, GROUPS = WIDE / LANES };
typedef unsigned WU __attribute__((vector_size(4 * LANES)));
typedef short WS __attribute__((vector_size(4 * LANES)));
typedef _Float16 WH __attribute__((vector_size(2 * LANES), aligned(2)));
typedef short Shorts __attribute__((vector_size(2 * BLOCK), aligned(2)));
typedef signed char Chars __attribute__((vector_size(BLOCK), aligned(1)));
typedef int Ints __attribute__((vector_size(4 * BLOCK)));
typedef struct { unsigned words[BLOCK / 8][WIDE]; Half scale[WIDE], low[WIDE]; } Tile4;
typedef struct { unsigned words[BLOCK / 4][WIDE]; float scale[WIDE]; } Tile8;
typedef struct { /* a row's block. correction: of the sums of upper bytes with weights of 8 bits */
  union { short whole[BLOCK]; struct { signed char high[BLOCK], low[BLOCK]; }; };
  float scale, sum;
  int correction, unused;
} Entry;
enum { ENTRY = sizeof(Entry) };

/* What differs: how many groups there are registers for; how a weight lies in a word; what takes four weights of
   every output from a word (with eight of 4 bits, the first or the second four); and `dot`, which adds their products with
   the activations from 4i on. LOW_BIAS is taken from a lower byte, so that it has a sign. */
typedef struct { WI a, b; } Weights;
typedef struct { WI high, low; } Dots;
INLINE WI four_of(const void *p) { return *(const int *)p - (WI){}; }

#ifdef __AVX2__
#include <cpuid.h>
#include <immintrin.h>
/* How many tiles ahead of the one in use memory is asked for, as Intel's own prefetch stops at every page; 0 elsewhere,
   where more has not been tried. */
static int tiles_ahead(void) {
  unsigned most, b, c, d;
  __cpuid(0, most, b, c, d);
  return b == signature_INTEL_ebx ? 5 : 0;
}
#endif
#if defined __AVX512F__
enum { TOGETHER = 2, BYTES = 1, LOW_BIAS = 0, HIGH_BIAS = 128 };
INLINE Weights with_sign(WI words) { return (Weights){words ^ (int)0x80808080, words}; }
INLINE void dot(Dots *d, Weights w, const Entry *x, int i) {
  d->high = (WI)_mm512_dpbusd_epi32((__m512i)d->high, (__m512i)w.a, (__m512i)four_of(x->high + 4 * i));
  d->low = (WI)_mm512_dpbusd_epi32((__m512i)d->low, (__m512i)four_of(x->low + 4 * i), (__m512i)w.b);
}
#elif defined __AVX2__
enum { TOGETHER = 1, BYTES = 0, LOW_BIAS = 0, HIGH_BIAS = 0 };
INLINE Weights with_sign(WI words) { return (Weights){(WI)((WS)words << 8 >> 8), (WI)((WS)words >> 8)}; }
INLINE void dot(Dots *d, Weights w, const Entry *x, int i) {
  d->low += (WI)_mm256_madd_epi16((__m256i)w.a, (__m256i)four_of(x->whole + 4 * i));
  d->low += (WI)_mm256_madd_epi16((__m256i)w.b, (__m256i)four_of(x->whole + 4 * i + 2));
}
#else
#include <arm_neon.h>
static int tiles_ahead(void) { return 0; }
enum { TOGETHER = 2, BYTES = 1, LOW_BIAS = 128, HIGH_BIAS = 0 };
INLINE Weights with_sign(WI words) { return (Weights){words, words}; }
INLINE void dot(Dots *d, Weights w, const Entry *x, int i) {
  d->high = (WI)vdotq_s32((int32x4_t)d->high, (int8x16_t)w.a, (int8x16_t)four_of(x->high + 4 * i));
  d->low = (WI)vdotq_s32((int32x4_t)d->low, (int8x16_t)w.a, (int8x16_t)four_of(x->low + 4 * i));
}
#endif

INLINE Weights without_sign(WU words, int second) {
  if (BYTES) {
    WI q = (WI)(words >> (second ? 4 : 0) & 0x0f0f0f0f);
    return (Weights){q, q};
  }
  return (Weights){(WI)(words >> (second ? 8 : 0) & 0x000f000f), (WI)(words >> (second ? 12 : 4) & 0x000f000f)};
}
static int shift8(int k) { return BYTES ? k % 4 * 8 : k % 2 * 16 + k / 2 % 2 * 8; }
static int shift4(int k) { return BYTES ? k % 4 * 8 + k / 4 % 2 * 4 : k % 2 * 16 + k / 2 % 4 * 4; }

static void put8(Tile8 *to, int o, const signed char *q, float scale) {
  to->scale[o] = scale;
  EACH(k, BLOCK) to->words[k / 4][o] |= (unsigned)(Byte)q[k] << shift8(k);
}
static int get8(const Tile8 *from, int o, int k) { return (signed char)(from->words[k / 4][o] >> shift8(k)); }
static void put4(Tile4 *to, int o, const Byte *q, Half scale, Half low) {
  to->scale[o] = scale, to->low[o] = low;
  EACH(k, BLOCK) to->words[k / 8][o] |= (unsigned)q[k] << shift4(k);
}

static void put_entry(Byte *block, int rows, int r, const short *x, float scale, float sum) {
  Entry *to = (Entry *)block + r;
  Shorts whole = *(const Shorts *)x;
  (void)rows, to->scale = scale, to->sum = sum;
  if (BYTES) {
    Chars high = __builtin_convertvector(whole >> 8, Chars);
    *(Chars *)to->high = high, *(Chars *)to->low = __builtin_convertvector((whole & 255) - LOW_BIAS, Chars);
    to->correction = -HIGH_BIAS * __builtin_reduce_add(__builtin_convertvector(high, Ints));
  } else *(Shorts *)to->whole = whole, to->correction = 0;
}

INLINE void fetch(const void *from, int bytes, int i) { /* an eighth of its lines, from line i on */
  UNROLL for (int at = 64 * i; at < bytes; at += 64 * BLOCK / 4) __builtin_prefetch((const Byte *)from + at, 0, 2);
}

/* n rows of activations by 32 outputs, while the tile so far ahead is fetched; `four` and n are constants once inlined. */
INLINE void product(const void *w, const Byte *activations, int blocks, float *out, int stride, int ahead, const int four,
                    const int n) {
  const Entry *x = (const Entry *)activations, ones = {.high = {[0 ... BLOCK - 1] = 1}, .low = {[0 ... BLOCK - 1] = 1}};
  W sums[GROUPS][MOST];
  UNROLL EACH(g, GROUPS) UNROLL EACH(r, n) sums[g][r] = (W){};
  for (int b = 0; b < blocks; b++, x += n) {
    const Tile4 *t4 = (const Tile4 *)w + b;
    const Tile8 *t8 = (const Tile8 *)w + b;
    UNROLL for (int first = 0; first < GROUPS; first += TOGETHER) {
      Dots dots[TOGETHER][MOST], all[TOGETHER];
      UNROLL EACH(g, TOGETHER) all[g] = (Dots){};
      UNROLL EACH(g, TOGETHER) UNROLL EACH(r, n) dots[g][r] = (Dots){four ? (WI){} : x[r].correction - (WI){}, (WI){}};
      UNROLL EACH(i, BLOCK / 4) {
        Weights q[TOGETHER];
        if (!first) fetch(four ? (const void *)(t4 + ahead) : t8 + ahead, four ? sizeof *t4 : sizeof *t8, i);
        UNROLL EACH(g, TOGETHER) {
          int o = (first + g) * LANES;
          q[g] = four ? without_sign(*(const WU *)(t4->words[i / 2] + o), i % 2) : with_sign(*(const WI *)(t8->words[i] + o));
          if (LOW_BIAS) dot(&all[g], q[g], &ones, i);
        }
        UNROLL EACH(r, n) UNROLL EACH(g, TOGETHER) dot(&dots[g][r], q[g], x + r, i);
      }
      UNROLL EACH(g, TOGETHER) {
        int o = (first + g) * LANES;
        W scale = four ? __builtin_convertvector(*(const WH *)(t4->scale + o), W) : *(const W *)(t8->scale + o);
        W low = four ? __builtin_convertvector(*(const WH *)(t4->low + o), W) : scale;
        UNROLL EACH(r, n) {
          WI whole = BYTES ? (dots[g][r].high << 8) + dots[g][r].low + all[g].low * LOW_BIAS : dots[g][r].low;
          W *to = &sums[first + g][r];
          *to = *to + __builtin_convertvector(whole, W) * (x[r].scale - (W){}) * scale;
          if (four) *to = *to + low * (x[r].sum - (W){});
        }
      }
    }
  }
  UNROLL EACH(r, n) UNROLL EACH(g, GROUPS) *(W *)(out + r * stride + g * LANES) = sums[g][r];
}
