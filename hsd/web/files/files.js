// The page without a server: tabs, the menu of recorded runs, and every screen, which gets its answers from files. It stands
// in for Gradio's page (hsd/ui/app.py) and has its names; python -m hsd space export --static writes the folder.
import * as page from "../kit/page.js";
import { roving } from "../kit/parts.js";
import { source } from "../watch/watch.js";
import { answers } from "./answers.js";

const KEYS = { ArrowRight: 1, ArrowLeft: -1, Home: 0, End: -1 };

/** A component: its props, of which a screen watches the value. */
class Part {
  constructor(props) {
    Object.assign(this, { props, heard: [], serial: 0 });
  }

  /** A message to the screen, numbered as the server numbers them. */
  tell(message) {
    this.serial += 1;
    this.props.value = { ...message, serial: this.serial };
    for (const hear of this.heard) hear();
  }
}

function startAll(server, told) {
  const parts = {};
  for (const element of document.querySelectorAll("[data-part]")) {
    const [screen, name] = element.dataset.part.split(".");
    const part = new Part(told[element.id] ?? {});
    parts[element.id] = part;
    const watch = (_, hear) => part.heard.push(hear);
    window.hsdPage.start(screen, name, element, part.props, server, watch, () => {});
  }
  return parts;
}

function tabs() {
  const list = document.querySelector("#hsd-tabs [role=tablist]");
  const all = [...list.children];
  const stop = roving(list, () => all, select, KEYS);
  function select(wanted) {
    for (const one of all) {
      const on = one === wanted;
      one.setAttribute("aria-selected", String(on));
      document.getElementById(one.getAttribute("aria-controls")).style.display = on ? "" : "none";
    }
    stop(wanted);
    window.hsdPage.open(wanted.dataset.tabId);
  }
  for (const one of all) one.addEventListener("click", () => select(one));
  select(all.find((one) => one.dataset.tabId === page.tab()) ?? all[0]);
}

function themes() {
  const turn = () => {
    const dark = document.documentElement.classList.toggle("dark");
    const url = new URL(window.location.href);
    url.searchParams.delete("__theme");
    window.history.replaceState(window.history.state, "", url);
    try {
      localStorage.setItem("hsd-theme", dark ? "dark" : "light");
    } catch {
      // a browser may keep nothing
    }
  };
  document.getElementById("hsd-theme").addEventListener("click", turn);
}

const told = await (await fetch(new URL("data/page.json", document.baseURI))).json();
const server = answers(told);
const parts = startAll(server, told.parts);
const presets = document.getElementById("hsd-preset");
presets.addEventListener("change", () => parts["hsd-stage"].tell({ preset: presets.value }));
page.listen((what) => {
  if (what === "trace") presets.value = source().link?.preset ?? "";
});
for (const button of document.querySelectorAll("[data-benchmark]"))
  button.addEventListener("click", async () =>
    parts["hsd-measure-results"].tell(await server.recorded(button.dataset.benchmark)),
  );
document.querySelector(".hf-tools").append(...document.querySelectorAll("#hsd-tools > *"));
themes();
tabs(); // before anything waits: a screen that is not seen cannot measure itself
parts["hsd-measure-plan"].tell({ link: {} });
parts["hsd-measure-foot"].tell({});
parts["hsd-measure-results"].tell(await server.recorded(told.benchmark));
