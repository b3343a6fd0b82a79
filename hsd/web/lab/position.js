// One position of the draft: its token, the numbers that explain it, its coin, and each rule's threshold and verdict.
import { h } from "../kit/dom.js";
import { exact } from "../kit/format.js";
import { say, segments, setSlider, slider } from "../kit/parts.js";
import { names } from "./state.js";
import { short, testWords } from "./words.js";

/** Four decimals without trailing zeros; tiny and large numbers keep their digits. */
function value(x) {
  if (x === Infinity) return "∞";
  const plain = Number.isFinite(x) && Math.abs(x) < 1e4 && (x === 0 || Math.abs(x) >= 5e-5);
  return plain ? String(Number(x.toFixed(4))) : exact(x);
}

const ordinal = (n) => `${n}${{ 1: "st", 2: "nd", 3: "rd" }[n] || "th"}`; // positions go to 12

const VALUES = [
  ["p", "p", "the target's probability of this token"],
  ["q", "q", "the draft's probability of this token"],
  ["rho", "ρ", "ratio of this token: p/q"],
  ["divergence", "D", "divergence of the two rows at this position, of the kind chosen above"],
  ["ratio", "r", "joint ratio: the product of all ρ so far"],
  ["pivot", "m", "after how many earlier tokens r was largest, if above 1; else 0"],
  ["star", "r*", "capped prefix ratio: min(r_m, 1) · r / r_m"],
  ["capped", "c", "the cap as it is used: min(1, r*)"],
  ["deficient", "S", "deficient mass of the branch after this token: Σ max(weight · p − q, 0)"],
  ["excess", "E", "excess mass of the branch after this token: Σ max(q − weight · p, 0)"],
];

function position(state, t, actions) {
  const tokens = segments(`token ${t}`, (x) => actions.token(t - 1, x));
  const coin = slider(`coin of position ${t}`, {
    css: "is-coin",
    max: 0.99,
    oninput: () => actions.coin(t - 1, Number(coin.value)),
  });
  const coinText = h("output");
  const values = VALUES.map(([key, sign, title]) => {
    const text = h("dd");
    return { key, text, element: h("div", { title, "data-value": key }, h("dt", sign), text) };
  });
  const list = h(
    "dl.hl-values",
    values.map((one) => one.element),
  );
  const lanes = ["vanilla", "other"].map(lane);
  const throws = h("div.hl-coin", h("span.hl-lane-name", "coin"), coin, coinText);
  const element = h(
    "li.hl-pos",
    { "data-position": t },
    h("span.hl-place", t),
    h("div.hl-facts", tokens.element, list),
    h(
      "div.hl-coins",
      throws,
      lanes.map((one) => one.element),
    ),
  );

  function update(view) {
    const { valid, model, judged, facts } = view;
    const x = valid.draft[t - 1];
    const row = { ...facts[t], p: model.p[t - 1][x], q: model.q[t - 1][x] };
    const offered = valid.kind === "step" ? 1 : valid.vocab; // the paper lists one token only
    const offers = names(valid, t - 1).slice(0, offered);
    tokens.set(x, [...offers.entries()]);
    for (const one of values) {
      one.element.hidden = one.key === "divergence" && row.divergence === null;
      say(one.text, one.key === "pivot" ? String(row.pivot) : value(row[one.key]));
    }
    for (const [i, input] of [...tokens.element.querySelectorAll("input")].entries()) {
      input.disabled = model.q[t - 1][i] === 0;
      input.parentElement.title = input.disabled ? "q is 0: never drafted" : "";
    }
    say(coinText, String(valid.coins[t - 1]));
    setSlider(coin, valid.coins[t - 1], coinText.textContent);
    list.classList.toggle("has-divergence", row.divergence !== null);
    lanes.forEach((one, i) => one.update(judged[i], t, valid.coins[t - 1]));
  }

  return { element, update };
}

const LANE = ["lane-name", "threshold", "coin-mark", "lane-figure", "lane-what", "order"];

/** One rule's threshold as a bar on the coin's scale, and its verdict. */
function lane(which) {
  const [name, fill, mark, figure, what, place] = LANE.map((part) => h(`span.hl-${part}`));
  const word = h("span.hl-lane-word", what, place);
  const scale = h("span.hl-scale", { "aria-hidden": "true" }, h("span.hl-scale-in", fill, mark));
  const element = h(`div.hl-lane.is-${which}`, name, scale, figure, word);

  function update(rule, t, coin) {
    element.hidden = !rule;
    if (!rule) return;
    const test = rule.list[t - 1];
    const words = testWords(test, rule.law.forward, rule.list.length);
    say(name, short(rule.name));
    fill.style.width = `${100 * test.threshold}%`;
    mark.style.left = `${100 * coin}%`;
    say(figure, `h ${value(test.threshold)}`);
    say(what, `${words.icon} ${words.word}`);
    say(place, test.tested ? ` · ${ordinal(test.order)} test` : "");
    word.className = `hl-lane-word ${words.css}${test.decides ? " is-deciding" : ""}`;
  }

  return { element, update };
}

export { position, value };
