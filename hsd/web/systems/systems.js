// The Systems screen's frame: a row of buttons, one panel each, links, messages, and runs.
//
// panels.js says what a panel is.
import { ask, Refusal } from "../answers/answers.js";
import { Run } from "../answers/run.js";
import { h } from "../kit/dom.js";
import * as link from "../kit/link.js";
import * as page from "../kit/page.js";
import { roving, said } from "../kit/parts.js";
import { panels } from "./panels.js";
import { div, p } from "./parts.js";

const INTRODUCTION = "Systems with several levels, or with another rule; each panel shows one of them at work.";

class Screen {
  constructor(root, content) {
    Object.assign(this, { root, content, shown: null, live: null });
    this.query = link.asked("systems");
    this.asked = this.query.get("panel");
    this.bar = link.addressBar("systems", () => this.link());
    this.build();
    this.choose(panels.some(({ name }) => name === this.asked) ? this.asked : panels[0].name);
    page.listen((what) => what === "tab" && this.look());
  }

  build() {
    const tab = (name, title) => {
      const ids = { "id": `sy-tab-${name}`, "aria-controls": `sy-panel-${name}`, "data-panel": name };
      const onclick = () => this.choose(name);
      return h("button", { type: "button", role: "tab", class: "hp-button sy-tab", ...ids, onclick }, title);
    };
    const pane = (name) => {
      const ids = { "id": `sy-panel-${name}`, "aria-labelledby": `sy-tab-${name}` };
      return h("div", { role: "tabpanel", class: "sy-panel", ...ids, hidden: true });
    };
    this.panels = panels.map(({ name, title, sections }) => {
      return { name, sections, tab: tab(name, title), pane: pane(name), parts: null };
    });
    const tabs = this.panels.map((one) => one.tab);
    const row = h("div", { "class": "hp-segments sy-tabs", "role": "tablist", "aria-label": "Systems" }, tabs);
    this.stop = roving(
      row,
      () => tabs,
      (one) => this.choose(one.dataset.panel),
    );
    this.copied = said();
    const top = h("header", { class: "sy-top" }, p("hp-hint", INTRODUCTION), row, this.copied.element);
    this.root.classList.add("hsd-kit", "hsd-player");
    this.root.replaceChildren(top, ...this.panels.map((one) => one.pane));
  }

  choose(name) {
    for (const one of this.panels) {
      const on = one.name === name;
      one.tab.setAttribute("aria-selected", String(on));
      one.pane.hidden = !on;
      if (on) this.panel = one;
    }
    this.stop(this.panel.tab);
    this.look();
  }

  /** Tell panels who comes into view and who leaves it; draw one that was never seen. */
  look() {
    const now = page.tab() === "systems" ? this.panel : null;
    if (now !== this.shown) {
      const before = this.shown;
      this.shown = now;
      if (before) each(before, "closed");
      if (now && !now.parts) this.draw(now);
      if (now) each(now, "opened");
    }
    this.bar.remember();
    tell({ ready: true, panel: this.panel.name });
  }

  draw(panel) {
    const tools = this.tools(panel.name);
    panel.parts = panel.sections.map((draw) => {
      const root = div("sy-section");
      panel.pane.append(root);
      return draw(root, tools) || {};
    });
    panel.pane.classList.add("is-opening"); // so that nothing moves while it comes
    panel.drawn = Promise.all(panel.parts.map(({ drawn }) => drawn)).finally(() => {
      panel.pane.classList.remove("is-opening");
    });
  }

  tools(name) {
    return {
      content: this.content,
      query: name === this.asked ? this.query : new URLSearchParams(),
      ask: answer,
      run: (asked, told) => this.run(asked, told),
      changed: () => this.bar.remember(),
      copyLink: async () => this.copied.say(await this.bar.copyLink()),
      tell,
    };
  }

  /** A new live run; it ends the one before. */
  run(asked, { changed, left }) {
    if (this.live) {
      this.leave();
      this.live.leave();
    }
    this.leave = left;
    this.live = new Run(asked, changed);
    return this.live;
  }

  /** The parameters of what is shown. */
  link() {
    const own = (this.panel.parts || []).map((part) => (part.link ? part.link() : {}));
    return Object.assign({ panel: this.panel.name }, ...own);
  }
}

/** For tests. */
function tell(values) {
  window.__hsdSystems = { ...window.__hsdSystems, ...values };
}

function each(panel, what) {
  for (const part of panel.parts) if (part[what]) part[what]();
}

/** What the door answers; {error: one line} where it refuses. */
async function answer(name, argument) {
  try {
    return await ask(name, argument);
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    return { error: refusal.message };
  }
}

async function start(root) {
  const screen = new Screen(root, await ask("systems"));
  await screen.panel.drawn;
}

export { start };
