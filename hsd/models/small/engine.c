/* A Llama of SmolLM2's shape, and the head that drafts for it, for WebAssembly with SIMD. No library.

   Every number is defined: activations become 16-bit integers for each row and block of 32, whose products with the
   file's own integers add up without an error; what is left is float32, added in one order, and functions written out
   here. A row does not know which rows are read beside it. So a row has the same bits alone, in a draft and in a tree,
   and on every processor.

   Weights are packed as they arrive: eight outputs lie beside each other, so that one product is for four of them, and
   what a block unpacks to serves every row of the pass (`Block4` and `Block8`).

   The host asks for memory by `take`, packs matrices, tells the layers, opens texts, and reads up to ROWS tokens at a
   time: it writes tokens, positions and, for a tree, who sees whom, and finds logits and hidden states where the
   functions at the end say. Sizes are its business: nothing is checked here but memory, and 0 means that there is none.
*/
#include <wasm_simd128.h>

#define EXPORT(name) __attribute__((export_name(#name)))
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("clang loop unroll(full)")
#define EACH(i, n) for (int i = 0; i < (n); i++)

enum { ROWS = 8, BLOCK = 32, PAGE = 64 };
enum { MAX_LAYERS = 64, MAX_TAPS = 8, MAX_COLUMNS = 8192, MAX_IN = 8192, MAX_WIDTH = 128 };
enum { OF_F32 = 0, OF_F16 = 1, OF_Q4_1 = 3, OF_Q8_0 = 8 }; /* as GGUF numbers them */

typedef v128_t V;
typedef unsigned char Byte;
typedef unsigned short Half;
/* 8 outputs by 32 weights of 4 or 8 bits: scales, minima, and vectors of a pair of weights for each of four outputs:
   which pair of which output is told by `places`. The nibbles j of vector i of 4 bits are the vector 4i + j of 8 bits. */
typedef struct { float scale[8], low[8]; Half words[4 * 2 * 8]; } Block4;
typedef struct { float scale[8]; signed char words[16 * 2 * 8]; } Block8;
typedef struct { int four, out, in; Byte *data; } Matrix; /* four: whether weights have 4 bits, else 8 */
typedef struct { const float *before, *after; const Matrix *q, *k, *v, *mix, *gate, *up, *down; } Layer;
typedef struct {
  int hidden, inner, heads, groups, width, layers, taps, tap[MAX_TAPS];
  const Matrix *table; /* rows of the tokens, and the output */
  const float *norm;
  float eps, rates[MAX_WIDTH / 2];
  Layer layer[MAX_LAYERS];
} Model;
typedef struct { /* the head: one layer, joined from the taps; `layer.after` and the rest as in a Model */
  Model shape;
  const Matrix *join, *straight, *out;
  const float *taps_norm, *of_hidden, *of_token;
  int fed_normed; /* its output goes through the last norm before it is fed back */
} Head;
typedef struct Page { struct Page *next; } Page; /* then the numbers of 64 columns, plane by plane */
typedef struct Text { /* one text being read. planes: keys and values of each layer, then `states` of hidden size */
  struct Text *next;
  const Model *model;
  int states, length;
  Byte *pages[MAX_COLUMNS / PAGE];
} Text;

static struct { int tokens[ROWS], positions[ROWS], before[ROWS]; Byte visible[ROWS * MAX_COLUMNS]; } input;
static float *results; /* logits, (rows, vocabulary) */
static int results_room;

/* ---- memory ---- */

extern Byte __heap_base;
static unsigned top;
static Text *closed;
static struct { int bytes; Page *free; } shelves[4]; /* pages that were given back, by their size */

EXPORT(take) void *take(unsigned bytes) {
  if (!top) top = ((unsigned)&__heap_base + 63) & ~63u;
  unsigned begin = top, end = (begin + bytes + 63) & ~63u, have = __builtin_wasm_memory_size(0);
  unsigned need = (end + 65535u) >> 16;
  if (end < begin || (need > have && __builtin_wasm_memory_grow(0, need - have) == (__SIZE_TYPE__)-1)) return 0;
  top = end;
  return (void *)begin;
}

static int page_bytes(const Text *t) {
  const Model *m = t->model;
  return 64 + PAGE * 4 * (2 * m->layers * m->groups * m->width + t->states * m->hidden);
}

static Byte *page(const Text *t) {
  int bytes = page_bytes(t);
  EACH(i, 4) {
    if (shelves[i].bytes != bytes || !shelves[i].free) continue;
    Page *p = shelves[i].free;
    shelves[i].free = p->next;
    return (Byte *)p;
  }
  return take(bytes);
}

