// Controls of options that are lists: an entry for each level of a run, or one menu for the list as a whole.
import { h } from "../kit/dom.js";
import { kind } from "../kit/form.js";

/** A control for text, of which the option says more. @type {Property} */
const TYPED = { type: "string", title: "", description: "", default: "", scope: "" };

/** The entries of a list, or of text such as "3, 5" or "3_5", whole numbers as such. @type {(value: unknown) => (string | number)[]} */
function listOf(value) {
  const entries = Array.isArray(value) ? value : String(value ?? "").split(/[\s,;_]+/);
  return entries.filter((one) => one !== "").map((one) => (Number.isInteger(Number(one)) ? Number(one) : one));
}

/** A list that is chosen from a menu as a whole. It keeps its value while that is not offered. @type {MakeControl} */
function whole(schema, names, hear) {
  const menu = kind({ ...schema, menu: true })(schema, names, hear);
  let value = listOf([]);
  const set = (/** @type {unknown} */ given) => menu.set((value = listOf(given)));
  const get = () => (value = listOf(menu.get() || value));
  const offer = (/** @type {Choice[]} */ choices) => [menu.offer?.(choices), set(value)];
  return { ...menu, get, set, offer };
}

/**
 * A list with a control for each of the entries that `offer` names, typed as text while it has named none (null). Entries
 * that are names are all given or none: those left out are as the first that is not. @type {MakeControl}
 */
function entries(schema, names, hear) {
  const text = kind(TYPED)({ ...TYPED, title: schema.title }, names, hear);
  const box = h("div.hp-entries", { "role": "group", "aria-labelledby": names["aria-labelledby"] }, text.parts);
  let controls = /** @type {ReturnType<typeof entry>[] | null} */ (null);
  let shown = "null";

  function get() {
    const own = /** @type {(string | number)[] | undefined} */ (controls?.map((one) => one.get()));
    const given = own ?? listOf(text.get());
    return schema.items?.type === "string" ? given.flatMap((name) => name || (given.find(Boolean) ?? [])) : given;
  }

  /** @param {unknown} value - a list, or its text; an empty one forgets the entries, so that what is offered next is as usual */
  function set(value) {
    if (!listOf(value).length) show(null);
    fill(listOf(value));
  }

  function fill(/** @type {(string | number)[]} */ values) {
    text.set(values);
    for (const [i, one] of controls?.entries() ?? []) one.set(values[i] ?? one.usual);
  }

  function entry(/** @type {ListEntry} */ { usual, ...own }, /** @type {number} */ i) {
    const [id, one] = [`${names.id}-${i}`, { ...TYPED, ...schema.items, ...own }];
    const control = kind(one)(one, { "id": id, "aria-labelledby": `${id}-title`, "aria-describedby": null }, hear);
    const label = h("label.hp-name", { id: `${id}-title`, for: id }, one.title);
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

  return { isGroup: true, parts: [box], get, set, offer, isEmpty: () => controls?.length === 0 };
}

/** The control of an option, for `form`. @param {Property} schema */
const control = (schema) => (schema.type !== "array" ? kind(schema) : schema.menu ? whole : entries);

export { control };
