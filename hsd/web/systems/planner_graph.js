// The generalised shortest path: models and a sink, edges with a cost and a gain. A click on an edge tells its numbers.
import { afterLayout, label } from "../kit/dom.js";
import { number } from "../kit/format.js";
import { card, four, h, modelName, press, roving, s, say } from "./parts.js";

const NAME = "Graph of the planner: models from small to large, edges from each to the smaller ones and to the sink";
const SPACING = 152;
const NODE = { width: 92, height: 46 };
const SINK = { height: 28, gap: 64 };
const LIFT = 46; // how high an arc rises per model that it passes

const keyOf = (edge) => `${edge.from}-${edge.to === null ? "sink" : edge.to}`;

/** choose(key): an edge was picked. */
function graph(choose) {
  const box = h("div", { class: "sy-scroll" });
  const caption = h("p", { class: "sy-hint" });
  const element = card(
    "graph",
    "The same as a shortest path",
    "A token enters at the target. Each edge costs its own calls and asks the smaller model for gain tokens in its " +
      "place; the sink ends the path. Choose an edge to see its numbers.",
    box,
    caption,
  );
  let drawn = 0;

  function update({ plan, way, edge, count }) {
    const path = new Map(way.edges.map((one) => [keyOf(one), one]));
    const rest = plan.graph.edges.filter((one) => !path.has(keyOf(one)));
    const all = [...rest.map((one) => [one, false]), ...[...path.values()].map((one) => [one, true])];
    const held = box.contains(document.activeElement) ? document.activeElement.dataset.edge : null;
    const place = layout(count);
    const edges = all.map(([one, on]) => drawEdge(one, on, keyOf(one) === edge, place, choose));
    const nodes = plan.graph.distance.map((d, i) => drawNode(i, d, way, place));
    const svg = s(
      "svg",
      {
        "viewBox": `0 0 ${place.width} ${place.height}`,
        "class": "sy-graph-drawing",
        "style": `min-width: ${0.85 * place.width}px; max-width: ${1.2 * place.width}px`,
        "role": "group",
        "aria-label": NAME,
      },
      arrows(),
      sink(place),
      edges,
      nodes,
    );
    const left = drawn === count ? box.scrollLeft : Infinity; // at first where a token enters, at the right
    box.replaceChildren(svg);
    afterLayout(() => box.scrollTo(Math.min(left, box.scrollWidth), 0));
    drawn = count;
    const list = () => [...svg.querySelectorAll(".sy-edge")];
    const stop = roving(svg, list);
    const named = (key) => list().find((one) => one.dataset.edge === key);
    const current = named(held) || named(edge) || svg.querySelector(".sy-edge.is-path");
    stop(current);
    if (held) current.focus({ preventScroll: true });
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
  const top = 30 + LIFT * (count - 1);
  const margin = NODE.width / 2 + 14;
  const x = (i) => margin + i * SPACING;
  const sink = top + NODE.height + SINK.gap;
  return { count, x, y: top, sink, width: x(count - 1) + margin + 30, height: sink + SINK.height + 10 };
}

function drawNode(i, distance, way, { x, y, count }) {
  const used = way.models.includes(i);
  const role = i === count - 1 ? "target" : used && i === way.models[0] ? "draft" : "between";
  const left = x(i) - NODE.width / 2;
  return s(
    "g",
    { class: `sy-node is-${role}${used ? " is-used" : ""}` },
    s("rect", { x: left, y, width: NODE.width, height: NODE.height, rx: 10 }),
    label(x(i), y + 19, modelName(i, count), "sy-node-name", { "text-anchor": "middle" }),
    label(x(i), y + 36, `d = ${number(distance, 3)}`, "sy-node-more", { "text-anchor": "middle" }),
  );
}

function sink({ sink: y, count, x }) {
  const [left, right] = [x(0) - NODE.width / 2, x(count - 1) + NODE.width / 2];
  return s(
    "g",
    { class: "sy-sink" },
    s("rect", { x: left, y, width: right - left, height: SINK.height, rx: 8 }),
    label((left + right) / 2, y + 19, "sink: writes tokens by itself", "sy-node-more", { "text-anchor": "middle" }),
  );
}

function drawEdge(edge, on, chosen, place, choose) {
  const down = edge.to === null;
  const { d, at } = down ? straight(edge.from, place) : arc(edge.from, edge.to, place);
  const words = down
    ? [`cost ${number(edge.cost, 3)}`]
    : on
      ? [`T = ${edge.threshold}`, `cost ${number(edge.cost, 3)}, gain ${number(edge.gain, 3)}`]
      : [`T = ${edge.threshold}`];
  const anchor = { "text-anchor": down ? "start" : "middle" };
  const element = s(
    "g",
    {
      "class": `sy-edge${on ? " is-path" : ""}${chosen ? " is-chosen" : ""}`,
      "role": "button",
      "tabindex": "-1",
      "aria-label": spoken(edge, on, place.count),
      "aria-pressed": String(chosen),
      "data-edge": keyOf(edge),
    },
    s("path", { d, class: "sy-edge-reach" }),
    s("path", { d, "class": "sy-edge-line", "marker-end": `url(#sy-arrow${on ? "-path" : ""})` }),
    words.map((line, k) => label(at.x, at.y + 14 * (k - words.length + 1), line, "sy-edge-words", anchor)),
  );
  return press(element, () => choose(keyOf(edge)));
}

/** From the larger model over the others down to the smaller one. */
function arc(from, to, { x, y }) {
  const apart = from - to;
  const shift = 9 * (apart - 1);
  const [begin, end] = [x(from) - 14 + Math.min(shift, 18) - 8, x(to) + 14 - Math.min(shift, 18) + 8];
  const high = y - 1.33 * LIFT * apart + 8;
  const middle = (begin + end) / 2;
  return {
    d: `M ${begin} ${y} C ${begin - 10} ${high}, ${end + 10} ${high}, ${end} ${y - 2}`,
    at: { x: middle, y: y - 0.75 * (y - high) - 6 },
  };
}

function straight(from, { x, y, sink: bottom }) {
  const top = y + NODE.height;
  return { d: `M ${x(from)} ${top} V ${bottom - 2}`, at: { x: x(from) + 8, y: (top + bottom) / 2 + 4 } };
}

function arrows() {
  const size = { markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" };
  const one = (name) =>
    s(
      "marker",
      { id: `sy-arrow${name}`, class: `sy-arrow${name}`, viewBox: "0 0 8 8", refX: 7, refY: 4, ...size },
      s("path", { d: "M 0 0 L 8 4 L 0 8 z" }),
    );
  return s("defs", {}, one(""), one("-path"));
}

function spoken(edge, on, count) {
  const from = modelName(edge.from, count);
  const path = on ? ", on the path" : "";
  if (edge.to === null) return `${from} by itself: cost ${four(edge.cost)}${path}`;
  const numbers = `cost ${four(edge.cost)}, gain ${four(edge.gain)}`;
  return `${from} asks ${modelName(edge.to, count)} for ${edge.threshold}: ${numbers}${path}`;
}

export { graph, keyOf };
