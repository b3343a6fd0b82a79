/* A Llama of SmolLM2's shape, the head that drafts for it, and sums over a vocabulary: for WebAssembly with SIMD, and for
   processors. No library but threads.

   Every number is defined: activations become 16-bit integers for each row and block of 32, whose products with the
   file's own integers add up without an error; what is left is float32, added in one order, and functions written out
   here. A row does not know which rows are read beside it. So a row has the same bits alone, in a draft and in a tree,
   and on every machine that this is compiled for; products_*.h have what the machines multiply in ways of their own.
   Matrices of bfloat16 are multiplied by the float32 activations as they are: an output adds its products one by one.

   Weights are packed as they arrive: some outputs lie beside each other, so that one instruction is for several of them,
   and what a block unpacks to serves every row of the pass (`Tile4`, `Tile8` and `Tile16`).

   The host opens an engine, which has all the state there is, asks for memory by `take`, packs matrices, tells the layers,
   opens texts, and reads up to ROWS tokens at a time: it writes tokens, positions and, for a tree, who sees whom, and finds
   logits and hidden states where the functions at the end say. Sizes are its business: nothing is checked here but memory,
   and columns that a text lacks; 0 means one of these.
*/
#include "platform.h"

enum { ROWS = 8, MOST = 4, BLOCK = 32, PAGE = 64 }; /* MOST: rows that are multiplied at once */
enum { MAX_LAYERS = 64, MAX_TAPS = 8, MAX_COLUMNS = 8192, MAX_IN = 8192, MAX_WIDTH = 128 };
enum { OF_F32 = 0, OF_F16 = 1, OF_Q4_1 = 3, OF_Q8_0 = 8, OF_BF16 = 30 }; /* as GGUF numbers them */
enum { TOGETHER_HEADS = 3, SHARES = 3, STACK = 1 << 14 };

