// The generalised shortest path: models and a sink, edges with a cost and a gain. A click on an edge tells its numbers.
import { afterLayout, label, s } from "../../kit/dom.js";
import { number } from "../../kit/format.js";
import { folded, press, say } from "../../kit/parts.js";
import { div, four, group, modelName, p } from "../parts.js";
import { roleOf } from "./bars.js";

const NAME = "Graph of the planner: models from small to large, edges from each to the smaller ones and to the sink";
const SPACING = 152;
const NODE = { width: 92, height: 46 };
const SINK = { height: 28, gap: 64 };
const LIFT = 46; // how high an arc rises per model that it passes

const keyOf = (edge) => `${edge.from}-${edge.to === null ? "sink" : edge.to}`;

/** choose(key): an edge was picked. */
function graph(choose) {
  const box = div("sy-scroll");
  const draw = group(box, "edge");
  const caption = p("hp-hint");
  const element = folded(
    "sy-graph",
    "The same as a shortest path",
    "A token enters at the target. Each edge costs its own calls and asks the smaller model for gain tokens in its " +
      "place; the sink ends the path. Choose an edge to see its numbers.",
    box,
    caption,
  );
  let drawn = 0;

  function update({ plan, way, edge, count }) {
    const path = new Set(way.edges.map(keyOf));
    const rest = plan.graph.edges.filter((one) => !path.has(keyOf(one)));
    const place = layout(count);
    const chosen = edge && keyOf(edge);
    const draws = (edges, on) => edges.map((one) => drawEdge(one, on, keyOf(one) === chosen, place, choose));
    const { width, height } = place;
    const svg = s(
      "svg",
      {
        "viewBox": `0 0 ${width} ${height}`,
        "class": "sy-graph-drawing",
        "style": `min-width: ${0.85 * width}px; max-width: ${1.2 * width}px`,
        "role": "group",
        "aria-label": NAME,
      },
      s("defs", {}, arrow(""), arrow("-path")),
      sink(place),
      [...draws(rest, false), ...draws(way.edges, true)],
      plan.graph.distance.map((d, i) => drawNode(i, d, way, place)),
    );
    const left = drawn === count ? box.scrollLeft : Infinity; // at first where a token enters, at the right
    draw([svg], chosen || keyOf(way.edges[0]));
    afterLayout(() => box.scrollTo(Math.min(left, box.scrollWidth), 0));
    drawn = count;
    say(
      caption,
      `Thick: the way chosen above, ${four(way.edges[0].value)} per token with blocks of constant length, ` +
        `${four(way.latency)} exactly. Thin: all other edges at their best T. d is the length of the shortest path ` +
        "from a model: its time per token.",
    );
  }

  return { element, update };
}

function layout(count) {
  const y = 30 + LIFT * (count - 1);
  const margin = NODE.width / 2 + 14;
  const x = (i) => margin + i * SPACING;
  const below = y + NODE.height + SINK.gap;
  return { count, x, y, sink: below, width: x(count - 1) + margin + 30, height: below + SINK.height + 10 };
}

const centred = (x, y, text, css) => label(x, y, text, css, { "text-anchor": "middle" });

function drawNode(i, distance, way, { x, y, count }) {
  const css = `sy-node is-${roleOf(i, way, count)}${way.models.includes(i) ? " is-used" : ""}`;
  return s(
    "g",
    { class: css },
    s("rect", { x: x(i) - NODE.width / 2, y, ...NODE, rx: 10 }),
    centred(x(i), y + 19, modelName(i, count), "sy-node-name"),
    centred(x(i), y + 36, `d = ${number(distance, 3)}`, "sy-node-more"),
  );
}

function sink({ sink: y, count, x }) {
  const [left, right] = [x(0) - NODE.width / 2, x(count - 1) + NODE.width / 2];
  return s(
    "g",
    { class: "sy-sink" },
    s("rect", { x: left, y, width: right - left, height: SINK.height, rx: 8 }),
    centred((left + right) / 2, y + 19, "sink: writes tokens by itself", "sy-node-more"),
  );
}

function drawEdge(edge, on, chosen, place, choose) {
  const key = keyOf(edge);
  const down = edge.to === null;
  const { d, at } = down ? straight(edge.from, place) : arc(edge.from, edge.to, place);
  const cost = `cost ${number(edge.cost, 3)}`;
  const words = down ? [cost] : [`T = ${edge.threshold}`, on ? `${cost}, gain ${number(edge.gain, 3)}` : null];
  const lines = words.filter(Boolean);
  const anchor = { "text-anchor": down ? "start" : "middle" };
  const element = s(
    "g",
    {
      "class": `sy-edge${on ? " is-path" : ""}${chosen ? " is-chosen" : ""}`,
      "role": "button",
      "tabindex": "-1",
      "aria-pressed": String(chosen),
      "data-edge": key,
    },
    s("title", {}, spoken(edge, on, place.count)),
    s("path", { d, class: "sy-edge-reach" }),
    s("path", { d, "class": "sy-edge-line", "marker-end": `url(#sy-arrow${on ? "-path" : ""})` }),
    lines.map((line, k) => label(at.x, at.y + 14 * (k - lines.length + 1), line, "sy-edge-words", anchor)),
  );
  return press(element, () => choose(key));
}

/** From the larger model over the others down to the smaller one. */
function arc(from, to, { x, y }) {
  const apart = from - to;
  const shift = Math.min(9 * (apart - 1), 18);
  const [begin, end] = [x(from) - 22 + shift, x(to) + 22 - shift];
  const high = y - 1.33 * LIFT * apart + 8;
  return {
    d: `M ${begin} ${y} C ${begin - 10} ${high}, ${end + 10} ${high}, ${end} ${y - 2}`,
    at: { x: (begin + end) / 2, y: y - 0.75 * (y - high) - 6 },
  };
}

function straight(from, { x, y, sink: bottom }) {
  const top = y + NODE.height;
  return { d: `M ${x(from)} ${top} V ${bottom - 2}`, at: { x: x(from) + 8, y: (top + bottom) / 2 + 4 } };
}

function arrow(name) {
  const size = { markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" };
  const id = `sy-arrow${name}`;
  return s(
    "marker",
    { id, class: id, viewBox: "0 0 8 8", refX: 7, refY: 4, ...size },
    s("path", { d: "M 0 0 L 8 4 L 0 8 z" }),
  );
}

function spoken(edge, on, count) {
  const from = modelName(edge.from, count);
  const path = on ? ", on the path" : "";
  if (edge.to === null) return `${from} by itself: cost ${four(edge.cost)}${path}`;
  const numbers = `cost ${four(edge.cost)}, gain ${four(edge.gain)}`;
  return `${from} asks ${modelName(edge.to, count)} for ${edge.threshold}: ${numbers}${path}`;
}

export { graph, keyOf };