static void give(const Text *t, Byte *data) {
  int bytes = page_bytes(t);
  EACH(i, 4) if (!shelves[i].bytes || shelves[i].bytes == bytes) {
    shelves[i].bytes = bytes;
    ((Page *)data)->next = shelves[i].free;
    shelves[i].free = (Page *)data;
    return;
  }
}

static float *keys(const Text *t, int plane, int column) { /* plane: 2 * layer, and one more for the values */
  int size = t->model->groups * t->model->width;
  return (float *)(t->pages[column / PAGE] + 64) + (plane * PAGE + column % PAGE) * size;
}

EXPORT(state) float *state(const Text *t, int which, int column) {
  const Model *m = t->model;
  float *end = (float *)(t->pages[column / PAGE] + 64) + 2 * m->layers * PAGE * m->groups * m->width;
  return end + (which * PAGE + column % PAGE) * m->hidden;
}

static Text *opened(const Model *m, int states) {
  Text *t = closed;
  if (t) closed = t->next;
  else if (!(t = take(sizeof(Text)))) return 0;
  t->model = m, t->states = states, t->length = 0;
  EACH(i, MAX_COLUMNS / PAGE) t->pages[i] = 0;
  return t;
}

static int reserve(Text *t, int length) {
  if (length > MAX_COLUMNS) return 0;
  EACH(i, (length + PAGE - 1) / PAGE) if (!t->pages[i] && !(t->pages[i] = page(t))) return 0;
  return 1;
}

EXPORT(cut) void cut(Text *t, int length) { if (length < t->length) t->length = length; }

EXPORT(move) void move(Text *t, int from, int to) { /* a column to another place, with all that it has */
  EACH(p, 2 * t->model->layers)
    __builtin_memcpy(keys(t, p, to), keys(t, p, from), 4 * t->model->groups * t->model->width);
  EACH(s, t->states) __builtin_memcpy(state(t, s, to), state(t, s, from), 4 * t->model->hidden);
}

EXPORT(shut) void shut(Text *t) {
  EACH(i, MAX_COLUMNS / PAGE) if (t->pages[i]) give(t, t->pages[i]);
  t->next = closed, closed = t;
}

/* ---- functions ---- */

INLINE V load(const void *p) { return wasm_v128_load(p); }
INLINE void store(void *p, V v) { wasm_v128_store(p, v); }
INLINE V every(float x) { return wasm_f32x4_splat(x); }
INLINE V plus(V a, V b) { return wasm_f32x4_add(a, b); }
INLINE V times(V a, V b) { return wasm_f32x4_mul(a, b); }
INLINE float across(V v) {
  V w = plus(v, wasm_i32x4_shuffle(v, v, 2, 3, 0, 1));
  return wasm_f32x4_extract_lane(w, 0) + wasm_f32x4_extract_lane(w, 1);
}

INLINE V exponential(V x) { /* e^x: a power of two and a polynomial; relative error 1e-7 */
  static const float terms[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                                1.6666665459e-1f, 5.0000001201e-1f};
  x = wasm_f32x4_pmax(wasm_f32x4_pmin(x, every(88)), every(-87));
  V n = wasm_f32x4_nearest(times(x, every(1.44269504088896341f)));
  V r = plus(plus(x, times(n, every(-0.693359375f))), times(n, every(2.12194440e-4f))), y = every(terms[0]);
  EACH(i, 5) y = plus(times(y, r), every(terms[i + 1]));
  y = plus(plus(times(times(y, r), r), r), every(1));
  V power = wasm_i32x4_shl(wasm_i32x4_add(wasm_i32x4_trunc_sat_f32x4(n), wasm_i32x4_splat(127)), 23);
  return times(y, power);
}

static double sine(double x, int quarter) { /* sin(x + quarter * pi/2) */
  double n = __builtin_rint(x * 0.63661977236758134308), r = x - n * 1.57079632679489655800 - n * 6.123233995736766e-17;
  int q = ((int)n + quarter) & 3, even = q & 1;
  double term = even ? 1 : r, sum = term, s = r * r;
  for (int i = even ? 1 : 2; i < 20; i += 2) sum += term *= -s / (i * (i + 1));
  return q & 2 ? -sum : sum;
}

static float turns[ROWS][2][MAX_WIDTH / 2]; /* cosines and sines of the rows' positions */

static void place(const float *rates, int width, int n) {
  EACH(r, n) EACH(i, width / 2) {
    float angle = (float)input.positions[r] * rates[i];
    turns[r][0][i] = (float)sine(angle, 1), turns[r][1][i] = (float)sine(angle, 0);
  }
}

