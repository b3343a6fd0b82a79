/* A portable engine for CPUs and browsers: models of the kinds Llama, Qwen2 and Qwen3, exits after
   some of their layers, a head that drafts for one, and sums over a vocabulary. It is compiled for
   WebAssembly with SIMD and for processors, and needs no library but threads.

   A row, which is a token being read, has the same bits alone, in a draft and in a tree, and on
   every machine that this is compiled for:
   - Activations become 16-bit integers with a scale for each row and block of 32. Their products
     with the file's own integers are summed without an error.
   - What is left is float32, added in one order, and functions that are written out here.
   - No row depends on the rows that are read beside it.
   Matrices of bfloat16 are multiplied by the float32 activations as they are: an output adds its
   products one by one. products_*.h have what the machines multiply in ways of their own.

   Weights are packed as they arrive into tiles, see *weights*. A tile has a block of inputs of
   several outputs beside each other: one instruction computes several outputs, and what is
   unpacked serves every row of the pass.

   The host opens an engine, which has all the state there is. It asks for memory by `take`, packs
   matrices, describes the layers and opens texts. Then it reads up to ROWS tokens at a time: it
   writes tokens, positions and, for a tree, which columns each row sees, and takes logits and
   hidden states from where the functions at the end say. The host must check all sizes: nothing is
   checked here but that there is memory, and that a text has the columns. A result of 0 says that
   one of these is lacking.

   Short names: e the engine, m a model or a matrix, t a text, r a row of n, g a group of heads that
   share keys and values, b a block of inputs, k an input in its block, o an output in its tile or
   matrix. A column is the place of a token in its text. */
#include "platform.h"

enum {
  ROWS = 8,
  MOST = 4, /* rows that are multiplied at once */
  BLOCK = 32,
  PAGE = 64, /* columns of a text for which memory is taken at once */
  PAGE_HEADER = 64,
};
enum {
  MAX_LAYERS = 64,
  MAX_TAPS = 8,
  MAX_COLUMNS = 8192,
  MAX_WIDTH = 128,
  MAX_THREADS = 8,
};
/* Types of numbers in a file, as GGUF numbers them. */
enum {
  OF_F32 = 0,
  OF_F16 = 1,
  OF_Q4_0 = 2,
  OF_Q4_1 = 3,
  OF_Q5_0 = 6,
  OF_Q5_1 = 7,
  OF_Q8_0 = 8,
  OF_Q4_K = 12,
  OF_Q5_K = 13,
  OF_Q6_K = 14,
  OF_BF16 = 30,
};
enum {
  TOGETHER_HEADS = 3, /* heads whose attention is computed at once */
  SHARES = 4,         /* of a thread's part of a job, which it takes one by one */
  STACK = 1 << 14,    /* bytes of a helper's stack in WebAssembly */
};

typedef struct Engine Engine;

/* Kinds of matrices, by the bits of a weight. 16 bits are bfloat16. K: the scales of a block are
   themselves integers, with a scale for each row and OCTET of blocks. */
enum { BITS_8, BITS_4, BITS_5, BITS_4K, BITS_5K, BITS_6K, BITS_16 };
enum { OCTET = 8 };
typedef struct {
  int kind;
  int out, in;
  Byte *data;
} Matrix;

/* A product of the rows in `activations` by m: n rows of m->out numbers, to be written. */
typedef struct {
  const Matrix *m;
  float *to;
} Product;

/* before, after: weights of the norms before attention and after it. mix: attention's output
   matrix. more_*: what is added to queries, keys and values, or 0. q_norm, k_norm: weights of the
   norms of each head's query and key, or 0. */
typedef struct {
  const float *before, *after;
  const Matrix *q, *k, *v;
  const Matrix *mix;
  const Matrix *gate, *up, *down;
  const float *more_q, *more_k, *more_v;
  const float *q_norm, *k_norm;
} Layer;

/* What makes logits of a hidden state: a norm, and a product by `out`. An exit of its own first
   adds to the normed state x the product by `back` of swish(into x); else `into` is 0. */
typedef struct {
  const Matrix *out;
  const Matrix *into, *back;
  const float *norm;
} Exit;

typedef struct {
  Engine *engine;
  int hidden;        /* numbers of a hidden state */
  int inner;         /* numbers between `gate` and `down` */
  int heads, groups; /* of queries, and of keys and values */
  int width;         /* numbers of a head */
  int layers;
  int taps;
  int tap[MAX_TAPS];   /* after how many layers a text keeps its hidden states */
  const Matrix *table; /* embeddings of the tokens */
  const Matrix *out;   /* the output, which may be the table */
  int known;           /* how many outputs stand for a token: others get logits of -inf */
  const float *norm;
  float eps;
  float rates[MAX_WIDTH / 2]; /* by how much a position turns each pair of a head's numbers */
  Layer layer[MAX_LAYERS];
} Model;

/* A head that drafts from hidden states of a model, which `join` makes one state. It has one layer:
   the norm before its attention is `of_hidden` for that state and `of_token` for the token's
   embedding; all else is as in a Model. straight: takes the normed embedding past attention.
   fed_normed: whether its output goes through the last norm before it takes the place of a joined
   state. */
typedef struct {
  Model shape;
  const Matrix *join, *straight, *out;
  const float *taps_norm, *of_hidden, *of_token;
  int fed_normed;
} Head;

/* PAGE columns of a text: this header of PAGE_HEADER bytes, and their numbers. For each layer: keys
   of each group, number after number, each with the columns beside each other; values of each
   group, column after column. Then the hidden states that are kept. */
typedef struct Page {
  struct Page *next;
  int bytes;
} Page;

/* A text that is being read: `length` columns so far. */
typedef struct Text {
  struct Text *next;
  const Model *model;
  int states; /* how many hidden states are kept of each column */
  int length;
  int tap[MAX_TAPS]; /* after how many layers each of these is kept */
  Byte *pages[MAX_COLUMNS / PAGE];
} Text;

/* Each thread has one for attention: scores of the columns, and in a tree the columns seen. */
typedef struct {
  float scores[TOGETHER_HEADS][MAX_COLUMNS + 16];
  int seen[MAX_COLUMNS + 1];
} Scratch;

/* A float16 number as float32. */
static float half(Half h) {
  union {
    unsigned u;
    float f;
  } x = {(h & 0x7fffu) << 13};
  x.f *= 0x1p112f;
  x.u |= (h & 0x8000u) << 16;
  return x.f;
}

/* A bfloat16 number, the upper half of a float32. */
static float upper(Half h) {
  union {
    unsigned u;
    float f;
  } x = {(unsigned)h << 16};
  return x.f;
}

/* A matrix lies as tiles: for each WIDE outputs, block after block of the inputs. A block has
   words, whose bits are the weights'; then planes, which have the bits above the fourth of weights
   of 5 or 6; then scales, as products_*.h say. An octet of blocks of K begins with a header: the
   scales of its scales. In bytes of an output: */
typedef struct {
  int words, planes, scales, header;
} Form;

INLINE Form form_of(const int kind) {
  switch (kind) {
  case BITS_4:
    return (Form){BLOCK / 2, 0, 2 * sizeof(Scale), 0};
  case BITS_5:
    return (Form){BLOCK / 2, BLOCK / 8, 2 * sizeof(Scale), 0};
  case BITS_4K:
    return (Form){BLOCK / 2, 0, 2, 2 * sizeof(Scale)};
  case BITS_5K:
    return (Form){BLOCK / 2, BLOCK / 8, 2, 2 * sizeof(Scale)};
  case BITS_6K:
    return (Form){BLOCK / 2, BLOCK / 4, 2, sizeof(Scale)};
  case BITS_16:
    return (Form){2 * BLOCK, 0, 0, 0};
  default:
    return (Form){BLOCK, 0, sizeof(float), 0};
  }
}

/* Bytes of a block of WIDE outputs, without a header. */
INLINE int block_bytes(const int kind) {
  Form form = form_of(kind);
  return WIDE * (form.words + form.planes + form.scales);
}