typedef struct Engine Engine;
enum { BITS_8, BITS_4, BITS_16 }; /* of a weight */
typedef struct { int kind, out, in; Byte *data; } Matrix; /* kind: BITS_8, BITS_4, or BITS_16 for bfloat16 */
typedef struct { const Matrix *m; float *to; } Product; /* of the rows in `activations`: (n, m->out) numbers */
typedef struct { const float *before, *after; const Matrix *q, *k, *v, *mix, *gate, *up, *down; } Layer;
typedef struct { /* from a state to logits, by the rows `out`; an exit of its own adds a part of the normed state by `back` */
  const Matrix *out, *into, *back;
  const float *norm;
} Exit;
typedef struct {
  Engine *engine;
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
typedef struct Page { struct Page *next; int bytes; } Page; /* from 64 bytes on: numbers of 64 columns, plane by plane */
typedef struct Text { /* one text being read. planes: keys and values of each layer, then `states` of hidden size */
  struct Text *next;
  const Model *model;
  int states, length, tap[MAX_TAPS]; /* after how many layers each state is kept */
  Byte *pages[MAX_COLUMNS / PAGE];
} Text;
typedef struct { float scores[TOGETHER_HEADS][MAX_COLUMNS + 16]; int seen[MAX_COLUMNS + 1]; } Scratch; /* of a thread */

static float half(Half h) {
  union { unsigned u; float f; } x = {(h & 0x7fffu) << 13};
  x.f *= 0x1p112f;
  x.u |= (h & 0x8000u) << 16;
  return x.f;
}

#ifdef __wasm__
#include "products_wasm.h"
#else
#include "products_native.h"
#endif
typedef struct { Half words[BLOCK][WIDE]; } Tile16; /* upper halves of float32 numbers, the outputs beside each other */
typedef Half Halves __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

struct Engine {
  struct { int tokens[ROWS], positions[ROWS], before[ROWS]; Byte visible[ROWS * MAX_COLUMNS]; } input;
  float *results; /* logits, (rows, vocabulary) */
  int results_room;
  More *more;
  Byte *top;
  Size left;
  Text *closed;
  Page *free; /* those that were given back */
  float turns[ROWS][2][MAX_WIDTH / 2]; /* cosines and sines of the rows' positions */
  Byte activations[MAX_IN * ROWS * 4] __attribute__((aligned(64)));
  float x[ROWS * MAX_IN], y[ROWS * MAX_IN], q[ROWS * MAX_IN], k[ROWS * MAX_IN], up[ROWS * MAX_IN], joined[ROWS * MAX_IN];
  struct { /* what threads do together: see `work` */
    Product products[3];
    Text *text; /* to attend in, or 0 for products */
    int n, count, layer, tree, share, all; /* all this is written only while it is not open and nobody is busy */
    int next, open, busy; /* the unit that comes next; whether helpers may begin; how many are at it */
    int turn, asleep, leaving; /* how many jobs there were; how many helpers wait for another; whether they shall end */
  } job;
  int threads, ahead; /* ahead: see `tiles_ahead` */
  Scratch scratch;
  Sleepers sleepers;
};

/* ---- memory ---- */

#ifdef __wasm__
static void *grow(Size bytes) {
  Size pages = (bytes + 65535) >> 16, begin = __builtin_wasm_memory_grow(0, pages);
  return begin == (Size)-1 ? 0 : (void *)(begin << 16);
}
EXPORT(engine) Engine *engine(void) {
  static Engine only;
  only.more = grow, only.threads = 1;
  return &only;
}
#else
EXPORT(engine) Engine *engine(More *more) { /* more: must give memory that is zero, at multiples of 64 */
  Engine *e = more(sizeof *e);
  if (e) e->more = more, e->threads = 1, e->ahead = tiles_ahead(), START_SLEEPERS(&e->sleepers);
  return e;
}
#endif

EXPORT(take) void *take(Engine *e, Size bytes) {
  if (bytes > (Size)1 << 31) return 0;
  bytes = (bytes + 63) & ~(Size)63;
  if (bytes > e->left) {
    Size more = ((bytes < CHUNK ? CHUNK : bytes) + 65535) & ~(Size)65535; /* enough, also where it lies elsewhere */
    Byte *begin = e->more(more);
    if (!begin) return 0;
    if (begin != e->top + e->left) e->top = begin, e->left = 0;
    e->left += more;
  }
  e->left -= bytes, e->top += bytes;
  return e->top - bytes;
}

static int page_bytes(const Text *t) {
  const Model *m = t->model;
  return 64 + PAGE * 4 * (2 * m->layers * m->groups * m->width + t->states * m->hidden);
}

static Byte *page(const Text *t) {
  Engine *e = t->model->engine;
  int bytes = page_bytes(t);
  for (Page **at = &e->free, *found; (found = *at); at = &found->next) if (found->bytes == bytes) {
    *at = found->next;
    return (Byte *)found;
  }
  return take(e, bytes);
}

/* The numbers of a page: for each layer its keys, of a group number after number with the columns beside each other, and
   its values, of a group column after column; then the states. */
static float *keys(const Text *t, int layer, int g, int column) { /* its numbers are PAGE apart */
  int size = t->model->groups * t->model->width;
  return (float *)(t->pages[column / PAGE] + 64) + (2 * layer * size + g * t->model->width) * PAGE + column % PAGE;
}

static float *values(const Text *t, int layer, int g, int column) {
  int width = t->model->width, size = t->model->groups * width;
  return (float *)(t->pages[column / PAGE] + 64) + ((2 * layer + 1) * size + g * width) * PAGE + column % PAGE * width;
}

EXPORT(state) float *state(const Text *t, int which, int column) {
  const Model *m = t->model;
  float *end = (float *)(t->pages[column / PAGE] + 64) + 2 * m->layers * PAGE * m->groups * m->width;
  return end + (which * PAGE + column % PAGE) * m->hidden;
}

static Text *opened(const Model *m, int states) {
  Engine *e = m->engine;
  Text *t = e->closed;
  if (t) e->closed = t->next;
  else if (!(t = take(e, sizeof *t))) return 0;
  t->model = m, t->states = states, t->length = 0;
  __builtin_memcpy(t->tap, m->tap, sizeof t->tap);
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
  const Model *m = t->model;
  EACH(i, m->layers) EACH(g, m->groups) {
    float *a = keys(t, i, g, to), *b = keys(t, i, g, from);
    EACH(d, m->width) a[d * PAGE] = b[d * PAGE];
    __builtin_memcpy(values(t, i, g, to), values(t, i, g, from), 4 * m->width);
  }
  EACH(s, t->states) __builtin_memcpy(state(t, s, to), state(t, s, from), 4 * m->hidden);
}

EXPORT(shut) void shut(Text *t) {
  Engine *e = t->model->engine;
  EACH(i, MAX_COLUMNS / PAGE) if (t->pages[i]) {
    Page *p = (Page *)t->pages[i];
    p->bytes = page_bytes(t), p->next = e->free, e->free = p;
  }
  t->next = e->closed, e->closed = t;
}

/* ---- functions ---- */

INLINE V load(const float *p) { return *(const V *)p; }
INLINE W wide(const float *p) { return *(const W *)p; }

INLINE W exponential(W x) { /* e^x: a power of two and a polynomial; relative error 1e-7 */
  static const float terms[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                                1.6666665459e-1f, 5.0000001201e-1f};
  x = larger(smaller(x, 88 - (W){}), -87 - (W){});
  W n = nearest(x * 1.44269504088896341f);
  W r = x + n * -0.693359375f + n * 2.12194440e-4f, y = terms[0] - (W){};
  UNROLL EACH(i, 5) y = y * r + terms[i + 1];
  y = y * r * r + r + 1;
  return y * (W)((__builtin_convertvector(n, WI) + 127) << 23);
}

static double sine(double x, int quarter) { /* sin(x + quarter * pi/2) */
  double n = __builtin_rint(x * 0.63661977236758134308), r = x - n * 1.57079632679489655800 - n * 6.123233995736766e-17;
  int q = ((int)n + quarter) & 3, even = q & 1;
  double term = even ? 1 : r, sum = term, s = r * r;
  for (int i = even ? 1 : 2; i < 20; i += 2) sum += term *= -s / (i * (i + 1));
  return q & 2 ? -sum : sum;
}

static void place_rows(const Model *m, int n) {
  Engine *e = m->engine;
  EACH(r, n) EACH(i, m->width / 2) {
    float angle = (float)e->input.positions[r] * m->rates[i];
    e->turns[r][0][i] = (float)sine(angle, 1), e->turns[r][1][i] = (float)sine(angle, 0);
  }
}

static void turn(const Engine *e, float *x, int width, int r) { /* rotary positions: one half of a head against the other */
  float *y = x + width / 2;
  for (int i = 0; i < width / 2; i += 4) {
    V a = load(x + i), b = load(y + i), c = load(e->turns[r][0] + i), s = load(e->turns[r][1] + i);
    *(V *)(x + i) = a * c - b * s;
    *(V *)(y + i) = b * c + a * s;
  }
}

static void normed(const float *x, const float *weight, float eps, int size, float *out) { /* weight 0: none */
  V squares = {};
  for (int i = 0; i < size; i += 4) squares += load(x + i) * load(x + i);
  float scale = 1 / __builtin_sqrtf(((squares[0] + squares[2]) + (squares[1] + squares[3])) / (float)size + eps);
  for (int i = 0; i < size; i += 4) *(V *)(out + i) = weight ? load(x + i) * scale * load(weight + i) : load(x + i) * scale;
}

/* ---- weights ---- */

static Size tile_bytes(int kind) { return kind == BITS_16 ? sizeof(Tile16) : kind == BITS_4 ? sizeof(Tile4) : sizeof(Tile8); }
static Byte *tile(const Matrix *m, int o, int b) {
  return m->data + ((Size)(o / WIDE) * (m->in / BLOCK) + b) * tile_bytes(m->kind);
}

EXPORT(matrix) Matrix *matrix(Engine *e, int kind, int out, int in) { /* out: a multiple of WIDE, in: of BLOCK */
  Matrix *m = take(e, sizeof *m);
  Byte *data = m ? take(e, (Size)(out / WIDE) * (in / BLOCK) * tile_bytes(kind)) : 0;
  if (!data) return 0;
  *m = (Matrix){kind, out, in, data};
  return m;
}

static int row_bytes(int type, int in) {
  return type == OF_F32 ? in * 4 : type == OF_F16 || type == OF_BF16 ? in * 2 : in / BLOCK * (type == OF_Q4_1 ? 20 : 34);
}

static void rounded(Tile8 *to, int o, const float *x) { /* numbers to a block of 8 bits */
  float most = 0;
  signed char q[BLOCK];
  EACH(k, BLOCK) most = __builtin_fabsf(x[k]) > most ? __builtin_fabsf(x[k]) : most;
  EACH(k, BLOCK) q[k] = most > 0 ? (signed char)__builtin_rintf(x[k] / most * 127) : 0;
  put8(to, o, q, most / 127);
}

/* Rows of a tensor, as they lie in the file, from row `first` on. width: of attention's heads where the file has the
   pairs that turn together beside each other, and not half a head apart; 0 elsewhere. */
EXPORT(pack) void pack(Matrix *m, int first, int rows, int type, const Byte *from, int width) {
  int blocks = m->in / BLOCK, bytes = row_bytes(type, m->in);
  EACH(i, rows) {
    int o = first + i, at = width ? i / width * width + i % (width / 2) * 2 + i % width / (width / 2) : i;
    EACH(b, blocks) {
      Byte *to = tile(m, o, b), q[BLOCK];
      const Byte *row = from + (Size)at * bytes, *block = row + b * 20;
      float x[BLOCK];
      if (type == OF_Q4_1) {
        EACH(k, BLOCK) q[k] = k < 16 ? block[4 + k] & 15 : block[4 + k - 16] >> 4;
        put4((Tile4 *)to, o % WIDE, q, *(const Half *)block, *(const Half *)(block + 2));
      } else if (type == OF_Q8_0) {
        block = row + b * 34;
        put8((Tile8 *)to, o % WIDE, (const signed char *)block + 2, half(*(const Half *)block));
      } else if (type == OF_BF16) {
        EACH(k, BLOCK) ((Tile16 *)to)->words[k][o % WIDE] = ((const Half *)row)[b * BLOCK + k];
      } else {
        EACH(k, BLOCK) x[k] = type == OF_F16 ? half(((const Half *)row)[b * BLOCK + k]) : ((const float *)row)[b * BLOCK + k];
        rounded((Tile8 *)to, o % WIDE, x);
      }
    }
  }
}

static void embedded(const Matrix *m, int token, float *out) { /* a row of a matrix of 8 or 16 bits */
  EACH(i, m->in) {
    const Byte *from = tile(m, token, i / BLOCK);
    const Tile8 *t8 = (const Tile8 *)from;
    int o = token % WIDE, k = i % BLOCK;
    union { unsigned u; float f; } x = {m->kind == BITS_16 ? (unsigned)((const Tile16 *)from)->words[k][o] << 16 : 0};
    out[i] = m->kind == BITS_16 ? x.f : t8->scale[o] * (float)get8(t8, o, k);
  }
}

/* ---- products ---- */

/* Of n rows, those of a part: as many in each. */
static int part_of(int n) { return n > MOST ? (n + 1) / 2 : n; }

/* What products of integers read: rows in parts, of a part block after block, of a block row after row. */
static Byte *part(Engine *e, const Matrix *m, int row) {
  return e->activations + (Size)row * (m->in / BLOCK) * (m->kind == BITS_16 ? 4 * BLOCK : ENTRY);
}

/* What products by m, or others of its kind and inputs, read: n rows x, as they are or as integers. */
static void prepare(Engine *e, const Matrix *m, const float *x, int n) {
  int many = part_of(n), in = m->in;
  if (m->kind == BITS_16) return (void)__builtin_memcpy(e->activations, x, (Size)4 * n * in);
  EACH(r, n) EACH(b, in / BLOCK) {
    const float *from = x + r * in + b * BLOCK;
    int first = r / many * many, rows = n - first < many ? n - first : many;
    short q[BLOCK] __attribute__((aligned(64)));
    WI most = {}, total = {};
    for (int k = 0; k < BLOCK; k += LANES) { /* without their signs, floats have the order of integers */
      WI size = *(const WI *)(from + k) & 0x7fffffff, more = size > most;
      most = (size & more) | (most & ~more);
    }
    union { int i; float f; } top = {__builtin_reduce_max(most)};
    float scale = top.f > 0 ? 32767 / top.f : 0;
    typedef short Narrow __attribute__((vector_size(2 * LANES)));
    for (int k = 0; k < BLOCK; k += LANES) {
      WI whole = __builtin_convertvector(nearest(wide(from + k) * scale), WI);
      total += whole, *(Narrow *)(q + k) = __builtin_convertvector(whole, Narrow);
    }
    put_entry(part(e, m, first) + b * rows * ENTRY, rows, r - first, q, top.f / 32767,
              top.f / 32767 * (float)__builtin_reduce_add(total));
  }
}

/* n rows of activations by the outputs of a tile, each of which adds its products in the order of the inputs. */
INLINE void product16(const void *w, const Byte *a, int blocks, float *out, int stride, const int n) {
  const float *x = (const float *)a;
  UNROLL for (int o = 0; o < WIDE; o += 2 * LANES) {
    W sums[2][MOST];
    UNROLL EACH(g, 2) UNROLL EACH(r, n) sums[g][r] = (W){};
    EACH(i, blocks * BLOCK) UNROLL EACH(g, 2) {
      W weights = (W)(__builtin_convertvector(*(const Halves *)((const Half *)w + i * WIDE + o + g * LANES), WI) << 16);
      UNROLL EACH(r, n) sums[g][r] = sums[g][r] + weights * x[r * blocks * BLOCK + i];
    }
    UNROLL EACH(g, 2) UNROLL EACH(r, n) *(W *)(out + r * stride + o + g * LANES) = sums[g][r];
  }
}

#define CASE(n) \
  case BITS_8 * 8 + n: product(w, a, blocks, out, stride, e->ahead, 0, n); break; \
  case BITS_4 * 8 + n: product(w, a, blocks, out, stride, e->ahead, 1, n); break; \
  case BITS_16 * 8 + n: product16(w, a, blocks, out, stride, n); break;

/* The outputs from `o` to before `end`, multiples of WIDE. */
static void outputs(Engine *e, const Product *p, int n, int o, int end) {
  int blocks = p->m->in / BLOCK, stride = p->m->out, most = part_of(n);
  for (; o < end; o += WIDE) for (int first = 0; first < n; first += most) {
    const Byte *w = tile(p->m, o, 0), *a = part(e, p->m, first);
    float *out = p->to + first * stride + o;
    switch (p->m->kind * 8 + (n - first < most ? n - first : most)) {
      CASE(1) CASE(2) CASE(3) CASE(4)
    }
  }
}

/* ---- attention ---- */

/* Add the values of the columns, each by its share, of `parts` vectors from `at` on, for three heads. */
INLINE void mix(const Text *t, int layer, int g, int at, int count, const int *seen, const Scratch *own, float *to,
                const int heads, const int parts) {
  const int width = t->model->width;
  W mixed[TOGETHER_HEADS][4];
  UNROLL EACH(j, heads) UNROLL EACH(p, parts) mixed[j][p] = (W){};
  EACH(i, count) {
    const float *v = values(t, layer, g, seen ? seen[i] : i) + at;
    UNROLL EACH(p, parts) {
      W x = wide(v + p * LANES);
      UNROLL EACH(j, heads) mixed[j][p] = mixed[j][p] + own->scores[j][i] * x;
    }
  }
  UNROLL EACH(j, heads) UNROLL EACH(p, parts) *(W *)(to + j * width + at + p * LANES) = mixed[j][p];
}

/* Attention of row r's heads from `h` on, as many as `heads`, which share the keys of the group g, in e->y. */
INLINE void attend_heads(const Text *t, int layer, int g, const float *q, float *out, int end, int count, int tree,
                         Scratch *own, const int heads) {
  const int width = t->model->width;
  const int *seen = tree ? own->seen : 0;
  const float scale = 1 / __builtin_sqrtf((float)width);
  for (int c = 0; c < end; c += LANES) {
    const float *k = keys(t, layer, g, c);
    W a[TOGETHER_HEADS][4];
    UNROLL EACH(j, heads) UNROLL EACH(l, 4) a[j][l] = (W){};
    for (int d = 0; d < width; d += 4) UNROLL EACH(l, 4) {
      W x = wide(k + (d + l) * PAGE);
      UNROLL EACH(j, heads) a[j][l] = a[j][l] + x * q[j * width + d + l];
    }
    UNROLL EACH(j, heads)
      *(W *)(own->scores[j] + c) = (a[j][0] * scale + a[j][2] * scale) + (a[j][1] * scale + a[j][3] * scale);
  }
  if (tree) EACH(j, heads) EACH(i, count) own->scores[j][i] = own->scores[j][seen[i]];
  float sums[TOGETHER_HEADS] = {};
  EACH(j, heads) {
    float most = own->scores[j][0];
    for (int i = count; i % LANES; i++) own->scores[j][i] = most;
    W top = wide(own->scores[j]);
    for (int i = LANES; i < count; i += LANES) top = larger(top, wide(own->scores[j] + i));
    EACH(i, LANES) most = top[i] > most ? top[i] : most;
    for (int i = 0; i < count; i += LANES) *(W *)(own->scores[j] + i) = exponential(wide(own->scores[j] + i) - most);
  }
  EACH(i, count) UNROLL EACH(j, heads) sums[j] += own->scores[j][i];
  EACH(j, heads) {
    float share = 1 / sums[j];
    for (int i = 0; i < count; i += LANES) *(W *)(own->scores[j] + i) = wide(own->scores[j] + i) * share;
  }
  const int parts = 32 / LANES > 4 ? 4 : 32 / LANES;
  for (int at = 0; at < width; at += parts * LANES) mix(t, layer, g, at, count, seen, own, out, heads, parts);
}

/* Attention of row r's heads that share keys, the group g, in e->y: three at a time, then one by one. */
static void attend(const Text *t, int layer, int n, int tree, int r, int g, Scratch *own) {
  const Model *m = t->model;
  Engine *e = m->engine;
  const int width = m->width, each = m->heads / m->groups, begin = t->length, end = tree ? begin + n : begin + r + 1;
  int count = end, h = 0, first = (r * m->heads + g * each) * width;
  if (tree) {
    count = 0;
    EACH(c, end) if (e->input.visible[r * end + c]) own->seen[count++] = c;
  }
  for (; h + TOGETHER_HEADS <= each; h += TOGETHER_HEADS)
    attend_heads(t, layer, g, e->q + first + h * width, e->y + first + h * width, end, count, tree, own, TOGETHER_HEADS);
  for (; h < each; h++)
    attend_heads(t, layer, g, e->q + first + h * width, e->y + first + h * width, end, count, tree, own, 1);
}

/* ---- threads ----

   One thread reads texts; the others are in `help`, and do a part of its products and attention, a share at a time,
   whoever comes first. A number has the same bits whoever computes it. The reader waits only for shares that a helper has
   begun. Whoever waits looks for a moment, which costs less than to be woken, and then sleeps: the processor may be wanted
   by the one that is waited for. */

#define GET(what) __atomic_load_n(&e->job.what, __ATOMIC_SEQ_CST)
#define SET(what, x) __atomic_store_n(&e->job.what, x, __ATOMIC_SEQ_CST)
#define ADD(what, x) __atomic_fetch_add(&e->job.what, x, __ATOMIC_SEQ_CST)
static int changed(const int *what, int seen) { /* in a moment: whether it is no longer what it was */
  EACH(i, LOOKS) {
    if (__atomic_load_n(what, __ATOMIC_SEQ_CST) != seen) return 1;
    WAIT();
  }
  return 0;
}
static void call_helpers(Engine *e) { if (ADD(turn, 1), GET(asleep)) wake_all(&e->sleepers, &e->job.turn); }
static void wait_for_helpers(Engine *e) {
  for (int n; (n = GET(busy));) if (!changed(&e->job.busy, n)) sleep_while(&e->sleepers, &e->job.busy, n);
}

static void work(Engine *e, Scratch *own) {
  for (int o; (o = ADD(next, e->job.share)) < e->job.all;) {
    int end = o + e->job.share < e->job.all ? o + e->job.share : e->job.all;
    if (e->job.text) {
      for (int groups = e->job.text->model->groups; o < end; o++)
        attend(e->job.text, e->job.layer, e->job.n, e->job.tree, o / groups, o % groups, own);
    } else EACH(i, e->job.count) {
      int size = e->job.products[i].m->out;
      if (o < size && end > 0) outputs(e, e->job.products + i, e->job.n, o > 0 ? o : 0, end < size ? end : size);
      o -= size, end -= size;
    }
  }
}

static void share_out(Engine *e, int all, int unit) { /* the job, of so many numbers, in multiples of a unit */
  e->job.all = all, e->job.share = e->threads > 1 ? (all / unit / (SHARES * e->threads) + 1) * unit : all;
  SET(next, 0);
  if (e->threads > 1) SET(open, 1), call_helpers(e);
  work(e, &e->scratch);
  SET(open, 0);
  wait_for_helpers(e);
}

static void multiply(Engine *e, int n, int count, const Product *products) {
  int all = 0;
  EACH(i, count) e->job.products[i] = products[i], all += products[i].m->out;
  e->job.text = 0, e->job.n = n, e->job.count = count;
  share_out(e, all, WIDE);
}
#define MULTIPLY(e, n, ...) \
  multiply(e, n, sizeof((Product[]){__VA_ARGS__}) / sizeof(Product), (const Product[]){__VA_ARGS__})

static __attribute__((noinline)) void keep_helping(Engine *e, Scratch *own) {
  while (!GET(leaving)) {
    int seen = GET(turn);
    ADD(busy, 1);
    if (GET(open)) work(e, own);
    if (ADD(busy, -1) == 1 && !GET(open)) wake_all(&e->sleepers, &e->job.busy);
    if (changed(&e->job.turn, seen)) continue;
    ADD(asleep, 1);
    sleep_while(&e->sleepers, &e->job.turn, seen);
    ADD(asleep, -1);
  }
}

/* For a thread of its own, with a place that `stack` gives; in WebAssembly an instance of its own, whose stack ends
   there. Returns after `dismiss`. */
EXPORT(help) void help(Engine *e, Byte *stack) {
#ifdef __wasm__
  __asm__ volatile(".globaltype __stack_pointer, i32\nlocal.get %0\nglobal.set __stack_pointer" : : "r"(stack));
#endif
  keep_helping(e, (Scratch *)stack);
}
EXPORT(stack) Byte *stack(Engine *e) {
  Byte *begin = take(e, STACK + sizeof(Scratch));
  return begin ? begin + STACK : 0;
}
EXPORT(share) void share(Engine *e, int among) { e->threads = among; } /* how many compute, with the reader */
EXPORT(dismiss) void dismiss(Engine *e) { SET(leaving, 1), call_helpers(e); }

/* ---- a layer ---- */

/* What is in `activations` to what attention gives, in e->y; the new rows' keys and values are kept. */
static void attention(Text *t, int layer, int n, int tree) {
  const Model *m = t->model;
  const Layer *l = &m->layer[layer];
  Engine *e = m->engine;
  int queries = m->heads * m->width, kept = m->groups * m->width, begin = t->length;
  MULTIPLY(e, n, {l->q, e->q}, {l->k, e->k}, {l->v, e->up});
  EACH(r, n) {
    EACH(h, m->heads) turn(e, e->q + r * queries + h * m->width, m->width, r);
    EACH(g, m->groups) {
      float *k = e->k + r * kept + g * m->width, *to = keys(t, layer, g, begin + r);
      turn(e, k, m->width, r);
      EACH(d, m->width) to[d * PAGE] = k[d];
      __builtin_memcpy(values(t, layer, g, begin + r), e->up + r * kept + g * m->width, 4 * m->width);
    }
  }
  e->job.text = t, e->job.layer = layer, e->job.tree = tree, e->job.n = n;
  share_out(e, n * m->groups, 1);
  prepare(e, l->mix, e->y, n);
}

INLINE W swish(W x) { return x / (1 + exponential(-x)); }

static void add(float *x, const float *y, int size) {
  for (int i = 0; i < size; i += 4) *(V *)(x + i) = load(x + i) + load(y + i);
}

/* What attention gave, and the feed-forward part, are added to the rows x. */
static void finish(const Layer *l, const Model *m, float *x, int n) {
  Engine *e = m->engine;
  MULTIPLY(e, n, {l->mix, e->y});
  add(x, e->y, n * m->hidden);
  EACH(r, n) normed(x + r * m->hidden, l->after, m->eps, m->hidden, e->y + r * m->hidden);
  prepare(e, l->gate, e->y, n);
  MULTIPLY(e, n, {l->gate, e->q}, {l->up, e->up});
  for (int i = 0; i < n * m->inner; i += LANES) *(W *)(e->q + i) = swish(wide(e->q + i)) * wide(e->up + i);
  prepare(e, l->down, e->q, n);
  MULTIPLY(e, n, {l->down, e->y});
  add(x, e->y, n * m->hidden);
}

static int answer(Exit by, const Model *m, int n, int keep) { /* logits of the last `keep` rows of e->x */
  Engine *e = m->engine;
  int hidden = m->hidden, size = by.out->out, inner = by.into ? by.into->out : 0;
  if (!keep) return 1;
  if (e->results_room < keep * size) {
    if (!(e->results = take(e, (Size)4 * ROWS * size))) return e->results_room = 0;
    e->results_room = ROWS * size;
  }
  EACH(r, keep) normed(e->x + (n - keep + r) * hidden, by.norm, m->eps, hidden, e->y + r * hidden);
  prepare(e, inner ? by.into : by.out, e->y, keep);
  if (inner) {
    MULTIPLY(e, keep, {by.into, e->q});
    for (int i = 0; i < keep * inner; i += LANES) *(W *)(e->q + i) = swish(wide(e->q + i));
    prepare(e, by.back, e->q, keep);
    MULTIPLY(e, keep, {by.back, e->up});
    add(e->y, e->up, keep * hidden);
    prepare(e, by.out, e->y, keep);
  }
  MULTIPLY(e, keep, {by.out, e->results});
  return 1;
}

/* ---- sums over a vocabulary ---- */

static const double LEAST = -708;
INLINE D8 power(D8 x) { /* e^x for x up to 0, in double precision; relative error 1e-15, and 0 below e^LEAST */
  static const double high = 0x1.62e42fefa0000p-1, low = 0x1.cf79abc9e3b39p-40, shifter = 0x1.8p52;
  D8 t = x * 1.4426950408889634 + shifter, n = t - shifter, r = x - n * high - n * low, y = 1 / 6227020800.0 - (D8){};
  static const double factorials[] = {479001600, 39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2, 1, 1};
  UNROLL EACH(i, 13) y = y * r + 1 / factorials[i];
  return (D8)(((L8)y + ((L8)t << 52)) & (x > LEAST));
}

INLINE double together(D8 x) { return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7])); }

