// The Systems screen's frame: a row of buttons, one panel each, links, messages, and the way to the server.
//
// To add a panel: put its scripts and styles beside this file and their names into SCRIPTS and STYLES of __init__.py;
// put a module with functions() and props() into PARTS of screen.py (see planner.py); and call, when the script loads,
//
//   hsdSystems.panel("hispec", {title: "HiSpec", order: 2, draw});       // a panel with a first section, or
//   hsdSystems.panel("hispec", {title: "HiSpec", order: 2});             // a panel of sections only
//   hsdSystems.section("hispec", {order: 1, draw});                      // one more section, by order from the top
//
//   draw(root, tools) fills root, an empty div, when the panel is opened for the first time; nothing runs before that.
//   It may return {opened(), closed(), link()}: called when the panel comes into view (also the first time) and leaves
//   it (another panel, another tab); link() gives the parameters that reproduce the section in a link,
//   as {name: text}. Names must not be ones that others use: tab, panel, plan (the planner), step, node, and those of a
//   run (pair, prompt, gamma, …) unless they mean a run: a link with a prompt also starts that run on Watch.
//   Add sidebar: true to a panel that uses the options at the left; for others they are put away.
//
// tools:
//   props               what the props() of all PARTS give
//   query               URLSearchParams of the page's own link if it asked for this panel, else empty
//   ask(name, argument) the answer of a function of PARTS; {error: one line} when it fails
//   run(asked, changed) a live run with the options of a request (hsd.ui.request): a Live of live.js; changed(live) is
//                       called when there is news. A new run ends the one before, on whichever panel that was
//   changed()           what link() says has changed
//   copyLink()          copy the link of what is shown, and say so
//   alert(words)        the page's message line
//   tell(values)        put values into window.__hsdSystems, for tests
//
// Every panel's root has the player's class, so that its CSS variables (--hp-ink, --hp-kept, …) and buttons work.
// parts.js has cards, roving tab stops, fields and sliders. The rest of this file is called by Gradio:
// hsdSystems.start(element, props, server, watch, submit) once, when it has made the screen, and ticket() by each run.
(function (systems) {
  "use strict";

  const { h, say, roving } = systems.parts;
  const NO_ANSWER = "the server does not answer: check the connection, or reload the page";
  const INTRODUCTION = "Systems built of several levels, or of another rule; each panel lets one of them work.";
  const panels = new Map(); // name: {title, order, sidebar, sections: [{order, draw}]}
  const waiting = new Map(); // sections that came before their panel

  function panel(name, { title, order = 0, sidebar = false, draw }) {
    const sections = [...(draw ? [{ order: 0, draw }] : []), ...(waiting.get(name) || [])];
    panels.set(name, { name, title, order, sidebar, sections });
  }

  function section(name, { order = 0, draw }) {
    const known = panels.get(name);
    if (known) known.sections.push({ order, draw });
    else waiting.set(name, [...(waiting.get(name) || []), { order, draw }]);
  }

  class Screen {
    constructor(root, props, server, submit) {
      Object.assign(this, { root, props, server, submit, drawn: new Map(), shown: null, live: null, key: null });
      this.query = new URL(window.location.href).searchParams;
      this.list = [...panels.values()].sort((a, b) => a.order - b.order);
      const asked = this.query.get("tab") === "systems" ? this.query.get("panel") : null;
      this.name = panels.has(asked) ? asked : this.list[0].name;
      this.build();
      this.choose(this.name);
      window.hsdFrame.listen((what) => what === "tab" && this.look());
      this.look();
    }

    build() {
      this.tabs = this.list.map(({ name, title }) =>
        h("button", {
          "type": "button",
          "role": "tab",
          "class": "hp-button sy-tab",
          "id": `sy-tab-${name}`,
          "aria-controls": `sy-panel-${name}`,
          "data-panel": name,
          "onclick": () => this.choose(name),
        }, title),
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
      this.stop = roving(row, () => this.tabs, (tab) => this.choose(tab.dataset.panel));
      this.copied = h("span", { class: "sy-hint sy-copied", role: "status" });
      this.root.classList.add("hsd-player");
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
      const now = window.hsdFrame.tab() === "systems" ? this.name : null;
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
        alert: (words) => window.hsdFrame.alert(words),
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
      this.live = new systems.Live(this, asked, changed);
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
      const open = () => window.hsdFrame.tab() === "systems";
      if (open())
        this.rememberTimer = setTimeout(
          () => open() && window.history.replaceState(window.history.state, "", this.address()),
          300,
        );
    }

    async copyLink() {
      const link = this.address();
      const worked = await window.hsdPlayer.files.copy(link);
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

  Object.assign(systems, { start, panel, section, ticket: () => (screen ? screen.key : null) });
})(window.hsdSystems);
