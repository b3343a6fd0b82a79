// The generalised shortest path: models and a sink, edges with a cost and a gain. A click on an edge tells its numbers.
import { h, label, s } from "../../kit/dom.js";
import { number } from "../../kit/format.js";
import { press, say } from "../../kit/parts.js";
import { four, group, modelName, roleOf } from "../parts.js";

const NAME = "Graph of the planner: models from small to large, edges from each to the smaller ones and to the sink";
const HINT =
  "A token enters at the target. Each edge costs its own calls and asks the smaller model for gain tokens in its place; " +
  "the sink ends the path. Choose an edge to see its numbers.";
const SPACING = 152;
const NODE = { width: 92, height: 46 };
const SINK = { height: 28, gap: 64 };
const LIFT = 46; // how high an arc rises per model that it passes

/** @typedef {ReturnType<typeof layout>} Place */

/** @type {(edge: PlannerEdge) => string} */
const keyOf = ({ from, to }) => `${from}-${to ?? "sink"}`;

/** choose: an edge was picked. @type {(choose: (key: string) => void) => PlannerPart} */
function graph(choose) {
  const box = h("div.hf-scroll");
  const draw = group(box, "edge");
  const caption = h("p.hp-hint");

  function update(/** @type {PlannerView} */ { plan, edge, count }) {
    const { way } = plan;
    const path = new Set(way.edges.map(keyOf));
    const place = layout(count);
    const edges = [...plan.graph.edges.filter((one) => !path.has(keyOf(one))), ...way.edges];
    const chosen = edge && keyOf(edge);
    const drawEdges = edges.map((one) => {
      const key = keyOf(one);
      const attributes = {
        "class": `hf-edge${path.has(key) ? " is-path" : ""}${key === chosen ? " is-chosen" : ""}`,
        "role": "button",
        "aria-pressed": String(key === chosen),
        "data-edge": key,
      };
      return press(s("g", attributes, edgeParts(one, path.has(key), place)), () => choose(key));
    });
    const style = `min-width: ${0.85 * place.width}px; max-width: ${1.2 * place.width}px`;
    const svg = s(
      "svg.hf-graph-drawing",
      { "viewBox": `0 0 ${place.width} ${place.height}`, style, "role": "group", "aria-label": NAME },
      s("defs", arrow("hf-arrow"), arrow("hf-arrow-path")),
      s("rect.hf-sink", { ...place.end, rx: 8 }),
      centred(place.end.x + place.end.width / 2, place.sink + 19, "sink: writes tokens by itself", "hf-node-more"),
      drawEdges,
      plan.graph.distance.map((distance, i) => node(i, distance, way, place)),
    );
    draw([svg], chosen ?? keyOf(way.edges[0]));
    const words =
      `Thick: the way chosen above, ${four(way.edges[0].value)} per token with blocks of constant length, ` +
      `${four(way.latency)} exactly. Thin: all other edges at their best T. d is the length of the shortest path from a ` +
      "model: its time per token.";
    say(caption, words);
  }

  return { element: h("div.hf-graph", h("p.hp-hint", HINT), box, caption), update };
}

function layout(/** @type {number} */ count) {
  const y = 30 + LIFT * (count - 1);
  const margin = NODE.width / 2 + 14;
  const x = (/** @type {number} */ i) => margin + i * SPACING;
  const below = y + NODE.height + SINK.gap;
  const end = { x: x(0) - NODE.width / 2, y: below, width: NODE.width + (count - 1) * SPACING, height: SINK.height };
  return { count, x, y, sink: below, end, width: x(count - 1) + margin + 30, height: below + SINK.height + 10 };
}

/** @type {(x: number, y: number, text: string, css: string) => Element} */
const centred = (x, y, text, css) => label(x, y, text, css, { "text-anchor": "middle" });

/** @type {(i: number, distance: number, way: PlannerWay, place: Place) => Element} */
function node(i, distance, way, { x, y, count }) {
  return s(
    `g.hf-node.is-${roleOf(i, way, count)}${way.models.includes(i) ? ".is-used" : ""}`,
    s("rect", { x: x(i) - NODE.width / 2, y, ...NODE, rx: 10 }),
    centred(x(i), y + 19, modelName(i, count), "hf-node-name"),
    centred(x(i), y + 36, `d = ${number(distance, 3)}`, "hf-node-more"),
  );
}

/** Draw an edge: title, line, label. on: on the best path. @type {(edge: PlannerEdge, on: boolean, place: Place) => (Element | Element[])[]} */
function edgeParts(edge, on, place) {
  const down = edge.to === null;
  const { d, at } = line(edge, place);
  const cost = `cost ${number(edge.cost, 3)}`;
  const more = on ? [`${cost}, gain ${number(edge.gain, 3)}`] : [];
  const lines = down ? [cost] : [`T = ${edge.threshold}`, ...more];
  const anchor = { "text-anchor": down ? "start" : "middle" };
  return [
    s("title", spoken(edge, on, place.count)),
    s("path.hf-edge-reach", { d }),
    s("path.hf-edge-line", { d, "marker-end": `url(#hf-arrow${on ? "-path" : ""})` }),
    lines.map((text, k) => label(at.x, at.y + 14 * (k - lines.length + 1), text, "hf-edge-words", anchor)),
  ];
}

/** Down to the sink, or from the larger model over the others to the smaller one. @param {PlannerEdge} edge @param {Place} place */
function line({ from, to }, { x, y, sink: bottom }) {
  const top = y + NODE.height;
  if (to === null)
    return { d: `M ${x(from)} ${top} V ${bottom - 2}`, at: { x: x(from) + 8, y: (top + bottom) / 2 + 4 } };
  const shift = Math.min(9 * (from - to - 1), 18);
  const [begin, end] = [x(from) - 22 + shift, x(to) + 22 - shift];
  const high = y - 1.33 * LIFT * (from - to) + 8;
  const d = `M ${begin} ${y} C ${begin - 10} ${high}, ${end + 10} ${high}, ${end} ${y - 2}`;
  return { d, at: { x: (begin + end) / 2, y: y - 0.75 * (y - high) - 6 } };
}

function arrow(/** @type {string} */ id) {
  const size = { markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" };
  return s(
    `marker.${id}`,
    { id, viewBox: "0 0 8 8", refX: 7, refY: 4, ...size },
    s("path", { d: "M 0 0 L 8 4 L 0 8 z" }),
  );
}

/** @type {(edge: PlannerEdge, on: boolean, count: number) => string} */
function spoken({ from, to, cost, gain, threshold }, on, count) {
  const what = to === null ? "by itself" : `asks ${modelName(to, count)} for ${threshold}`;
  return `${modelName(from, count)} ${what}: cost ${four(cost)}, gain ${four(gain)}${on ? ", on the path" : ""}`;
}

export { graph, keyOf };
