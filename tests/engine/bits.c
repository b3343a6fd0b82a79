/* A random model and head by engine.c, and a hash of all that they give: run on several processors,
 * it must be the same. */
#include "../../hsd/engine/engine.c"
#include <stdio.h>
#include <stdlib.h>

static unsigned long long seed = 1, hash = 14695981039346656037ull;
static unsigned noise(void) {
  return (unsigned)((seed = seed * 6364136223846793005ull + 1442695040888963407ull) >> 33);
}
static void *zeros(Size bytes) {
  void *p = aligned_alloc(64, (bytes + 63) & ~(Size)63);
  return p ? __builtin_memset(p, 0, bytes) : 0;
}
static void count(const float *rows, int many) {
  const Byte *bytes = (const Byte *)rows;
  EACH (i, 4 * many)
    hash = (hash ^ bytes[i]) * 1099511628211ull;
}
/* A random matrix of a type of the file: its bytes are noise, but for its scales, which are about
 * as large as those of models. */
static const Matrix *weights(Engine *e, int type, int out, int in) {
  Matrix *m = matrix(e, type, out, in);
  Size bytes = out * row_bytes(type, in);
  Byte *rows = zeros(bytes);
  int block = bytes_of(type);
  EACH (i, (int)bytes)
    rows[i] = (Byte)noise();
  if (type == OF_BF16)
    EACH (i, out * in)
      ((Half *)rows)[i] = (Half)((noise() & 0x8000) | (0x3d00 + noise() % 0x100));
  else
    EACH (i, (int)(bytes / block)) { /* scales, and minima of which most are below zero */
      Half *scale = (Half *)(rows + i * block + (type == OF_Q6_K ? 208 : 0));
      int small = type == OF_Q4_K || type == OF_Q5_K || type == OF_Q6_K ? 0x1000 : 0x2000;
      scale[0] = (Half)(small + noise() % 0x400);
      if (type == OF_Q4_1 || type == OF_Q5_1)
        scale[1] = (Half)(0xac00 + noise() % 0x400);
      if (type == OF_Q4_K || type == OF_Q5_K)
        scale[1] = (Half)(0x1800 + noise() % 0x400);
    }
  pack(m, 0, out, type, rows, 0);
  return m;
}
static const float *norm(Engine *e, int size) {
  float *v = take(e, 4 * size);
  EACH (i, size)
    v[i] = .8f + (float)(noise() % 1000) / 2500;
  return v;
}

int main(void) {
  enum { HIDDEN = 256, INNER = 512, HEADS = 8, KEYS = 2, WIDE_HEAD = 32, VOCAB = 96 };
  static const int types[] = {OF_Q4_0, OF_Q4_1, OF_Q5_0, OF_Q5_1, OF_Q8_0,
                              OF_Q4_K, OF_Q5_K, OF_Q6_K, OF_BF16};
  enum { DEEP = sizeof types / sizeof *types };
  Engine *e = engine(zeros);
  Model *m = model(e, HIDDEN, INNER, HEADS, KEYS, WIDE_HEAD, DEEP, 10000, 1e-5f,
                   weights(e, OF_Q5_K, VOCAB, HIDDEN), norm(e, HIDDEN));
  EACH (i, DEEP) {
    int type = types[i];
    int beside = type == OF_BF16 ? type : OF_Q8_0;
    layer(m, i, norm(e, HIDDEN), norm(e, HIDDEN), weights(e, type, HIDDEN, HIDDEN),
          weights(e, beside, KEYS * WIDE_HEAD, HIDDEN), weights(e, type, KEYS * WIDE_HEAD, HIDDEN),
          weights(e, type, HIDDEN, HIDDEN), weights(e, type, INNER, HIDDEN),
          weights(e, beside, INNER, HIDDEN), weights(e, type, HIDDEN, INNER));
    if (i % 2)
      bias(m, i, norm(e, HIDDEN), norm(e, KEYS * WIDE_HEAD), norm(e, KEYS * WIDE_HEAD));
    if (i % 3)
      level(m, i, norm(e, WIDE_HEAD), norm(e, WIDE_HEAD));
  }
  untie(m, weights(e, OF_Q6_K, VOCAB, HIDDEN), VOCAB - 3);
  slow(m, norm(e, WIDE_HEAD / 2));
  tap(m, 1);
  Head *h =
      head(m, INNER, HEADS, KEYS, WIDE_HEAD, 10000, 1e-5f, 1, weights(e, OF_Q8_0, HIDDEN, HIDDEN),
           weights(e, OF_Q8_0, HIDDEN, HIDDEN), weights(e, OF_Q8_0, 64, HIDDEN), norm(e, HIDDEN),
           norm(e, HIDDEN), norm(e, HIDDEN), norm(e, HIDDEN));
  layer(&h->shape, 0, 0, norm(e, HIDDEN), weights(e, OF_Q8_0, HIDDEN, 2 * HIDDEN),
        weights(e, OF_Q8_0, KEYS * WIDE_HEAD, 2 * HIDDEN),
        weights(e, OF_Q8_0, KEYS * WIDE_HEAD, 2 * HIDDEN), weights(e, OF_Q8_0, HIDDEN, HIDDEN),
        weights(e, OF_Q8_0, INNER, HIDDEN), weights(e, OF_Q8_0, INNER, HIDDEN),
        weights(e, OF_Q8_0, HIDDEN, INNER));
  Text *t = text(m), *guesses = follow(h);
  for (int at = 0, n = 1; at < 150;
       at += n, n = n % ROWS + 1) { /* passes of 1 to 8 tokens, over pages */
    EACH (r, n)
      e->input.tokens[r] = (int)(noise() % VOCAB), e->input.positions[r] = at + r,
      e->input.before[r] = at + r - 1;
    if (!forward(t, n, n, 0))
      return 1;
    count(e->results, n * VOCAB);
    if (!guess(h, guesses, t, n, n, 0))
      return 1;
    count(e->results, n * 64);
  }
  cut(t, 130);
  EACH (r, 5) { /* a tree: two children of the text's end, and more of the first */
    e->input.tokens[r] = (int)(noise() % VOCAB), e->input.positions[r] = r < 2 ? 130 : 131;
    EACH (c, 135)
      e->input.visible[r * 135 + c] = c < 130 || c == 130 + r || (r > 1 && c == 130);
  }
  if (!forward(t, 5, 5, 1))
    return 1;
  count(e->results, 5 * VOCAB);
  move(t, 132, 131), cut(t, 132);
  EACH (r, 2)
    e->input.tokens[r] = r, e->input.positions[r] = 132 + r;
  if (!forward(t, 2, 2, 0))
    return 1;
  count(e->results, 2 * VOCAB), count(state(t, 0, 133), HIDDEN);
  double powers[VOCAB], found[2];
  float p[VOCAB], q[VOCAB];
  soften(e->results, VOCAB, .7f, p, (D8 *)powers),
      soften(e->results + VOCAB, VOCAB, 1.3f, q, (D8 *)powers);
  surplus(p, q, VOCAB, .9, 1, found);
  count(p, VOCAB), count((float *)found, 4), count((float[]){(float)pick(p, VOCAB, .6, powers)}, 1);
  printf("%016llx\n", hash);
  return 0;
}