/* Logits to the probabilities of a softmax at a temperature above 0, for a row of `width` numbers, a multiple of 8. to: may
   be where the logits are. powers: room for as many numbers, which are summed in double precision. */
EXPORT(soften) void soften(const float *logits, int width, float temperature, float *to, D8 *powers) {
  F8 most = *(const F8 *)logits / temperature;
  D8 sums = {};
  for (int i = 0; i < width; i += 8) {
    F8 x = *(const F8 *)(logits + i) / temperature;
    I8 more = x > most;
    most = (F8)(((I8)x & more) | ((I8)most & ~more)), *(F8 *)(to + i) = x;
  }
  float top = most[0];
  EACH(i, 8) top = most[i] > top ? most[i] : top;
  for (int i = 0; i < width; i += 8) {
    D8 x = __builtin_convertvector(*(const F8 *)(to + i), D8) - (double)top;
    powers[i / 8] = (D8){};
    if (__builtin_reduce_or(x > LEAST)) sums += powers[i / 8] = power(x); /* a head knows a part of the tokens */
  }
  double share = 1 / together(sums);
  for (int i = 0; i < width; i += 8) *(F8 *)(to + i) = __builtin_convertvector(powers[i / 8] * share, F8);
}

/* Of a row of p and one of q: found[0] is the sum of max(a p - b q, 0), found[1] that of max(b q - a p, 0). */
EXPORT(surplus) void surplus(const float *p, const float *q, int width, double a, double b, double *found) {
  D8 missing = {}, excess = {};
  for (int i = 0; i < width; i += 8) {
    D8 gap = __builtin_convertvector(*(const F8 *)(p + i), D8) * a - __builtin_convertvector(*(const F8 *)(q + i), D8) * b;
    L8 more = gap > 0;
    missing += (D8)((L8)gap & more), excess -= (D8)((L8)gap & ~more);
  }
  found[0] = together(missing), found[1] = together(excess);
}

