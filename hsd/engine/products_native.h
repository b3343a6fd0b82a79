/* Inner products for x86 with AVX-512 and VNNI, for x86 with AVX2, and for ARM with its dot product
   of bytes.

   A tile has 32 outputs beside each other. Each of its words of 32 bits has a few weights of one
   output, and so have its planes. Scales of a block are, by kind: 32 of float32 (BITS_8); 32 of
   float16 and as many lows (BITS_4, BITS_5); 32 bytes and as many lows (BITS_4K, BITS_5K), or 32
   bytes for each half of the block (BITS_6K), with the octet's header in float16. Machines that
   multiply bytes (BYTES) split an activation of 16 bits into an upper byte with a sign and a lower
   byte without, and sum the products of each apart. AVX2 has no exact product of bytes: it
   multiplies pairs of 16 bits. */

enum { GROUPS = WIDE / LANES };
typedef unsigned WU __attribute__((vector_size(4 * LANES)));
typedef short WS __attribute__((vector_size(4 * LANES)));
typedef signed char WB __attribute__((vector_size(4 * LANES)));
typedef _Float16 WH __attribute__((vector_size(2 * LANES), aligned(2)));
typedef Byte Bytes __attribute__((vector_size(LANES), aligned(1)));
typedef signed char SignedBytes __attribute__((vector_size(LANES), aligned(1)));
typedef short Shorts __attribute__((vector_size(2 * BLOCK), aligned(2)));
typedef signed char Chars __attribute__((vector_size(BLOCK), aligned(1)));
typedef int Ints __attribute__((vector_size(4 * BLOCK)));

/* A block of a row of activations: 16-bit integers, whole or in upper and lower bytes. An
   activation is scale * integer; `sum` is that of the block's activations. correction: -128 times
   the sum of the upper bytes, of the first half and of all of the block: where an integer product
   begins so that HIGH_BIAS of 128 falls out. */
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
  int correction[2];
} Entry;
enum { ENTRY = sizeof(Entry) };

/* What differs between these processors:
   TOGETHER: groups of outputs that are computed at once, as many as there are registers for.
   LOW_BIAS: what a lower byte is reduced by, so that it has a sign. HIGH_BIAS: what a weight of 8
   bits is increased by, so that it has none; for 6 bits it is a quarter of that.
   with_sign: four weights of each output, from a word with weights of 8 bits.
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

/* Move bits up by as many places as `from` is below 4, or down. */
INLINE WU moved(WU bits, const int from) {
  return from < 4 ? bits << (4 - from) : bits >> (from - 4);
}

/* Weights 4i to 4i + 3 of each output, of 4, 5 or 6 bits. words, planes: of a group of outputs. */
INLINE Weights narrow(const unsigned *words, const unsigned *planes, const int kind, const int i) {
  const int extra = form_of(kind).planes / (BLOCK / 8);
  WU word = *(const WU *)(words + i / 2 * WIDE);
  WU plane = extra ? *(const WU *)(planes + (extra > 1 ? i / 4 : 0) * WIDE) : word;
  if (BYTES) {
    WU bits = word >> i % 2 * 4 & 0x0f0f0f0f;
    if (extra == 1)
      bits |= moved(plane, i) & 0x10101010;
    if (extra == 2)
      bits |= moved(plane, i % 4 * 2) & 0x30303030;
    if (extra < 2)
      return (Weights){(WI)bits, (WI)bits};
    WI low = (WI)((WB)bits - 32);
    return (Weights){HIGH_BIAS ? (WI)bits : low, low};
  }
  WU a = word >> i % 2 * 8 & 0x000f000f;
  WU b = word >> (i % 2 * 8 + 4) & 0x000f000f;
  if (extra == 1) {
    a |= moved(plane, 2 * i) & 0x00100010;
    b |= moved(plane, 2 * i + 1) & 0x00100010;
  }
  if (extra == 2) {
    a |= moved(plane, i % 4 * 4) & 0x00300030;
    b |= moved(plane, i % 4 * 4 + 2) & 0x00300030;
    a = (WU)((WS)a - 32);
    b = (WU)((WS)b - 32);
  }
  return (Weights){(WI)a, (WI)b};
}

