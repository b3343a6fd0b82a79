// The Measure screen: progress of a batch, the benchmark that is shown, files, and the address bar while it is open.
// Gradio makes three parts in any order: plan, results and foot are each called once with theirs.
//
// plan's value: {words, problem, command, link} of the settings, or {problem} of something else that was asked for.
// results' value: {view}, or {none} when nothing was recorded. foot's value: {snippets, note}, or {error}.
// Text reaches the page through text nodes only.
import { h } from "../kit/dom.js";
import { save } from "../kit/files.js";
import { addressBar } from "../kit/link.js";
import { ask, inLine, Live } from "../kit/live.js";
import * as page from "../kit/page.js";
import { button } from "../kit/parts.js";
import { elsewhere, live as hasServer } from "../kit/source.js";
import { keepHatches } from "./hatches.js";
import * as parts from "./parts.js";

const BURST = 120; // milliseconds without a change
const LOST = 5000; // milliseconds after which an answer is no longer waited for
const KINDS = { recorded: "Recorded benchmark", live: "Measured just now", file: "Benchmark from a file" };

const screen = {
  ...{ server: null, elements: {}, props: {}, serial: {}, questions: {} },
  ...{ live: null, view: null, link: null }, // live: the batch that was asked for last
  ...{ words: "", problem: "", command: "", snippets: [], chosen: "/run" },
};
const bar = addressBar("measure", () => screen.link);

const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);

// ---- what the server says about settings, asked once after a burst of changes, one question at a time

class Question {
  constructor(trigger) {
    Object.assign(this, { trigger, wanted: false, since: 0, timer: null });
    this.changed(); // a link may have changed the settings before this part was there
  }

  changed() {
    this.wanted = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), BURST);
  }

  /** Ask, unless nobody looks at the answer now or one is still to come. */
  ask() {
    if (!this.wanted || page.tab() !== "measure") return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.changed(), LOST); // an answer that does not come is asked for again
    if (this.since && Date.now() - this.since < LOST) return;
    this.wanted = false;
    this.since = Date.now();
    this.trigger();
  }

  answered() {
    this.since = 0;
    if (this.wanted) this.ask();
    else clearTimeout(this.timer);
  }
}

// ---- the plan, and the progress of a batch

function drawPlan() {
  const { elements, live, words } = screen;
  if (!elements.plan) return;
  const { total = 0, begun = 0 } = live ? live.reply.progress || {} : {};
  const problem = screen.problem || (live && live.state === "failed" ? live.message : "");
  const ongoing = { "max": total || 1, "value": Math.min(begun, total), "hidden": !live || live.ended };
  elements.plan.replaceChildren(
    h("p.hp-problem.hm-problem", { role: "alert", hidden: !problem }, capital(problem)),
    !hasServer ? elsewhere("To measure takes") : h("p.hp-hint.hm-words", words),
    h("p.hm-progress", { role: "status", hidden: !live }, live ? progress(live) : ""),
    h("progress.hm-bar", { ...ongoing, "aria-label": "runs" }),
  );
}

/** What is going on, in one line. */
function progress(live) {
  const { state, place, message, ended, reply } = live;
  const { total = 0, begun, counted, warming, left, complete } = reply.progress || {};
  const done = `${counted} of ${total - warming} runs counted`;
  if (state === "done") return `Done: ${done}.`;
  if (ended) {
    const stays = "That was before the first complete round, so what is shown stays.";
    const kept = complete ? "Shown is what was measured until then." : stays;
    const how = state === "failed" ? "Failed" : message ? capital(message) : "Cancelled";
    return total ? `${how}; ${done}. ${kept}` : `${how}.`;
  }
  if (state === "waiting" && place > 0) return `Another run is using the model; this batch is ${inLine(live)}.`;
  if (state === "waiting") return "Starting …";
  if (!total) return "Loading the pair …";
  const warm = begun <= warming ? " (warming up)" : "";
  return `Run ${begun} of ${total}${warm}${left === null ? "" : `, about ${left} s left`}.`;
}

function heardPlan(value) {
  for (const name of ["words", "problem", "command", "link"]) if (value[name] !== undefined) screen[name] = value[name];
  drawPlan();
  if (value.command) drawPrograms();
  bar.remember();
}

// ---- the benchmark