/* The token that a number in [0, 1) picks from a row of chances: the first whose cumulative sum is above that share of
   the whole; at most the last one that has a chance. width: a multiple of 8; sums: room for width / 8 numbers. */
EXPORT(pick) int pick(const float *row, int width, double number, double *sums) {
  double all = 0, before = 0;
  int at = 0, last;
  EACH(i, width / 8) all += sums[i] = together(__builtin_convertvector(*(const F8 *)(row + 8 * i), D8));
  for (last = width / 8 - 1; last > 0 && !(sums[last] > 0);) last--;
  while (at < last && !(before + sums[at] > number * all)) before += sums[at++];
  for (last = 7; last > 0 && !(row[8 * at + last] > 0);) last--;
  EACH(i, last) if ((before += row[8 * at + i]) > number * all) return 8 * at + i;
  return 8 * at + last;
}

/* ---- what a host calls ---- */

EXPORT(tokens) int *tokens(Engine *e) { return e->input.tokens; }          /* ROWS ids to read */
EXPORT(positions) int *positions(Engine *e) { return e->input.positions; } /* where each stands in its text */
EXPORT(before) int *before(Engine *e) { return e->input.before; }          /* for `guess`: the column before each */
EXPORT(visible) Byte *visible(Engine *e) { return e->input.visible; }      /* in a tree, (n, length + n): whether it is seen */
EXPORT(logits) float *logits(Engine *e) { return e->results; }             /* after the last `keep` tokens */

