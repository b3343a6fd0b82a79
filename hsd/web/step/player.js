// The player: the state, and how one moves through a trace. Drawing is stage.js.
// create(root, options) -> controller; see README.md in this folder.
import { copy, save } from "../kit/files.js";
import { together } from "../kit/spans.js";
import { coinOf, differs, readStep, ruleInfo } from "./model.js";
import * as phases from "./phases.js";
import { again, judges } from "./again.js";
import { Stage } from "./stage.js";

const TEXT = 160; // characters of the prompt and of the text so far beside a picture
const PICTURES = ["svg", "png"];
const exporting = () => import("./export.js"); // what few visitors need
const NO_CHANGE = { rule: null, coins: new Map() }; // what a visitor supposes: another rule, other coins

class Player {
  constructor(root, options) {
    this.options = options;
    this.record = null;
    this.read = null; // the step that is shown, as model.readStep gives it
    this.view = null; // the same as it is judged here: with another rule or other coins, see again.js
    this.plan = null; // its phases and beats, see phases.js
    this.step = -1;
    this.state = { node: 0, item: null, pinned: false, mass: "relative", beat: 0 };
    this.supposed = NO_CHANGE;
    this.live = false;
    this.stale = false; // the step is not drawn yet
    this.actions = this.makeActions();
    const moves = { starts: () => this.starts(), beat: () => this.playOn(), pace: () => this.pace() };
    this.stage = new Stage(root, this.actions, moves, Boolean(options.link));
  }

