/* A random model and head by engine.c, and a hash of all that they give: run on several processors,
 * it must be the same. */
#include "../../../hsd/engine/engine.c"
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
static const Matrix *weights(Engine *e, int kind, int out, int in) {
  Matrix *m = matrix(e, kind, out, in);
  int four = kind == BITS_4,
      type = kind == BITS_16 ? OF_BF16
             : four          ? OF_Q4_1
                             : OF_Q8_0,
      bytes = row_bytes(type, in);
  Byte *rows = zeros((Size)out * bytes);
  EACH (i, out * bytes)
    rows[i] = (Byte)noise();
  if (kind == BITS_16)
    EACH (i, out * in)
      ((Half *)rows)[i] = (Half)((noise() & 0x8000) | (0x3d00 + noise() % 0x100));
  else
    EACH (i, out * in / BLOCK) { /* scales, and minima below zero */
      Half *scale = (Half *)(rows + i * (four ? 20 : 34));
      scale[0] = (Half)(0x2000 + noise() % 0x400);
      if (four)
        scale[1] = (Half)(0xac00 + noise() % 0x400);
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
  enum { HIDDEN = 192, INNER = 256, HEADS = 6, KEYS = 2, WIDE_HEAD = 32, DEEP = 3, VOCAB = 96 };
  Engine *e = engine(zeros);
  Model *m = model(e, HIDDEN, INNER, HEADS, KEYS, WIDE_HEAD, DEEP, 10000, 1e-5f,
                   weights(e, 0, VOCAB, HIDDEN), norm(e, HIDDEN));
  EACH (i, DEEP - 1)
    layer(m, i, norm(e, HIDDEN), norm(e, HIDDEN), weights(e, 1, HIDDEN, HIDDEN),
          weights(e, i & 1, KEYS * WIDE_HEAD, HIDDEN), weights(e, 0, KEYS * WIDE_HEAD, HIDDEN),
          weights(e, 1, HIDDEN, HIDDEN), weights(e, 1, INNER, HIDDEN), weights(e, 1, INNER, HIDDEN),
          weights(e, 0, HIDDEN, INNER));
  layer(m, DEEP - 1, norm(e, HIDDEN), norm(e, HIDDEN), weights(e, 2, HIDDEN, HIDDEN),
        weights(e, 2, KEYS * WIDE_HEAD, HIDDEN), weights(e, 2, KEYS * WIDE_HEAD, HIDDEN),
        weights(e, 2, HIDDEN, HIDDEN), weights(e, 2, INNER, HIDDEN), weights(e, 2, INNER, HIDDEN),
        weights(e, 2, HIDDEN, INNER));
  tap(m, 1);
  Head *h = head(m, INNER, HEADS, KEYS, WIDE_HEAD, 10000, 1e-5f, 1, weights(e, 0, HIDDEN, HIDDEN),
                 weights(e, 0, HIDDEN, HIDDEN), weights(e, 0, 64, HIDDEN), norm(e, HIDDEN),
                 norm(e, HIDDEN), norm(e, HIDDEN), norm(e, HIDDEN));
  layer(&h->shape, 0, 0, norm(e, HIDDEN), weights(e, 0, HIDDEN, 2 * HIDDEN),
        weights(e, 0, KEYS * WIDE_HEAD, 2 * HIDDEN), weights(e, 0, KEYS * WIDE_HEAD, 2 * HIDDEN),
        weights(e, 0, HIDDEN, HIDDEN), weights(e, 0, INNER, HIDDEN), weights(e, 0, INNER, HIDDEN),
        weights(e, 0, HIDDEN, INNER));
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
