// The planner's inputs: what models cost and how often they agree, as the texts in the page's
// fields; and the same as the parameter `plan` of a link. No element here.

/** Numbers as texts with three digits. @param {number[]} numbers */
const texts = (numbers) => numbers.map((x) => String(Number(x.toPrecision(3))));

/**
 * The number in a field, `otherwise` where there is none.
 * @type {(text: string, otherwise: number) => number}
 */
function value(text, otherwise) {
  const number = Number.parseFloat(text);
  return Number.isFinite(number) ? number : otherwise;
}

/**
 * The inputs that a preset has.
 * @type {(preset: PlannerPreset) => PlannerInputs}
 */
function fromPreset({ name, costs, acceptance, per_token: further }) {
  return {
    preset: name,
    costs,
    acceptance,
    perToken: further ?? costs.map(() => "0"),
    picked: null,
    tried: null,
  };
}

/**
 * Inputs with a change, which are then no preset's, and have no thresholds to try.
 * @type {(inputs: PlannerInputs, change: Partial<PlannerInputs>) => PlannerInputs}
 */
const edited = (inputs, change) => ({ ...inputs, preset: null, tried: null, ...change });

/**
 * Inputs with another number of model i.
 * @param {PlannerInputs} inputs
 * @param {"costs" | "perToken"} list
 * @param {number} i
 * @param {string} text
 */
const withNumber = (inputs, list, i, text) =>
  edited(inputs, { [list]: inputs[list].with(i, text) });

/**
 * Inputs with another chance that model j keeps a token of model i < j.
 * @type {(inputs: PlannerInputs, i: number, j: number, text: string) => PlannerInputs}
 */
function withAcceptance(inputs, i, j, text) {
  const { acceptance } = inputs;
  const row = acceptance[i].with(j - i - 1, text);
  return edited(inputs, { acceptance: acceptance.with(i, row) });
}

/**
 * Inputs with one more model, below the others: a quarter of the smallest one's cost, and further
 * away from all of them. Its distances 1 − a keep the triangle inequality with those that are
 * there, so the planner can believe them.
 * @type {(inputs: PlannerInputs) => PlannerInputs}
 */
function withSmaller(inputs) {
  const { costs, acceptance, perToken } = inputs;
  const apart = acceptance[0].map((text) => 1 - value(text, 0.8));
  const step = Math.max(0, Math.min(0.2, 4 * Math.min(...apart)));
  const further = apart.map((x) => Math.min(1, x + step / 2));
  const row = texts([step, ...further].map((x) => 1 - x));
  const [cost] = texts([value(costs[0], 1) / 4]);
  return edited(inputs, {
    costs: [cost, ...costs],
    perToken: [perToken[0], ...perToken],
    acceptance: [row, ...acceptance],
    picked: null,
  });
}

/**
 * Inputs without one of the models.
 * @type {(inputs: PlannerInputs, model: number) => PlannerInputs}
 */
function without(inputs, model) {
  const { costs, acceptance, perToken } = inputs;
  /** @template T @param {T[]} list */
  const rest = (list) => list.filter((_, i) => i !== model);
  const others = acceptance.map((row, i) => {
    const place = model - i - 1;
    return row.filter((_, k) => k !== place);
  });
  return edited(inputs, {
    costs: rest(costs),
    perToken: rest(perToken),
    acceptance: rest(others).slice(0, costs.length - 2),
    picked: null,
  });
}

/** The question to the server. @type {(inputs: PlannerInputs) => object} */
const question = ({ costs, acceptance, perToken, picked, tried }) => {
  return {
    costs,
    acceptance,
    per_token: perToken,
    stack: picked ?? [],
    thresholds: tried ?? [],
  };
};

// ---- links: version*costs*acceptances*costs per further token*models chosen*their thresholds,
// with "_" between numbers and "--" between rows; the last three may be empty. The shape of what
// comes in is checked here, the numbers by the server.

const NUMBER = /^[\d.eE+-]{1,20}$/;
const WHOLE = /^\d{1,2}$/;

/**
 * The parameter of a link that stands for inputs.
 * @type {(inputs: PlannerInputs) => string}
 */
function encode({ costs, acceptance, perToken, picked, tried }) {
  const join = (/** @type {unknown[] | null} */ list) => list?.join("_") ?? "";
  const further = perToken.some((text) => Number(text) !== 0) ? perToken : null;
  const rows = acceptance.map(join).join("--");
  const way = [join(picked), join(picked && tried)];
  return ["1", join(costs), rows, join(further), ...way].join("*");
}

/**
 * The inputs that a link asks for; null where it is not one that this page makes. most: models.
 * @type {(text: string, most: number) => PlannerInputs | null}
 */
function decode(text, most) {
  const [version, costTexts, rows, ...more] = text.slice(0, 2000).split("*");
  if (version !== "1" || more.length !== 3) return null;
  const list = (/** @type {string} */ part) => (part ? part.split("_") : []);
  const costs = list(costTexts);
  const acceptance = rows.split("--").map(list);
  const [further, picked, tried] = more.map(list);
  const numbers = [costs, further, ...acceptance].flat();
  if (!numbers.every((text) => NUMBER.test(text))) return null;
  if (![...picked, ...tried].every((text) => WHOLE.test(text))) return null;
  const count = costs.length;
  const pairs = count - 1;
  const triangle = acceptance.every((row, i) => row.length === pairs - i);
  if (count < 2 || count > most || acceptance.length !== pairs || !triangle) return null;
  if (![0, count].includes(further.length)) return null;
  const perToken = further.length ? further : costs.map(() => "0");
  const way = (/** @type {string[]} */ texts) => (texts.length ? texts.map(Number) : null);
  return {
    preset: null,
    costs,
    acceptance,
    perToken,
    picked: way(picked),
    tried: way(tried),
  };
}

export {
  decode,
  encode,
  fromPreset,
  question,
  value,
  withAcceptance,
  withNumber,
  withSmaller,
  without,
};
