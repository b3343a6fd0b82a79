// What is on screen as a picture of its own, SVG or PNG: every box, every line and every line of
// text is drawn where the browser has put it, with its colours, fonts and numbers written into it.
import { h, s } from "../kit/dom.js";

const NARROWEST = 640; // pixels of a picture with sentences around it
const MARGIN = 14;
const SIDES = /** @type {const} */ (["Top", "Right", "Bottom", "Left"]);
/**
 * Excess and deficient mass keep their own hatch, so that colour is never needed.
 * @type {Record<string, [string, number]>}
 */
const HATCHES = { "is-excess": ["--hp-q", 45], "is-deficient": ["--hp-p", -45] };
/** @type {Record<string, string>} */
const DASHES = { dashed: "6 3", dotted: "2 3" };
const POINT = /([\d.]+) ([\d.]+)/g; // of a path, in fractions

// color(srgb r g b / a), which mixed colours compute to
const MIXED = /^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.e-]+))?\)$/;

/** @typedef {{x: number, y: number, width: number, height: number}} Place */
/** @typedef {(rect: {left: number, top: number, width: number, height: number}) => Place} At */

/**
 * The text of an SVG file: what is shown, and sentences above and below it.
 * @type {(shown: HTMLElement, around?: Around) => string}
 */
function svgText(shown, { above, below } = { above: [], below: [] }) {
  const width = Math.max(shown.scrollWidth + 2 * MARGIN, NARROWEST);
  const head = above.map((words, i) => h("p", i ? words : h("strong", words)));
  const foot = below.map((words) => h("p", words));
  const drawings = [sentences(head, shown, width), drawing(shown), sentences(foot, shown, width)];
  let height = 0;
  const parts = drawings.map((part) => {
    const transform = `translate(0 ${height})`;
    height += part.height;
    return s("g", { transform }, part.nodes);
  });
  const place = {
    xmlns: "http://www.w3.org/2000/svg",
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
  };
  const ground = s("rect", { width, height, fill: backgroundOf(shown) });
  return new XMLSerializer().serializeToString(
    s("svg", place, hatches(getComputedStyle(shown)), ground, parts),
  );
}

/**
 * A drawing of sentences in the fonts and colours of `shown`, in lines that fit the width.
 * @param {HTMLElement[]} all
 * @param {HTMLElement} shown
 * @param {number} width
 */
function sentences(all, shown, width) {
  const font = "font-size:14px;line-height:20px;overflow-wrap:anywhere";
  const style = `position:fixed;width:${width - 2 * MARGIN}px;${font}`;
  const element = h("div", { style }, all);
  shown.after(element);
  const drawn = drawing(element);
  element.remove();
  return drawn;
}

/**
 * The picture of `svgText` as a PNG at twice its size. Rejects if the browser cannot draw it.
 * @type {(shown: HTMLElement, around?: Around) => Promise<Blob>}
 */
const png = (shown, around) =>
  canvasOf(svgText(shown, around), 2).then((canvas) => canvas.convertToBlob());

/**
 * The picture in the text of an SVG file, drawn at `scale` times its size. Rejects if the browser
 * cannot.
 * @type {(text: string, scale: number) => Promise<OffscreenCanvas>}
 */
async function canvasOf(text, scale) {
  const picture = new Image();
  picture.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    await picture.decode();
    const canvas = new OffscreenCanvas(scale * picture.width, scale * picture.height);
    canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
    return canvas;
  } catch {
    // what the browser says of it helps no reader
    throw new Error("the picture could not be drawn");
  } finally {
    URL.revokeObjectURL(picture.src);
  }
}

/**
 * Every box that has a colour or a border, every line between boxes, and every line of text.
 * @type {(root: HTMLElement) => {height: number, nodes: Element[]}}
 */
