/* What differs between the machines that engine.c is compiled for, except for the inner products:
   those are in products_*.h. */

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("clang loop unroll(full)")
#define EACH(i, n) for (int i = 0; i < (n); i++)
#define EACH_UNROLLED(i, n)                                                                        \
  UNROLL                                                                                           \
  EACH (i, n)

typedef unsigned char Byte;
typedef unsigned short Half;
typedef __SIZE_TYPE__ Size;

/* LANES: float32 numbers that one instruction computes with. */
#ifdef __wasm__
#include <wasm_simd128.h>
#define EXPORT(name) __attribute__((export_name(#name)))
enum { LANES = 4 };
#else
#define EXPORT(name) __attribute__((visibility("default")))
#ifdef __AVX512F__
enum { LANES = 16 };
#elif defined __AVX2__
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
#endif

/* Before a thread sleeps until a number changes, it looks at the number LOOKS times and does WAIT
   in between. This takes some 0.1 ms: most jobs end within less, and to be woken takes far longer.
 */
#ifdef __AVX2__
enum { LOOKS = 2000 };
#define WAIT() __builtin_ia32_pause()
#else
enum { LOOKS = 100000 };
#define WAIT() (void)0
#endif

/* Vectors of float32. V has 4 numbers on every machine: what is summed over its lanes is summed in
   the same order everywhere. W has as many as the machine computes with at once: it serves where
   each lane is a result of its own. */
typedef float V __attribute__((vector_size(16), aligned(4), may_alias));
typedef float W __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int WI __attribute__((vector_size(4 * LANES)));

/* Vectors for sums over a vocabulary: eight numbers on every machine, by as many instructions as it
   takes. */
typedef float F8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int I8 __attribute__((vector_size(32)));
typedef double D8 __attribute__((vector_size(64), aligned(8)));
typedef long long L8 __attribute__((vector_size(64)));

#ifdef __wasm__
INLINE W nearest(W x) {
  return (W)wasm_f32x4_nearest((v128_t)x);
}
INLINE W larger(W x, W y) {
  return (W)wasm_f32x4_pmax((v128_t)x, (v128_t)y);
}
INLINE W smaller(W x, W y) {
  return (W)wasm_f32x4_pmin((v128_t)x, (v128_t)y);
}
#else
INLINE W nearest(W x) {
  return __builtin_elementwise_roundeven(x);
}
INLINE W larger(W x, W y) {
  return __builtin_elementwise_max(x, y);
}
INLINE W smaller(W x, W y) {
  return __builtin_elementwise_min(x, y);
}
#endif

/* WIDE: outputs of a tile. Scale: how scales of weights are stored; those that a file has are
   float16. */
#ifdef __wasm__
enum { WIDE = 8 };
typedef float Scale;
INLINE void put_scale(Scale *to, float x) {
  *to = x;
}
INLINE float get_scale(const Scale *from) {
  return *from;
}
#else
enum { WIDE = 32 };
typedef Half Scale;
INLINE void put_scale(Scale *to, float x) {
  *(_Float16 *)to = (_Float16)x;
}
INLINE float get_scale(const Scale *from) {
  return (float)*(const _Float16 *)from;
}
#endif

/* A function of the host that gives memory filled with zeros, in multiples of 64 KiB, or 0 where
   there is none. */
typedef void *More(Size bytes);

/* CHUNK: the fewest bytes that are requested at once. A process requests many, so that the system
   can use large pages; it takes none of them up before they are touched. MOST_BYTES: of one
   request, so that rounding it up overflows nothing. */
#ifdef __wasm__
enum { CHUNK = 1 << 20 };
static const Size MOST_BYTES = (Size)1 << 31;
#else
enum { CHUNK = 64 << 20 };
static const Size MOST_BYTES = (Size)1 << 40;
#endif

/* sleep_while: sleep until the number at `place` is no longer `seen`. wake_all: wake the threads
   that sleep so. A module without shared memory has one thread, which never sleeps. */
#ifdef __wasm__
typedef int Sleepers;
#ifdef __wasm_atomics__
#define sleep_while(s, place, seen) __builtin_wasm_memory_atomic_wait32(place, seen, -1)
#define wake_all(s, place) __builtin_wasm_memory_atomic_notify(place, -1u)
#else
#define sleep_while(s, place, seen) (void)(s)
#define wake_all(s, place) (void)(s)
#endif
#else
#include <pthread.h>
typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
} Sleepers;

static void start_sleepers(Sleepers *s) {
  pthread_mutex_init(&s->lock, 0);
  pthread_cond_init(&s->changed, 0);
}

static void sleep_while(Sleepers *s, const int *place, int seen) {
  pthread_mutex_lock(&s->lock);
  while (__atomic_load_n(place, __ATOMIC_SEQ_CST) == seen)
    pthread_cond_wait(&s->changed, &s->lock);
  pthread_mutex_unlock(&s->lock);
}

/* This also wakes threads that sleep for another place: they look at it and sleep again. */
static void wake_all(Sleepers *s, const int *place) {
  (void)place;
  pthread_mutex_lock(&s->lock);
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
}
#endif