static void turn(float *x, int width, int r) { /* rotary positions: one half of a head against the other */
  float *y = x + width / 2;
  for (int i = 0; i < width / 2; i += 4) {
    V a = load(x + i), b = load(y + i), c = load(turns[r][0] + i), s = load(turns[r][1] + i);
    store(x + i, wasm_f32x4_sub(times(a, c), times(b, s)));
    store(y + i, plus(times(b, c), times(a, s)));
  }
}

static float half(Half h) {
  union { unsigned u; float f; } x = {(h & 0x7fffu) << 13};
  x.f *= 0x1p112f;
  x.u |= (h & 0x8000u) << 16;
  return x.f;
}

static void normed(const float *x, const float *weight, float eps, int size, float *out) { /* weight 0: none */
  V squares = every(0);
  for (int i = 0; i < size; i += 4) squares = plus(squares, times(load(x + i), load(x + i)));
  V scale = every(1 / __builtin_sqrtf(across(squares) / (float)size + eps));
  for (int i = 0; i < size; i += 4) {
    V y = times(load(x + i), scale);
    store(out + i, weight ? times(y, load(weight + i)) : y);
  }
}

/* ---- weights ---- */

/* Where a block has weight k of output o. Lane l of a vector meets the pair l of the activations in vectors 0 and 1 of
   four, and the pair across from it in 2 and 3; it is of output l in 0 and 2, and of the next one in 1 and 3. So two
   arrangements of the activations serve four outputs. */
static Byte places[8][BLOCK]; /* in the words of a block of 8 bits: 16 for each vector, 8 for each group */

static void find_places(void) {
  EACH(o, 8) EACH(k, BLOCK) {
    int pair = k / 2 % 4, odd = (pair - o) & 1, lane = odd ? (o + 3) % 4 : o % 4;
    places[o][k] = (Byte)((k / 8 * 4 + odd + (pair == lane ? 0 : 2)) * 16 + o / 4 * 8 + lane * 2 + k % 2);
  }
}

static int size_of(int four) { return four ? sizeof(Block4) : sizeof(Block8); }

EXPORT(matrix) Matrix *matrix(int four, int out, int in) { /* out: a multiple of 8, in: of 32 */
  Matrix *m = take(sizeof *m);
  Byte *data = m ? take(out / 8 * (in / BLOCK) * size_of(four)) : 0;
  if (!data) return 0;
  find_places();
  *m = (Matrix){four, out, in, data};
  return m;
}

static int row_bytes(int type, int in) {
  return type == OF_F32 ? in * 4 : type == OF_F16 ? in * 2 : in / BLOCK * (type == OF_Q4_1 ? 20 : 34);
}

static void packed8(Block8 *to, int o, const signed char *q, float scale) {
  to->scale[o] = scale;
  EACH(k, BLOCK) to->words[places[o][k]] = q[k];
}

static void packed4(Block4 *to, int o, const Byte *block) {
  to->scale[o] = half(*(Half *)block), to->low[o] = half(*(Half *)(block + 2));
  EACH(k, BLOCK) {
    int place = places[o][k], weight = k < 16 ? block[4 + k] & 15 : block[4 + k - 16] >> 4;
    to->words[place / 64 * 16 + place % 16] |= weight << place / 16 % 4 * 4;
  }
}

static void rounded(Block8 *to, int o, const float *x) { /* numbers to a block of 8 bits */
  float most = 0;
  signed char q[BLOCK];
  EACH(k, BLOCK) most = __builtin_fabsf(x[k]) > most ? __builtin_fabsf(x[k]) : most;
  EACH(k, BLOCK) q[k] = most > 0 ? (signed char)__builtin_rintf(x[k] / most * 127) : 0;
  packed8(to, o, q, most / 127);
}

/* Rows of a tensor, as they lie in the file, from row `first` on. width: of attention's heads where the file has the
   pairs that turn together beside each other, and not half a head apart; 0 elsewhere. */
EXPORT(pack) void pack(Matrix *m, int first, int rows, int type, const Byte *from, int width) {
  int blocks = m->in / BLOCK, bytes = row_bytes(type, m->in), size = size_of(m->four);
  EACH(i, rows) {
    int o = first + i, at = width ? i / width * width + i % (width / 2) * 2 + i % width / (width / 2) : i;
    EACH(b, blocks) {
      void *to = m->data + ((o / 8) * blocks + b) * size;
      const Byte *row = from + at * bytes;
      float x[BLOCK];
      if (type == OF_Q4_1) packed4(to, o % 8, row + b * 20);
      else if (type == OF_Q8_0) packed8(to, o % 8, (const signed char *)row + b * 34 + 2, half(*(Half *)(row + b * 34)));
      else {
        EACH(k, BLOCK) x[k] = type == OF_F16 ? half(((Half *)row)[b * BLOCK + k]) : ((float *)row)[b * BLOCK + k];
        rounded(to, o % 8, x);
      }
    }
  }
}

