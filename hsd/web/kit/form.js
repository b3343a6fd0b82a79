// A form for options, made from their JSON Schema (facts.options): what an option is called, what it may be and when it
// applies is written there and nowhere in the page. A value that is not a number is given as it was entered: whoever
// checks it says what is wrong.
import { h } from "./dom.js";
import { unique } from "./parts.js";

const SAFE = /^[+-]?\d{1,15}$/; // whole numbers that a browser keeps digit by digit
const NUMBERS = ["integer", "number"];

/** The schema of what an option is, without the null that some may be. */
function plain(schema, defs) {
  if (schema.$ref) return { ...plain(defs[schema.$ref.split("/").pop()], defs), ...schema };
  const [only] = (schema.anyOf ?? []).filter(({ type }) => type !== "null");
  return only ? { ...plain(only, defs), ...schema } : schema;
}

/** What a number may be besides: [{const, maximum}], with the largest number that the word comes to. */
const wordsOf = ({ anyOf }) => (anyOf ?? []).filter((one) => "const" in one);

/** [value, words] of an option that is chosen from a list; null for any other. */
function choices({ oneOf, enum: values }) {
  return oneOf?.map((one) => [one.const, one.title ?? String(one.const)]) ?? values?.map((one) => [one, String(one)]);
}

function numberOf(text, whole) {
  const typed = text.trim().replace(",", ".");
  const value = Number(typed);
  return typed === "" || !Number.isFinite(value) || (whole && Number.isInteger(value) && !SAFE.test(typed))
    ? typed
    : value;
}

// ---- controls: {element, get(), set(value)}, and for a menu offer(choices)

function typed(schema, names, hear) {
  const whole = schema.type === "integer";
  const isNumber = NUMBERS.includes(schema.type);
  const input = h("input.hp-field", {
    type: "text",
    inputmode: isNumber ? "decimal" : null,
    maxlength: 4000,
    ...names,
  });
  const [low, high] = schema.shown ?? [schema.minimum, schema.maximum];
  const range =
    isNumber && low !== undefined && high !== undefined
      ? h("input.hp-range", {
          "type": "range",
          "min": low,
          "max": high,
          "step": schema.step ?? (whole ? 1 : 0.01),
          "aria-label": `${schema.title}, slider`,
        })
      : null;
  const words = wordsOf(schema).map(({ const: word }) => ({ word, box: h("input", { type: "checkbox" }) }));
  const follow = () => {
    if (range) range.value = input.value;
    for (const { word, box } of words) box.checked = input.value.trim() === word;
  };
  const say = (value) => {
    input.value = value;
    follow();
    hear();
  };
  input.addEventListener("input", () => say(input.value));
  range?.addEventListener("input", () => say(range.value));
  for (const { word, box } of words) box.addEventListener("change", () => say(box.checked ? word : range.value));
  return {
    parts: [input, range, words.map(({ word, box }) => h("label.hp-radio", box, word))],
    get: () => (isNumber ? numberOf(input.value, whole) : input.value),
    set(value) {
      input.value = Array.isArray(value) ? value.join(", ") : String(value ?? "");
      follow();
    },
  };
}

function menu(schema, names, hear) {
  const select = h("select.hp-select", { ...names, onchange: hear });
  let offered = [];
  const offer = (list) => {
    const { value } = select;
    offered = list;
    select.replaceChildren(...list.map(([name, words]) => h("option", { value: String(name) }, words)));
    if (list.some(([name]) => String(name) === value)) select.value = value;
  };
  offer(choices(schema) ?? []);
  return {
    parts: [select],
    offer,
    get: () => offered.find(([name]) => String(name) === select.value)?.[0] ?? "",
    set: (value) => (select.value = String(value ?? "")),
  };
}

function radio(schema, names, hear) {
  const name = unique("option");
  const offered = choices(schema);
  const inputs = offered.map(([value]) => h("input", { type: "radio", name, value: String(value), onchange: hear }));
  const labels = offered.map(([, words], i) => h("label.hp-radio", inputs[i], words));
  return {
    isGroup: true,
    parts: [h("div.hp-radios", { "role": "radiogroup", "aria-labelledby": names["aria-labelledby"] }, labels)],
    get: () => offered[inputs.findIndex((input) => input.checked)]?.[0] ?? "",
    set: (value) => inputs.forEach((input, i) => (input.checked = offered[i][0] === (value ?? ""))),
  };
}