EXPORT(model) Model *model(Engine *e, int hidden, int inner, int heads, int groups, int width, int layers, double base,
                           float eps, const Matrix *table, const float *norm) {
  Model *m = take(e, sizeof *m);
  double root = base, rate = 1;
  if (!m) return 0;
  *m = (Model){e, hidden, inner, heads, groups, width, layers, .table = table, .norm = norm, .eps = eps};
  for (int half = width / 2; half > 1; half /= 2) root = __builtin_sqrt(root); /* width: a power of two */
  EACH(i, width / 2) m->rates[i] = (float)(1 / rate), rate *= root;
  return m;
}

EXPORT(layer) void layer(Model *m, int i, const float *before, const float *after, const Matrix *q, const Matrix *k,
                         const Matrix *v, const Matrix *mix, const Matrix *gate, const Matrix *up, const Matrix *down) {
  m->layer[i] = (Layer){before, after, q, k, v, mix, gate, up, down};
}

EXPORT(tap) void tap(Model *m, int after) { m->tap[m->taps++] = after; } /* keep states after so many layers, */
EXPORT(mark) void mark(Text *t, int after) { t->tap[t->states++] = after; } /* and of a text in which nothing is read */

EXPORT(leave) Exit *leave(const Model *m, const Matrix *out, const Matrix *into, const Matrix *back, const float *norm) {
  Exit *by = take(m->engine, sizeof *by);
  if (by) *by = (Exit){out, into, back, norm};
  return by;
}