function drawing(root) {
  const frame = root.getBoundingClientRect();
  const x0 = frame.left - MARGIN;
  const y0 = frame.top - MARGIN / 2;
  /** @type {At} */
  const at = ({ left, top, width, height }) => ({
    x: left - x0,
    y: top - y0,
    width,
    height,
  });
  const seen = [...root.querySelectorAll("*")].filter(
    (element) =>
      !element.closest(".hp-unseen") && getComputedStyle(element).visibility === "visible",
  );
  const nodes = seen.flatMap((element) =>
    element instanceof HTMLElement
      ? [...boxes(element, at), ...texts(element, at)]
      : lines(element, at),
  );
  return { height: nodes.length && root.scrollHeight + MARGIN, nodes };
}

/**
 * The hatches of the masses, as patterns of an SVG.
 * @param {CSSStyleDeclaration} style where the colours are
 */
function hatches(style) {
  const hatch = (/** @type {[string, [string, number]]} */ [id, [variable, turn]]) => {
    const look = { fill: style.getPropertyValue(variable).trim(), height: 6 };
    const bands = [
      s("rect", {
        ...look,
        width: 6,
        opacity: 0.28,
      }),
      s("rect", { ...look, width: 3 }),
    ];
    const pattern = {
      id,
      width: 6,
      height: 6,
      patternUnits: "userSpaceOnUse",
      patternTransform: `rotate(${turn})`,
    };
    return s("pattern", pattern, bands);
  };
  return s("defs", Object.entries(HATCHES).map(hatch));
}

/**
 * A line of the tree, whose path is in fractions of its place: here in pixels, so that a larger
 * picture has wider lines.
 * @type {(element: Element, at: At) => Element[]}
 */
function lines(element, at) {
  const path = element.matches("svg") ? element.firstElementChild : null;
  if (!path) return [];
  const style = getComputedStyle(path);
  const { x, y, width, height } = at(element.getBoundingClientRect());
  /** @type {(point: string, right: string, down: string) => string} */
  const pixels = (_, right, down) => `${x + width * Number(right)} ${y + height * Number(down)}`;
  const names = ["fill", "stroke", "stroke-width", "stroke-dasharray"];
  const look = Object.fromEntries(
    names.map((name) => [name, plainColour(style.getPropertyValue(name))]),
  );
  const d = path.getAttribute("d") ?? "";
  return [s("path", { ...look, d: d.replace(POINT, pixels) })];
}

/**
 * The box of an element, if it has a colour or a border.
 * @type {(element: HTMLElement, at: At) => Element[]}
 */
function boxes(element, at) {
  const style = getComputedStyle(element);
  const box = at(element.getBoundingClientRect());
  if (!box.width || !box.height || element.matches("select")) return [];
  const hatch = Object.keys(HATCHES).find((kind) =>
    element.matches(`.hp-segment.${kind}, .hp-swatch.${kind}`),
  );
  const fill = hatch ? `url(#${hatch})` : plainColour(style.backgroundColor);
  const drawn = SIDES.flatMap((side) => {
    const width = Number.parseFloat(style[`border${side}Width`]);
    const colour = style[`border${side}Color`];
    return width > 0 && !clear(colour) ? [{ side, width, colour: plainColour(colour) }] : [];
  });
  const radius = Number.parseFloat(style.borderTopLeftRadius) || 0;
  const whole = {
    ...box,
    rx: Math.min(radius, box.height / 2),
    fill: clear(fill) ? "none" : fill,
    opacity: style.opacity,
  };
  if (drawn.length < 4) {
    const edges = drawn.map(({ side, width, colour }) => edge(box, side, width, colour));
    return clear(fill) ? edges : [s("rect", whole), ...edges];
  }
  const border = {
    "stroke": drawn[0].colour,
    "stroke-width": drawn[0].width,
    "stroke-dasharray": DASHES[style.borderTopStyle] ?? null,
  };
  return [s("rect", { ...whole, ...border })];
}

/**
 * The border of a box on one of its sides.
 * @type {(box: Place, side: string, thick: number, fill: string) => Element}
 */
