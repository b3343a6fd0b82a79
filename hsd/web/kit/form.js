// A form for options, made from their JSON Schema (facts.options): what an option is called, what
// it may be and when it applies is written there and nowhere in the page. A value that is not a
// number is given as it was entered: whoever checks it says what is wrong.
import { h } from "./dom.js";

const SAFE = /^[+-]?\d{1,15}$/; // whole numbers that a browser keeps digit by digit
const NUMBERS = ["integer", "number"];

/**
 * The words that may stand in place of a number, such as "auto".
 * @param {Property} schema
 */
const wordsOf = ({ anyOf = [] }) => anyOf.flatMap((choice) => choice.const ?? []);

/**
 * The number that a text says; the text itself where it says none.
 * @type {(text: string, whole: boolean) => number | string}
 */
function numberOf(text, whole) {
  const typed = text.trim().replace(",", ".");
  const value = Number(typed);
  if (typed === "" || !Number.isFinite(value)) return typed;
  const losesDigits = whole && Number.isInteger(value) && !SAFE.test(typed);
  return losesDigits ? typed : value;
}

// ---- controls

/**
 * A field to type in, with a slider beside it where a number has two limits, and a box to tick for
 * each word that may stand in place of the number.
 * @type {(schema: Property, names: Names, hear: () => void) => Control}
 */
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
  const words = wordsOf(schema).map((word) => {
    const box = h("input", { type: "checkbox" });
    return { word, box };
  });
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
  for (const { word, box } of words) {
    box.addEventListener("change", () => say(box.checked || !range ? word : range.value));
  }
  return {
    parts: [
      input,
      ...(range ? [range] : []),
      ...words.map(({ word, box }) => h("label.hp-radio", box, word)),
    ],
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
    const chosen = select.value;
    offered = list;
    const options = list.map(([name, words]) => {
      const value = String(name);
      return h("option", { value }, words);
    });
    select.replaceChildren(...options);
    if (list.some(([name]) => String(name) === chosen)) select.value = chosen;
  };
  offer(oneOf.map((choice) => [choice.const, choice.title]));
  return {
    parts: [select],
    offer,
    get() {
      const choice = offered.find(([name]) => String(name) === select.value);
      return choice?.[0] ?? "";
    },
    set(value) {
      select.value = String(value ?? "");
    },
  };
}

/** @type {typeof typed} */
function toggle(schema, names, hear) {
  const input = h("input", { type: "checkbox", onchange: hear, ...names });
  return {
    parts: [input],
    get: () => input.checked,
    set(value) {
      input.checked = Boolean(value);
    },
  };
}

/** Return the function that makes the control of an option. @param {Property} schema */
function kind(schema) {
  if (schema.menu || schema.oneOf) return menu;
  return schema.type === "boolean" ? toggle : typed;
}

// ---- the form

/**
 * A form with a control for each option of a JSON Schema.
 *
 * A property has a title, a description (its help), a default, and a type with minimum and maximum,
 * or oneOf with const and title. It may have
 * - group: the group of the form in which it stands,
 * - when: {option: [values]}, where "rule|shadow" names two of which one will do; it is shown while
 *   all hold,
 * - menu: true where its choices come by `offer`,
 * - step and shown: of its slider, which goes from shown[0] to shown[1].
 *
 * control(property): the function that makes its control.
 * @param {Pick<OptionsSchema, "properties">} schema
 * @param {FormOptions} options
 */
function form(schema, options) {
  const { groups = [], only, prefix = "hsd", changed = () => {}, control = kind } = options;
  const controls = /** @type {Record<string, Field>} */ ({});
  for (const [name, given] of Object.entries(schema.properties)) {
    // of a number that may be a word, what the number is
    const property = { ...given.anyOf?.[0], ...given };
    const wanted = only
      ? only.includes(name)
      : groups.some((group) => group.name === property.group);
    if (wanted) controls[name] = field(name, property);
  }

  /** @type {(name: string, property: Property) => Field} */
  function field(name, property) {
    const id = `${prefix}-${name.replaceAll("_", "-")}`;
    const own = `${id}-input`;
    const titled = `${id}-title`;
    const help = `${id}-help`;
    const names = {
      "id": own,
      "aria-labelledby": titled,
      "aria-describedby": property.description ? help : null,
    };
    const hear = () => {
      apply(true);
      changed(name, input.get());
    };
    const input = control(property)(property, names, hear);
    const words = property.title ?? name;
    const title = input.isGroup
      ? h("span.hp-name", { id: titled }, words)
      : h("label.hp-name", { id: titled, for: own }, words);
    const about = property.description ? h("p.hp-help", { id: help }, property.description) : null;
    const element = h("div.hp-control", { id }, title, about, input.parts);
    input.set(property.default);
    return {
      ...input,
      element,
      when: property.when ?? {},
      group: property.group,
      off: false,
    };
  }

  /** @param {string} name */
  const given = (name) =>
    controls[name] ? controls[name].get() : schema.properties[name]?.default;

  /**
   * Whether a condition holds: the names of options, "rule|shadow", of which one will do, and the
   * values that it may have.
   * @param {[string, unknown[]]} condition
   */
  function holds([names, wanted]) {
    return names.split("|").some((name) => wanted.includes(given(name)));
  }

  /** Show the options that apply. unfold: open the fold of one that was hidden until now. */
  function apply(unfold = false) {
    for (const { element, when, off, isEmpty } of Object.values(controls)) {
      const hidden = off || isEmpty?.() || !Object.entries(when).every(holds);
      if (unfold && element.hidden && !hidden) element.closest("details")?.setAttribute("open", "");
      element.hidden = hidden;
    }
    for (const fold of folds) {
      const controlsInside = [...fold.children];
      fold.hidden = !controlsInside.some((child) => child.matches(".hp-control:not([hidden])"));
    }
  }

  const inGroup = (/** @type {string} */ name) =>
    Object.values(controls)
      .filter(({ group }) => group === name)
      .map(({ element }) => element);
  const drawn = only
    ? only.map((name) => controls[name].element)
    : groups.map(({ name, title }) =>
        title
          ? h(
              "details.hp-option-group",
              { id: `${prefix}-group-${name}` },
              h("summary", title),
              inGroup(name),
            )
          : inGroup(name),
      );
  const element = h("div.hp-form", drawn);
  const folds = /** @type {HTMLElement[]} */ ([...element.querySelectorAll(".hp-option-group")]);
  apply();

  return {
    element,
    /** The values of the options that are shown. */
    values() {
      const shown = Object.entries(controls).filter(([, { element }]) => !element.hidden);
      return Object.fromEntries(shown.map(([name, { get }]) => [name, get()]));
    },
    /** Set options; those that are not named stay. @param {Record<string, unknown>} values */
    set(values) {
      for (const [name, value] of Object.entries(values)) {
        controls[name]?.set(value);
      }
      apply();
    },
    /**
     * Set the choices of a menu, or whatever else an option's kind of control takes.
     * @param {string} name
     * @param {any} list
     */
    offer(name, list) {
      controls[name].offer?.(list);
      apply();
    },
    /**
     * Show an option while its conditions hold, or hide it always.
     * @param {string} name
     * @param {boolean} on
     */
    show(name, on) {
      controls[name].off = !on;
      apply();
    },
  };
}

export { form, kind };