static void embedded(const Matrix *m, int token, float *out) { /* a row of a matrix of 8 bits */
  EACH(b, m->in / BLOCK) {
    const Block8 *block = (const Block8 *)m->data + token / 8 * (m->in / BLOCK) + b;
    int o = token % 8;
    EACH(k, BLOCK) out[b * BLOCK + k] = block->scale[o] * (float)block->words[places[o][k]];
  }
}

/* ---- products ----

   A product of 16-bit integers is one instruction for eight of them, with or without a dot product of bytes. Tried
   beside it, on x86 without VNNI: two halves of 8 bits by relaxed dot products, the same sums, took 1.6 times as long for
   three rows; one half alone, which no longer is the same model, .85 to 1. */

/* What products read: rows in parts of up to four; for each block the integers of its 16 pairs, a vector for each row
   that has the pair four times, then the rows' scales, and scale times sum, four times each. */
static Byte activations[MAX_IN / BLOCK * ROWS * 96] __attribute__((aligned(16)));

static Byte *part(int row, int in) { return activations + row * (in / BLOCK) * 96; }

static void integers(const float *x, int stride, int n, int in) {
  EACH(r, n) EACH(b, in / BLOCK) {
    const float *from = x + r * stride + b * BLOCK;
    int first = r & ~3, rows = n - first < 4 ? n - first : 4;
    Byte *block = part(first, in) + b * rows * 96 + (r - first) * 16;
    V most = wasm_f32x4_abs(load(from)), total = wasm_i32x4_splat(0);
    for (int k = 4; k < BLOCK; k += 4) most = wasm_f32x4_pmax(most, wasm_f32x4_abs(load(from + k)));
    most = wasm_f32x4_pmax(most, wasm_i32x4_shuffle(most, most, 2, 3, 0, 1));
    most = wasm_f32x4_pmax(most, wasm_i32x4_shuffle(most, most, 1, 0, 3, 2));
    float top = wasm_f32x4_extract_lane(most, 0);
    V scale = every(top > 0 ? 32767 / top : 0);
    for (int k = 0; k < BLOCK; k += 8, block += rows * 16) {
      V low = wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest(times(load(from + k), scale)));
      V high = wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest(times(load(from + k + 4), scale)));
      V pairs = wasm_i16x8_narrow_i32x4(low, high);
      total = wasm_i32x4_add(total, wasm_i32x4_add(low, high));
      store(block, pairs);
    }
    int sum = wasm_i32x4_extract_lane(total, 0) + wasm_i32x4_extract_lane(total, 1) +
              wasm_i32x4_extract_lane(total, 2) + wasm_i32x4_extract_lane(total, 3);
    store(block, every(top / 32767));
    store(block + rows * 16, every(top / 32767 * (float)sum));
  }
}

/* Keeps the compiler from moving what comes later to before this: it would load all of a block first, for which there
   are not registers enough. */
#define HERE(v) __asm__ volatile("" : "+r"(v) : : "memory")

/* n rows of activations by eight outputs, `wide` groups of four at a time, as many as there are registers for. `four`
   and n are constants once inlined. */
INLINE void product(const void *w, const Byte *a, int blocks, float *out, int stride, const int four, const int n) {
  const int wide = n > 2 ? 1 : 2;
  const V low = wasm_i16x8_splat(15);
  V sums[2][4];
  UNROLL EACH(r, n) sums[0][r] = sums[1][r] = every(0);
  for (int b = 0; b < blocks; b++, a += n * 96) {
    const Block4 *w4 = (const Block4 *)w + b;
    const Block8 *w8 = (const Block8 *)w + b;
    UNROLL for (int first = 0; first < 2; first += wide) {
      V dots[2][4][2];
      UNROLL EACH(g, wide) UNROLL EACH(r, n) dots[g][r][0] = dots[g][r][1] = every(0);
      UNROLL EACH(i, 4) {
        V words[2], xs[4];
        UNROLL EACH(r, n) xs[r] = load(a + (i * n + r) * 16);
        if (four) UNROLL EACH(g, wide) words[g] = load(w4->words + (i * 2 + first + g) * 8);
        UNROLL EACH(j, 4) {
          if (j == 2) UNROLL EACH(r, n) xs[r] = wasm_i32x4_shuffle(xs[r], xs[r], 2, 3, 0, 1);
          UNROLL EACH(g, wide) {
            V q = !four  ? wasm_i16x8_load8x8(w8->words + (i * 8 + j * 2 + first + g) * 8)
                  : j < 3 ? wasm_v128_and(wasm_u16x8_shr(words[g], j * 4), low)
                          : wasm_u16x8_shr(words[g], 12);
            UNROLL EACH(r, n) {
              dots[g][r][j % 2] = wasm_i32x4_add(dots[g][r][j % 2], wasm_i32x4_dot_i16x8(q, xs[r]));
              HERE(dots[g][r][j % 2]);
            }
          }
        }
      }
      UNROLL EACH(r, n) {
        V scale = load(a + n * 64 + r * 16), sum = load(a + n * 80 + r * 16);
        UNROLL EACH(g, wide) {
          V *to = &sums[first + g][r], next = wasm_i32x4_shuffle(dots[g][r][1], dots[g][r][1], 3, 0, 1, 2);
          V whole = wasm_f32x4_convert_i32x4(wasm_i32x4_add(dots[g][r][0], next));
          *to = plus(*to, times(times(whole, scale), load((four ? w4->scale : w8->scale) + 4 * (first + g))));
          if (four) *to = plus(*to, times(load(w4->low + 4 * (first + g)), sum));
        }
      }
    }
  }
  UNROLL EACH(r, n) store(out + r * stride, sums[0][r]), store(out + r * stride + 4, sums[1][r]);
}

