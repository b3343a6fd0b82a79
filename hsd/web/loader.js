// Part of the page's head: loads the modules and the style sheet of a screen when its tab is opened for the first time.
//
// hsdPage.start(screen, part, …) is called when Gradio has made a component, whose tab may be hidden: the function `part`
// of the screen's module is called with the rest as soon as that tab has been opened and the module is there.
// hsdPage.call(screen, name, …) calls a function of a screen that is there, and does nothing otherwise.
//
// Until the screen that was asked for is drawn, or there is something to say, “Drawing …” is all that is seen:
// nothing moves under a visitor's eyes.
window.hsdPage = (() => {
  const screens = "SCREENS"; // name: {modules: [the first is the screen's own, the others are those it needs], styles}
  const base = new URL("FOLDER", document.baseURI).href;
  const loading = {}; // name: promise of the screen's module
  const there = {}; // name: module
  const waiting = {}; // name: what to do when its tab is opened

  function link(attributes) {
    return new Promise((resolve, reject) => {
      const element = Object.assign(document.createElement("link"), attributes, { onload: resolve, onerror: reject });
      document.head.append(element);
    });
  }

  function load(name) {
    const { modules, styles } = screens[name];
    loading[name] ??= Promise.all([
      import(base + modules[0]),
      ...styles.map((style) => link({ rel: "stylesheet", href: base + style })),
    ]).then(([module]) => (there[name] = module));
    for (const module of modules.splice(1)) link({ rel: "modulepreload", href: base + module }).catch(() => {});
    return loading[name];
  }

  link({ rel: "preload", as: "fetch", crossOrigin: "anonymous", href: `${base}facts.json` }).catch(() => {});
  const query = new URLSearchParams(window.location.search);
  if (query.has("lesson") && !query.has("tab")) {
    query.set("tab", "learn");
    window.history.replaceState(window.history.state, "", `?${query}`);
  }
  const tab = query.get("tab");
  let asked = tab !== "watch" && tab in screens; // by a link, and not opened yet
  const opened = new Set(asked ? ["watch", tab] : ["watch"]);
  for (const name of opened) load(name).catch(() => failed(name));

  async function failed(name) {
    if (name !== "watch") (await load("watch")).alert("this screen could not be loaded: reload the page");
  }

  function start(name, part, ...given) {
    const begin = () =>
      load(name).then(
        (module) => module[part](...given),
        () => failed(name),
      );
    if (opened.has(name)) begin();
    else (waiting[name] ??= []).push(begin);
  }

  /** Gradio tells that a tab was opened; the first one it opens by itself, before the one that a link asks for. */
  async function open(name) {
    const early = asked && name === "watch";
    asked = false;
    if (early) return;
    opened.add(name);
    for (const begin of (waiting[name] || []).splice(0)) begin();
    (await load("watch")).opened(name);
  }

  const page = document.documentElement;
  const first = asked ? tab : "watch";
  const undrawn = ".hf-wait, [class^='hsd-'] > p:only-child"; // the second: a screen's root before its script has run
  const news = ":is(.hf-status, .hf-alert):not([hidden])";
  const reveal = () => page.classList.remove("hsd-opening");
  function look() {
    const panel = there[first] && document.getElementById(`hsd-tab-${first}`);
    const drawn = panel && panel.offsetParent && panel.querySelector(".hsd-kit") && !panel.querySelector(undrawn);
    if (drawn || document.querySelector(news)) reveal();
    else if (page.classList.contains("hsd-opening")) requestAnimationFrame(look);
  }
  page.classList.add("hsd-opening");
  requestAnimationFrame(look);
  setTimeout(reveal, 15000);

  function skip() {
    const panel = document.querySelector("#hsd-tabs [role=tabpanel]:not([style*='none'])");
    panel.tabIndex = -1;
    panel.focus();
  }
  const skipping = { className: "hp-unseen hp-skip", textContent: "Skip to the content", onclick: skip };
  document.body.prepend(Object.assign(document.createElement("button"), skipping));

  const call = (name, what, ...given) => (there[name] ? there[name][what](...given) : null);

  return { start, open, call, base };
})();
