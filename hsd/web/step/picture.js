// What is on screen as a picture of its own, SVG or PNG: every colour, font and number is written into the elements. A tree
// is SVG already; of the board every box and every line of text is drawn where the browser has put it.
import { s } from "../kit/dom.js";
import { patterns } from "./mass.js";

const LINE = 20; // height of a line of words above and below the picture
const LETTER = 8.5; // width of a letter in them, at most on average
const MARGIN = 14;
const PAINT = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "paint-order",
  "opacity",
  "fill-opacity",
  "stroke-opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "visibility",
  "display",
];

/** The text of an SVG file. around: lines of words {above: [sentence, …], below: […]}; long ones are broken. */
function svgText(shown, around = {}) {
  const body = shown instanceof SVGElement ? ownDrawing(shown) : board(shown);
  const width = Math.ceil(Math.max(body.width, 640));
  const [above, below] = ["above", "below"].map((side) =>
    (around[side] || []).flatMap((words) => broken(words, width)),
  );
  const top = above.length ? -LINE * above.length - 12 : 0;
  const height = Math.ceil(body.height) - top + (below.length ? LINE * below.length + 12 : 0);
  const { color, fontFamily } = getComputedStyle(shown);
  const bold = broken((around.above || [""])[0], width).length;
  const line = (y, first) => (words, i) =>
    s("text", { "x": MARGIN, "y": y + LINE * i, "font-size": 14, "font-weight": i < first ? 600 : 400 }, words);
  const drawing = s(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 ${top} ${width} ${height}`, width, height },
    s("rect", { y: top, width, height, fill: backgroundOf(shown) }),
    s(
      "g",
      { "fill": plainColour(color), "font-family": fontFamily },
      above.map(line(top + 24, bold)),
      below.map(line(body.height + LINE, 0)),
    ),
    body.nodes,
  );
  return new XMLSerializer().serializeToString(drawing);
}

/** The same as a PNG at twice its size. */
async function png(shown, around) {
  const picture = new Image();
  picture.src = URL.createObjectURL(new Blob([svgText(shown, around)], { type: "image/svg+xml" }));
  try {
    await picture.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * picture.width, 2 * picture.height];
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    if (blob) return blob;
  } catch {
    // what the browser says of it helps no reader
  } finally {
    URL.revokeObjectURL(picture.src);
  }
  throw new Error("the picture could not be drawn");
}

/** Words in lines that fit the width. */
function broken(words, width) {
  const most = Math.floor((width - 2 * MARGIN) / LETTER);
  const lines = [];
  for (const word of words.split(" ").filter(Boolean)) {
    const last = lines.length - 1;
    if (last >= 0 && lines[last].length + 1 + word.length <= most) lines[last] += ` ${word}`;
    else lines.push(...(word.match(new RegExp(`.{1,${most}}`, "gu")) || []));
  }
  return lines;
}

// ---- what is SVG already

function ownDrawing(svg) {
  const copy = svg.cloneNode(true);
  const copies = [...copy.querySelectorAll("*")];
  [...svg.querySelectorAll("*")].forEach((element, i) => paint(element, copies[i]));
  const { width, height } = svg.viewBox.baseVal;
  return { width, height, nodes: [...copy.childNodes] };
}

function paint(element, copy) {
  if (element.closest("defs") && !element.classList.length) return;
  const style = getComputedStyle(element);
  for (const name of PAINT) {
    const value = style.getPropertyValue(name);
    if (value && !(name === "fill" && element.getAttribute("fill")?.startsWith("url")))
      copy.setAttribute(name, plainColour(value));
  }
  for (const name of ["tabindex", "class", "role", "aria-pressed"]) copy.removeAttribute(name);
}

// ---- what is HTML

const HATCHES = { excess: "is-excess", deficient: "is-deficient" };

/** Every box that has a colour or a border, and every line of text, as the browser has laid them out. */
function board(root) {
  const frame = root.getBoundingClientRect();
  const [x0, y0] = [frame.left - MARGIN, frame.top - MARGIN / 2];
  const at = ({ left, top, width, height }) => ({ x: left - x0, y: top - y0, width, height });
  const seen = [...root.querySelectorAll("*")].filter(
    (element) => !element.closest(".hp-unseen") && getComputedStyle(element).visibility === "visible",
  );
  const style = getComputedStyle(root);
  const hatches = patterns(HATCHES, (variable) => style.getPropertyValue(variable).trim());
  const nodes = [hatches, ...seen.flatMap((element) => [...boxes(element, at), ...texts(element, at)])];
  return { width: root.scrollWidth + 2 * MARGIN, height: root.scrollHeight + MARGIN, nodes };
}

function boxes(element, at) {
  const style = getComputedStyle(element);
  const box = at(element.getBoundingClientRect());
  const hatch = Object.values(HATCHES).find((kind) => element.matches(`.hp-segment.${kind}, .hp-swatch.${kind}`));
  const fill = hatch ? `url(#${hatch})` : plainColour(style.backgroundColor);
  if (!box.width || !box.height || element.matches("select")) return [];
  const sides = SIDES.map((side) => [
    side,
    Number.parseFloat(style[`border${side}Width`]),
    style[`border${side}Color`],
  ]);
  const drawn = sides.filter(([, width, colour]) => width > 0 && !clear(colour));
  const around = drawn.length === 4 ? { "stroke": plainColour(drawn[0][2]), "stroke-width": drawn[0][1] } : {};
  const rx = Math.min(Number.parseFloat(style.borderTopLeftRadius) || 0, box.height / 2);
  const whole = s("rect", { ...box, rx, "fill": clear(fill) ? "none" : fill, ...around, "opacity": style.opacity });
  const edges =
    drawn.length < 4 ? drawn.map(([side, width, colour]) => edge(box, side, width, plainColour(colour))) : [];
  return [clear(fill) && drawn.length < 4 ? null : whole, ...edges].filter(Boolean);
}

const SIDES = ["Top", "Right", "Bottom", "Left"];

function edge({ x, y, width, height }, side, thick, fill) {
  if (side === "Top" || side === "Bottom")
    return s("rect", { x, "y": side === "Top" ? y : y + height - thick, width, "height": thick, fill });
  return s("rect", { "x": side === "Left" ? x : x + width - thick, y, "width": thick, height, fill });
}

const clear = (colour) => /^(transparent|rgba\(\d+, \d+, \d+, 0\))$/.test(colour);
const measuring = document.createElement("canvas").getContext("2d");

/** The text directly in an element, a line at a time; of a menu what is chosen. */
function texts(element, at) {
  const style = getComputedStyle(element);
  measuring.font = style.font;
  const rise = measuring.measureText("").fontBoundingBoxAscent;
  const look = {
    "fill": plainColour(style.color),
    "font-family": style.fontFamily,
    "font-size": style.fontSize,
    "font-weight": style.fontWeight,
    "font-style": style.fontStyle,
    "xml:space": "preserve",
  };
  const line = ({ x, y, words }) => s("text", { x, "y": y + rise, "direction": "ltr", ...look }, words);
  if (element.matches("select")) {
    const { x, y, height } = at(element.getBoundingClientRect());
    const middle = y + height / 2 - Number.parseFloat(style.fontSize) * 0.6;
    return [line({ x, y: middle, words: element.selectedOptions[0].text })];
  }
  if (element.closest("select")) return [];
  const mark = /^"(.+)"$/.exec(getComputedStyle(element, "::before").content);
  const before = mark ? marked(element, mark[1], at, look) : [];
  return [...before, ...own(element).flatMap((node) => linesOf(node, at).map(line))];
}

const own = (element) => [...element.childNodes].filter((node) => node.nodeType === 3);

/** A sign that stands before an element's own text, at its head. */
function marked(element, sign, at, look) {
  const { x, y, width } = at(element.getBoundingClientRect());
  return [s("text", { "x": x + width / 2, "y": y + 8, "text-anchor": "middle", ...look }, sign)];
}

/** The lines into which a text node is broken: {x, y, words}. */
function linesOf(node, at) {
  const lines = [];
  for (const { 0: words, index } of node.data.matchAll(/\S+\s*|\s+/g)) {
    const range = document.createRange();
    range.setStart(node, index);
    range.setEnd(node, index + words.length);
    const [rect] = range.getClientRects();
    if (!rect || !rect.width) continue;
    const { x, y } = at(rect);
    const last = lines.at(-1);
    if (last && Math.abs(last.y - y) < 2) last.words += words;
    else lines.push({ x, y, words });
  }
  return lines;
}

// ---- colours

/** color(srgb r g b / a), which mixed colours compute to, as the rgba() that every program reads. */
function plainColour(value) {
  const found = /^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.e-]+))?\)$/.exec(value);
  if (!found) return value;
  const [red, green, blue] = found.slice(1, 4).map((part) => Math.round(255 * Number(part)));
  return `rgba(${red}, ${green}, ${blue}, ${found[4] ?? 1})`;
}

function backgroundOf(element) {
  for (let at = element; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (colour && !clear(colour)) return plainColour(colour);
  }
  return "#fff";
}

export { png, svgText };