function edge(box, side, thick, fill) {
  const rect = { ...box, fill };
  if (side === "Top" || side === "Bottom") rect.height = thick;
  else rect.width = thick;
  if (side === "Bottom") rect.y = box.y + box.height - thick;
  if (side === "Right") rect.x = box.x + box.width - thick;
  return s("rect", rect);
}

const clear = (/** @type {string} */ colour) =>
  /^(transparent|rgba\(\d+, \d+, \d+, 0\))$/.test(colour);
const measuring = document.createElement("canvas").getContext("2d");

/**
 * The text directly in an element, a line at a time; of a menu what is chosen.
 * @type {(element: HTMLElement, at: At) => Element[]}
 */
function texts(element, at) {
  const style = getComputedStyle(element);
  const font = ["family", "size", "weight", "style"].map((of) => [
    `font-${of}`,
    style.getPropertyValue(`font-${of}`),
  ]);
  const look = {
    "fill": plainColour(style.color),
    ...Object.fromEntries(font),
    "xml:space": "preserve",
  };
  const { x, y, width, height } = at(element.getBoundingClientRect());
  if (element instanceof HTMLSelectElement) {
    const middle = y + height / 2 + Number.parseFloat(style.fontSize) * 0.35;
    const place = { x, "y": middle, "direction": "ltr" };
    return [s("text", { ...place, ...look }, element.selectedOptions[0].text)];
  }
  if (element.closest("select")) return [];
  if (measuring) measuring.font = style.font;
  const rise = measuring?.measureText("").fontBoundingBoxAscent ?? 0;
  const own = [...element.childNodes].flatMap((node) =>
    node instanceof Text ? linesOf(node, at) : [],
  );
  const written = own.map((line) => {
    const place = {
      "x": line.x,
      "y": line.y + rise,
      "direction": "ltr",
    };
    return s("text", { ...place, ...look }, line.words);
  });
  // a sign at the head of an element
  const mark = /^"(.+)"$/.exec(getComputedStyle(element, "::before").content);
  if (mark) {
    const place = {
      "x": x + width / 2,
      "y": y + 8,
      "text-anchor": "middle",
    };
    written.unshift(s("text", { ...place, ...look }, mark[1]));
  }
  return written;
}

/**
 * The lines into which a text node is broken.
 * @type {(node: Text, at: At) => {x: number, y: number, words: string}[]}
 */
function linesOf(node, at) {
  const rows = /** @type {{x: number, y: number, words: string}[]} */ ([]);
  for (const { 0: words, index } of node.data.matchAll(/[^\s/]+[\s/]*|[\s/]+/g)) {
    const range = document.createRange();
    range.setStart(node, index);
    range.setEnd(node, index + words.length);
    const rect = range.getClientRects()[0];
    if (!rect?.width) continue;
    const { x, y } = at(rect);
    const last = rows.at(-1);
    if (last && Math.abs(last.y - y) < 2) last.words += words;
    else rows.push({ x, y, words });
  }
  return rows.map(({ words, ...place }) => ({ words: words.trimEnd(), ...place }));
}

// ---- colours

/**
 * A mixed colour as the rgba() that every program reads; any other value as it is.
 * @param {string} value
 */
function plainColour(value) {
  const parts = MIXED.exec(value);
  if (!parts) return value;
  const bytes = parts.slice(1, 4).map((part) => Math.round(255 * Number(part)));
  return `rgba(${bytes.join(", ")}, ${parts[4] ?? 1})`;
}

/**
 * The colour behind an element: its own, or that of the nearest element around it that has one.
 * @param {HTMLElement | null} element
 * @returns {string}
 */
function backgroundOf(element) {
  if (!element) return "#fff";
  const colour = getComputedStyle(element).backgroundColor;
  return clear(colour) ? backgroundOf(element.parentElement) : plainColour(colour);
}

export { canvasOf, png, svgText };
