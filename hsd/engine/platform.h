/* What differs between the machines that engine.c is compiled for, but for the products: see products_*.h. */

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("clang loop unroll(full)")
#define EACH(i, n) for (int i = 0; i < (n); i++)

typedef unsigned char Byte;
typedef unsigned short Half;
typedef __SIZE_TYPE__ Size;

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

/* How many times a thread looks at a number, and how it waits in between, before it sleeps: some 0.1 ms, as it takes far
   longer to be woken than most jobs last. */
#ifdef __AVX2__
enum { LOOKS = 2000 };
#define WAIT() __builtin_ia32_pause()
#else
enum { LOOKS = 100000 };
#define WAIT() (void)0
#endif

/* Vectors of floats: of 4, whose sums have one order everywhere, and of as many as the machine has at once, where every
   lane is a number of its own. Eight doubles are as many instructions as it takes. */
typedef float V __attribute__((vector_size(16), aligned(4), may_alias));
typedef float W __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int WI __attribute__((vector_size(4 * LANES)));
typedef float F8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int I8 __attribute__((vector_size(32)));
typedef double D8 __attribute__((vector_size(64), aligned(8)));
typedef long long L8 __attribute__((vector_size(64)));

#ifdef __wasm__
INLINE W nearest(W x) { return (W)wasm_f32x4_nearest((v128_t)x); }
INLINE W larger(W x, W y) { return (W)wasm_f32x4_pmax((v128_t)x, (v128_t)y); }
INLINE W smaller(W x, W y) { return (W)wasm_f32x4_pmin((v128_t)x, (v128_t)y); }
#else
INLINE W nearest(W x) { return __builtin_elementwise_roundeven(x); }
INLINE W larger(W x, W y) { return __builtin_elementwise_max(x, y); }
INLINE W smaller(W x, W y) { return __builtin_elementwise_min(x, y); }
#endif

/* Memory that is zero, from the host, in multiples of 64 KiB; 0 where there is none. It comes in chunks of at least so many
   bytes: to a process in large ones, of which the system can make large pages, and touches none before it is used. */
typedef void *More(Size bytes);
#ifdef __wasm__
enum { CHUNK = 1 << 20 };
#else
enum { CHUNK = 64 << 20 };
#endif

/* How a thread sleeps until a number changes; a module without shared memory has one thread, which never does. */
#ifdef __wasm__
typedef int Sleepers;
#define START_SLEEPERS(s) (void)(s)
#ifdef __wasm_atomics__
#define sleep_while(s, place, seen) __builtin_wasm_memory_atomic_wait32(place, seen, -1)
#define wake_all(s, place) __builtin_wasm_memory_atomic_notify(place, -1u)
#else
#define sleep_while(s, place, seen) (void)(s)
#define wake_all(s, place) (void)(s)
#endif
#else
#include <pthread.h>
typedef struct { pthread_mutex_t lock; pthread_cond_t changed; } Sleepers;
#define START_SLEEPERS(s) pthread_mutex_init(&(s)->lock, 0), pthread_cond_init(&(s)->changed, 0)
static void sleep_while(Sleepers *s, const int *place, int seen) {
  pthread_mutex_lock(&s->lock);
  while (__atomic_load_n(place, __ATOMIC_SEQ_CST) == seen) pthread_cond_wait(&s->changed, &s->lock);
  pthread_mutex_unlock(&s->lock);
}
static void wake_all(Sleepers *s, const int *place) { /* and those who sleep for another place, who look again */
  (void)place;
  pthread_mutex_lock(&s->lock);
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
}
#endif