#define CASE(four, n) \
  case four * 8 + n: product(w, a, blocks, out, stride, four, n); break;

typedef struct { const Matrix *m; float *to; } Product; /* of the rows in `activations`: (n, m->out) numbers */

/* The outputs from `o` to before `end`, multiples of 8. */
static void outputs(const Product *p, int n, int o, int end) {
  int blocks = p->m->in / BLOCK, size = size_of(p->m->four), stride = p->m->out;
  for (; o < end; o += 8) for (int first = 0; first < n; first += 4) {
    const Byte *w = p->m->data + o / 8 * blocks * size, *a = part(first, p->m->in);
    float *out = p->to + first * stride + o;
    switch (p->m->four * 8 + (n - first < 4 ? n - first : 4)) {
      CASE(0, 1) CASE(0, 2) CASE(0, 3) CASE(0, 4) CASE(1, 1) CASE(1, 2) CASE(1, 3) CASE(1, 4)
    }
  }
}

/* ---- attention ---- */

static float row_x[ROWS * MAX_IN], row_y[ROWS * MAX_IN], row_q[ROWS * MAX_IN], row_k[ROWS * MAX_IN],
    row_up[ROWS * MAX_IN], joined[ROWS * MAX_IN];
typedef struct { float scores[3][MAX_COLUMNS + 4]; const float *seen[MAX_COLUMNS + 1]; } Scratch; /* of a thread */

/* Attention of row r's heads that share keys, the group g: three at a time, two columns at a time, in row_y. */
static void attend(const Text *t, int layer, int n, int tree, int r, int g, Scratch *own) {
  const Model *m = t->model;
  const int width = m->width, each = m->heads / m->groups, values = PAGE * m->groups * width, begin = t->length;
  const float **seen = own->seen, *q = row_q + r * m->heads * width; /* seen: keys of the columns that the row sees */
  float(*scores)[MAX_COLUMNS + 4] = own->scores, *out = row_y + r * m->heads * width;
  V scale = every(1 / __builtin_sqrtf((float)width));
  int count = 0;
  EACH(c, tree ? begin + n : begin + r + 1)
    if (!tree || input.visible[r * (begin + n) + c]) seen[count++] = keys(t, 2 * layer, c);
  seen[count] = seen[count - 1];
  for (int h = 0; h < each; h += 3) {
    const float *mine = q + (g * each + h) * width;
    for (int i = 0; i < count; i += 2) {
      const float *one = seen[i] + g * width, *two = seen[i + 1] + g * width;
      V a[3] = {every(0), every(0), every(0)}, b[3] = {a[0], a[0], a[0]};
      for (int d = 0; d < width; d += 4) {
        V k = load(one + d), l = load(two + d);
        UNROLL EACH(j, 3) {
          V x = load(mine + j * width + d);
          a[j] = plus(a[j], times(k, x)), b[j] = plus(b[j], times(l, x));
        }
      }
      EACH(j, 3) scores[j][i] = across(times(a[j], scale)), scores[j][i + 1] = across(times(b[j], scale));
    }
    EACH(j, 3) {
      float most = scores[j][0], sum = 0;
      EACH(i, count) most = scores[j][i] > most ? scores[j][i] : most;
      for (int i = 0; i < count; i += 4)
        store(scores[j] + i, exponential(wasm_f32x4_sub(load(scores[j] + i), every(most))));
      EACH(i, count) sum += scores[j][i];
      V share = every(1 / sum);
      for (int i = 0; i < count; i += 4) store(scores[j] + i, times(load(scores[j] + i), share));
    }
    for (int d = 0; d < width; d += 8) {
      V mixed[6] = {every(0), every(0), every(0), every(0), every(0), every(0)};
      EACH(i, count) {
        const float *value = seen[i] + values + g * width + d;
        V v = load(value), w = load(value + 4);
        UNROLL EACH(j, 3) {
          V share = wasm_v128_load32_splat(scores[j] + i);
          mixed[2 * j] = plus(mixed[2 * j], times(share, v));
          mixed[2 * j + 1] = plus(mixed[2 * j + 1], times(share, w));
        }
      }
      EACH(j, 3) {
        float *to = out + (g * each + h + j) * width + d;
        store(to, mixed[2 * j]), store(to + 4, mixed[2 * j + 1]);
      }
    }
  }
}

