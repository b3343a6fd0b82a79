// The Measure screen: progress of a batch, the benchmark that is shown, files, and the address bar while it is open.
// Gradio makes three parts in any order: plan, results and foot are each called once with theirs.
//
// plan's value: {words, problem, command, link} of the settings, or {problem} of something else that was asked for.
// results' value: {view}, or {none} when nothing was recorded. foot's value: {snippets, note}, or {error}.
// Text reaches the page through text nodes only.
import { h } from "../kit/dom.js";
import { save } from "../kit/files.js";
import * as page from "../kit/page.js";
import * as parts from "./parts.js";

const EVERY = 700; // milliseconds between two questions about progress
const BURST = 120; // milliseconds without a change
const LOST = 5000; // milliseconds after which an answer is no longer waited for
const NO_ANSWER = "the server does not answer: check the connection, or reload the page";
const KINDS = { recorded: "Recorded benchmark", live: "Measured just now", file: "Benchmark from a file" };

const screen = {
  server: null,
  elements: {},
  props: {},
  job: null,
  view: null,
  link: null,
  serial: {},
  questions: {},
  words: "",
  problem: "",
  command: "",
  snippets: [],
  chosen: "/run",
};

const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);

async function ask(name, argument) {
  try {
    return await screen.server[name](argument);
  } catch {
    return { error: NO_ANSWER };
  }
}

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
    if (this.since && Date.now() - this.since < LOST) return;
    this.wanted = false;
    this.since = Date.now();
    this.trigger();
  }

  answered() {
    this.since = 0;
    this.ask();
  }
}

// ---- the plan, and the progress of a batch

function drawPlan() {
  const { plan } = screen.elements;
  if (!plan) return;
  const { job } = screen;
  const done = job && job.total ? Math.min(job.begun, job.total) : 0;
  const problem = screen.problem || (job && job.state === "failed" ? job.message : "");
  plan.replaceChildren(
    h("p", { class: "hm-problem", role: "alert", hidden: !problem }, capital(problem)),
    h("p", { class: "hm-words" }, screen.words),
    h("p", { class: "hm-progress", role: "status", hidden: !job }, job ? progress(job) : ""),
    h("progress", {
      "class": "hm-bar",
      "max": job ? job.total || 1 : 1,
      "value": done,
      "hidden": !job || job.finished,
      "aria-label": "runs",
    }),
  );
}

/** What is going on, in one line. */
function progress(job) {
  const counted = `${job.counted} of ${job.total - job.warming} runs counted`;
  if (job.error) return capital(job.error);
  if (job.state === "waiting")
    return job.place > 0 ? `Another run is using the model; this batch is number ${job.place} in line.` : "Starting …";
  if (job.state === "done") return `Done: ${counted}.`;
  if (job.finished) {
    const kept = job.complete
      ? "Shown is what was measured until then."
      : "That was before the first complete round, so what is shown stays.";
    const how = job.state === "failed" ? "Failed" : job.message ? capital(job.message) : "Cancelled";
    return `${how}${job.total ? `; ${counted}. ${kept}` : "."}`;
  }
  if (!job.total) return "Loading the pair …";
  const warm = job.begun <= job.warming ? " (warming up)" : "";
  const left = job.left === null ? "" : `, about ${job.left} s left`;
  return `Run ${job.begun} of ${job.total}${warm}${left}.`;
}

function heardPlan(value) {
  for (const name of ["words", "problem", "command", "link"]) if (value[name] !== undefined) screen[name] = value[name];
  drawPlan();
  if (value.command) drawPrograms();
  remember();
}

function followJob(key) {
  if (screen.job) clearInterval(screen.job.timer);
  const job = { key, state: "waiting", place: 0, total: 0, begun: 0, counted: 0, finished: false };
  screen.job = job;
  job.timer = setInterval(() => pull(job), EVERY);
  pull(job);
}

async function pull(job) {
  if (job.busy || screen.job !== job) return;
  job.busy = true;
  const reply = await ask("progress", job.key);
  job.busy = false;
  if (screen.job !== job || job.finished) return;
  Object.assign(job, { error: undefined }, reply, reply.error && reply.error !== NO_ANSWER ? { finished: true } : {});
  if (job.finished) clearInterval(job.timer);
  drawPlan();
  tell();
}

// ---- the benchmark

function drawResults() {
  const { results } = screen.elements;
  if (!results) return;
  if (!screen.view) {
    results.replaceChildren(
      h(
        "p",
        { class: "hm-hint" },
        `No recorded benchmark (${screen.none || "none is there"}): press Measure to make one.`,
      ),
    );
    return;
  }
  const { view } = screen;
  const files = [
    h("span", { class: "hm-hint hm-said", role: "status" }),
    parts.button("CSV", () => download("csv"), { title: "the table with all digits", "data-kind": "csv" }),
  ];
  if (view.kind !== "file")
    files.push(
      parts.button("JSON lines", () => download("jsonl"), {
        title: "every run, as `python -m hsd bench` writes them; opens here again",
        "data-kind": "jsonl",
      }),
    );
  results.replaceChildren(
    h(
      "section",
      { "class": "hm-card", "aria-label": "Results" },
      h(
        "header",
        { class: "hm-head" },
        h("h3", {}, KINDS[view.kind], h("span", { class: "hm-date" }, when(view.date))),
        h("div", { class: "hm-files" }, files),
      ),
      h("p", { class: "hm-facts" }, view.facts.join(" · ")),
      parts.results(view),
      h("p", { class: "hm-hint" }, "In the charts below, a click on a name shows or hides it."),
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
  const reply = await ask("download", { key: screen.view.key, kind });
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

// ---- the address bar, while this tab is open

function remember() {
  if (page.tab() !== "measure" || !screen.link) return;
  const url = new URL(window.location.href);
  const theme = url.searchParams.get("__theme");
  url.search = "";
  url.hash = "";
  if (theme) url.searchParams.set("__theme", theme);
  for (const [name, value] of Object.entries({ tab: "measure", ...screen.link })) url.searchParams.set(name, value);
  window.history.replaceState(window.history.state, "", url.href);
}

// ---- for tests

function tell() {
  const { job, view } = screen;
  window.__hsdMeasure = {
    ready: Boolean(screen.elements.plan && screen.elements.programs && view),
    words: screen.words,
    problem: screen.problem,
    view: view && { kind: view.kind, rows: view.rows, columns: view.columns },
    job: job && { state: job.state, finished: job.finished, begun: job.begun, counted: job.counted },
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
    screen.note = value.error ? `The sidebar's settings do not fit: ${value.error}.` : value.note;
    drawPublished();
    drawPrograms();
    screen.questions.foot.answered();
  });
}

page.listen((what) => {
  if (what !== "tab") return;
  remember();
  for (const question of Object.values(screen.questions)) question.ask();
});

/** A batch was put into the line under this key. */
function follow(key) {
  if (key && !(screen.job && screen.job.key === key)) followJob(key);
}

export const changed = (name) => screen.questions[name] && screen.questions[name].changed();

export { plan, results, foot, follow };
