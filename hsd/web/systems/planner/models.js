// The planner's inputs: models with their costs and acceptances, as the texts in the page's fields; and the same as a
// link's `plan` parameter. No element here.
const first = (numbers) => numbers.map((x) => String(Number(x.toPrecision(3))));
const value = (text, otherwise) => (Number.isFinite(Number.parseFloat(text)) ? Number.parseFloat(text) : otherwise);

/** The inputs of a preset. */
function fromPreset({ name, costs, acceptance, per_token: further }) {
  return {
    preset: name,
    costs: [...costs],
    acceptance: acceptance.map((row) => [...row]),
    perToken: further ? [...further] : costs.map(() => "0"),
    picked: null,
    tried: null,
  };
}

const edited = (state, change) => ({ ...state, preset: null, tried: null, ...change });
const put = (list, i, item) => list.map((old, k) => (k === i ? item : old));

const withCost = (state, i, text) => edited(state, { costs: put(state.costs, i, text) });
const withFurther = (state, i, text) => edited(state, { perToken: put(state.perToken, i, text) });
const withAcceptance = (state, i, j, text) =>
  edited(state, { acceptance: put(state.acceptance, i, put(state.acceptance[i], j - i - 1, text)) });

/**
 * One more model, below the others: a quarter of the smallest one's cost, and further away from all of them. Its
 * distances 1 − a keep the triangle inequality with those that are there, so the planner can believe them.
 */
function withSmaller(state) {
  const apart = state.acceptance[0].map((text) => 1 - value(text, 0.8));
  const step = Math.max(0, Math.min(0.2, 4 * Math.min(...apart)));
  const row = first([step, ...apart.map((x) => Math.min(1, x + step / 2))].map((x) => 1 - x));
  return edited(state, {
    costs: [...first([value(state.costs[0], 1) / 4]), ...state.costs],
    perToken: [state.perToken[0], ...state.perToken],
    acceptance: [row, ...state.acceptance],
    picked: null,
  });
}

function without(state, model) {
  const rest = (list) => list.filter((_, i) => i !== model);
  const rows = state.acceptance.map((row, i) => row.filter((_, k) => i + 1 + k !== model));
  return edited(state, {
    costs: rest(state.costs),
    perToken: rest(state.perToken),
    acceptance: rest(rows).slice(0, state.costs.length - 2),
    picked: null,
  });
}

/** What the server is asked. */
const question = ({ costs, acceptance, perToken }) => ({ costs, acceptance, per_token: perToken });

/** The preset that has exactly these inputs, or null. */
function presetOf(state, presets) {
  const numbers = (one) => [one.costs, one.acceptance, one.perToken].map((list) => list.flat().map(Number));
  const text = (one) => JSON.stringify(numbers(one));
  const same = presets.find((preset) => text(fromPreset(preset)) === text(state));
  return same ? same.name : null;
}

// ---- links: version*costs*acceptances*costs per further token*models chosen*their thresholds. "_" between numbers,
// "--" between rows; the last three may be empty. What comes in is hostile: the shape is checked here, the numbers by the
// server.

const NUMBER = /^[\d.eE+-]{1,20}$/;
const WHOLE = /^\d{1,2}$/;

function encode({ costs, acceptance, perToken, picked, tried }) {
  const further = perToken.some((text) => Number(text) !== 0) ? perToken : [];
  const rows = acceptance.map((row) => row.join("_")).join("--");
  const lists = [further, picked || [], (picked && tried) || []].map((list) => list.join("_"));
  return ["1", costs.join("_"), rows, ...lists].join("*");
}

/** Costs, acceptances and so on; null when it is not one that this page makes. */
function decode(text, most, longest) {
  const parts = String(text).slice(0, 2000).split("*");
  if (parts.length !== 6 || parts[0] !== "1") return null;
  const list = (part) => (part ? part.split("_") : []);
  const [costs, perToken, picked, tried] = [1, 3, 4, 5].map((i) => list(parts[i]));
  const acceptance = parts[2].split("--").map(list);
  const numbers = [costs, perToken, ...acceptance].flat();
  if (!numbers.every((one) => NUMBER.test(one)) || ![...picked, ...tried].every((one) => WHOLE.test(one))) return null;
  const count = costs.length;
  const triangle = acceptance.length === count - 1 && acceptance.every((row, i) => row.length === count - 1 - i);
  if (count < 2 || count > most || !triangle || ![0, count].includes(perToken.length)) return null;
  const state = { costs, acceptance, perToken: perToken.length ? perToken : costs.map(() => "0") };
  return { ...state, ...wayIn(picked.map(Number), tried.map(Number), count, longest) };
}

/** The way that was chosen, where it is one; else the planner's own. */
function wayIn(picked, tried, count, longest) {
  const rising = picked.every((model, k) => k === 0 || model > picked[k - 1]);
  if (!rising || picked.at(-1) !== count - 1) return { picked: null, tried: null };
  const fits = tried.length === picked.length - 1 && tried.every((t) => t >= 1 && t <= longest);
  return { picked, tried: fits && tried.length ? tried : null };
}

export { fromPreset, withCost, withFurther, withAcceptance, withSmaller, without, question, presetOf, value };
export { encode, decode };
