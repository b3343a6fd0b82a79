// The player: the state, and how one moves through a trace. Drawing is stage.js.
// create(root, options) -> controller; see README.md in this folder.
import { copy, save } from "../kit/files.js";
import { make, report } from "./export.js";
import { differs, readStep, ruleInfo } from "./model.js";
import { Stage } from "./stage.js";

class Player {
  constructor(root, options) {
    this.options = options;
    this.record = null;
    this.view = null; // the step that is shown, as model.readStep gives it
    this.step = -1;
    this.state = { node: 0, item: null, pinned: false, mass: "relative" };
    this.live = false;
    this.stale = false; // the step is not drawn yet
    this.actions = this.makeActions();
    const moves = { starts: () => this.starts(), beat: () => this.beat() };
    this.stage = new Stage(root, this.actions, moves, { hasLink: Boolean(options.link), parts: options.parts });
  }

  /** What keys, buttons and clicks do, by name. */
  makeActions() {
    return {
      go: (index) => this.go(index),
      first: () => this.go(0),
      last: () => this.go(this.steps.length - 1),
      back: () => this.go(this.step - 1),
      forward: () => this.go(this.step + 1),
      play: () => this.steps.length && this.stage.transport.toggle(),
      next: () => this.goDifference(1),
      previous: () => this.goDifference(-1),
      up: () => this.moveInColumn(-1),
      down: () => this.moveInColumn(1),
      parent: () => this.moveToParent(),
      child: () => this.moveToChild(),
      selectNode: (node) => this.selectNode(node),
      selectItem: (item) => this.selectItem(item),
      pin: () => this.pin(),
      escape: () => this.escape(),
      mass: () => this.toggleMass(),
      fullscreen: () => this.fullscreen(),
      link: () => this.copyLink(),
      save: (kind) => this.save(kind),
      help: () => this.stage.dialog.showModal(),
    };
  }

  get steps() {
    return this.record ? this.record.steps : [];
  }

  // ---- from step to step

  go(index, { keepPlaying = false } = {}) {
    if (!keepPlaying) this.pause();
    const step = Math.max(0, Math.min(index, this.steps.length - 1));
    if (this.steps.length && step !== this.step) this.show(step);
  }

  goDifference(direction) {
    for (let i = this.step + direction; i >= 0 && i < this.steps.length; i += direction) {
      if (differs(this.steps[i])) return this.go(i);
    }
    return this.stage.toast.say(`no ${direction > 0 ? "later" : "earlier"} step where the rules differ`);
  }

  get playing() {
    return this.stage.transport.playing();
  }

  starts() {
    if (this.step >= this.steps.length - 1 && !this.live) this.show(0);
  }

  /** At the end of a live run the player waits for more; at the end of any other it stops. */
  beat() {
    if (this.step < this.steps.length - 1) this.go(this.step + 1, { keepPlaying: true });
    return this.step < this.steps.length - 1 || this.live;
  }

  pause() {
    this.stage.transport.pause();
  }

  show(step) {
    const node = this.pinnedNode(step);
    this.step = step;
    this.state = { ...this.state, node: node ?? this.view.decided, item: null };
    this.stage.place(this.record, step, this.live);
    this.draw(true);
    this.changed();
  }

  /** The whole step anew, or what is selected in it; where nobody sees it, once somebody does. */
  draw(whole) {
    const { hidden = () => false } = this.options;
    if (hidden()) {
      this.stale = true;
      return;
    }
    if (whole || this.stale) this.stage.drawStep(this.view, this.state, this.playing);
    else this.stage.drawSelection(this.view, this.state);
    this.stale = false;
  }

  refresh() {
    if (this.stale && this.view) this.draw(true);
  }

  /** Reads the step, and finds the node at the depth of the pinned one; undefined if nothing is pinned. */
  pinnedNode(step) {
    const depth = this.view && this.state.pinned ? this.view.depth.get(this.state.node) : undefined;
    this.view = readStep(this.record, step);
    return [0, ...this.view.spine].find((id) => this.view.depth.get(id) === depth);
  }

  // ---- inside a step

  selectNode(node, item = null) {
    this.state = { ...this.state, node, item };
    this.draw(false);
    this.changed();
  }

  /** A drafted token selects the branch after it; any other token the branch it belongs to. */
  selectItem(item) {
    if (item.kind === "root") this.selectNode(0);
    else this.selectNode(item.branch, item.kind === "draft" ? null : item.key);
  }

  moveInColumn(direction) {
    const current = this.view && this.stage.activeItem();
    if (!current) return;
    const column = this.stage.tree.items().filter((item) => item.column === current.column);
    column.sort((a, b) => a.y - b.y);
    const next = column[column.indexOf(current) + direction];
    if (next) this.selectItem(next);
    this.arrive();
  }

  moveToParent() {
    if (!this.view) return;
    const { node, item } = this.state;
    this.selectNode(item || !node ? node : this.view.nodes.get(node).parent);
    this.arrive();
  }

