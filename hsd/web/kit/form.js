// A form for options, made from their JSON Schema (facts.options): what an option is called, what it may be and when it
// applies is written there and nowhere in the page. A value that is not a number is given as it was entered: whoever
// checks it says what is wrong.
import { h } from "./dom.js";

const SAFE = /^[+-]?\d{1,15}$/; // whole numbers that a browser keeps digit by digit
const NUMBERS = ["integer", "number"];

/** What a number may be besides: [{const, maximum}], with the largest number that the word comes to. @param {Property} schema */
const wordsOf = ({ anyOf }) => (anyOf ?? []).flatMap((one) => one.const ?? []);

/** The number that a text says; the text itself where it says none. @type {(text: string, whole: boolean) => number | string} */
function numberOf(text, whole) {
  const typed = text.trim().replace(",", ".");
  const value = Number(typed);
  return typed === "" || !Number.isFinite(value) || (whole && Number.isInteger(value) && !SAFE.test(typed))
    ? typed
    : value;
}

// ---- controls

/** @type {(schema: Property, names: Names, hear: () => void) => Control} */
function typed(schema, names, hear) {
  const whole = schema.type === "integer";
  const isNumber = NUMBERS.includes(schema.type ?? "");
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
  const words = wordsOf(schema).map((word) => ({ word, box: h("input", { type: "checkbox" }) }));
  const follow = () => {
    if (range) range.value = input.value;
    for (const { word, box } of words) box.checked = input.value.trim() === word;
  };
  const say = (/** @type {string} */ value) => {
    input.value = value;
    follow();
    hear();
  };
  input.addEventListener("input", () => say(input.value));
  range?.addEventListener("input", () => say(range.value));
  for (const { word, box } of words)
    box.addEventListener("change", () => say(box.checked || !range ? word : range.value));
  return {
    parts: [input, ...(range ? [range] : []), ...words.map(({ word, box }) => h("label.hp-radio", box, word))],
    get: () => (isNumber ? numberOf(input.value, whole) : input.value),
    set(value) {
      input.value = Array.isArray(value) ? value.join(", ") : String(value ?? "");
      follow();
    },
  };
}

/** @type {typeof typed} */
function menu({ oneOf = [] }, names, hear) {
  const select = h("select.hp-select", { ...names, onchange: hear });
  let offered = /** @type {Choice[]} */ ([]);
  const offer = (/** @type {Choice[]} */ list) => {
    const { value } = select;
    offered = list;
    select.replaceChildren(...list.map(([name, words]) => h("option", { value: String(name) }, words)));
    if (list.some(([name]) => String(name) === value)) select.value = value;
  };
  offer(oneOf.map((one) => [one.const, one.title]));
  return {
    parts: [select],
    offer,
    get: () => offered.find(([name]) => String(name) === select.value)?.[0] ?? "",
    set: (value) => (select.value = String(value ?? "")),
  };
}

/** @type {typeof typed} */
function toggle(schema, names, hear) {
  const input = h("input", { type: "checkbox", onchange: hear, ...names });
  return { parts: [input], get: () => input.checked, set: (value) => (input.checked = Boolean(value)) };
}

/** @param {Property} schema */
const kind = (schema) => (schema.menu || schema.oneOf ? menu : schema.type === "boolean" ? toggle : typed);

// ---- the form

/**
 * A form with a control for each option of a JSON Schema.
 *
 * Of each property: title; description, its help; type, or oneOf with const and title, minimum, maximum, default; and
 * group, when ({option, or "one|other": [values]}, all of which must hold), menu (true for one whose choices come by
 * offer), step, shown (from, to of its slider). control: what makes the control of an option, `kind` as usual.
 * @param {Pick<OptionsSchema, "properties">} schema @param {FormOptions} options
 */
function form(schema, { groups = [], only, prefix = "hsd", changed = () => {}, control = kind }) {
  const controls = /** @type {Record<string, Field>} */ ({});
  for (const [name, given] of Object.entries(schema.properties)) {
    const property = { ...given.anyOf?.[0], ...given }; // of a number that may be a word, what the number is
    if (only ? only.includes(name) : groups.some((group) => group.name === property.group))
      controls[name] = field(name, property);
  }

  /** @type {(name: string, property: Property) => Field} */
  function field(name, property) {
    const id = `${prefix}-${name.replaceAll("_", "-")}`;
    const [own, titled, help] = [`${id}-input`, `${id}-title`, `${id}-help`];
    const names = { "id": own, "aria-labelledby": titled, "aria-describedby": property.description ? help : null };
    const hear = () => {
      apply(true);
      changed(name, made.get());
    };
    const made = control(property)(property, names, hear);
    const [tag, of] = made.isGroup ? ["span.hp-name", null] : ["label.hp-name", own];
    const title = h(tag, { id: titled, for: of }, property.title ?? name);
    const words = property.description ? h("p.hp-help", { id: help }, property.description) : null;
    const element = h("div.hp-control", { id }, title, words, made.parts);
    made.set(property.default);
    return { ...made, element, when: property.when ?? {}, group: property.group, off: false };
  }

  /** @param {string} name */
  const given = (name) => (controls[name] ? controls[name].get() : schema.properties[name]?.default);

  /** names: of one option, or of several of which any will do: "rule|shadow". @param {[string, unknown[]]} condition */
  const holds = ([names, wanted]) => names.split("|").some((name) => wanted.includes(given(name)));

  /** Show the options that apply; unfold: also where they stand in a fold and have not been shown until now. */
  function apply(unfold = false) {
    for (const { element, when, off, isEmpty } of Object.values(controls)) {
      const hidden = off || isEmpty?.() || !Object.entries(when).every(holds);
      if (unfold && element.hidden && !hidden) element.closest("details")?.setAttribute("open", "");
      element.hidden = hidden;
    }
    for (const fold of folds) fold.hidden = ![...fold.children].some((one) => one.matches(".hp-control:not([hidden])"));
  }

  const inGroup = (/** @type {string} */ name) =>
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
  const folds = /** @type {HTMLElement[]} */ ([...element.querySelectorAll(".hp-option-group")]);
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
    /** Options that are not named stay as they are. @param {Record<string, unknown>} values */
    set(values) {
      for (const [name, value] of Object.entries(values)) controls[name]?.set(value);
      apply();
    },
    /** What a menu has to choose from, or what its own kind of control takes. @param {string} name @param {any} list */
    offer(name, list) {
      controls[name].offer?.(list);
      apply();
    },
    /** Whether an option is there at all. @param {string} name @param {boolean} on */
    show(name, on) {
      controls[name].off = !on;
      apply();
    },
  };
}

export { form, kind };