function drawResults() {
  const { elements, view, none } = screen;
  if (!elements.results) return;
  if (!view) {
    const words = `No recorded benchmark (${none || "none is there"}): press Measure to make one.`;
    elements.results.replaceChildren(h("p.hp-hint", words));
    return;
  }
  const lines = "every run, as `python -m hsd bench` writes them; opens here again";
  const file = (words, kind, title) => button(words, title, () => download(kind), { "data-kind": kind });
  const files = [file("CSV", "csv", "the table with all digits")];
  if (view.kind !== "file") files.push(file("JSON lines", "jsonl", lines));
  const title = h("h3.hp-title", KINDS[view.kind], h("span.hm-date", when(view.date)));
  elements.results.replaceChildren(
    h(
      "section.hp-card",
      { "aria-label": "Results" },
      h("header.hm-head", title, h("div.hm-files", files)),
      h("p.hp-hint.hm-facts", view.facts.join(" · ")),
      parts.results(view),
      !hasServer ? null : h("p.hp-hint", "In the charts below, a click on a name shows or hides it."),
    ),
  );
}

/** The date of a header for people; anything else as it stands. */
function when(text) {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return text;
  return `${date.toLocaleString("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZone: "UTC" })} UTC`;
}

async function download(kind) {
  const reply = await ask(screen.server, "download", { key: screen.view.key, kind });
  if (reply.error) {
    screen.problem = reply.error;
    drawPlan();
  } else {
    save(reply.name, new Blob([reply.text], { type: reply.type }));
  }
}

// ---- below the charts

function drawPublished() {
  const { published } = screen.elements;
  if (published && screen.props.published)
    published.replaceChildren(
      parts.published(screen.props, screen.view || { here: [], systems: screen.props.systems }),
    );
}

function drawPrograms() {
  const { programs } = screen.elements;
  if (!programs || !screen.command) return;
  const focused = programs.contains(document.activeElement) && document.activeElement.dataset.name;
  programs.replaceChildren(
    parts.programs(screen, (name) => {
      screen.chosen = name;
      drawPrograms();
    }),
  );
  if (focused) programs.querySelector(`[data-name="${focused}"]`).focus();
}

// ---- for tests

function tell() {
  const { elements, live, view, words, problem } = screen;
  const { begun = 0, counted = 0 } = live ? live.reply.progress || {} : {};
  window.__hsdMeasure = {
    ...{ ready: Boolean(elements.plan && elements.programs && view), words, problem },
    view: view && { kind: view.kind, rows: view.rows, columns: view.columns },
    job: live && { state: live.state, finished: live.ended, begun, counted },
  };
}

/** Take in a part's value now and whenever it changes; an older message than the last is left out. */
function listen(name, props, server, watch, hear) {
  screen.server = server;
  const heard = () => {
    const value = props.value;
    if (!value || value.serial <= screen.serial[name]) return;
    screen.serial[name] = value.serial;
    hear(value);
    tell();
  };
  screen.serial[name] = 0;
  watch("value", heard);
  heard();
}

function plan(element, props, server, watch, trigger) {
  screen.elements.plan = element.querySelector(".hm-plan");
  screen.questions.plan = new Question(trigger);
  listen("plan", props, server, watch, (value) => {
    heardPlan(value);
    if (value.words !== undefined) screen.questions.plan.answered();
  });
}

function results(element, props, server, watch) {
  screen.elements.results = element.querySelector(".hm-results");
  keepHatches(element.closest("#hsd-tab-measure"));
  listen("results", props, server, watch, (value) => {
    Object.assign(screen, { view: value.view || null, none: value.none });
    drawResults();
    drawPublished();
  });
}

function foot(element, props, server, watch, trigger) {
  const [published, programs] = [h("div"), h("div")];
  element.querySelector(".hm-foot").replaceChildren(published, programs);
  Object.assign(screen.elements, { published, programs });
  screen.props = props;
  screen.questions.foot = new Question(trigger);
  listen("foot", props, server, watch, (value) => {
    screen.snippets = value.snippets || [];
    screen.note = value.error ? `The options do not fit: ${value.error}.` : value.note;
    drawPublished();
    drawPrograms();
    screen.questions.foot.answered();
  });
}

page.listen((what) => {
  if (what !== "tab") return;
  bar.remember();
  for (const question of Object.values(screen.questions)) question.ask();
});

/** A batch was put into the line under this key. */
function follow(key) {
  const { live, server } = screen;
  if (!key || (live && live.key === key)) return;
  if (live) live.forget();
  const changed = () => {
    drawPlan();
    tell();
  };
  screen.live = new Live(server, { changed }).follow(key);
  changed();
}

const changed = (name) => screen.questions[name] && screen.questions[name].changed();

export { changed, follow, foot, plan, results };
