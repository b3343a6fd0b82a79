// The random numbers of torch: a Mersenne Twister.

const SIZE = 624;
const APART = 397;

/**
 * Return a function that gives the next number in [0, 1), with 53 bits, as torch's generator of
 * this seed gives it.
 * @param {number} seed - only its low 32 bits count
 */
function generator(seed) {
  const state = new Uint32Array(SIZE);
  state[0] = seed;
  for (let i = 1; i < SIZE; i += 1) {
    const previous = state[i - 1];
    state[i] = Math.imul(1812433253, previous ^ (previous >>> 30)) + i;
  }
  let at = 0;
  const bits = () => {
    const mixed = (state[at] & 0x80000000) | (state[(at + 1) % SIZE] & 0x7fffffff);
    let y = state[(at + APART) % SIZE] ^ (mixed >>> 1);
    if (mixed & 1) y ^= 0x9908b0df;
    state[at] = y;
    at = (at + 1) % SIZE;
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  };
  return () => ((bits() & 0x1fffff) * 2 ** 32 + bits()) / 2 ** 53;
}

export { generator };