/* ---- threads ----

   Compiled for several, instances of the module share one memory. One of them reads texts; the others are in `help`,
   and do a part of its products and attention, a share at a time, whoever comes first. A number has the same bits
   whoever computes it. The reader waits only for shares that a helper has begun. Whoever waits looks for a moment, and
   then sleeps: the processor may be wanted by the one that is waited for. */
enum { SHARES = 3, SPINS = 20000, STACK = 1 << 14 }; /* to look so often, some .03 ms, costs less than to be woken */
static struct {
  Product products[3];
  Text *text; /* to attend in, or 0 for products */
  int n, count, layer, tree, share, all; /* all this is written only while it is not open and nobody is busy */
  int next, open, busy; /* the unit that comes next; whether helpers may begin; how many are at it */
  int turn, asleep, leaving; /* how many jobs there were; how many helpers wait for another; whether they shall end */
} job;
static int threads = 1;
static Scratch scratch;

#ifdef __wasm_atomics__
#define GET(what) __atomic_load_n(&job.what, __ATOMIC_SEQ_CST)
#define SET(what, x) __atomic_store_n(&job.what, x, __ATOMIC_SEQ_CST)
#define ADD(what, x) __atomic_fetch_add(&job.what, x, __ATOMIC_SEQ_CST)
static int changed(const int *what, int seen) { /* in a moment: whether it is no longer what it was */
  EACH(i, SPINS) if (__atomic_load_n(what, __ATOMIC_SEQ_CST) != seen) return 1;
  return 0;
}
static void call_helpers(void) { if (ADD(turn, 1), GET(asleep)) __builtin_wasm_memory_atomic_notify(&job.turn, -1u); }
static void wait_for_helpers(void) {
  for (int n; (n = GET(busy));) if (!changed(&job.busy, n)) __builtin_wasm_memory_atomic_wait32(&job.busy, n, -1);
}
#else
#define GET(what) job.what
#define SET(what, x) job.what = (x)
#define ADD(what, x) (job.what += (x)) - (x)
static void call_helpers(void) {}
static void wait_for_helpers(void) {}
#endif

static void work(Scratch *own) {
  for (int o; (o = ADD(next, job.share)) < job.all;) {
    int end = o + job.share < job.all ? o + job.share : job.all;
    if (job.text) {
      for (int groups = job.text->model->groups; o < end; o++)
        attend(job.text, job.layer, job.n, job.tree, o / groups, o % groups, own);
    } else EACH(i, job.count) {
      int size = job.products[i].m->out;
      if (o < size && end > 0) outputs(job.products + i, job.n, o > 0 ? o : 0, end < size ? end : size);
      o -= size, end -= size;
    }
  }
}

static void share_out(int all, int unit) { /* the job, of so many numbers, in multiples of a unit */
  job.all = all, job.share = threads > 1 ? (all / unit / (SHARES * threads) + 1) * unit : all;
  SET(next, 0);
  if (threads > 1) SET(open, 1), call_helpers();
  work(&scratch);
  SET(open, 0);
  wait_for_helpers();
}

static void multiply(int n, int count, const Product *products) {
  int all = 0;
  EACH(i, count) job.products[i] = products[i], all += products[i].m->out;
  job.text = 0, job.n = n, job.count = count;
  share_out(all, 8);
}
#define MULTIPLY(n, ...) \
  multiply(n, sizeof((Product[]){__VA_ARGS__}) / sizeof(Product), (const Product[]){__VA_ARGS__})

#ifdef __wasm_atomics__
static __attribute__((noinline)) void keep_helping(Scratch *own) {
  while (!GET(leaving)) {
    int seen = GET(turn);
    ADD(busy, 1);
    if (GET(open)) work(own);
    if (ADD(busy, -1) == 1 && !GET(open)) __builtin_wasm_memory_atomic_notify(&job.busy, 1);
    if (changed(&job.turn, seen)) continue;
    ADD(asleep, 1);
    __builtin_wasm_memory_atomic_wait32(&job.turn, seen, -1);
    ADD(asleep, -1);
  }
}

