// Building elements. The only file that creates DOM nodes; text goes in as text nodes and never as markup.
import { runs, shorten, visible } from "./format.js";

const SIGNS = { draft: "●", correction: "▲", bonus: "◆" };
const SVG = "http://www.w3.org/2000/svg";

function fill(create, tag, rest) {
  const [name, ...classes] = tag.split(".");
  const isNamed = rest[0] && Object.getPrototypeOf(rest[0]) === Object.prototype;
  const { class: more, ...attributes } = isNamed ? rest[0] : {};
  const element = create(name);
  if (more) classes.push(more);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of rest.slice(isNamed ? 1 : 0).flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

/**
 * h("div.hp-card.is-open", {onclick}, child, …): classes may follow the tag's name, attributes may be left out, and
 * children are nodes, strings, numbers or lists of them.
 */
const h = (tag, ...rest) => fill((name) => document.createElement(name), tag, rest);

/** The same for SVG elements. */
const s = (tag, ...rest) => fill((name) => document.createElementNS(SVG, name), tag, rest);

/** A line of SVG text. */
function label(x, y, text, css, attributes = {}) {
  return s("text", { x, y, class: css, ...attributes }, text);
}

/** A token in running HTML: isolated from its surroundings, its spaces and line ends visible but pale. */
function token(piece, { cells = 24, origin = null } = {}) {
  const full = visible(piece);
  const short = shorten(piece, cells);
  const body =
    short === full && piece !== ""
      ? runs(piece).map((run) => (run.mark ? h("span", { class: "hp-mark" }, run.text) : run.text))
      : short;
  const sign = origin ? h("span", { "class": `hp-sign is-${origin}`, "aria-hidden": "true" }, SIGNS[origin]) : null;
  return h("bdi", { class: "hp-token", dir: "auto", title: full }, sign, body);
}

/** Words that a hover, the focus or a tap explains; key: in the glossary, whose module (glossary.js) shows the entry. */
const explained = (key, words) => h("button.hp-term", { "type": "button", "data-term": key }, words);

/** Sentence parts (strings, {piece, origin}, {strong}, {term: key in the glossary, words}) as nodes. */
function prose(parts) {
  return parts.map((part) => {
    if (part && part.term !== undefined) return explained(part.term, part.words ?? part.term);
    if (part && part.piece !== undefined) return token(part.piece, part);
    if (part && part.strong !== undefined) return h("strong", {}, part.strong);
    return part;
  });
}

/** The same parts as one plain string. */
const plain = (parts) =>
  parts
    .map((part) =>
      part && part.piece !== undefined ? `“${visible(part.piece)}”` : (part.strong ?? part.words ?? part.term ?? part),
    )
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
const icon = (name) =>
  s(
    "svg",
    { "class": "hp-glyph", "viewBox": "0 0 16 16", "width": 16, "height": 16, "aria-hidden": "true" },
    s("path", { d: ICONS[name] }),
  );

const waiting = [];

/** Run later, when the page has been laid out anyway: reading positions at once would lay it out again. */
function afterLayout(work) {
  if (!waiting.length) requestAnimationFrame(() => waiting.splice(0).forEach((job) => job()));
  waiting.push(work);
}

export { SIGNS, h, s, label, token, explained, prose, plain, icon, afterLayout };
