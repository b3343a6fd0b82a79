// The planner's inputs: what models cost and how often they agree, as the texts in the page's fields; and the same as the
// parameter `plan` of a link. No element here.

/** @type {(numbers: number[]) => string[]} To three digits. */
const first = (numbers) => numbers.map((x) => String(Number(x.toPrecision(3))));

/** @type {(text: string, otherwise: number) => number} The number in a field, `otherwise` where there is none. */
const value = (text, otherwise) => (Number.isFinite(Number.parseFloat(text)) ? Number.parseFloat(text) : otherwise);

/** @type {(preset: PlannerPreset) => PlannerInputs} */
function fromPreset({ name, costs, acceptance, per_token: further }) {
  const perToken = further ? [...further] : costs.map(() => "0");
  return { preset: name, costs: [...costs], acceptance, perToken, picked: null, tried: null };
}

/** @type {(inputs: PlannerInputs, change: Partial<PlannerInputs>) => PlannerInputs} */
const edited = (inputs, change) => ({ ...inputs, preset: null, tried: null, ...change });

/** @type {(inputs: PlannerInputs, list: "costs" | "perToken", i: number, text: string) => PlannerInputs} */
const withNumber = (inputs, list, i, text) => edited(inputs, { [list]: inputs[list].with(i, text) });

/** @type {(inputs: PlannerInputs, i: number, j: number, text: string) => PlannerInputs} */
const withAcceptance = (inputs, i, j, text) =>
  edited(inputs, { acceptance: inputs.acceptance.with(i, inputs.acceptance[i].with(j - i - 1, text)) });

/**
 * One more model, below the others: a quarter of the smallest one's cost, and further away from all of them. Its
 * distances 1 − a keep the triangle inequality with those that are there, so the planner can believe them.
 * @type {(inputs: PlannerInputs) => PlannerInputs}
 */
function withSmaller(inputs) {
  const apart = inputs.acceptance[0].map((text) => 1 - value(text, 0.8));
  const step = Math.max(0, Math.min(0.2, 4 * Math.min(...apart)));
  const row = first([step, ...apart.map((x) => Math.min(1, x + step / 2))].map((x) => 1 - x));
  return edited(inputs, {
    costs: [...first([value(inputs.costs[0], 1) / 4]), ...inputs.costs],
    perToken: [inputs.perToken[0], ...inputs.perToken],
    acceptance: [row, ...inputs.acceptance],
    picked: null,
  });
}

/** @type {(inputs: PlannerInputs, model: number) => PlannerInputs} */
function without(inputs, model) {
  const { costs, acceptance, perToken } = inputs;
  /** @template T @param {T[]} list */
  const rest = (list) => list.filter((_, i) => i !== model);
  const rows = rest(acceptance.map((row, i) => row.filter((_, k) => i + 1 + k !== model))).slice(0, costs.length - 2);
  return edited(inputs, { costs: rest(costs), perToken: rest(perToken), acceptance: rows, picked: null });
}

/** What the server is asked. @type {(inputs: PlannerInputs) => object} */
const question = ({ costs, acceptance, perToken, picked, tried }) => {
  return { costs, acceptance, per_token: perToken, stack: picked ?? [], thresholds: tried ?? [] };
};

// ---- links: version*costs*acceptances*costs per further token*models chosen*their thresholds. "_" between numbers, "--"
// between rows; the last three may be empty. The shape of what comes in is checked here, the numbers by the server.

const NUMBER = /^[\d.eE+-]{1,20}$/;
const WHOLE = /^\d{1,2}$/;

/** @type {(inputs: PlannerInputs) => string} */
function encode({ costs, acceptance, perToken, picked, tried }) {
  const further = perToken.some((text) => Number(text) !== 0) ? perToken : [];
  const rows = acceptance.map((row) => row.join("_")).join("--");
  const lists = [further, picked ?? [], (picked && tried) ?? []].map((list) => list.join("_"));
  return ["1", costs.join("_"), rows, ...lists].join("*");
}

/** The inputs that a link asks for; null where it is not one that this page makes. @type {(text: string, most: number) => PlannerInputs | null} most: models */
function decode(text, most) {
  const parts = text.slice(0, 2000).split("*");
  if (parts.length !== 6 || parts[0] !== "1") return null;
  const list = (/** @type {string} */ part) => (part ? part.split("_") : []);
  const [costs, further, picked, tried] = [1, 3, 4, 5].map((i) => list(parts[i]));
  const acceptance = parts[2].split("--").map(list);
  const numbers = [costs, further, ...acceptance].flat();
  if (!numbers.every((one) => NUMBER.test(one)) || ![...picked, ...tried].every((one) => WHOLE.test(one))) return null;
  const count = costs.length;
  const triangle = acceptance.length === count - 1 && acceptance.every((row, i) => row.length === count - 1 - i);
  if (count < 2 || count > most || !triangle || ![0, count].includes(further.length)) return null;
  const perToken = further.length ? further : costs.map(() => "0");
  const way = (/** @type {string[]} */ texts) => (texts.length ? texts.map(Number) : null);
  return { preset: null, costs, acceptance, perToken, picked: way(picked), tried: way(tried) };
}

export { decode, encode, fromPreset, question, value, withAcceptance, withNumber, withSmaller, without };