  /** What keys, buttons and clicks do, by name. */
  makeActions() {
    return {
      go: (index) => this.go(index),
      first: () => this.go(0),
      last: () => this.go(this.steps.length - 1),
      back: () => this.go(this.step - 1),
      forward: () => this.go(this.step + 1),
      moveBack: () => this.move(-1),
      moveOn: () => this.move(1),
      beat: (beat) => this.goBeat(beat),
      play: () => this.steps.length && this.stage.transport.toggle(),
      next: () => this.goDifference(1),
      previous: () => this.goDifference(-1),
      up: () => this.moveInColumn(-1),
      down: () => this.moveInColumn(1),
      parent: () => this.moveToParent(),
      child: () => this.moveToChild(),
      selectNode: (node) => this.selectNode(node),
      selectItem: (item) => this.selectItem(item),
      judgeBy: (rule) => this.suppose({ rule }),
      coin: (node, value) => this.suppose({ coins: [...this.supposed.coins, [node, Number(value.toFixed(4))]] }),
      asItWas: () => this.suppose(NO_CHANGE),
      pin: () => this.pin(),
      escape: () => this.escape(),
      mass: () => this.toggleMass(),
      fullscreen: () => this.fullscreen(),
      link: () => this.copyLink(),
      embed: () => this.copyEmbedding(),
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

  // ---- inside a step, from beat to beat

  get complete() {
    return !this.plan || this.state.beat >= this.plan.total - 1;
  }

  goBeat(beat, { keepPlaying = false } = {}) {
    if (!keepPlaying) this.pause();
    if (!this.view) return;
    this.state = { ...this.state, beat: Math.max(0, Math.min(beat, this.plan.total - 1)) };
    this.stage.drawBeat(this.view, this.plan, this.state.beat);
    this.changed();
  }

  /** The step up to the end of one of its phases; as a whole where it has none of that name. */
  goPhase(name) {
    if (!this.plan) return;
    const { from, beats } = this.plan.phases.find((phase) => phase.name === name) ?? {
      from: this.plan.total,
      beats: 0,
    };
    this.goBeat(from + beats - 1);
  }

  /** One beat on or back; over the end of a step to the start of the next, over its start to the end of the one before. */
  move(direction) {
    this.pause();
    if (!this.view) return;
    const beat = this.state.beat + direction;
    if (beat >= 0 && beat < this.plan.total) this.goBeat(beat);
    else if (direction < 0) this.go(this.step - 1);
    else if (this.step < this.steps.length - 1) this.show(this.step + 1, 0);
  }

  /** Playing begins with the step that is shown, after its end with the next. */
  starts() {
    if (!this.complete) return;
    const last = this.step >= this.steps.length - 1;
    if (last && this.live) return;
    this.show(last ? 0 : this.step, 0);
  }

  /** At the end of a live run the player waits for more; at the end of any other it stops. */
  playOn() {
    if (!this.complete) this.goBeat(this.state.beat + 1, { keepPlaying: true });
    else if (this.step < this.steps.length - 1) this.show(this.step + 1, 0);
    return !this.complete || this.step < this.steps.length - 1 || this.live;
  }

  pace() {
    return this.plan ? phases.pause(phases.at(this.plan, this.state.beat)) : 1000;
  }

  /** Judge the step by another rule or with other coins, [node, coin] each; what was recorded stays as it is. */
  suppose(change) {
    this.pause();
    if (!this.read) return;
    const wanted = { ...this.supposed, ...change };
    wanted.coins = new Map([...wanted.coins].filter(([node]) => this.read.nodes.has(node)));
    const asked = [wanted.rule || this.read.rule, this.read.shadow ? this.read.shadow.rule : null].filter(Boolean);
    if (!asked.every((rule) => judges(this.read).includes(rule)))
      return this.stage.toast.say("this step was recorded with too little detail to judge it again");
    this.supposed = wanted;
    if (this.supposed.rule === this.read.rule) this.supposed.rule = null;
    this.judge();
    this.state = { ...this.state, beat: this.plan.total - 1 };
    this.draw(true);
    return this.changed();
  }

  /** Judge what is shown by this rule, if that can be done here; whether it could. */
  judgeBy(rule) {
    const can = Boolean(this.read) && judges(this.read).includes(rule);
    if (can) this.suppose({ rule });
    return can;
  }

  judge() {
    const { rule, coins } = this.supposed;
    const moved = [...coins].some(([node, value]) => value !== coinOf(this.read, node));
    this.view = rule || moved ? again(this.read, this.supposed) : this.read;
    this.plan = phases.plan(this.view);
  }

  pause() {
    this.stage.transport.pause();
  }

  /** Show a step: at its end, unless a beat is given. */
  show(step, beat = Infinity) {
    const depth = this.view && this.state.pinned ? this.view.depth.get(this.state.node) : undefined;
    this.read = readStep(this.record, step);
    const { rule } = this.supposed;
    this.supposed = { ...NO_CHANGE, rule: judges(this.read).includes(rule) ? rule : null };
    this.judge();
    const node = [0, ...this.view.spine].find((id) => this.view.depth.get(id) === depth);
    this.step = step;
    beat = Math.min(beat, this.plan.total - 1);
    this.state = { ...this.state, node: node ?? this.view.decided, item: null, beat };
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
    if (whole || this.stale) this.stage.drawStep(this.view, this.state, this.plan);
    else this.stage.drawSelection(this.view, this.state);
    this.stale = false;
  }

  refresh() {
    if (this.stale && this.view) this.draw(true);
  }

  // ---- what is selected in a step

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
    const column = this.stage.tree.boxes().filter((item) => item.column === current.column);
    column.sort((a, b) => a.row - b.row);
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
    const drawn = this.stage.tree.boxes().find((it) => it.key === "drawn" && it.branch === node);
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
    if (!this.view) return;
    if (this.view.original) this.suppose(NO_CHANGE);
    this.stage.closeFolds();
    this.selectNode(this.view.decided);
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
    const picture = PICTURES.includes(kind);
    const name = `hsd-${rule}-seed${seed}${picture ? `-step${this.step + 1}` : ""}.${kind}`;
    try {
      const around = picture ? this.around() : null;
      const { step, node, supposed } = this.report();
      const view = { step, node, supposed, from: this.address() };
      const { make } = await exporting();
      const content = await make(kind, this.record, { view, shown: this.stage.picture, around });
      save(name, content);
    } catch (error) {
      this.stage.toast.say(error.message);
    }
  }

  /** The words around a picture: what happened, prompt and text so far, what made it, and where it can be seen. */
  around() {
    const { short, mark } = ruleInfo(this.view.rule);
    const made = together(this.steps.slice(0, this.step + 1).flatMap(({ committed }) => committed));
    const [prompt, text] = [this.record.prompt.text, made].map((words) => [...words.replace(/\s+/g, " ").trim()]);
    const [start, end] = [prompt.slice(0, TEXT).join(""), text.slice(-TEXT).join("")];
    const rule = mark ? `${short} (${mark})` : short;
    const sentence = `${rule}, step ${this.step + 1}: ${this.stage.story.parts.lead.textContent}`;
    const above = [
      sentence,
      `Prompt: ${prompt.length > TEXT ? `${start.replace(/ \S*$/, "")} …` : start}`,
      `Text so far: ${text.length > TEXT ? `… ${end.replace(/^\S* /, "")}` : end}`,
    ];
    const [page] = this.address().split("#"); // what stands behind it is a whole trace
    return { above, below: [this.stage.transport.setup.textContent, page] };
  }

  address() {
    return this.options.address ? this.options.address() : "";
  }

  async copyEmbedding() {
    const link = this.options.link();
    if (!link) return; // and the page has said why
    const url = new URL(String(link));
    url.searchParams.set("embed", "1");
    const code = `<iframe src="${url}" width="850" height="450" title="speculative decoding, step by step"></iframe>`;
    this.stage.toast.say((await copy(code)) ? "code copied: paste it into a page" : code);
  }

  // ---- the controller

  load(trace, { step = 0, node = null, live = false, supposed = null } = {}) {
    this.pause();
    this.record = { ...trace, steps: [...trace.steps] };
    this.live = live;
    Object.assign(this, { read: null, view: null, plan: null, supposed: NO_CHANGE, step: -1 });
    this.state = { ...this.state, node: 0, item: null, pinned: false };
    this.stage.load(this.record);
    if (!this.record.steps.length) return this.showEmpty();
    this.show(Math.max(0, Math.min(step, this.record.steps.length - 1)));
    if (node !== null && hasNode(this.view, node)) this.selectNode(node);
    return supposed && this.suppose(supposed);
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

  select({ step = this.step, node = null, mass = this.state.mass, supposed = null } = {}) {
    if (!this.steps.length) return;
    this.go(step);
    if (mass !== this.state.mass) this.toggleMass();
    if (node !== null && node !== this.state.node && hasNode(this.view, node)) this.selectNode(node);
    if (supposed) this.suppose(supposed);
  }

  report() {
    const { node, pinned, mass, beat } = this.state;
    const { step, live, playing } = this;
    const phase = this.plan ? phases.at(this.plan, beat).phase.name : null;
    const supposed = { rule: this.supposed.rule, coins: [...this.supposed.coins] };
    return { step, node, pinned, mass, beat, phase, steps: this.steps.length, live, playing, supposed };
  }

  /** Tell the page where we are; the callback hears of every move once. */
  changed() {
    const current = this.view ? this.view.step : null;
    const { step, steps, node, live, pinned, mass, supposed } = this.report();
    const shadowKept = current && current.shadow ? current.shadow.kept : null;
    window.__hsd = { ready: true, step, steps, node, live, kept: current ? current.kept : null, shadowKept };
    const place = [step, node, pinned, mass, supposed.rule, ...supposed.coins].join();
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
    judgeBy: (rule) => player.judgeBy(rule),
    phase: (name) => player.goPhase(name),
    report: async () => (await exporting()).report(player.record),
    refresh: () => player.refresh(),
  };
}

export { create };