function toggle(schema, names, hear) {
  const input = h("input", { type: "checkbox", onchange: hear, ...names });
  return { parts: [input], get: () => input.checked, set: (value) => (input.checked = Boolean(value)) };
}

function kind(schema) {
  if (schema.menu === "radio" && choices(schema)) return radio;
  if (schema.menu || choices(schema)) return menu;
  return schema.type === "boolean" ? toggle : typed;
}

// ---- the form

/**
 * {element, values(), set(values), offer(name, choices), show(name, on)}.
 *
 * schema: a JSON Schema of an object. Of each property: title; description, its help; type, enum or oneOf with const and
 * title, minimum, maximum, default; and group, when ({option, or "one|other": [values]}, all of which must hold), menu ("radio", or true
 * for one whose choices come by offer), step, shown (from, to of its slider). groups: [{name, title}] to show, in this
 * order; one with a title is folded. only: names of the options to show. prefix: of ids; changed(name, value).
 */
function form(schema, { groups, only, prefix = "hsd", changed = () => {} }) {
  const controls = {};
  const defaults = {};
  for (const [name, given] of Object.entries(schema.properties)) {
    const property = plain(given, schema.$defs ?? {});
    defaults[name] = property.default;
    if (only ? only.includes(name) : groups.some((group) => group.name === property.group))
      controls[name] = field(name, property);
  }

  function field(name, property) {
    const id = `${prefix}-${name.replaceAll("_", "-")}`;
    const [own, titled, help] = [`${id}-input`, `${id}-title`, `${id}-help`];
    const names = { "id": own, "aria-labelledby": titled, "aria-describedby": property.description ? help : null };
    const hear = () => {
      apply(true);
      changed(name, made.get());
    };
    const made = kind(property)(property, names, hear);
    const [tag, of] = made.isGroup ? ["span.hp-name", null] : ["label.hp-name", own];
    const title = h(tag, { id: titled, for: of }, property.title ?? name);
    const words = property.description && h("p.hp-help", { id: help }, property.description);
    const element = h("div.hp-control", { id }, title, words, made.parts);
    made.set(property.default);
    return { ...made, element, when: property.when ?? {}, group: property.group, off: false };
  }

  const given = (name) => (controls[name] ? controls[name].get() : defaults[name]);

  /** names: of one option, or of several of which any will do: "rule|shadow". */
  const holds = ([names, wanted]) => names.split("|").some((name) => wanted.includes(given(name)));

  /** Show the options that apply; unfold: also where they stand in a fold and have not been shown until now. */
  function apply(unfold = false) {
    for (const { element, when, off } of Object.values(controls)) {
      const hidden = off || !Object.entries(when).every(holds);
      if (unfold && element.hidden && !hidden) element.closest("details")?.setAttribute("open", "");
      element.hidden = hidden;
    }
    for (const fold of folds) fold.hidden = ![...fold.children].some((one) => one.matches(".hp-control:not([hidden])"));
  }

  const inGroup = (name) =>
    Object.values(controls)
      .filter(({ group }) => group === name)
      .map(({ element }) => element);
  const drawn = only
    ? only.map((name) => controls[name].element)
    : groups.map(({ name, title }) =>
        title
          ? h("details.hp-option-group", { id: `${prefix}-group-${name}` }, h("summary", title), inGroup(name))
          : inGroup(name),
      );
  const element = h("div.hp-form", drawn);
  const folds = [...element.querySelectorAll(".hp-option-group")];
  apply();

  return {
    element,
    /** Of the options that are shown and apply. */
    values: () =>
      Object.fromEntries(
        Object.entries(controls)
          .filter(([, { element }]) => !element.hidden)
          .map(([name, { get }]) => [name, get()]),
      ),
    /** Options that are not named stay as they are. */
    set(values) {
      for (const [name, value] of Object.entries(values)) controls[name]?.set(value);
      apply();
    },
    /** What a menu has to choose from, as [value, words]. */
    offer(name, list) {
      controls[name].offer(list);
      apply();
    },
    /** Whether an option is there at all. */
    show(name, on) {
      controls[name].off = !on;
      apply();
    },
  };
}

export { form };