/* The lowest bit of the block's weight k in its word, for weights of 8 bits and for the lower 4 of
   others; and of their upper bits in the planes, `many` of a weight. */
INLINE int shift8(int k) {
  return BYTES ? k % 4 * 8 : k % 2 * 16 + k / 2 % 2 * 8;
}
INLINE int shift4(int k) {
  return BYTES ? k % 4 * 8 + k / 4 % 2 * 4 : k % 2 * 16 + k / 2 % 4 * 4;
}
INLINE int shift_plane(int k, int many) {
  return BYTES ? k % 4 * 8 + k / 4 * many % 8 : k % 2 * 16 + k / 2 * many % 16;
}

/* Write the bits of a block of output o. */
INLINE void put_weights(const int kind, Byte *block, int o, const Byte *q) {
  const int many = form_of(kind).planes * 8 / BLOCK;
  const int each = kind == BITS_8 ? 4 : 8;
  unsigned *words = (unsigned *)block + o;
  EACH_UNROLLED (i, BLOCK / each) {
    unsigned word = 0;
    EACH_UNROLLED (j, each) {
      const int k = i * each + j;
      word |= kind == BITS_8 ? (unsigned)q[k] << shift8(k) : (unsigned)(q[k] & 15) << shift4(k);
    }
    words[i * WIDE] = word;
  }
  EACH_UNROLLED (i, many) {
    unsigned plane = 0;
    EACH_UNROLLED (j, BLOCK / many) {
      const int k = i * (BLOCK / many) + j;
      plane |= (unsigned)(q[k] >> 4) << shift_plane(k, many);
    }
    words[(BLOCK / 8 + i) * WIDE] = plane;
  }
}

/* The bits of weight k of output o, those of 8 with their sign. */
static int get_weight(int kind, const Byte *block, int o, int k) {
  const unsigned *words = (const unsigned *)block + o;
  const unsigned *planes = words + BLOCK / 8 * WIDE;
  int many = form_of(kind).planes * 8 / BLOCK;
  if (kind == BITS_8)
    return (signed char)(words[k / 4 * WIDE] >> shift8(k));
  int low = words[k / 8 * WIDE] >> shift4(k) & 15;
  if (!many)
    return low;
  int high = planes[k * many / 32 * WIDE] >> shift_plane(k, many) & ((1 << many) - 1);
  return high << 4 | low;
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
    Ints each = __builtin_convertvector(high, Ints);
    Ints first = each;
    for (int k = BLOCK / 2; k < BLOCK; k++)
      first[k] = 0;
    to->correction[0] = -HIGH_BIAS * __builtin_reduce_add(first);
    to->correction[1] = -HIGH_BIAS * __builtin_reduce_add(each);
  } else {
    *(Shorts *)to->whole = whole;
    to->correction[0] = to->correction[1] = 0;
  }
}

/* Fetch an eighth of the cache lines of so many bytes, those from line i on. */
INLINE void fetch(const void *from, int bytes, int i) {
  UNROLL
  for (int at = 64 * i; at < bytes; at += 64 * BLOCK / 4)
    __builtin_prefetch((const Byte *)from + at, 0, 2);
}

/* float16 numbers, and bytes, as float32. */
INLINE W of_halves(const Half *from) {
  return __builtin_convertvector(*(const WH *)from, W);
}
INLINE W of_bytes(const Byte *from) {
  return __builtin_convertvector(__builtin_convertvector(*(const Bytes *)from, WI), W);
}
INLINE W of_signed(const Byte *from) {
  return __builtin_convertvector(__builtin_convertvector(*(const SignedBytes *)from, WI), W);
}

