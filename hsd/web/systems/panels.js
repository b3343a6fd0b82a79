// The panels of the Systems screen, and how they are added.
//
// To add a panel: import its module in systems.js, and add its style to systems.css;
// put a module with functions() and props() into PARTS of screen.py (see planner.py); and call, when the module loads,
//
//   panel("hispec", {title: "HiSpec", order: 2, draw});       // a panel with a first section, or
//   panel("hispec", {title: "HiSpec", order: 2});             // a panel of sections only
//   section("hispec", {order: 1, draw});                      // one more section, by order from the top
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
// parts.js has cards, roving tab stops, fields and sliders.
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

export { panels, panel, section };
