// Systems: of each what it is, a few recorded runs that open on Watch's stage, and its one figure.
import { ask, Refusal, why } from "../answers/answers.js";
import { draw } from "../kit/charts.js";
import { h } from "../kit/dom.js";
import { whenSeen } from "../kit/features.js";
import { number } from "../kit/format.js";
import { address, addressBar, asked } from "../kit/link.js";
import * as page from "../kit/page.js";
import { card, elsewhere, menu, said } from "../kit/controls.js";
import { Planner } from "./planner/planner.js";

/**
 * A recorded run that the page lists, see hsd/app/site.py.
 * @typedef {{name: string, title: string, why: string, per_call: number[]}} ListedRun
 */
/**
 * A system that the page lists; figure: the title of its charts.
 * @typedef {object} ListedSystem
 * @property {string} name
 * @property {string} title
 * @property {string} words
 * @property {string} source
 * @property {string} figure
 * @property {ListedRun[]} shown
 */
/**
 * @typedef {object} SystemChart
 * @property {string} name
 * @property {string} title
 * @property {string} words
 * @property {{type: string}[]} data
 * @property {{height: number, [key: string]: unknown}} layout
 */

const INTRODUCTION =
  "Several levels, several drafts, or another rule. A recorded run opens on Watch, whose menu " +
  "has more of them.";

/** The line of a recorded run: a link to Watch, and its numbers. @param {ListedRun} run */
function run({ name, title, why: reason, per_call: each }) {
  const href = address({ preset: name });
  const onclick = (/** @type {MouseEvent} */ event) => {
    // another tab or window is wanted
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    page.follow(href);
  };
  const link = h("a.hf-run", { href, onclick, "data-run": name }, title);
  const [rate, checks, drafts] = each.map((x) => number(x));
  const calls = drafts ? `, ${checks} checks and ${drafts} draft calls` : "";
  const work = `${rate} tokens${calls} per target call`;
  return h("li", link, h("span.hp-hint", reason), h("span.hp-note", work));
}

/**
 * The charts of a system, one at a time; they are asked for when their place is seen.
 * @param {ListedSystem} system
 */
function figure({ name, figure: title }) {
  const place = h("div.hf-chart");
  const words = h("p.hp-hint");
  const choice = h("div.hp-row");
  const show = async (/** @type {SystemChart} */ chart) => {
    place.style.minHeight = `${chart.layout.height}px`;
    words.textContent = chart.words;
    await draw(place, [{ ...chart, title: "" }]);
  };
  const begin = async () => {
    try {
      /** @type {SystemChart[]} */
      const charts = await ask("charts", { name });
      const chosen = (/** @type {string} */ wanted) =>
        show(charts.find((chart) => chart.name === wanted) ?? charts[0]);
      const options = charts.map(
        (chart) => /** @type {[string, string]} */ ([chart.name, chart.title]),
      );
      if (options.length > 1) choice.replaceChildren(menu(title, options, options[0][0], chosen));
      await show(charts[0]);
    } catch (error) {
      const refused = error instanceof Refusal;
      page.alert(refused ? error.message : "this chart could not be drawn: reload the page");
    }
  };
  whenSeen(place, begin);
  return [choice, place, words];
}

/**
 * The card of a system.
 * @param {ListedSystem} system
 * @param {Planner | string} planner - or the reason why there is none
 */
function section(system, planner) {
  const { name, title, words, source, figure: measured, shown } = system;
  const href = `https://${source.replace("arXiv ", "arxiv.org/abs/")}`;
  const paper = h("a", { href, target: "_blank", rel: "noopener noreferrer" }, source);
  const runs = h("ul.hf-runs", shown.map(run));
  const about = h("div.hf-system", h("p", words, " ", paper), runs);
  const element = card("hf-columns", title, null, about);
  element.id = `hf-${name}`;
  if (name === "stack") {
    const plan = planner instanceof Planner ? planner.element : elsewhere(planner);
    const more = h("details.hf-more", h("summary", measured), figure(system));
    const question = h("h4.hp-subtitle", "Which models to stack? The planner");
    element.append(h("div.hf-wide", question, plan, more));
  } else {
    element.append(h("div", h("h4.hp-subtitle", measured), figure(system)));
  }
  return element;
}

let opened = () => {};

/** Fill the empty element of the tab. @param {HTMLElement} root */
async function start(root) {
  const query = asked("systems");
  const { systems, planner: known } = await ask("systems");
  const link = () => {
    const edited = planner instanceof Planner && planner.edited;
    return edited ? { plan: planner.link() } : {};
  };
  const bar = addressBar("systems", link);
  const copied = said();
  const copy = async () => copied.say(await bar.copyLink());
  const remember = () => bar.remember();
  /** @type {Planner | string} */
  const planner = why("plan_stack") || new Planner(known, query.get("plan"), remember, copy);
  opened = remember;
  root.classList.add("hsd-kit", "hsd-player");
  const sections = systems.map((/** @type {ListedSystem} */ system) => section(system, planner));
  root.replaceChildren(h("p.hp-hint", INTRODUCTION), ...sections);
  if (planner instanceof Planner) {
    planner.element.append(copied.element);
    await planner.drawn;
  }
  const wanted = query.has("plan") ? "stack" : query.get("panel");
  if (wanted) setTimeout(() => document.getElementById(`hf-${wanted}`)?.scrollIntoView());
}

export { opened, start };
