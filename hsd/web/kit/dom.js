// Building elements. The only file that creates DOM nodes; text goes in as text nodes and never as
// markup.
import { runs, shorten, visible } from "./format.js";

const SIGNS = { draft: "●", correction: "▲", bonus: "◆" };
const SVG = "http://www.w3.org/2000/svg";
// a page in another language leaves their text alone
const AS_IT_IS = new Set(["bdi", "code", "kbd", "pre", "textarea"]);

/** @param {Attributes | Child} given @returns {given is Attributes} */
const named = (given) => Boolean(given) && Object.getPrototypeOf(given) === Object.prototype;

/** Append a child, or every child of a list; null, undefined and false add nothing. */
function append(/** @type {Element} */ element, /** @type {Child} */ child) {
  if (child === null || child === undefined || child === false) return;
  if (typeof child === "object" && !(child instanceof Node)) {
    for (const inner of child) append(element, inner);
  } else {
    element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Create an element with its classes, attributes, listeners ("on…") and children.
 * @param {(name: string) => Element} create
 * @param {string} tag - its name, and classes after dots
 * @param {(Attributes | Child)[]} rest - attributes, if they come first, and children
 * @returns {any}
 */
function fill(create, tag, rest) {
  const [name, ...classes] = tag.split(".");
  const { class: more, ...attributes } = named(rest[0]) ? rest[0] : {};
  const element = create(name);
  if (AS_IT_IS.has(name)) element.setAttribute("translate", "no");
  if (more) classes.push(String(more));
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const child of rest) if (!named(child)) append(element, child);
  return element;
}

const createHtml = (/** @type {string} */ name) => document.createElement(name);
const createSvg = (/** @type {string} */ name) => document.createElementNS(SVG, name);

/**
 * Return a new HTML element: h("div.hp-card.is-open", {onclick}, child, …). Classes may follow the
 * tag's name, attributes may be left out, and children are nodes, strings, numbers or lists of
 * them.
 * @type {<T extends string>(tag: T, ...rest: (Attributes | Child)[]) => Html<NameOf<T>>}
 */
const h = (tag, ...rest) => fill(createHtml, tag, rest);

/**
 * Return a new SVG element; arguments as for `h`.
 * @type {<T extends string>(tag: T, ...rest: (Attributes | Child)[]) => Svg<NameOf<T>>}
 */
const s = (tag, ...rest) => fill(createSvg, tag, rest);

/** The element that an event came to. @type {(event: Event) => HTMLElement} */
const targetOf = ({ target }) => /** @type {HTMLElement} */ (target);

/**
 * Return the first element in `root` that the selector `css` matches; throws where there is none.
 * @template {Element} [E=HTMLElement]
 * @param {string} css
 * @returns {E}
 */
function find(css, root = /** @type {ParentNode} */ (document)) {
  const element = /** @type {E | null} */ (root.querySelector(css));
  if (!element) throw new Error(`nothing here is ${css}`);
  return element;
}

/**
 * A line of SVG text.
 * @param {number} x
 * @param {number} y
 * @param {Child} text
 * @param {string} [css]
 * @param {Attributes} [attributes]
 * @returns {SVGTextElement}
 */
function label(x, y, text, css, attributes = {}) {
  return s("text", { x, y, class: css, ...attributes }, text);
}

/** A run of a piece (see format.js), pale where it stands for something invisible. */
const paleMark = (/** @type {{text: string, mark: boolean}} */ { text, mark }) =>
  mark ? h("span", { class: "hp-mark" }, text) : text;

/**
 * A token in running HTML: isolated from its surroundings, its spaces and line ends visible but
 * pale.
 * @type {(piece: string, look?: {cells?: number, origin?: Origin | null}) => HTMLElement}
 */
function token(piece, { cells = 24, origin = null } = {}) {
  const full = visible(piece);
  const short = shorten(piece, cells);
  const body = short === full && piece !== "" ? runs(piece).map(paleMark) : short;
  const sign = origin
    ? h("span", { "class": `hp-sign is-${origin}`, "aria-hidden": "true" }, SIGNS[origin])
    : null;
  return h("bdi", { class: "hp-token", dir: "auto", title: full }, sign, body);
}

/**
 * A button with words that a hover, the focus or a tap explains. key: of the entry in the glossary,
 * whose module (glossary.js) shows it.
 * @type {(key: string, words: Child) => HTMLButtonElement}
 */
const explained = (key, words) =>
  h("button.hp-term", { "type": "button", "data-term": key }, words);

/** @param {Part} part @returns {part is Special} */
const special = (part) =>
  typeof part === "object" && part !== null && !(globalThis.Node && part instanceof Node);

/**
 * Sentence parts (strings, {piece, origin}, {strong}, {term: key in the glossary, words}) as nodes.
 * @type {(parts: Part[]) => Child[]}
 */
const prose = (parts) =>
  parts.map((part) => {
    if (!special(part)) return part;
    if (part.term !== undefined) return explained(part.term, part.words ?? part.term);
    return part.piece === undefined ? h("strong", {}, part.strong) : token(part.piece, part);
  });

/** Return sentence parts, see `prose`, as one plain string. @type {(parts: Part[]) => string} */
const plain = (parts) =>
  parts
    .map((part) => {
      if (!special(part)) return part;
      return part.piece === undefined
        ? (part.strong ?? part.words ?? part.term)
        : `“${visible(part.piece)}”`;
    })
    .join("");

// Drawn, not written: not every font has these signs. One path each, in a box of 16 by 16.
const ICONS = {
  first: "M3 3h2v10H3zM13 3v10L6 8z",
  back: "M12 3v10L4 8z",
  play: "M4 2.5v11l10-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  forward: "M4 3v10l8-5z",
  last: "M11 3h2v10h-2zM3 3v10l7-5z",
  earlier: "M6 3v10L0 8zM8 5h8v2H8zM8 9h8v2H8zM13 2l1.6.8-5 11.4L8 13.4z",
  later: "M10 3v10l6-5zM0 5h8v2H0zM0 9h8v2H0zM5 2l1.6.8-5 11.4L0 13.4z",
};
/** @type {(name: string) => SVGElement} */
const icon = (name) =>
  s(
    "svg",
    {
      "class": "hp-glyph",
      "viewBox": "0 0 16 16",
      "width": 16,
      "height": 16,
      "aria-hidden": "true",
    },
    s("path", { d: ICONS[/** @type {keyof typeof ICONS} */ (name)] }),
  );

/** @type {(() => void)[]} */
const waiting = [];

function runWaiting() {
  for (const work of waiting.splice(0)) work();
}

/**
 * Run `work` later, when the page has been laid out anyway: reading positions at once would lay it
 * out again.
 * @param {() => void} work
 */
function afterLayout(work) {
  if (!waiting.length) requestAnimationFrame(runWaiting);
  waiting.push(work);
}

export {
  afterLayout,
  explained,
  find,
  h,
  icon,
  label,
  plain,
  prose,
  s,
  SIGNS,
  special,
  targetOf,
  token,
};
