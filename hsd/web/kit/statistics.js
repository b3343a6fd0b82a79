// Sums, medians, and how far chance reaches. Pure.
const sum = (/** @type {number[]} */ numbers) => numbers.reduce((total, x) => total + x, 0);
const sorted = (/** @type {number[]} */ numbers) => numbers.toSorted((a, b) => a - b);

/**
 * The middle of some numbers; of an even count the lower of the middle two.
 * @param {number[]} numbers
 */
const lowMedian = (numbers) => sorted(numbers)[(numbers.length - 1) >> 1];

/** The middle of some numbers; NaN of none. @param {number[]} numbers */
function median(numbers) {
  const high = sorted(numbers)[numbers.length >> 1];
  return (lowMedian(numbers) + high) / 2;
}

// Student's t of 0 … 8 degrees of freedom
const STUDENT = [Infinity, 12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.306];

/**
 * How many standard errors a 95 % interval reaches to each side, by Student's t with these degrees
 * of freedom.
 * @param {number} freedom
 */
function student(freedom) {
  if (freedom < STUDENT.length) return STUDENT[Math.floor(freedom)];
  const z = 1.959963984540054;
  const terms = [
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
    (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / 92160,
  ];
  return terms.reduce((total, term, i) => total + term / freedom ** (i + 1), z);
}

export { lowMedian, median, student, sum };
