// Controls of options that are lists: an entry for each level of a run, or one menu for the list as
// a whole.
import { h } from "../kit/dom.js";
import { kind } from "../kit/form.js";

/** The schema of a text; an option's own schema says more. @type {Property} */
const TYPED = {
  type: "string",
  title: "",
  description: "",
  default: "",
  scope: "",
};

/**
 * The entries of a list, or of text such as "3, 5" or "3_5", whole numbers as such.
 * @type {(value: unknown) => (string | number)[]}
 */
function listOf(value) {
  const entries = Array.isArray(value) ? value : String(value ?? "").split(/[\s,;_]+/);
  const given = entries.filter((entry) => entry !== "");
  return given.map((entry) => {
    const number = Number(entry);
    return Number.isInteger(number) ? number : entry;
  });
}

/**
 * The control of a list that is chosen from a menu as a whole. It keeps its value while that is not
 * offered.
 * @type {MakeControl}
 */
function whole(schema, names, hear) {
  const menu = kind({ ...schema, menu: true })(schema, names, hear);
  let value = listOf([]);

  function set(/** @type {unknown} */ given) {
    value = listOf(given);
    menu.set(value);
  }

  function get() {
    value = listOf(menu.get() || value);
    return value;
  }

  function offer(/** @type {Choice[]} */ choices) {
    menu.offer?.(choices);
    set(value);
  }

  return { ...menu, get, set, offer };
}

/**
 * The control of a list, with a control for each of the entries that `offer` names; while it has
 * named none (null) the list is typed as text. Entries that are names are all given or none: each
 * that is left out is taken to be the first that is not.
 * @type {MakeControl}
 */
function entries(schema, names, hear) {
  const text = kind(TYPED)({ ...TYPED, title: schema.title }, names, hear);
  const labels = { "role": "group", "aria-labelledby": names["aria-labelledby"] };
  const box = h("div.hp-entries", labels, text.parts);
  let controls = /** @type {ReturnType<typeof entry>[] | null} */ (null);
  let shown = "null";

  function get() {
    const own = controls?.map((control) => control.get());
    const given = /** @type {(string | number)[]} */ (own ?? listOf(text.get()));
    if (schema.items?.type !== "string") return given;
    return given.flatMap((name) => name || (given.find(Boolean) ?? []));
  }

  /**
   * Show a list, or its text. An empty one forgets the entries, so that what is offered next is as
   * usual.
   * @param {unknown} value
   */
  function set(value) {
    if (!listOf(value).length) show(null);
    fill(listOf(value));
  }

  function fill(/** @type {(string | number)[]} */ values) {
    text.set(values);
    controls?.forEach((control, i) => control.set(values[i] ?? control.usual));
  }

  function entry(/** @type {ListEntry} */ { usual, ...own }, /** @type {number} */ i) {
    const id = `${names.id}-${i}`;
    const title = `${id}-title`;
    const entrySchema = { ...TYPED, ...schema.items, ...own };
    const labels = { "id": id, "aria-labelledby": title, "aria-describedby": null };
    const control = kind(entrySchema)(entrySchema, labels, hear);
    const label = h("label.hp-name", { id: title, for: id }, entrySchema.title);
    return { ...control, usual, element: h("div.hp-entry", label, control.parts) };
  }

  function show(/** @type {ListEntry[] | null} */ list) {
    shown = JSON.stringify(list);
    controls = list?.map(entry) ?? null;
    box.replaceChildren(...(controls?.map(({ element }) => element) ?? text.parts));
  }

  function offer(/** @type {ListEntry[] | null} */ list) {
    if (JSON.stringify(list) === shown) return;
    const now = get();
    show(list);
    fill(now);
  }

  const isEmpty = () => controls?.length === 0;
  return { isGroup: true, parts: [box], get, set, offer, isEmpty };
}

/** What makes the control of an option, for `form`. @param {Property} schema */
function control(schema) {
  if (schema.type !== "array") return kind(schema);
  return schema.menu ? whole : entries;
}

export { control };