  moveToChild() {
    if (!this.view) return;
    const { node, item } = this.state;
    const children = this.view.children.get(node) || [];
    const drawn = this.stage.tree.items().find((it) => it.key === "drawn" && it.parent === node);
    if (children.length && !item) this.selectNode(children.find((id) => this.view.spine.includes(id)) ?? children[0]);
    else if (drawn) this.selectItem(drawn);
    this.arrive();
  }

  arrive() {
    this.stage.focusActive();
    this.stage.reveal();
  }

  pin() {
    this.setState({ pinned: !this.state.pinned });
    this.stage.toast.say(this.state.pinned ? "pinned: this branch stays selected while you step" : "unpinned");
  }

  escape() {
    this.stage.root.classList.remove("is-maximised");
    this.state = { ...this.state, pinned: false };
    if (this.view) this.selectNode(this.view.decided);
  }

  toggleMass() {
    this.setState({ mass: this.state.mass === "joint" ? "relative" : "joint" });
  }

  setState(change) {
    this.state = { ...this.state, ...change };
    if (this.view) this.draw(false);
    this.changed();
  }

  // ---- around the player

  fullscreen() {
    const { root } = this.stage;
    if (document.fullscreenElement === root) document.exitFullscreen();
    else if (root.classList.contains("is-maximised") || !root.requestFullscreen) root.classList.toggle("is-maximised");
    else root.requestFullscreen().catch(() => root.classList.add("is-maximised"));
  }

  async copyLink() {
    const url = this.options.link ? this.options.link() : null;
    if (!url) return this.stage.toast.say("there is no link to copy");
    return this.stage.toast.say((await copy(url)) ? "link copied" : url);
  }

  async save(kind) {
    if (!this.record) return;
    const { rule, seed } = this.record.setup.options;
    const caption = `${ruleInfo(rule).short}, step ${this.step + 1}: ${this.stage.story.headline.textContent}`;
    const picture = kind === "svg" || kind === "png";
    const name = `hsd-${rule}-seed${seed}${picture ? `-step${this.step + 1}` : ""}.${kind}`;
    try {
      save(name, await make(kind, this.record, this.stage.tree.element, caption));
    } catch (error) {
      this.stage.toast.say(error.message);
    }
  }

  // ---- the controller

  load(trace, { step = 0, node = null, live = false } = {}) {
    this.pause();
    this.record = { ...trace, steps: [...trace.steps] };
    this.live = live;
    this.view = null;
    this.step = -1;
    this.state = { ...this.state, node: 0, item: null, pinned: false };
    this.stage.load(this.record);
    if (!this.record.steps.length) return this.showEmpty();
    this.show(Math.max(0, Math.min(step, this.record.steps.length - 1)));
    if (node !== null && hasNode(this.view, node)) this.selectNode(node);
    return undefined;
  }

  showEmpty() {
    this.stage.drawEmpty(this.live ? "Waiting for the first step …" : "This run has no steps.");
    this.stage.place(this.record, -1, this.live);
    this.changed();
  }

  extend(steps, result) {
    const known = this.steps.length;
    const following = this.step === known - 1 && !this.playing;
    this.record.steps.push(...steps);
    if (result) Object.assign(this, { record: { ...this.record, result }, live: false });
    this.stage.extend(this.record, known);
    if (!this.steps.length) return this.showEmpty();
    if (following && steps.length) return this.show(this.steps.length - 1);
    this.stage.place(this.record, this.step, this.live);
    return this.changed();
  }

  select({ step = this.step, node = null, mass = this.state.mass } = {}) {
    if (!this.steps.length) return;
    this.go(step);
    if (mass !== this.state.mass) this.toggleMass();
    if (node !== null && node !== this.state.node && hasNode(this.view, node)) this.selectNode(node);
  }

  report() {
    const { node, pinned, mass } = this.state;
    const { step, live } = this;
    return { step, node, pinned, mass, steps: this.steps.length, live, playing: this.playing };
  }

  /** Tell the page where we are; the callback hears of every move once. */
  changed() {
    const current = this.view ? this.view.step : null;
    const { step, steps, node, live, pinned, mass } = this.report();
    const shadowKept = current && current.shadow ? current.shadow.kept : null;
    window.__hsd = { ready: true, step, steps, node, live, kept: current ? current.kept : null, shadowKept };
    const place = [step, node, pinned, mass].join();
    if (place === this.announced) return;
    this.announced = place;
    if (this.options.onSelect) this.options.onSelect(this.report());
  }
}

const hasNode = (view, node) => node === 0 || view.nodes.has(node);

/** Make a player inside `root`. See README.md. */
function create(root, options = {}) {
  const player = new Player(root, options);
  return {
    load: (trace, where) => player.load(trace, where),
    extend: (steps, result) => player.extend(steps, result),
    select: (where) => player.select(where),
    state: () => player.report(),
    trace: () => player.record,
    play: () => player.steps.length && player.stage.transport.start(),
    pause: () => player.pause(),
    report: () => report(player.record),
    refresh: () => player.refresh(),
  };
}

export { create };