/* For an instance of its own, on a stack of its own, which `stack` gives: returns after `dismiss`. */
EXPORT(help) void help(Byte *stack) {
  __asm__ volatile(".globaltype __stack_pointer, i32\nlocal.get %0\nglobal.set __stack_pointer" : : "r"(stack));
  keep_helping((Scratch *)stack);
}
EXPORT(stack) Byte *stack(void) {
  Byte *begin = take(STACK + sizeof(Scratch));
  return begin ? begin + STACK : 0;
}
EXPORT(share) void share(int among) { threads = among; } /* how many compute, with the reader */
EXPORT(dismiss) void dismiss(void) { SET(leaving, 1), call_helpers(); }
#endif

/* ---- a layer ---- */

/* What is in `activations` to what attention gives, in row_y; the new rows' keys and values are kept. */
static void attention(Text *t, int layer, int n, int tree) {
  const Model *m = t->model;
  const Layer *l = &m->layer[layer];
  int queries = m->heads * m->width, kept = m->groups * m->width, begin = t->length;
  MULTIPLY(n, {l->q, row_q}, {l->k, row_k}, {l->v, row_up});
  EACH(r, n) {
    EACH(h, m->heads) turn(row_q + r * queries + h * m->width, m->width, r);
    EACH(h, m->groups) turn(row_k + r * kept + h * m->width, m->width, r);
    __builtin_memcpy(keys(t, 2 * layer, begin + r), row_k + r * kept, 4 * kept);
    __builtin_memcpy(keys(t, 2 * layer + 1, begin + r), row_up + r * kept, 4 * kept);
  }
  job.text = t, job.layer = layer, job.tree = tree, job.n = n;
  share_out(n * m->groups, 1);
  integers(row_y, queries, n, queries);
}

static void add(float *x, const float *y, int size) {
  for (int i = 0; i < size; i += 4) store(x + i, plus(load(x + i), load(y + i)));
}

/* What attention gave, and the feed-forward part, are added to the rows x. */
static void finish(const Layer *l, const Model *m, float *x, int n) {
  MULTIPLY(n, {l->mix, row_y});
  add(x, row_y, n * m->hidden);
  EACH(r, n) normed(x + r * m->hidden, l->after, m->eps, m->hidden, row_y + r * m->hidden);
  integers(row_y, m->hidden, n, m->hidden);
  MULTIPLY(n, {l->gate, row_q}, {l->up, row_up});
  for (int i = 0; i < n * m->inner; i += 4) {
    V gate = load(row_q + i);
    gate = wasm_f32x4_div(gate, plus(every(1), exponential(wasm_f32x4_neg(gate))));
    store(row_q + i, times(gate, load(row_up + i)));
  }
  integers(row_q, m->inner, n, m->inner);
  MULTIPLY(n, {l->down, row_y});
  add(x, row_y, n * m->hidden);
}

static int answer(const Matrix *out, const float *x, const float *norm, const Model *m, int n, int keep) {
  if (!keep) return 1;
  if (results_room < keep * out->out) {
    if (!(results = take(4 * ROWS * out->out))) return results_room = 0;
    results_room = ROWS * out->out;
  }
  EACH(r, keep) normed(x + (n - keep + r) * m->hidden, norm, m->eps, m->hidden, row_y + r * m->hidden);
  integers(row_y, m->hidden, keep, m->hidden);
  MULTIPLY(keep, {out, results});
  return 1;
}

/* ---- what a host calls ---- */

EXPORT(tokens) int *tokens(void) { return input.tokens; }          /* ROWS ids to read */
EXPORT(positions) int *positions(void) { return input.positions; } /* where each stands in its text */
EXPORT(before) int *before(void) { return input.before; }          /* for `guess`: the column before each */
EXPORT(visible) Byte *visible(void) { return input.visible; }      /* in a tree, (n, length + n): whether it is seen */
EXPORT(logits) float *logits(void) { return results; }             /* after the last `keep` tokens */

static void shaped(Model *m, int hidden, int inner, int heads, int groups, int width, int layers, double base, float eps) {
  m->hidden = hidden, m->inner = inner, m->heads = heads, m->groups = groups, m->width = width, m->layers = layers;
  m->eps = eps, m->taps = 0;
  double root = base, rate = 1;
  for (int half = width / 2; half > 1; half /= 2) root = __builtin_sqrt(root); /* width: a power of two */
  EACH(i, width / 2) m->rates[i] = (float)(1 / rate), rate *= root;
}

EXPORT(model) Model *model(int hidden, int inner, int heads, int groups, int width, int layers, double base, float eps,
                           const Matrix *table, const float *norm) {
  Model *m = take(sizeof *m);
  if (!m) return 0;
  shaped(m, hidden, inner, heads, groups, width, layers, base, eps);
  m->table = table, m->norm = norm;
  return m;
}

