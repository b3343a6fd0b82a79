// Charts, drawn by plotly.js, which is loaded when the first one is seen.
import { h } from "./dom.js";

const SETTINGS = { responsive: true, displayModeBar: false };
const SOURCE = new URL("../vendor/plotly.js", import.meta.url).href;
const MOST = 200_000; // characters of a chart from a file

/** @typedef {{title: string, data: {type: string}[], layout: Record<string, any>}} Chart */

/** @type {Promise<any> | null} Of what draws. */
let loading = null;

function plotly() {
  const drawer = () => /** @type {any} */ (window).Plotly;
  loading ??= new Promise((resolve, reject) => {
    document.head.append(h("script", { src: SOURCE, onload: () => resolve(drawer()), onerror: reject }));
  }).finally(() => (drawer() ? null : (loading = null)));
  return loading;
}

/** A chart that may come from anybody's file: none of its texts is markup, and it asks for nothing but lines and bars. @param {Chart} chart */
function harmless({ data, layout }) {
  const text = JSON.stringify({ data, layout }, (_, value) =>
    typeof value === "string" ? value.replaceAll("<", "‹") : value,
  );
  if (text.length > MOST) throw new Error("too large");
  /** @type {Chart} */
  const made = JSON.parse(text);
  const { images, updatemenus, sliders, shapes, annotations, ...rest } = made.layout;
  return { data: made.data.filter(({ type }) => type === "bar" || type === "scatter"), layout: rest };
}

/** Draw `charts` in `root`. Throws where they cannot be. @param {HTMLElement} root @param {Chart[]} charts */
async function draw(root, charts) {
  const places = charts.map(({ title }) => h("figure.hp-chart", h("figcaption", title), h("div")));
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