EXPORT(head) Head *head(const Model *m, int inner, int heads, int groups, int width, double base, float eps,
                        int fed_normed, const Matrix *join, const Matrix *straight, const Matrix *out, const float *norm,
                        const float *taps_norm, const float *of_hidden, const float *of_token) {
  Model *shape = model(m->engine, m->hidden, inner, heads, groups, width, 1, base, eps, m->table, norm);
  Head *h = shape ? take(m->engine, sizeof *h) : 0;
  if (h) *h = (Head){*shape, join, straight, out, taps_norm, of_hidden, of_token, fed_normed};
  return h;
}

EXPORT(text) Text *text(const Model *m) { return opened(m, m->taps); }
EXPORT(follow) Text *follow(const Head *h) { return opened(&h->shape, 1); }

/* Read n tokens from column `begin` on by the layers from `first` to before `end`, those after `first` from the state that
   the text keeps there; logits after the last `keep`, by an exit, 0: the model's. tree: each sees what `visible` says. */
EXPORT(climb) int climb(Text *t, const Exit *by, int begin, int first, int end, int n, int keep, int tree) {
  const Model *m = t->model;
  Engine *e = m->engine;
  int hidden = m->hidden, size = 4 * hidden;
  if (!reserve(t, begin + n)) return 0;
  t->length = begin;
  place_rows(m, n);
  if (!first) EACH(r, n) embedded(m->table, e->input.tokens[r], e->x + r * hidden);
  EACH(k, t->states) if (first && t->tap[k] == first)
    EACH(r, n) __builtin_memcpy(e->x + r * hidden, state(t, k, begin + r), size);
  for (int i = first;; i++) {
    EACH(k, t->states) if (t->tap[k] == i)
      EACH(r, n) __builtin_memcpy(state(t, k, begin + r), e->x + r * hidden, size);
    if (i == end) break;
    EACH(r, n) normed(e->x + r * hidden, m->layer[i].before, m->eps, hidden, e->y + r * hidden);
    prepare(e, m->layer[i].q, e->y, n);
    attention(t, i, n, tree);
    finish(&m->layer[i], m, e->x, n);
  }
  t->length += n;
  return answer(by ? *by : (Exit){m->table, 0, 0, m->norm}, m, n, keep);
}