/* Where the octet of block b begins, after the first block of its outputs. */
INLINE Size octet_at(const int kind, int b) {
  return (Size)(b / OCTET) * (OCTET * block_bytes(kind) + WIDE * form_of(kind).header);
}

/* Where block b begins, after the first block of its outputs. */
INLINE Size block_at(const int kind, int b) {
  return octet_at(kind, b) + WIDE * form_of(kind).header + (Size)(b % OCTET) * block_bytes(kind);
}

#ifdef __wasm__
#include "products_wasm.h"
#else
#include "products_native.h"
#endif

typedef Half Halves __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

struct Engine {
  struct {
    int tokens[ROWS];
    int positions[ROWS];
    int before[ROWS];
    Byte visible[ROWS * MAX_COLUMNS];
  } input;
  float *results;   /* logits, (rows, vocabulary) */
  int results_room; /* how many numbers fit there */
  More *more;
  Byte *top; /* `left` bytes from here on are free */
  Size left;
  Text *closed;                        /* texts to be used again */
  Page *free;                          /* pages to be used again */
  float turns[ROWS][2][MAX_WIDTH / 2]; /* cosines and sines of the rows' positions */
  /* Room for ROWS rows of `widest` numbers each, see `widen`. */
  int widest;
  Byte *activations;
  float *x, *y, *q, *k, *up, *joined;
  /* What threads do together: see `work`. */
  struct {
    /* The job: attention in `text`, or `count` products where text is 0. This is written only while
       `open` and `busy` are 0. */
    Product products[3];
    Text *text;
    int n; /* rows */
    int count;
    int layer;
    int tree;  /* whether the rows are a tree */
    int share; /* units that are taken at once */
    int parts; /* as many as there are threads */
    /* Its progress. */
    struct {
      int next; /* the first unit of this part that nobody has begun */
      int end;
      int apart[14]; /* parts share no line of the processor's cache */
    } part[MAX_THREADS];
    int open; /* whether helpers may begin */
    int busy; /* helpers that are at it */
    /* The helpers. */
    int known;   /* how many there are */
    int turn;    /* how many jobs there were */
    int asleep;  /* helpers that wait for the next one */
    int leaving; /* whether they shall end */
  } job;
  int threads;
  int ahead; /* see `tiles_ahead` */
  Scratch scratch;
  Sleepers sleepers;
};

/* ---- memory ---- */

#ifdef __wasm__
static void *grow(Size bytes) {
  Size pages = (bytes + 65535) >> 16;
  Size begin = __builtin_wasm_memory_grow(0, pages);
  return begin == (Size)-1 ? 0 : (void *)(begin << 16);
}

EXPORT(engine)
Engine *engine(void) {
  static Engine only;
  only.more = grow;
  only.threads = 1;
  return &only;
}
#else
/* more: gives memory that is zero, at addresses that are multiples of 64. */
EXPORT(engine)
Engine *engine(More *more) {
  Engine *e = more(sizeof *e);
  if (e) {
    e->more = more;
    e->threads = 1;
    e->ahead = tiles_ahead();
    start_sleepers(&e->sleepers);
  }
  return e;
}
#endif

/* Take memory that is zero, for good, at a multiple of 64; return 0 where there is none. */
EXPORT(take)
void *take(Engine *e, Size bytes) {
  if (bytes > MOST_BYTES)
    return 0;
  bytes = (bytes + 63) & ~(Size)63;
  if (bytes > e->left) {
    /* New memory need not follow on what is left: it is enough by itself. */
    Size more = bytes < CHUNK ? CHUNK : bytes;
    more = (more + 65535) & ~(Size)65535;
    Byte *begin = e->more(more);
    if (!begin)
      return 0;
    if (begin != e->top + e->left) {
      e->top = begin;
      e->left = 0;
    }
    e->left += more;
  }
  e->left -= bytes;
  e->top += bytes;
  return e->top - bytes;
}

static int page_bytes(const Text *t) {
  const Model *m = t->model;
  int kept = 2 * m->layers * m->groups * m->width;
  return PAGE_HEADER + PAGE * 4 * (kept + t->states * m->hidden);
}

/* Memory for a page of a text: a page that was given back, or new memory. */
static Byte *page(const Text *t) {
  Engine *e = t->model->engine;
  int bytes = page_bytes(t);
  Page **link = &e->free;
  for (Page *unused = *link; unused; unused = *link) {
    if (unused->bytes == bytes) {
      *link = unused->next;
      return (Byte *)unused;
    }
    link = &unused->next;
  }
  return take(e, bytes);
}

/* The numbers of the page of a column. */
INLINE float *numbers(const Text *t, int column) {
  return (float *)(t->pages[column / PAGE] + PAGE_HEADER);
}

/* Where the first number of a column's key is; the others follow, each PAGE numbers further on. */
static float *keys(const Text *t, int layer, int g, int column) {
  const Model *m = t->model;
  int size = m->groups * m->width;
  return numbers(t, column) + (2 * layer * size + g * m->width) * PAGE + column % PAGE;
}

/* Where a column's value begins; its numbers are beside each other. */
static float *values(const Text *t, int layer, int g, int column) {
  int width = t->model->width;
  int size = t->model->groups * width;
  float *begin = numbers(t, column);
  return begin + ((2 * layer + 1) * size + g * width) * PAGE + column % PAGE * width;
}

/* The hidden state that a text keeps of a column, after t->tap[which] layers. */
EXPORT(state)
float *state(const Text *t, int which, int column) {
  const Model *m = t->model;
  float *states = numbers(t, column) + 2 * m->layers * PAGE * m->groups * m->width;
  return states + (which * PAGE + column % PAGE) * m->hidden;
}

/* Open a text that keeps so many hidden states; return 0 where there is no memory. */
static Text *opened(const Model *m, int states) {
  Engine *e = m->engine;
  Text *t = e->closed;
  if (t) {
    e->closed = t->next;
  } else {
    t = take(e, sizeof *t);
    if (!t)
      return 0;
  }
  t->model = m;
  t->states = states;
  t->length = 0;
  __builtin_memcpy(t->tap, m->tap, sizeof t->tap);
  EACH (i, MAX_COLUMNS / PAGE)
    t->pages[i] = 0;
  return t;
}

/* Take pages for so many columns of a text; return whether it has them. */
static int reserve(Text *t, int length) {
  if (length > MAX_COLUMNS)
    return 0;
  EACH (i, (length + PAGE - 1) / PAGE) {
    if (t->pages[i])
      continue;
    t->pages[i] = page(t);
    if (!t->pages[i])
      return 0;
  }
  return 1;
}

/* Forget the columns from `length` on. */
EXPORT(cut)
void cut(Text *t, int length) {
  if (length < t->length)
    t->length = length;
}

/* Copy a column to the place of another: keys, values and states. */
EXPORT(move)
void move(Text *t, int from, int to) {
  const Model *m = t->model;
  EACH (i, m->layers)
    EACH (g, m->groups) {
      float *key = keys(t, i, g, to);
      float *old_key = keys(t, i, g, from);
      EACH (d, m->width)
        key[d * PAGE] = old_key[d * PAGE];
      float *value = values(t, i, g, to);
      __builtin_memcpy(value, values(t, i, g, from), 4 * m->width);
    }
  EACH (s, t->states)
    __builtin_memcpy(state(t, s, to), state(t, s, from), 4 * m->hidden);
}

/* Close a text: its memory serves others. */
EXPORT(shut)
void shut(Text *t) {
  Engine *e = t->model->engine;
  EACH (i, MAX_COLUMNS / PAGE)
    if (t->pages[i]) {
      Page *p = (Page *)t->pages[i];
      p->bytes = page_bytes(t);
      p->next = e->free;
      e->free = p;
    }
  t->next = e->closed;
  e->closed = t;
}

/* ---- functions ---- */

