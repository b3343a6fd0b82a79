/* What a page asks of a long row of probabilities, beside `soften`, `surplus` and `pick`: what
   torch computes elsewhere. Only the modules have these functions, and a build WITH_ROWS, for
   tests.

   width: of a row, a multiple of 8. */

/* Take memory for so many columns of a text and for its model's logits; return 0 where there is
   none. After this, reading so far takes no memory, so that the host's views of it stay. */
EXPORT(hold)
int hold(Text *t, int length) {
  Engine *e = t->model->engine;
  int numbers = ROWS * t->model->out->out;
  if (e->results_room < numbers) {
    e->results = take(e, (Size)4 * numbers);
    e->results_room = e->results ? numbers : 0;
  }
  return e->results_room && reserve(t, length);
}

/* The sum of a row. */
EXPORT(total)
double total(const float *row, int width) {
  D8 sums = {};
  for (int i = 0; i < width; i += 8)
    sums += __builtin_convertvector(*(const F8 *)(row + i), D8);
  return together(sums);
}

/* Write max(a p - b q, 0) of a row of p and one of q, where both products and the difference are
   rounded to float32. */
EXPORT(residual)
void residual(const float *p, const float *q, int width, float a, float b, float *to) {
  for (int i = 0; i < width; i += 8) {
    F8 gap = *(const F8 *)(p + i) * a - *(const F8 *)(q + i) * b;
    *(F8 *)(to + i) = (F8)((I8)gap & (I8)(gap > 0));
  }
}

/* The logarithms of positive numbers, in double precision, from exponents and the series of atanh.
   The relative error is 1e-12. */
INLINE D8 logarithms(F8 x) {
  static const int root_half = 0x3f3504f3; /* sqrt(1/2): mantissas lie from there to sqrt(2) */
  static const double odd[] = {11, 9, 7, 5, 3, 1};
  I8 bits = (I8)x - root_half;
  D8 exponent = __builtin_convertvector(bits >> 23, D8);
  D8 mantissa = __builtin_convertvector((F8)((bits & 0x7fffff) + root_half), D8);
  D8 z = (mantissa - 1) / (mantissa + 1);
  D8 square = z * z;
  D8 series = 1 / 13.0 - (D8){};
  EACH_UNROLLED (i, 6)
    series = series * square + 1 / odd[i];
  return exponent * 0.69314718055994530942 + 2 * z * series;
}

/* The sum of -x log x over the numbers of a row that are above 0. */
EXPORT(entropy)
double entropy(const float *row, int width) {
  D8 sums = {};
  for (int i = 0; i < width; i += 8) {
    F8 x = *(const F8 *)(row + i);
    I8 positive = x > 0;
    if (!__builtin_reduce_or(positive))
      continue;
    D8 share = __builtin_convertvector((F8)((I8)x & positive), D8);
    sums -= share * logarithms(x);
  }
  return together(sums);
}

/* Write the places of the `count` largest numbers of a row, the largest first, of equals the first;
   return how many there are, without those of -inf. */
EXPORT(largest)
int largest(const float *row, int width, int count, int *places) {
  int n = 0;
  float least = -__builtin_inff();
  for (int i = 0; i < width; i += 8) {
    if (!__builtin_reduce_or(*(const F8 *)(row + i) > least))
      continue;
    for (int k = i; k < i + 8; k++) {
      if (!(row[k] > least))
        continue;
      int at = n < count ? n++ : n - 1;
      for (; at > 0 && row[places[at - 1]] < row[k]; at--)
        places[at] = places[at - 1];
      places[at] = k;
      if (n == count)
        least = row[places[n - 1]];
    }
  }
  return n;
}