EXPORT(forward) int forward(Text *t, int n, int keep, int tree) { /* the same by all layers, after what is read */
  return climb(t, 0, t->length, 0, t->model->layers, n, keep, tree);
}

/* The head reads n tokens, none of which rests on another: on what `target` knew at the columns `before`, or, where
   there is no target, on the head's own output there. A column of -1 is the text's beginning, where nothing is known. */
EXPORT(guess) int guess(const Head *h, Text *t, const Text *target, int n, int keep, int tree) {
  const Model *m = &h->shape;
  Engine *e = m->engine;
  int hidden = m->hidden, taps = target ? target->states : 0, known = (target ? target : t)->length;
  EACH(r, n) if (e->input.before[r] >= known) return 0;
  if (!reserve(t, t->length + n)) return 0;
  place_rows(m, n);
  EACH(r, n) {
    int column = e->input.before[r];
    EACH(k, taps) {
      float *to = e->joined + (r * taps + k) * hidden;
      if (column < 0) __builtin_memset(to, 0, 4 * hidden);
      else __builtin_memcpy(to, state(target, k, column), 4 * hidden);
      normed(to, h->taps_norm + k * hidden, m->eps, hidden, to);
    }
    if (target) continue;
    if (h->fed_normed) normed(state(t, 0, column), m->norm, m->eps, hidden, e->x + r * hidden);
    else __builtin_memcpy(e->x + r * hidden, state(t, 0, column), 4 * hidden);
  }
  if (target) {
    prepare(e, h->join, e->joined, n);
    MULTIPLY(e, n, {h->join, e->x});
  }
  EACH(r, n) { /* the token beside what is known: (n, 2 * hidden), and the token's own way */
    float *both = e->joined + r * 2 * hidden;
    embedded(m->table, e->input.tokens[r], e->y);
    normed(e->y, h->of_token, m->eps, hidden, both);
    __builtin_memcpy(e->q + r * hidden, both, 4 * hidden);
  }
  prepare(e, h->straight, e->q, n);
  MULTIPLY(e, n, {h->straight, e->y});
  add(e->x, e->y, n * hidden);
  EACH(r, n) normed(e->x + r * hidden, h->of_hidden, m->eps, hidden, e->joined + (2 * r + 1) * hidden);
  prepare(e, m->layer[0].q, e->joined, n);
  attention(t, 0, n, tree);
  finish(&m->layer[0], m, e->x, n);
  EACH(r, n) __builtin_memcpy(state(t, 0, t->length + r), e->x + r * hidden, 4 * hidden);
  t->length += n;
  return answer((Exit){h->out, 0, 0, m->norm}, m, n, keep);
}
