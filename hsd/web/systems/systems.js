// The Systems screen's frame: a row of buttons, one panel each, links, messages, and the way to the server.
//
// panels.js says how a panel is added. start is called once, when Gradio has made the screen, and ticket() by each run.
import { copy } from "../kit/files.js";
import * as page from "../kit/page.js";
import { Live } from "./live.js";
import { panels } from "./panels.js";
import { h, roving, say } from "./parts.js";
import "./fsd_panel.js";
import "./hispec_panel.js";
import "./planner.js";
import "./stack.js";
import "./stack_panel.js";

const NO_ANSWER = "the server does not answer: check the connection, or reload the page";
const INTRODUCTION = "Systems built of several levels, or of another rule; each panel lets one of them work.";

class Screen {
  constructor(root, props, server, submit) {
    Object.assign(this, { root, props, server, submit, drawn: new Map(), shown: null, live: null, key: null });
    this.query = new URL(window.location.href).searchParams;
    this.list = [...panels.values()].sort((a, b) => a.order - b.order);
    const asked = this.query.get("tab") === "systems" ? this.query.get("panel") : null;
    this.name = panels.has(asked) ? asked : this.list[0].name;
    this.build();
    this.choose(this.name);
    page.listen((what) => what === "tab" && this.look());
    this.look();
  }

  build() {
    this.tabs = this.list.map(({ name, title }) =>
      h(
        "button",
        {
          "type": "button",
          "role": "tab",
          "class": "hp-button sy-tab",
          "id": `sy-tab-${name}`,
          "aria-controls": `sy-panel-${name}`,
          "data-panel": name,
          "onclick": () => this.choose(name),
        },
        title,
      ),
    );
    this.panes = this.list.map(({ name }) =>
      h("div", {
        "role": "tabpanel",
        "class": "sy-panel",
        "id": `sy-panel-${name}`,
        "aria-labelledby": `sy-tab-${name}`,
        "hidden": true,
      }),
    );
    const row = h("div", { "class": "sy-tabs", "role": "tablist", "aria-label": "Systems" }, this.tabs);
    this.stop = roving(
      row,
      () => this.tabs,
      (tab) => this.choose(tab.dataset.panel),
    );
    this.copied = h("span", { class: "sy-hint sy-copied", role: "status" });
    this.root.classList.add("hsd-kit", "hsd-player");
    this.root.replaceChildren(
      h("header", { class: "sy-top" }, h("p", { class: "sy-hint" }, INTRODUCTION), row, this.copied),
      ...this.panes,
    );
  }

  choose(name) {
    this.name = name;
    this.tabs.forEach((tab, i) => {
      const on = tab.dataset.panel === name;
      tab.setAttribute("aria-selected", String(on));
      if (on) this.stop(tab);
      this.panes[i].hidden = !on;
    });
    document.getElementById("hsd-layout").dataset.sidebar = panels.get(name).sidebar ? "open" : "away";
    this.look();
  }

  /** Tell panels who comes into view and who leaves it; draw one that was never seen. */
  look() {
    const now = page.tab() === "systems" ? this.name : null;
    if (now !== this.shown) {
      const before = this.shown;
      this.shown = now;
      if (before) this.each(before, "closed");
      if (now) this.draw(now);
      if (now) this.each(now, "opened");
    }
    this.remember();
    this.tell({ ready: true, panel: this.name });
  }

  draw(name) {
    if (this.drawn.has(name)) return;
    const pane = this.panes[this.list.findIndex((one) => one.name === name)];
    const sections = [...panels.get(name).sections].sort((a, b) => a.order - b.order);
    this.drawn.set(name, []);
    for (const { draw } of sections) {
      const root = h("div", { class: "sy-section" });
      pane.append(root);
      this.drawn.get(name).push(draw(root, this.tools(name)) || {});
    }
  }

  each(name, what) {
    for (const part of this.drawn.get(name) || []) if (part[what]) part[what]();
  }

  tools(name) {
    const mine = this.query.get("tab") === "systems" && this.query.get("panel") === name;
    return {
      props: this.props,
      query: mine ? this.query : new URLSearchParams(),
      ask: (what, argument) => this.ask(what, argument),
      run: (asked, changed) => this.run(asked, changed),
      changed: () => this.remember(),
      copyLink: () => this.copyLink(),
      alert: (words) => page.alert(words),
      tell: (values) => this.tell(values),
    };
  }

  async ask(name, argument) {
    try {
      return (await this.server[name](argument)) || {};
    } catch {
      return { error: NO_ANSWER };
    }
  }

  // ---- live runs

  run(asked, changed) {
    if (this.live) this.live.leave();
    this.live = new Live(this, asked, changed);
    return this.live;
  }

  /** Gradio's queue is told to run what `begin_run` put into the line. */
  follow(key) {
    this.key = key;
    this.submit();
  }

  /** The server's word: there is more of a run, or it cannot be. */
  heard(value) {
    const { live } = this;
    if (!value || !live || !live.key || value.key !== live.key) return;
    if (value.alert) live.fail(value.alert);
    else live.pull();
  }

  // ---- links

  address() {
    const url = new URL(window.location.href);
    const theme = url.searchParams.get("__theme");
    const own = (this.drawn.get(this.name) || []).map((part) => (part.link ? part.link() : {}));
    url.search = "";
    url.hash = "";
    const values = Object.assign({ ...(theme ? { __theme: theme } : {}), tab: "systems", panel: this.name }, ...own);
    for (const [name, value] of Object.entries(values)) url.searchParams.set(name, value);
    return url.href;
  }

  /** While the tab is open the address bar says what is shown. Not at every change: browsers count them. */
  remember() {
    clearTimeout(this.rememberTimer);
    const open = () => page.tab() === "systems";
    if (open())
      this.rememberTimer = setTimeout(
        () => open() && window.history.replaceState(window.history.state, "", this.address()),
        300,
      );
  }

  async copyLink() {
    const link = this.address();
    const worked = await copy(link);
    say(this.copied, worked ? "Link copied" : `Copy it from here: ${link}`);
    clearTimeout(this.copyTimer);
    if (worked) this.copyTimer = setTimeout(() => say(this.copied, ""), 4000);
  }

  // ---- for tests

  tell(values) {
    window.__hsdSystems = { ...window.__hsdSystems, ...values };
  }
}

let screen = null;

function start(element, props, server, watch, submit) {
  screen = new Screen(element.querySelector(".hsd-systems"), props, server, submit);
  watch("value", () => screen.heard(props.value));
}

const ticket = () => (screen ? screen.key : null);

export { start, ticket };