/* The scales of the outputs from o on, in a part of a block. */
INLINE W scale_of(const int kind, const Half *header, const Byte *scales, int o, int part) {
  if (kind == BITS_8)
    return *(const W *)((const float *)scales + o);
  if (kind == BITS_4 || kind == BITS_5)
    return of_halves((const Half *)scales + o);
  if (kind == BITS_6K)
    return of_halves(header + o) * of_signed(scales + part * WIDE + o);
  return of_halves(header + o) * of_bytes(scales + o);
}

/* What is added to the outputs' weights from o on, for kinds with a low. */
INLINE W low_of(const int kind, const Half *header, const Byte *scales, int o) {
  if (kind == BITS_4 || kind == BITS_5)
    return of_halves((const Half *)scales + WIDE + o);
  return -of_halves(header + WIDE + o) * of_bytes(scales + WIDE + o);
}

/* Multiply n rows of activations by 32 outputs, whose weights w are of a kind. The tile that lies
   `ahead` tiles further on is fetched meanwhile. `stride`: numbers between the rows of `out`.
   `kind` and n are constants once inlined. */
INLINE void product(const Byte *w, const Byte *activations, int blocks, float *out, int stride,
                    int ahead, const int kind, const int n) {
  const int eight = kind == BITS_8;
  const int bytes = block_bytes(kind);
  const int parts = kind == BITS_6K ? 2 : 1;
  const int with_low = kind != BITS_8 && kind != BITS_6K;
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
    const Half *header = (const Half *)(w + octet_at(kind, b));
    const Byte *block = w + block_at(kind, b);
    const unsigned *words = (const unsigned *)block;
    const unsigned *planes = words + BLOCK / 8 * WIDE;
    const Byte *scales = block + WIDE * (form_of(kind).words + form_of(kind).planes);
    UNROLL
    for (int first = 0; first < GROUPS; first += TOGETHER)
      EACH_UNROLLED (part, parts) {
        Dots dots[TOGETHER][MOST];
        Dots all[TOGETHER]; /* sums of the weights alone, to make up for LOW_BIAS */
        EACH_UNROLLED (g, TOGETHER)
          all[g] = (Dots){};
        EACH_UNROLLED (r, n) {
          int correction = eight ? x[r].correction[1] : 0;
          if (parts == 2)
            correction = (part ? x[r].correction[1] - x[r].correction[0] : x[r].correction[0]) / 4;
          EACH_UNROLLED (g, TOGETHER)
            dots[g][r] = (Dots){correction - (WI){}, (WI){}};
        }
        EACH_UNROLLED (k, BLOCK / 4 / parts) {
          const int i = k + part * (BLOCK / 4 / parts);
          Weights q[TOGETHER];
          if (!first)
            fetch(block + ahead * bytes, bytes, i);
          EACH_UNROLLED (g, TOGETHER) {
            int o = (first + g) * LANES;
            q[g] = eight ? with_sign(*(const WI *)(words + i * WIDE + o))
                         : narrow(words + o, planes + o, kind, i);
            if (LOW_BIAS)
              dot(&all[g], q[g], &ones, i);
          }
          EACH_UNROLLED (r, n)
            EACH_UNROLLED (g, TOGETHER)
              dot(&dots[g][r], q[g], x + r, i);
        }
        EACH_UNROLLED (g, TOGETHER) {
          int o = (first + g) * LANES;
          W scale = scale_of(kind, header, scales, o, part);
          W low = with_low ? low_of(kind, header, scales, o) : scale;
          EACH_UNROLLED (r, n) {
            Dots d = dots[g][r];
            WI whole = BYTES ? (d.high << 8) + d.low + all[g].low * LOW_BIAS : d.low;
            W *to = &sums[first + g][r];
            *to = *to + __builtin_convertvector(whole, W) * (x[r].scale - (W){}) * scale;
            if (with_low)
              *to = *to + low * (x[r].sum - (W){});
          }
        }
      }
  }
  EACH_UNROLLED (r, n)
    EACH_UNROLLED (g, GROUPS)
      *(W *)(out + r * stride + g * LANES) = sums[g][r];
}
