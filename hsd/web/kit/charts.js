// Charts, drawn by plotly.js, which is loaded when the first one is seen.
import { h } from "./dom.js";

const SETTINGS = { responsive: true, displayModeBar: false };
const SOURCE = new URL("../vendor/plotly.js", import.meta.url).href;
const MOST = 200_000; // characters of a chart from a file

/** @typedef {{title: string, data: {type: string}[], layout: Record<string, any>}} Chart */

/** @type {Promise<any> | null} the module that draws, once it is wanted */
let loading = null;

/** Return plotly.js, loaded at the first call; after a failure the next call tries again. */
function plotly() {
  const drawer = () => /** @type {any} */ (window).Plotly;
  loading ??= new Promise((resolve, reject) => {
    document.head.append(
      h("script", { src: SOURCE, onload: () => resolve(drawer()), onerror: reject }),
    );
  }).finally(() => {
    if (!drawer()) loading = null;
  });
  return loading;
}

/**
 * Return the part of a chart that is safe to draw, as it may come from anybody's file: none of its
 * texts is markup, and it asks for nothing but lines and bars. Throws where it is too large.
 * @param {Chart} chart
 */
function harmless({ data, layout }) {
  const text = JSON.stringify({ data, layout }, (_, value) =>
    typeof value === "string" ? value.replaceAll("<", "‹") : value,
  );
  if (text.length > MOST) throw new Error("too large");
  /** @type {Chart} */
  const copy = JSON.parse(text);
  const { images, updatemenus, sliders, shapes, annotations, ...rest } = copy.layout;
  return {
    data: copy.data.filter(({ type }) => type === "bar" || type === "scatter"),
    layout: rest,
  };
}

/**
 * Draw `charts` in `root`. Throws where they cannot be.
 * @param {HTMLElement} root
 * @param {Chart[]} charts
 */
async function draw(root, charts) {
  const places = charts.map(({ title }) => {
    const caption = h("figcaption", title);
    return h("figure.hp-chart", caption, h("div"));
  });
  root.replaceChildren(...places);
  const Plotly = await plotly();
  await Promise.all(
    charts.map((chart, i) => {
      const { data, layout } = harmless(chart);
      return Plotly.newPlot(places[i].lastElementChild, data, layout, SETTINGS);
    }),
  );
}

export { draw };