/* The 4 numbers, or LANES numbers, from p on. */
INLINE V load(const float *p) {
  return *(const V *)p;
}
INLINE W wide(const float *p) {
  return *(const W *)p;
}

/* e^x: a power of two and a polynomial. The relative error is 1e-7. */
INLINE W exponential(W x) {
  static const float terms[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
  x = larger(smaller(x, 88 - (W){}), -87 - (W){});
  W n = nearest(x * 1.44269504088896341f);
  W r = x + n * -0.693359375f + n * 2.12194440e-4f;
  W y = terms[0] - (W){};
  EACH_UNROLLED (i, 5)
    y = y * r + terms[i + 1];
  y = y * r * r + r + 1;
  return y * (W)((__builtin_convertvector(n, WI) + 127) << 23);
}

/* sin(x + quarter * pi/2) */
static double sine(double x, int quarter) {
  double n = __builtin_rint(x * 0.63661977236758134308);
  double r = x - n * 1.57079632679489655800 - n * 6.123233995736766e-17;
  int q = ((int)n + quarter) & 3;
  int even = q & 1;
  double term = even ? 1 : r;
  double sum = term;
  double square = r * r;
  for (int i = even ? 1 : 2; i < 20; i += 2) {
    term *= -square / (i * (i + 1));
    sum += term;
  }
  return q & 2 ? -sum : sum;
}

/* Compute the turns of n rows, for rotary positions. */
static void place_rows(const Model *m, int n) {
  Engine *e = m->engine;
  EACH (r, n)
    EACH (i, m->width / 2) {
      float angle = (float)e->input.positions[r] * m->rates[i];
      e->turns[r][0][i] = (float)sine(angle, 1);
      e->turns[r][1][i] = (float)sine(angle, 0);
    }
}

/* Turn a head x of row r by its rotary position: one half against the other. */
static void turn(const Engine *e, float *x, int width, int r) {
  float *y = x + width / 2;
  for (int i = 0; i < width / 2; i += 4) {
    V a = load(x + i);
    V b = load(y + i);
    V cosines = load(e->turns[r][0] + i);
    V sines = load(e->turns[r][1] + i);
    *(V *)(x + i) = a * cosines - b * sines;
    *(V *)(y + i) = b * cosines + a * sines;
  }
}

/* Divide x by its root mean square, and multiply it by weights, unless `weight` is 0. */
static void normed(const float *x, const float *weight, float eps, int size, float *out) {
  V squares = {};
  for (int i = 0; i < size; i += 4)
    squares += load(x + i) * load(x + i);
  float sum = (squares[0] + squares[2]) + (squares[1] + squares[3]);
  float scale = 1 / __builtin_sqrtf(sum / (float)size + eps);
  for (int i = 0; i < size; i += 4) {
    V scaled = load(x + i) * scale;
    *(V *)(out + i) = weight ? scaled * load(weight + i) : scaled;
  }
}

/* ---- weights ---- */

/* Bytes of WIDE outputs. */
static Size tile_bytes(int kind, int in) {
  return octet_at(kind, in / BLOCK) + (Size)(in / BLOCK % OCTET) * block_bytes(kind);
}

/* The tile of output o, of any tile. */
static Byte *tile(const Matrix *m, int o) {
  return m->data + (Size)(o / WIDE) * tile_bytes(m->kind, m->in);
}

INLINE int kind_of(const int type) {
  switch (type) {
  case OF_Q4_0:
  case OF_Q4_1:
    return BITS_4;
  case OF_Q5_0:
  case OF_Q5_1:
    return BITS_5;
  case OF_Q4_K:
    return BITS_4K;
  case OF_Q5_K:
    return BITS_5K;
  case OF_Q6_K:
    return BITS_6K;
  case OF_BF16:
    return BITS_16;
  default:
    return BITS_8;
  }
}

/* Take room for rows of so many numbers, where there is less; return whether it is there. */
static int widen(Engine *e, int widest) {
  enum { ARRAYS = 6 };
  Size bytes = (Size)4 * ROWS * widest;
  if (widest <= e->widest)
    return 1;
  Byte *begin = take(e, (1 + ARRAYS) * bytes);
  if (!begin)
    return 0;
  float **arrays[ARRAYS] = {&e->x, &e->y, &e->q, &e->k, &e->up, &e->joined};
  e->widest = widest;
  e->activations = begin;
  EACH (i, ARRAYS)
    *arrays[i] = (float *)(begin + (1 + i) * bytes);
  return 1;
}

/* A matrix to be packed from a tensor of a type of the file. out: a multiple of WIDE; in: a
   multiple of BLOCK, and of an octet of blocks for types of K. */
EXPORT(matrix)
Matrix *matrix(Engine *e, int type, int out, int in) {
  int kind = kind_of(type);
  Matrix *m = widen(e, in) ? take(e, sizeof *m) : 0;
  Byte *data = m ? take(e, (Size)(out / WIDE) * tile_bytes(kind, in)) : 0;
  if (!data)
    return 0;
  *m = (Matrix){kind, out, in, data};
  return m;
}

/* Bytes of a block of a tensor in a file, of an octet of blocks for types of K. */
INLINE int bytes_of(const int type) {
  switch (type) {
  case OF_F32:
    return 4 * BLOCK;
  case OF_Q4_0:
    return 18;
  case OF_Q4_1:
    return 20;
  case OF_Q5_0:
    return 22;
  case OF_Q5_1:
    return 24;
  case OF_Q8_0:
    return 34;
  case OF_Q4_K:
    return 144;
  case OF_Q5_K:
    return 176;
  case OF_Q6_K:
    return 210;
  default:
    return 2 * BLOCK;
  }
}

/* Bytes of a row of a tensor in a file. */
static Size row_bytes(int type, int in) {
  int octets = type == OF_Q4_K || type == OF_Q5_K || type == OF_Q6_K;
  return (Size)(in / BLOCK / (octets ? OCTET : 1)) * bytes_of(type);
}

/* Round a block of numbers to weights of 8 bits; return their scale. */
INLINE float rounded(const float *x, Byte *q) {
  float most = 0;
  EACH (k, BLOCK)
    most = __builtin_fabsf(x[k]) > most ? __builtin_fabsf(x[k]) : most;
  EACH (k, BLOCK)
    q[k] = most > 0 ? (Byte)(signed char)__builtin_rintf(x[k] / most * 127) : 0;
  return most / 127;
}

/* Read 16 bytes of two weights each: the lower half of a byte is the first of them. */
INLINE void nibbles(const Byte *from, Byte *q) {
  EACH (k, BLOCK / 2) {
    q[k] = from[k] & 15;
    q[k + BLOCK / 2] = from[k] >> 4;
  }
}

/* Pack a block of a row, of weights scale * bits + low. from: the block in the file. The type is a
   constant once inlined, here and below. */
INLINE void pack_block(Byte *to, const int type, int o, const Byte *from) {
  const int five = type == OF_Q5_0 || type == OF_Q5_1;
  const int with_low = type == OF_Q4_1 || type == OF_Q5_1;
  const int kind = five ? BITS_5 : BITS_4;
  const Half *halves = (const Half *)from;
  const Byte *high = from + (with_low ? 4 : 2);
  Scale *scales = (Scale *)(to + block_bytes(kind)) - 2 * WIDE;
  float scale = half(halves[0]);
  Byte q[BLOCK];
  nibbles(five ? high + 4 : high, q);
  if (five)
    EACH (k, BLOCK)
      q[k] |= (high[k / 8] >> k % 8 & 1) << 4;
  put_weights(kind, to, o, q);
  put_scale(scales + o, scale);
  put_scale(scales + WIDE + o, with_low ? half(halves[1]) : scale * (five ? -16 : -8));
}

/* Pack block b of an octet of the types Q4_K and Q5_K: a weight is
   scale * (its block's scale) * bits - low * (its block's low). */
INLINE void pack_octet(Byte *octet, Byte *to, const int type, int o, int b, const Byte *from) {
  const int kind = kind_of(type);
  const Half *halves = (const Half *)from;
  const Byte *packed = from + 4;
  const Byte *high = packed + 12;
  const Byte *bits = (kind == BITS_5K ? high + BLOCK : high) + b / 2 * BLOCK;
  Scale *header = (Scale *)octet;
  Byte *scales = to + block_bytes(kind) - 2 * WIDE;
  Byte q[BLOCK];
  EACH (k, BLOCK) {
    q[k] = bits[k] >> b % 2 * 4 & 15;
    if (kind == BITS_5K)
      q[k] |= (high[k] >> b & 1) << 4;
  }
  put_weights(kind, to, o, q);
  put_scale(header + o, half(halves[0]));
  put_scale(header + WIDE + o, half(halves[1]));
  if (b < 4) {
    scales[o] = packed[b] & 63;
    scales[WIDE + o] = packed[b + 4] & 63;
  } else {
    scales[o] = (packed[b + 4] & 15) | packed[b - 4] >> 6 << 4;
    scales[WIDE + o] = packed[b + 4] >> 4 | packed[b] >> 6 << 4;
  }
}

/* Pack block b of an octet of the type Q6_K: a weight is scale * (the scale of half its block) *
   (bits - 32). */
INLINE void pack_halves(Byte *octet, Byte *to, int o, int b, const Byte *from) {
  const Byte *bits = from + b / 4 * 64 + b % 2 * BLOCK;
  const Byte *high = from + 128 + b / 4 * BLOCK;
  const Byte *scales = from + 192 + 2 * b;
  Byte *own = to + block_bytes(BITS_6K) - 2 * WIDE;
  Byte q[BLOCK];
  const int shift = b % 4 / 2 * 4;
  const int shift_high = b % 4 * 2;
  EACH (k, BLOCK)
    q[k] = (bits[k] >> shift & 15) | (high[k] >> shift_high & 3) << 4;
  put_weights(BITS_6K, to, o, q);
  put_scale((Scale *)octet + o, half(*(const Half *)(from + 208)));
  own[o] = scales[0];
  own[WIDE + o] = scales[1];
}

/* Pack a block of numbers, or of the type Q8_0, to weights of 8 bits. */
INLINE void pack_rounded(Byte *to, const int type, int o, const Byte *from) {
  float *scales = (float *)(to + block_bytes(BITS_8)) - WIDE;
  Byte q[BLOCK];
  float x[BLOCK];
  if (type == OF_Q8_0) {
    put_weights(BITS_8, to, o, from + 2);
    scales[o] = half(*(const Half *)from);
    return;
  }
  EACH (k, BLOCK)
    x[k] = type == OF_F16    ? half(((const Half *)from)[k])
           : type == OF_BF16 ? upper(((const Half *)from)[k])
                             : ((const float *)from)[k];
  scales[o] = rounded(x, q);
  put_weights(BITS_8, to, o, q);
}

/* Pack a row of a tensor to output o of a matrix of a kind, both constants once inlined. */
INLINE void pack_row(Matrix *m, int o, const Byte *row, const int type, const int kind) {
  Byte *begin = tile(m, o);
  o %= WIDE;
  EACH (b, m->in / BLOCK) {
    Byte *octet = begin + octet_at(kind, b);
    Byte *to = begin + block_at(kind, b);
    const Byte *from = row + (Size)(form_of(kind).header ? b / OCTET : b) * bytes_of(type);
    if (kind == BITS_16)
      EACH (k, BLOCK)
        ((Half *)to)[k * WIDE + o] = ((const Half *)from)[k];
    else if (kind == BITS_8)
      pack_rounded(to, type, o, from);
    else if (kind == BITS_6K)
      pack_halves(octet, to, o, b % OCTET, from);
    else if (form_of(kind).header)
      pack_octet(octet, to, type, o, b % OCTET, from);
    else
      pack_block(to, type, o, from);
  }
}

#define PACK(type, kind)                                                                           \
  case type * 8 + kind:                                                                            \
    pack_row(m, first + i, row, type, kind);                                                       \
    break;

/* Pack rows of a tensor, as they lie in the file, to outputs of a matrix from `first` on. type: of
   the tensor; floats of any type become 8 bits in a matrix of these. width: of the heads of
   attention whose rows have other places in the file. There the two numbers of a pair that turn
   together are beside each other, and here they are half a head apart. Else 0. */
EXPORT(pack)
void pack(Matrix *m, int first, int rows, int type, const Byte *from, int width) {
  Size bytes = row_bytes(type, m->in);
  EACH (i, rows) {
    int at = i;
    if (width)
      at = i / width * width + i % (width / 2) * 2 + i % width / (width / 2);
    const Byte *row = from + at * bytes;
    switch (type * 8 + m->kind) {
      PACK(OF_F32, BITS_8)
      PACK(OF_F16, BITS_8)
      PACK(OF_BF16, BITS_8)
      PACK(OF_BF16, BITS_16)
      PACK(OF_Q4_0, BITS_4)
      PACK(OF_Q4_1, BITS_4)
      PACK(OF_Q5_0, BITS_5)
      PACK(OF_Q5_1, BITS_5)
      PACK(OF_Q8_0, BITS_8)
      PACK(OF_Q4_K, BITS_4K)
      PACK(OF_Q5_K, BITS_5K)
      PACK(OF_Q6_K, BITS_6K)
    }
  }
}

/* Write a token's row of a matrix. */
static void embedded(const Matrix *m, int token, float *out) {
  const int kind = m->kind;
  const int o = token % WIDE;
  const Byte *begin = tile(m, token);
  EACH (i, m->in) {
    const Byte *from = begin + block_at(kind, i / BLOCK);
    const Byte *scales = from + WIDE * (form_of(kind).words + form_of(kind).planes);
    const Scale *header = (const Scale *)(begin + octet_at(kind, i / BLOCK));
    int k = i % BLOCK;
    if (kind == BITS_16) {
      out[i] = upper(((const Half *)from)[k * WIDE + o]);
      continue;
    }
    float weight = (float)get_weight(kind, from, o, k);
    if (kind == BITS_8) {
      out[i] = ((const float *)scales)[o] * weight;
    } else if (kind == BITS_6K) {
      int part = k / (BLOCK / 2);
      float scale = get_scale(header + o) * (float)((const signed char *)scales)[part * WIDE + o];
      out[i] = scale * (weight - 32);
    } else if (form_of(kind).header) {
      float scale = get_scale(header + o) * (float)scales[o];
      out[i] = scale * weight - get_scale(header + WIDE + o) * (float)scales[WIDE + o];
    } else {
      const Scale *own = (const Scale *)scales;
      out[i] = get_scale(own + o) * weight + get_scale(own + WIDE + o);
    }
  }
}

/* ---- products ---- */

/* How many rows are multiplied at once, of n: all of them, or half. */
static int part_of(int n) {
  return n > MOST ? (n + 1) / 2 : n;
}

/* Where the activations begin that a product by m reads for the part whose first row is `row`.
   Integers of a part are written block after block, those of a block row after row. */
static Byte *part(Engine *e, const Matrix *m, int row) {
  Size before = (Size)row * (m->in / BLOCK);
  return e->activations + before * (m->kind == BITS_16 ? 4 * BLOCK : ENTRY);
}

/* Write n rows x to the activations, as products by m read them, or by another matrix of its kind
   and inputs: as they are for bfloat16, else as integers. */
static void prepare(Engine *e, const Matrix *m, const float *x, int n) {
  typedef short Narrow __attribute__((vector_size(2 * LANES)));
  int many = part_of(n);
  int in = m->in;
  if (m->kind == BITS_16) {
    __builtin_memcpy(e->activations, x, (Size)4 * n * in);
    return;
  }
  EACH (r, n)
    EACH (b, in / BLOCK) {
      const float *from = x + r * in + b * BLOCK;
      int first = r / many * many;
      int rows = n - first < many ? n - first : many;
      short q[BLOCK] __attribute__((aligned(64)));
      WI most = {};
      WI total = {};
      /* Without their signs, floats have the order of integers. */
      for (int k = 0; k < BLOCK; k += LANES) {
        WI size = *(const WI *)(from + k) & 0x7fffffff;
        WI more = size > most;
        most = (size & more) | (most & ~more);
      }
      union {
        int i;
        float f;
      } top = {__builtin_reduce_max(most)};
      float scale = top.f > 0 ? 32767 / top.f : 0;
      for (int k = 0; k < BLOCK; k += LANES) {
        WI whole = __builtin_convertvector(nearest(wide(from + k) * scale), WI);
        total += whole;
        *(Narrow *)(q + k) = __builtin_convertvector(whole, Narrow);
      }
      Byte *block = part(e, m, first) + b * rows * ENTRY;
      float back = top.f / 32767;
      float sum = back * (float)__builtin_reduce_add(total);
      put_entry(block, rows, r - first, q, back, sum);
    }
}

/* Multiply n rows of activations by the bfloat16 weights w of WIDE outputs. Each output adds its
   products in the order of the inputs. */
INLINE void product16(const void *w, const Byte *a, int blocks, float *out, int stride,
                      const int n) {
  const float *x = (const float *)a;
  UNROLL
  for (int o = 0; o < WIDE; o += 2 * LANES) {
    W sums[2][MOST];
    EACH_UNROLLED (g, 2)
      EACH_UNROLLED (r, n)
        sums[g][r] = (W){};
    EACH (i, blocks * BLOCK)
      EACH_UNROLLED (g, 2) {
        const Half *from = (const Half *)w + i * WIDE + o + g * LANES;
        W weights = (W)(__builtin_convertvector(*(const Halves *)from, WI) << 16);
        EACH_UNROLLED (r, n)
          sums[g][r] = sums[g][r] + weights * x[r * blocks * BLOCK + i];
      }
    EACH_UNROLLED (g, 2)
      EACH_UNROLLED (r, n)
        *(W *)(out + r * stride + o + g * LANES) = sums[g][r];
  }
}

/* The product of n rows, a constant, by a matrix of any kind. */
#define CASE(kind, n)                                                                              \
  case kind * 8 + n:                                                                               \
    product(w, a, blocks, out, stride, e->ahead, kind, n);                                         \
    break;
#define CASES(kind)                                                                                \
  CASE(kind, 1)                                                                                    \
  CASE(kind, 2)                                                                                    \
  CASE(kind, 3)                                                                                    \
  CASE(kind, 4)
#define CASE_16(n)                                                                                 \
  case BITS_16 * 8 + n:                                                                            \
    product16(w, a, blocks, out, stride, n);                                                       \
    break;

/* Compute the outputs from `o` to before `end`, multiples of WIDE, for n rows. */
static void outputs(Engine *e, const Product *p, int n, int o, int end) {
  int blocks = p->m->in / BLOCK;
  int stride = p->m->out;
  int most = part_of(n);
  for (; o < end; o += WIDE)
    for (int first = 0; first < n; first += most) {
      const Byte *w = tile(p->m, o);
      const Byte *a = part(e, p->m, first);
      float *out = p->to + first * stride + o;
      int rows = n - first < most ? n - first : most;
      switch (p->m->kind * 8 + rows) {
        CASES(BITS_8)
        CASES(BITS_4)
        CASES(BITS_5)
        CASES(BITS_4K)
        CASES(BITS_5K)
        CASES(BITS_6K)
        CASE_16(1)
        CASE_16(2)
        CASE_16(3)
        CASE_16(4)
      }
    }
}

/* ---- attention ---- */

/* Of some heads, add the values of `count` columns by their shares, which are in `own`. This is for
   `parts` vectors of the values, from number `at` on. seen: the columns, or 0 for the first. */
INLINE void mix(const Text *t, int layer, int g, int at, int count, const int *seen,
                const Scratch *own, float *to, const int heads, const int parts) {
  const int width = t->model->width;
  W mixed[TOGETHER_HEADS][4];
  EACH_UNROLLED (j, heads)
    EACH_UNROLLED (p, parts)
      mixed[j][p] = (W){};
  EACH (i, count) {
    const float *v = values(t, layer, g, seen ? seen[i] : i) + at;
    EACH_UNROLLED (p, parts) {
      W x = wide(v + p * LANES);
      EACH_UNROLLED (j, heads)
        mixed[j][p] = mixed[j][p] + own->scores[j][i] * x;
    }
  }
  EACH_UNROLLED (j, heads)
    EACH_UNROLLED (p, parts)
      *(W *)(to + j * width + at + p * LANES) = mixed[j][p];
}

/* Compute the attention of some heads of a row, which share the keys of group g: their queries are
   from `q` on, and their results go to `out`. In a tree the row sees `count` columns, own->seen, of
   those before `end`; else it sees all of these. `heads` is a constant once inlined. */
INLINE void attend_heads(const Text *t, int layer, int g, const float *q, float *out, int end,
                         int count, int tree, Scratch *own, const int heads) {
  const int width = t->model->width;
  const int *seen = tree ? own->seen : 0;
  const float scale = 1 / __builtin_sqrtf((float)width);
  for (int c = 0; c < end; c += LANES) {
    const float *k = keys(t, layer, g, c);
    W a[TOGETHER_HEADS][4];
    EACH_UNROLLED (j, heads)
      EACH_UNROLLED (l, 4)
        a[j][l] = (W){};
    for (int d = 0; d < width; d += 4)
      EACH_UNROLLED (l, 4) {
        W x = wide(k + (d + l) * PAGE);
        EACH_UNROLLED (j, heads)
          a[j][l] = a[j][l] + x * q[j * width + d + l];
      }
    EACH_UNROLLED (j, heads) {
      W even = a[j][0] * scale + a[j][2] * scale;
      W odd = a[j][1] * scale + a[j][3] * scale;
      *(W *)(own->scores[j] + c) = even + odd;
    }
  }
  if (tree)
    EACH (j, heads)
      EACH (i, count)
        own->scores[j][i] = own->scores[j][seen[i]];
  float sums[TOGETHER_HEADS] = {};
  EACH (j, heads) {
    float *scores = own->scores[j];
    float most = scores[0];
    for (int i = count; i % LANES; i++)
      scores[i] = most;
    W top = wide(scores);
    for (int i = LANES; i < count; i += LANES)
      top = larger(top, wide(scores + i));
    EACH (i, LANES)
      most = top[i] > most ? top[i] : most;
    for (int i = 0; i < count; i += LANES)
      *(W *)(scores + i) = exponential(wide(scores + i) - most);
  }
  EACH (i, count)
    EACH_UNROLLED (j, heads)
      sums[j] += own->scores[j][i];
  EACH (j, heads) {
    float *scores = own->scores[j];
    float share = 1 / sums[j];
    for (int i = 0; i < count; i += LANES)
      *(W *)(scores + i) = wide(scores + i) * share;
  }
  const int parts = 32 / LANES > 4 ? 4 : 32 / LANES;
  for (int at = 0; at < width; at += parts * LANES)
    mix(t, layer, g, at, count, seen, own, out, heads, parts);
}

/* Compute the attention of row r's heads of group g, from e->q to e->y: some at a time, then the
   others one by one. */
static void attend(const Text *t, int layer, int n, int tree, int r, int g, Scratch *own) {
  const Model *m = t->model;
  Engine *e = m->engine;
  const int width = m->width;
  const int each = m->heads / m->groups;
  const int begin = t->length;
  const int end = tree ? begin + n : begin + r + 1;
  int count = end;
  int h = 0;
  int first = (r * m->heads + g * each) * width;
  if (tree) {
    count = 0;
    EACH (c, end)
      if (e->input.visible[r * end + c])
        own->seen[count++] = c;
  }
  for (; h + TOGETHER_HEADS <= each; h += TOGETHER_HEADS) {
    attend_heads(t, layer, g, e->q + first + h * width, e->y + first + h * width, end, count, tree,
                 own, TOGETHER_HEADS);
  }
  for (; h < each; h++) {
    attend_heads(t, layer, g, e->q + first + h * width, e->y + first + h * width, end, count, tree,
                 own, 1);
  }
}

/* ---- threads ----

   One thread, the reader, reads texts. The others are in `help`: each thread has a part of its
   products and of its attention, which it does a share at a time, and then helps with the others'.
   A number has the same bits whoever computes it. The reader waits only for shares that a helper
   has begun. A thread that waits looks again for a moment, which costs less than to be woken, and
   then sleeps: the thread that it waits for may need the processor. */

#define GET(what) __atomic_load_n(&e->job.what, __ATOMIC_SEQ_CST)
#define SET(what, x) __atomic_store_n(&e->job.what, x, __ATOMIC_SEQ_CST)
#define ADD(what, x) __atomic_fetch_add(&e->job.what, x, __ATOMIC_SEQ_CST)

/* Look at a number for a moment; return whether it is no longer `seen`. */
static int changed(const int *what, int seen) {
  EACH (i, LOOKS) {
    if (__atomic_load_n(what, __ATOMIC_SEQ_CST) != seen)
      return 1;
    WAIT();
  }
  return 0;
}

/* Say that there is a job, and wake the helpers that sleep. */
static void call_helpers(Engine *e) {
  ADD(turn, 1);
  if (GET(asleep))
    wake_all(&e->sleepers, &e->job.turn);
}

/* Wait until no helper is at the job. */
static void wait_for_helpers(Engine *e) {
  for (int busy = GET(busy); busy; busy = GET(busy))
    if (!changed(&e->job.busy, busy))
      sleep_while(&e->sleepers, &e->job.busy, busy);
}

/* Do the units of the job from `o` to before `end`. A unit is an output, counted through all
   products, or a group of heads of a row. */
static void work_on(Engine *e, Scratch *own, int o, int end) {
  int n = e->job.n;
  if (e->job.text) {
    const Text *t = e->job.text;
    for (int groups = t->model->groups; o < end; o++)
      attend(t, e->job.layer, n, e->job.tree, o / groups, o % groups, own);
    return;
  }
  EACH (i, e->job.count) {
    int size = e->job.products[i].m->out;
    if (o < size && end > 0)
      outputs(e, e->job.products + i, n, o > 0 ? o : 0, end < size ? end : size);
    o -= size;
    end -= size;
  }
}

/* Do shares of the job until none is left: first those of the thread's own part, whose weights lie
   beside each other. */
static void work(Engine *e, Scratch *own, int mine) {
  int share = e->job.share;
  EACH (k, e->job.parts) {
    int p = (mine + k) % e->job.parts;
    int end = e->job.part[p].end;
    while (GET(part[p].next) < end) {
      int o = ADD(part[p].next, share);
      if (o < end)
        work_on(e, own, o, o + share < end ? o + share : end);
    }
  }
}

/* Do the job, of `all` units, together with the helpers, in shares that are multiples of `unit`. */
static void share_out(Engine *e, int all, int unit) {
  int parts = e->threads;
  int many = all / unit;
  e->job.parts = parts;
  e->job.share = parts > 1 ? (many / (SHARES * parts) + 1) * unit : all;
  EACH (p, parts) {
    e->job.part[p].end = many * (p + 1) / parts * unit;
    SET(part[p].next, many * p / parts * unit);
  }
  if (parts > 1) {
    SET(open, 1);
    call_helpers(e);
  }
  work(e, &e->scratch, 0);
  SET(open, 0);
  wait_for_helpers(e);
}

/* Compute `count` products of n rows, together with the helpers. */
static void multiply(Engine *e, int n, int count, const Product *products) {
  int all = 0;
  EACH (i, count) {
    e->job.products[i] = products[i];
    all += products[i].m->out;
  }
  e->job.text = 0;
  e->job.n = n;
  e->job.count = count;
  share_out(e, all, WIDE);
}
/* Compute the products that are listed, each as {matrix, where to write}. */
#define MULTIPLY(e, n, ...)                                                                        \
  multiply(e, n, sizeof((Product[]){__VA_ARGS__}) / sizeof(Product), (const Product[]){__VA_ARGS__})

/* Do shares of one job after another, until `leaving`. Not inlined: in WebAssembly its frame must
   be on the stack that `help` sets. */
static __attribute__((noinline)) void keep_helping(Engine *e, Scratch *own) {
  int mine = ADD(known, 1) + 1;
  while (!GET(leaving)) {
    int seen = GET(turn);
    ADD(busy, 1);
    if (GET(open))
      work(e, own, mine);
    if (ADD(busy, -1) == 1 && !GET(open))
      wake_all(&e->sleepers, &e->job.busy);
    if (changed(&e->job.turn, seen))
      continue;
    ADD(asleep, 1);
    sleep_while(&e->sleepers, &e->job.turn, seen);
    ADD(asleep, -1);
  }
}

/* Help until `dismiss`: for a thread of its own, with a place that `stack` gives. In WebAssembly it
   is an instance of its own, whose stack ends at that place. */
EXPORT(help)
void help(Engine *e, Byte *stack) {
#ifdef __wasm__
  __asm__ volatile(".globaltype __stack_pointer, i32\nlocal.get %0\nglobal.set __stack_pointer"
                   :
                   : "r"(stack));
#endif
  keep_helping(e, (Scratch *)stack);
}

/* Take a stack and scratch for a helper; return where the stack ends and the scratch begins. */
EXPORT(stack)
Byte *stack(Engine *e) {
  Byte *begin = take(e, STACK + sizeof(Scratch));
  return begin ? begin + STACK : 0;
}

/* Compute with so many threads, the reader included, at most MAX_THREADS. */
EXPORT(share)
void share(Engine *e, int among) {
  e->threads = among;
}

/* End all helpers. */
EXPORT(dismiss)
void dismiss(Engine *e) {
  SET(leaving, 1);
  call_helpers(e);
}

/* ---- a layer ---- */

/* Add y to x. */
static void add(float *x, const float *y, int size) {
  for (int i = 0; i < size; i += 4)
    *(V *)(x + i) = load(x + i) + load(y + i);
}

/* Turn a head's query or key of row r by its position. norm: weights of its norm, or 0. */
static void place_head(const Model *m, const float *norm, float *x, int r) {
  if (norm)
    normed(x, norm, m->eps, m->width, x);
  turn(m->engine, x, m->width, r);
}

/* Compute attention from the activations: it is ready for `mix` when this returns. The keys and
   values of the n new rows are kept. */
static void attention(Text *t, int layer, int n, int tree) {
  const Model *m = t->model;
  const Layer *l = &m->layer[layer];
  Engine *e = m->engine;
  int queries = m->heads * m->width;
  int kept = m->groups * m->width;
  int begin = t->length;
  MULTIPLY(e, n, {l->q, e->q}, {l->k, e->k}, {l->v, e->up});
  EACH (r, n) {
    if (l->more_q) {
      add(e->q + r * queries, l->more_q, queries);
      add(e->k + r * kept, l->more_k, kept);
      add(e->up + r * kept, l->more_v, kept);
    }
    EACH (h, m->heads)
      place_head(m, l->q_norm, e->q + r * queries + h * m->width, r);
    EACH (g, m->groups) {
      float *k = e->k + r * kept + g * m->width;
      float *to = keys(t, layer, g, begin + r);
      place_head(m, l->k_norm, k, r);
      EACH (d, m->width)
        to[d * PAGE] = k[d];
      float *v = values(t, layer, g, begin + r);
      __builtin_memcpy(v, e->up + r * kept + g * m->width, 4 * m->width);
    }
  }
  e->job.text = t;
  e->job.layer = layer;
  e->job.tree = tree;
  e->job.n = n;
  share_out(e, n * m->groups, 1);
  prepare(e, l->mix, e->y, n);
}

/* x times its logistic function. */
INLINE W swish(W x) {
  return x / (1 + exponential(-x));
}

/* Add the output of attention, and then the feed-forward part, to the rows x. */
static void finish(const Layer *l, const Model *m, float *x, int n) {
  Engine *e = m->engine;
  MULTIPLY(e, n, {l->mix, e->y});
  add(x, e->y, n * m->hidden);
  EACH (r, n) {
    int at = r * m->hidden;
    normed(x + at, l->after, m->eps, m->hidden, e->y + at);
  }
  prepare(e, l->gate, e->y, n);
  MULTIPLY(e, n, {l->gate, e->q}, {l->up, e->up});
  for (int i = 0; i < n * m->inner; i += LANES) {
    float *gate = e->q + i;
    *(W *)gate = swish(wide(gate)) * wide(e->up + i);
  }
  prepare(e, l->down, e->q, n);
  MULTIPLY(e, n, {l->down, e->y});
  add(x, e->y, n * m->hidden);
}

/* Compute the logits of the last `keep` of the n rows of e->x. */
static int answer(Exit by, const Model *m, int n, int keep) {
  Engine *e = m->engine;
  int hidden = m->hidden;
  int size = by.out->out;
  int inner = by.into ? by.into->out : 0;
  if (!keep)
    return 1;
  if (e->results_room < keep * size) {
    e->results = take(e, (Size)4 * ROWS * size);
    if (!e->results) {
      e->results_room = 0;
      return 0;
    }
    e->results_room = ROWS * size;
  }
  EACH (r, keep) {
    const float *x = e->x + (n - keep + r) * hidden;
    normed(x, by.norm, m->eps, hidden, e->y + r * hidden);
  }
  prepare(e, inner ? by.into : by.out, e->y, keep);
  if (inner) {
    MULTIPLY(e, keep, {by.into, e->q});
    for (int i = 0; i < keep * inner; i += LANES)
      *(W *)(e->q + i) = swish(wide(e->q + i));
    prepare(e, by.back, e->q, keep);
    MULTIPLY(e, keep, {by.back, e->up});
    add(e->y, e->up, keep * hidden);
    prepare(e, by.out, e->y, keep);
  }
  MULTIPLY(e, keep, {by.out, e->results});
  if (by.out == m->out)
    EACH (r, keep)
      for (int o = m->known; o < size; o++)
        e->results[r * size + o] = -__builtin_inff();
  return 1;
}

/* ---- sums over a vocabulary ---- */

/* Below this, e^x is taken for 0. */
static const double LEAST = -708;

/* e^x for x up to 0, in double precision. The relative error is 1e-15. */
INLINE D8 power(D8 x) {
  static const double factorials[] = {479001600, 39916800, 3628800, 362880, 40320, 5040, 720,
                                      120,       24,       6,       2,      1,     1};
  static const double high = 0x1.62e42fefa0000p-1;
  static const double low = 0x1.cf79abc9e3b39p-40;
  static const double shifter = 0x1.8p52;
  D8 t = x * 1.4426950408889634 + shifter;
  D8 n = t - shifter;
  D8 r = x - n * high - n * low;
  D8 y = 1 / 6227020800.0 - (D8){};
  EACH_UNROLLED (i, 13)
    y = y * r + 1 / factorials[i];
  return (D8)(((L8)y + ((L8)t << 52)) & (x > LEAST));
}

/* The sum of eight numbers. */
INLINE double together(D8 x) {
  double even = (x[0] + x[4]) + (x[2] + x[6]);
  double odd = (x[1] + x[5]) + (x[3] + x[7]);
  return even + odd;
}

/* Compute the softmax of a row of logits at a temperature above 0. width: how many they are, a
   multiple of 8. to: may be where the logits are. powers: room for as many numbers, which are
   summed in double precision. */
EXPORT(soften)
void soften(const float *logits, int width, float temperature, float *to, D8 *powers) {
  F8 most = *(const F8 *)logits / temperature;
  D8 sums = {};
  for (int i = 0; i < width; i += 8) {
    F8 x = *(const F8 *)(logits + i) / temperature;
    I8 more = x > most;
    most = (F8)(((I8)x & more) | ((I8)most & ~more));
    *(F8 *)(to + i) = x;
  }
  float top = most[0];
  EACH (i, 8)
    top = most[i] > top ? most[i] : top;
  for (int i = 0; i < width; i += 8) {
    D8 x = __builtin_convertvector(*(const F8 *)(to + i), D8) - (double)top;
    powers[i / 8] = (D8){};
    /* A draft head has logits of -inf for the tokens that it cannot draft: they cost nothing. */
    if (__builtin_reduce_or(x > LEAST)) {
      powers[i / 8] = power(x);
      sums += powers[i / 8];
    }
  }
  double share = 1 / together(sums);
  for (int i = 0; i < width; i += 8)
    *(F8 *)(to + i) = __builtin_convertvector(powers[i / 8] * share, F8);
}

/* Sum max(a p - b q, 0) over a row of p and one of q, and max(b q - a p, 0), to sums[0] and
   sums[1]. width: of the rows, a multiple of 8. */
EXPORT(surplus)
void surplus(const float *p, const float *q, int width, double a, double b, double *sums) {
  D8 missing = {};
  D8 excess = {};
  for (int i = 0; i < width; i += 8) {
    D8 gap = __builtin_convertvector(*(const F8 *)(p + i), D8) * a -
             __builtin_convertvector(*(const F8 *)(q + i), D8) * b;
    L8 more = gap > 0;
    missing += (D8)((L8)gap & more);
    excess -= (D8)((L8)gap & ~more);
  }
  sums[0] = together(missing);
  sums[1] = together(excess);
}

/* The token that a number in [0, 1) picks from a row of chances: the first whose cumulative sum is
   above that share of the whole; at most the last one that has a chance. width: of the row, a
   multiple of 8. sums: room for width / 8 numbers. */
EXPORT(pick)
int pick(const float *row, int width, double number, double *sums) {
  double all = 0;
  EACH (i, width / 8) {
    const F8 *from = (const F8 *)(row + 8 * i);
    sums[i] = together(__builtin_convertvector(*from, D8));
    all += sums[i];
  }
  int last = width / 8 - 1;
  while (last > 0 && !(sums[last] > 0))
    last--;
  double before = 0;
  int at = 0;
  while (at < last && !(before + sums[at] > number * all))
    before += sums[at++];
  last = 7;
  while (last > 0 && !(row[8 * at + last] > 0))
    last--;
  EACH (i, last) {
    before += row[8 * at + i];
    if (before > number * all)
      return 8 * at + i;
  }
  return 8 * at + last;
}

#if defined __wasm__ || defined WITH_ROWS
#include "rows.h"
#endif

/* ---- what a host calls ---- */

/* Where the host writes the ids of the tokens to read, at most ROWS. */
EXPORT(tokens)
int *tokens(Engine *e) {
  return e->input.tokens;
}

/* Where the host writes the position of each token, for rotary embeddings. */
EXPORT(positions)
int *positions(Engine *e) {
  return e->input.positions;
}

/* Where the host writes, for `guess`, the column on which each token rests. */
EXPORT(before)
int *before(Engine *e) {
  return e->input.before;
}

/* Where the host writes, for a tree, whether each row sees each column, (n, length + n). */
EXPORT(visible)
Byte *visible(Engine *e) {
  return e->input.visible;
}

/* Where the logits after the last `keep` tokens are, (keep, vocabulary). */
EXPORT(logits)
float *logits(Engine *e) {
  return e->results;
}

/* Describe a model, its layers apart by `layer`. base: of its rotary positions. width:
   of a head, a power of two. */
EXPORT(model)
Model *model(Engine *e, int hidden, int inner, int heads, int groups, int width, int layers,
             double base, float eps, const Matrix *table, const float *norm) {
  Model *m = take(e, sizeof *m);
  double root = base;
  double rate = 1;
  if (!m)
    return 0;
  *m = (Model){.engine = e,
               .hidden = hidden,
               .inner = inner,
               .heads = heads,
               .groups = groups,
               .width = width,
               .layers = layers,
               .table = table,
               .out = table,
               .known = table->out,
               .norm = norm,
               .eps = eps};
  for (int half = width / 2; half > 1; half /= 2)
    root = __builtin_sqrt(root);
  EACH (i, width / 2) {
    m->rates[i] = (float)(1 / rate);
    rate *= root;
  }
  return m;
}

EXPORT(layer)
void layer(Model *m, int i, const float *before, const float *after, const Matrix *q,
           const Matrix *k, const Matrix *v, const Matrix *mix, const Matrix *gate,
           const Matrix *up, const Matrix *down) {
  Layer *l = &m->layer[i];
  *l = (Layer){.before = before,
               .after = after,
               .q = q,
               .k = k,
               .v = v,
               .mix = mix,
               .gate = gate,
               .up = up,
               .down = down};
}

/* Add numbers to the queries, keys and values of a layer. */
EXPORT(bias)
void bias(Model *m, int i, const float *q, const float *k, const float *v) {
  m->layer[i].more_q = q;
  m->layer[i].more_k = k;
  m->layer[i].more_v = v;
}

/* Divide each head's query and key in a layer by its root mean square, times these weights. */
EXPORT(level)
void level(Model *m, int i, const float *q, const float *k) {
  m->layer[i].q_norm = q;
  m->layer[i].k_norm = k;
}

/* Give a model an output, whose first `known` rows stand for a token. */
EXPORT(untie)
void untie(Model *m, const Matrix *out, int known) {
  m->out = out;
  m->known = known;
}

/* Divide the rates of rotary positions by factors, one for each pair of a head's numbers. */
EXPORT(slow)
void slow(Model *m, const float *factors) {
  EACH (i, m->width / 2)
    m->rates[i] /= factors[i];
}

/* Keep the hidden states after so many layers, in every text that is opened from now on. */
EXPORT(tap)
void tap(Model *m, int after) {
  m->tap[m->taps++] = after;
}

/* Keep the hidden states after so many layers, in one text, in which nothing has been read yet. */
EXPORT(mark)
void mark(Text *t, int after) {
  t->tap[t->states++] = after;
}

/* Describe an exit, see `Exit`. */
EXPORT(leave)
Exit *leave(const Model *m, const Matrix *out, const Matrix *into, const Matrix *back,
            const float *norm) {
  Exit *by = take(m->engine, sizeof *by);
  if (by)
    *by = (Exit){out, into, back, norm};
  return by;
}

/* Describe a head that drafts for a model, see `Head`. */
EXPORT(head)
Head *head(const Model *m, int inner, int heads, int groups, int width, double base, float eps,
           int fed_normed, const Matrix *join, const Matrix *straight, const Matrix *out,
           const float *norm, const float *taps_norm, const float *of_hidden,
           const float *of_token) {
  Model *shape =
      model(m->engine, m->hidden, inner, heads, groups, width, 1, base, eps, m->table, norm);
  Head *h = shape ? take(m->engine, sizeof *h) : 0;
  if (h)
    *h = (Head){*shape, join, straight, out, taps_norm, of_hidden, of_token, fed_normed};
  return h;
}

/* Open a text for a model to read. */
EXPORT(text)
Text *text(const Model *m) {
  return opened(m, m->taps);
}

/* Open a text for a head to read. */
EXPORT(follow)
Text *follow(const Head *h) {
  return opened(&h->shape, 1);
}

/* Read n tokens from column `begin` on by the layers from `first` to before `end`. A `first` above
   0 begins with the hidden states that the text keeps after so many layers. Logits are computed
   after the last `keep` tokens, by an exit; 0 is the model's output. tree: each row sees what
   `visible` says; else all columns up to its own. Return 0 where memory or columns are lacking. */
EXPORT(climb)
int climb(Text *t, const Exit *by, int begin, int first, int end, int n, int keep, int tree) {
  const Model *m = t->model;
  Engine *e = m->engine;
  int hidden = m->hidden;
  int size = 4 * hidden;
  if (!reserve(t, begin + n))
    return 0;
  t->length = begin;
  place_rows(m, n);
  if (!first)
    EACH (r, n)
      embedded(m->table, e->input.tokens[r], e->x + r * hidden);
  EACH (k, t->states)
    if (first && t->tap[k] == first)
      EACH (r, n)
        __builtin_memcpy(e->x + r * hidden, state(t, k, begin + r), size);
  for (int i = first;; i++) {
    EACH (k, t->states)
      if (t->tap[k] == i)
        EACH (r, n)
          __builtin_memcpy(state(t, k, begin + r), e->x + r * hidden, size);
    if (i == end)
      break;
    EACH (r, n)
      normed(e->x + r * hidden, m->layer[i].before, m->eps, hidden, e->y + r * hidden);
    prepare(e, m->layer[i].q, e->y, n);
    attention(t, i, n, tree);
    finish(&m->layer[i], m, e->x, n);
  }
  t->length += n;
  return answer(by ? *by : (Exit){m->out, 0, 0, m->norm}, m, n, keep);
}

/* Read n tokens by all layers, after what has been read. */
EXPORT(forward)
int forward(Text *t, int n, int keep, int tree) {
  return climb(t, 0, t->length, 0, t->model->layers, n, keep, tree);
}

/* Read n tokens by a head, none of which rests on another of them. Each rests on the states that
   `target`, the model's text, keeps of the column in `before`; or, where target is 0, on the head's
   own output at that column. A column of -1 is before the text's first token: its states are 0.
   Return 0 where memory or columns are lacking. */
EXPORT(guess)
int guess(const Head *h, Text *t, const Text *target, int n, int keep, int tree) {
  const Model *m = &h->shape;
  Engine *e = m->engine;
  int hidden = m->hidden;
  int taps = target ? target->states : 0;
  int known = (target ? target : t)->length;
  EACH (r, n)
    if (e->input.before[r] >= known)
      return 0;
  if (!reserve(t, t->length + n))
    return 0;
  place_rows(m, n);
  EACH (r, n) {
    int column = e->input.before[r];
    EACH (k, taps) {
      float *to = e->joined + (r * taps + k) * hidden;
      if (column < 0)
        __builtin_memset(to, 0, 4 * hidden);
      else
        __builtin_memcpy(to, state(target, k, column), 4 * hidden);
      normed(to, h->taps_norm + k * hidden, m->eps, hidden, to);
    }
    if (target)
      continue;
    if (h->fed_normed)
      normed(state(t, 0, column), m->norm, m->eps, hidden, e->x + r * hidden);
    else
      __builtin_memcpy(e->x + r * hidden, state(t, 0, column), 4 * hidden);
  }
  if (target) {
    prepare(e, h->join, e->joined, n);
    MULTIPLY(e, n, {h->join, e->x});
  }
  /* joined: the token beside what is known, (n, 2 * hidden). q: the token alone. */
  EACH (r, n) {
    float *both = e->joined + r * 2 * hidden;
    embedded(m->table, e->input.tokens[r], e->y);
    normed(e->y, h->of_token, m->eps, hidden, both);
    __builtin_memcpy(e->q + r * hidden, both, 4 * hidden);
  }
  prepare(e, h->straight, e->q, n);
  MULTIPLY(e, n, {h->straight, e->y});
  add(e->x, e->y, n * hidden);
  EACH (r, n) {
    float *to = e->joined + (2 * r + 1) * hidden;
    normed(e->x + r * hidden, h->of_hidden, m->eps, hidden, to);
  }
  prepare(e, m->layer[0].q, e->joined, n);
  attention(t, 0, n, tree);
  finish(&m->layer[0], m, e->x, n);
  EACH (r, n)
    __builtin_memcpy(state(t, 0, t->length + r), e->x + r * hidden, 4 * hidden);
  t->length += n;
  return answer((Exit){h->out, 0, 0, m->norm}, m, n, keep);
}