EXPORT(layer) void layer(Model *m, int i, const float *before, const float *after, const Matrix *q, const Matrix *k,
                         const Matrix *v, const Matrix *mix, const Matrix *gate, const Matrix *up, const Matrix *down) {
  m->layer[i] = (Layer){before, after, q, k, v, mix, gate, up, down};
}

EXPORT(tap) void tap(Model *m, int after) { m->tap[m->taps++] = after; } /* keep states after so many layers */

EXPORT(head) Head *head(const Model *m, int inner, int heads, int groups, int width, double base, float eps,
                        int fed_normed, const Matrix *join, const Matrix *straight, const Matrix *out, const float *norm,
                        const float *taps_norm, const float *of_hidden, const float *of_token) {
  Head *h = take(sizeof *h);
  if (!h) return 0;
  shaped(&h->shape, m->hidden, inner, heads, groups, width, 1, base, eps);
  h->shape.table = m->table, h->shape.norm = norm;
  h->join = join, h->straight = straight, h->out = out;
  h->taps_norm = taps_norm, h->of_hidden = of_hidden, h->of_token = of_token, h->fed_normed = fed_normed;
  return h;
}

EXPORT(open) Text *open(const Model *m) { return opened(m, m->taps); }
EXPORT(follow) Text *follow(const Head *h) { return opened(&h->shape, 1); }

/* Read n tokens; logits after the last `keep` of them. tree: each sees what `visible` says, else all before it. */
EXPORT(read) int read(Text *t, int n, int keep, int tree) {
  const Model *m = t->model;
  if (!reserve(t, t->length + n)) return 0;
  place(m->rates, m->width, n);
  EACH(r, n) embedded(m->table, input.tokens[r], row_x + r * m->hidden);
  EACH(i, m->layers) {
    EACH(k, m->taps) if (m->tap[k] == i)
      EACH(r, n) __builtin_memcpy(state(t, k, t->length + r), row_x + r * m->hidden, 4 * m->hidden);
    EACH(r, n) normed(row_x + r * m->hidden, m->layer[i].before, m->eps, m->hidden, row_y + r * m->hidden);
    integers(row_y, m->hidden, n, m->hidden);
    attention(t, i, n, tree);
    finish(&m->layer[i], m, row_x, n);
  }
  t->length += n;
  return answer(m->table, row_x, m->norm, m, n, keep);
}

/* The head reads n tokens, none of which rests on another: on what `target` knew at the columns `before`, or, where
   there is no target, on the head's own output there. A column of -1 is the text's beginning, where nothing is known. */
EXPORT(guess) int guess(const Head *h, Text *t, const Text *target, int n, int keep, int tree) {
  const Model *m = &h->shape;
  int hidden = m->hidden, taps = target ? target->states : 0;
  if (!reserve(t, t->length + n)) return 0;
  place(m->rates, m->width, n);
  EACH(r, n) {
    int column = input.before[r];
    EACH(k, taps) {
      float *to = joined + (r * taps + k) * hidden;
      if (column < 0) __builtin_memset(to, 0, 4 * hidden);
      else __builtin_memcpy(to, state(target, k, column), 4 * hidden);
      normed(to, h->taps_norm + k * hidden, m->eps, hidden, to);
    }
    if (target) continue;
    if (h->fed_normed) normed(state(t, 0, column), m->norm, m->eps, hidden, row_x + r * hidden);
    else __builtin_memcpy(row_x + r * hidden, state(t, 0, column), 4 * hidden);
  }
  if (target) {
    integers(joined, taps * hidden, n, taps * hidden);
    MULTIPLY(n, {h->join, row_x});
  }
  EACH(r, n) { /* the token beside what is known: (n, 2 * hidden), and the token's own way */
    float *both = joined + r * 2 * hidden;
    embedded(m->table, input.tokens[r], row_y);
    normed(row_y, h->of_token, m->eps, hidden, both);
    __builtin_memcpy(row_q + r * hidden, both, 4 * hidden);
  }
  integers(row_q, hidden, n, hidden);
  MULTIPLY(n, {h->straight, row_y});
  add(row_x, row_y, n * hidden);
  EACH(r, n) normed(row_x + r * hidden, h->of_hidden, m->eps, hidden, joined + (2 * r + 1) * hidden);
  integers(joined, 2 * hidden, n, 2 * hidden);
  attention(t, 0, n, tree);
  finish(&m->layer[0], m, row_x, n);
  EACH(r, n) __builtin_memcpy(state(t, 0, t->length + r), row_x + r * hidden, 4 * hidden);
  t->length += n;
  return answer(h->out, row_x, m->norm, m, n, keep);
}
