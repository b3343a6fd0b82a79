// The planner's inputs as a link's `plan` parameter, and back:
// version*costs*acceptances*costs per further token*models chosen*their thresholds. "_" between numbers, "--" between
// rows; the last three may be empty. What comes in is hostile: the shape is checked here, the numbers by the server.
const VERSION = "1";
const NUMBER = /^[\d.eE+-]{1,20}$/;
const WHOLE = /^\d{1,2}$/;

function encode({ costs, acceptance, perToken, picked, tried }) {
  const further = perToken.some((text) => Number(text) !== 0) ? perToken : [];
  const parts = [costs, acceptance.map((row) => row.join("_")), further, picked || [], (picked && tried) || []];
  return [VERSION, ...parts.map((list, i) => list.join(i === 1 ? "--" : "_"))].join("*");
}

/** Costs, acceptances and so on; null when it is not one that this page makes. */
function decode(text, most, longest) {
  const parts = String(text).slice(0, 2000).split("*");
  if (parts.length !== 6 || parts[0] !== VERSION) return null;
  const list = (part, form) => {
    const found = part ? part.split("_") : [];
    return found.every((one) => form.test(one)) ? found : null;
  };
  const [costs, perToken] = [list(parts[1], NUMBER), list(parts[3], NUMBER)];
  const acceptance = parts[2].split("--").map((row) => list(row, NUMBER));
  const [picked, tried] = [list(parts[4], WHOLE), list(parts[5], WHOLE)];
  if (![costs, perToken, picked, tried, ...acceptance].every(Boolean)) return null;
  const count = costs.length;
  const fits =
    count >= 2 &&
    count <= most &&
    acceptance.length === count - 1 &&
    acceptance.every((row, i) => row.length === count - 1 - i) &&
    [0, count].includes(perToken.length);
  const state = { costs, acceptance, perToken: perToken.length ? perToken : costs.map(() => "0") };
  return fits ? { ...state, ...way(picked.map(Number), tried.map(Number), count, longest) } : null;
}

/** The way that was chosen, where it is one; else the planner's own. */
function way(picked, tried, count, longest) {
  const rising = picked.every((model, k) => k === 0 || model > picked[k - 1]);
  if (!picked.length || !rising || picked[picked.length - 1] !== count - 1) return { picked: null, tried: null };
  const fits = tried.length === picked.length - 1 && tried.every((t) => t >= 1 && t <= longest);
  return { picked, tried: fits && tried.length ? tried : null };
}

export { encode, decode };
