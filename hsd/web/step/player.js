// The player: the state, and how one moves through a trace. Drawing is stage.js.
// create(root, options) -> controller; see README.md in this folder.
import { targetOf } from "../kit/dom.js";
import { calm, openDialog, toggleFullScreen } from "../kit/features.js";
import { copy, save } from "../kit/files.js";
import { together } from "../kit/spans.js";
import { judges, rejudge } from "./rejudge.js";
import { needed } from "./frame.js";
import { coinOf, differs, infoOf, readStep } from "./model.js";
import * as phases from "./phases.js";
import { Stage } from "./stage.js";

const TEXT = 160; // characters of the prompt and of the text so far beside a picture
const TOUCHES = ["pointerdown", "keydown", "wheel"];
/** Nothing is supposed: the rule of the run, its coins. @type {Supposed} */
const NO_CHANGE = { rule: null, coins: new Map() };

class Player {
  record = /** @type {Trace | null} */ (null);
  shown = /** @type {ShownStep | null} */ (null);
  step = -1;
  /** @type {PlayerState} */
  now = {
    node: 0,
    item: null,
    pinned: false,
    mass: "relative",
    beat: 0,
  };
  supposed = NO_CHANGE;
  once = false; // it plays to the end of this step only
  live = false;
  passed = 0; // steps without a draft that came in since, and would move the page
  stale = false; // the step is not drawn yet
  announced = "";

  /** @param {HTMLElement} root @param {PlayerOptions} options */
  constructor(root, options) {
    this.options = options;
    this.stage = new Stage(root, this, Boolean(options.link));
  }

  // ---- what keys and buttons do

  first = () => this.go(0);
  last = () => this.go(this.steps.length - 1);
  back = () => this.go(this.step - 1);
  forward = () => this.go(this.step + 1);
  moveBack = () => this.move(-1);
  moveOn = () => this.move(1);
  toggle = () => {
    if (this.options.present) this.move(1);
    else if (this.steps.length) this.stage.transport.toggle();
  };
  play = () => this.steps.length && this.stage.transport.start();
  refresh = () => this.stale && this.draw(true);
  redraw = () => this.shown && this.show(this.step);
  trace = () => this.record;
  next = () => this.goDifference(1);
  previous = () => this.goDifference(-1);
  up = () => this.moveInColumn(-1);
  down = () => this.moveInColumn(1);
  asItWas = () => this.suppose(NO_CHANGE);
  // whether the board is drawn as brief.js has it
  brief = () => this.options.brief?.first() ?? false;
  fullscreen = () => toggleFullScreen(this.stage.root);
  help = () => openDialog(this.stage.dialog);
  mass = () => this.setState({ mass: this.now.mass === "joint" ? "relative" : "joint" });

  get steps() {
    return this.record?.steps ?? [];
  }

  // ---- from step to step

  go(/** @type {number} */ index) {
    this.pause();
    const step = Math.max(0, Math.min(index, this.steps.length - 1));
    if (this.steps.length && step !== this.step) this.show(step);
  }

  /** @param {1 | -1} direction */
  goDifference(direction) {
    for (let i = this.step + direction; this.steps[i]; i += direction) {
      if (differs(this.steps[i])) return this.go(i);
    }
    this.stage.toast.say(`no ${direction > 0 ? "later" : "earlier"} step where the rules differ`);
  }

  // ---- inside a step, from beat to beat

  get complete() {
    return !this.shown || this.now.beat >= this.shown.plan.total - 1;
  }

  goBeat(/** @type {number} */ beat, keepPlaying = false) {
    if (!keepPlaying) this.pause();
    if (!this.shown) return;
    const { view, plan } = this.shown;
    const last = plan.total - 1;
    this.now = { ...this.now, beat: Math.max(0, Math.min(beat, last)) };
    this.stage.drawBeat(view, plan, this.now.beat);
    this.changed();
  }

  /**
   * One beat on or back; over the end of a step to the start of the next, over its start to the end
   * of the one before.
   * @param {1 | -1} direction
   */
  move(direction) {
    this.pause();
    if (!this.shown) return;
    const beat = this.now.beat + direction;
    if (beat >= 0 && beat < this.shown.plan.total) this.goBeat(beat);
    else if (direction < 0) this.go(this.step - 1);
    else if (this.step < this.steps.length - 1) this.show(this.step + 1, 0);
  }

  /** Playing begins with the step that is shown, after its end with the next. */
  starts() {
    this.once = false;
    if (!this.complete) return;
    const last = this.step >= this.steps.length - 1;
    if (!last || !this.live) this.show(last ? 0 : this.step, 0);
  }

  /**
   * Go on by a beat while playing, and return whether it plays on: at the end of a live run the
   * player waits for more, at the end of any other it stops.
   */
  playOn() {
    const isLast = () => this.step >= this.steps.length - 1;
    if (!this.complete) this.goBeat(this.now.beat + 1, true);
    else if (this.once) return false;
    else if (!isLast()) this.show(this.step + 1, 0);
    if (!this.complete) return true;
    return !this.once && (this.live || !isLast());
  }

  /** Play the step that is shown from its start to its end. */
  playOnce() {
    if (!this.shown) return;
    this.show(this.step, 0);
    this.stage.transport.start();
    this.once = true;
  }

  pace() {
    return this.shown ? phases.pause(phases.at(this.shown.plan, this.now.beat)) : 1000;
  }

  /**
   * Play the step that is shown without being asked to, unless motion is unwelcome; the first touch
   * of anything but Play stops it.
   */
  playAlone() {
    if (calm() || document.hidden) return;
    this.playOnce();
    const stop = (/** @type {Event} */ event) => {
      for (const touch of TOUCHES) window.removeEventListener(touch, stop, true);
      const isSpace = "key" in event && event.key === " ";
      if (!isSpace && !targetOf(event).closest?.(".hp-play")) this.pause();
    };
    for (const touch of TOUCHES) window.addEventListener(touch, stop, true);
  }

  /** Show the step that is shown from its start, for somebody who tells it. */
  retell() {
    if (this.shown) this.show(this.step, 0);
  }

  pause() {
    this.once = false;
    this.stage.transport.pause();
  }

  // ---- what is supposed

  /**
   * Judge the step by another rule or with other coins; what was recorded stays as it is.
   * @param {Supposing} change
   */
  suppose(change) {
    this.pause();
    if (!this.shown) return;
    const { read } = this.shown;
    const { rule = null, coins } = { ...this.supposed, ...change };
    const rules = [rule || read.rule];
    if (read.shadow) rules.push(read.shadow.rule);
    const known = judges(read);
    if (!rules.every((name) => known.includes(name)))
      return this.stage.toast.say(
        "this step was recorded with too little detail to judge it again",
      );
    const moved = [...(coins ?? [])].filter(([node]) => read.nodes.has(node));
    this.supposed = { rule: rule === read.rule ? null : rule, coins: new Map(moved) };
    const { plan } = this.judge(read);
    this.now = { ...this.now, beat: plan.total - 1 };
    this.draw(true);
    this.changed();
  }

  /**
   * Judge what is shown by this rule, if that can be done here; whether it could.
   * @param {string} rule
   */
  judgeBy = (rule) => {
    const can = this.shown !== null && judges(this.shown.read).includes(rule);
    if (can) this.suppose({ rule });
    return can;
  };

  /** @type {(node: number, value: number) => void} */
  coin = (node, value) => {
    const rounded = Number(value.toFixed(4));
    this.suppose({ coins: [...this.supposed.coins, [node, rounded]] });
  };

  judge(/** @type {View} */ read) {
    const { rule, coins } = this.supposed;
    const moved = [...coins].some(([node, value]) => value !== coinOf(read, node));
    const view = rule || moved ? rejudge(read, this.supposed) : read;
    const first = this.brief() && !view.isTrie;
    const plan = phases.plan(view, { first, asks: this.options.present });
    const shown = { read, view, plan };
    this.shown = shown;
    return shown;
  }

  // ---- what is drawn

  /** Show a step: at its end, unless a beat is given. @param {number} step */
  show(step, beat = Infinity) {
    if (!this.record) return;
    const depth = this.now.pinned ? this.shown?.view.depth.get(this.now.node) : -1;
    const read = readStep(this.record, step);
    const { rule } = this.supposed;
    const stays = rule && judges(read).includes(rule);
    this.supposed = { ...NO_CHANGE, rule: stays ? rule : null };
    const { view, plan } = this.judge(read);
    const node = [0, ...view.spine].find((id) => view.depth.get(id) === depth);
    this.step = step;
    this.passed = 0;
    this.now = {
      ...this.now,
      node: node ?? view.decided,
      item: null,
      beat: Math.min(beat, plan.total - 1),
    };
    this.stage.place(this.record, step, this.live);
    this.draw(true);
    this.changed();
  }

  /**
   * The whole step anew, or what is selected in it; where nobody sees it, once somebody does.
   * @param {boolean} whole
   */
  draw(whole) {
    if (!this.shown) return;
    const { view, plan } = this.shown;
    const hidden = this.options.hidden?.() ?? false;
    if (hidden) this.stale = true;
    else if (whole || this.stale) this.stage.drawStep(view, this.now, plan);
    else this.stage.drawSelection(view, this.now);
    if (!hidden) this.stale = false;
  }

  // ---- what is selected in a step

  /** @param {Partial<PlayerState>} change */
  setState(change) {
    this.now = { ...this.now, ...change };
    this.draw(false);
    this.changed();
  }

  selectNode = (/** @type {number} */ node) => this.setState({ node, item: null });

  /**
   * A drafted token selects the branch after it; any other token the branch it belongs to.
   * @param {TreeChoice} choice
   */
  selectItem({ kind, branch, key }) {
    this.setState({ node: branch, item: ["root", "draft"].includes(kind) ? null : key });
  }

  /** @param {1 | -1} direction */
  moveInColumn(direction) {
    const current = this.shown && this.stage.tree.activeBox();
    if (!current) return;
    const column = this.stage.tree.boxes().filter((box) => box.column === current.column);
    column.sort((a, b) => a.row - b.row);
    const next = column[column.indexOf(current) + direction];
    if (next) this.selectItem(next);
    this.stage.tree.arrive();
  }

  parent() {
    if (!this.shown) return;
    const { node, item } = this.now;
    const isDeeper = !item && node > 0;
    this.selectNode(isDeeper ? this.shown.view.nodes.get(node).parent : node);
    this.stage.tree.arrive();
  }

  child() {
    if (!this.shown) return;
    const { spine, children } = this.shown.view;
    const { node, item } = this.now;
    const kids = item ? [] : (children.get(node) ?? []);
    const boxes = this.stage.tree.boxes();
    const drawn = boxes.find(({ key, branch }) => key === "drawn" && branch === node);
    if (kids.length) this.selectNode(kids.find((id) => spine.includes(id)) ?? kids[0]);
    else if (drawn) this.selectItem(drawn);
    this.stage.tree.arrive();
  }

  pin() {
    this.setState({ pinned: !this.now.pinned });
    this.stage.toast.say(
      this.now.pinned ? "pinned: this branch stays selected while you step" : "unpinned",
    );
  }

  escape() {
    this.stage.root.classList.remove("is-maximised");
    this.now = { ...this.now, pinned: false };
    if (this.shown?.view.original) this.suppose(NO_CHANGE);
    for (const { element } of Object.values(this.stage.folds)) element.open = false;
    if (this.shown) this.selectNode(this.shown.view.decided);
  }

  // ---- around the player

  async link() {
    const url = this.options.link?.();
    if (!url) return this.stage.toast.say("there is no link to copy");
    this.stage.toast.say((await copy(url)) ? "link copied" : url);
  }

  async embed() {
    const link = this.options.link?.();
    if (!link) return; // and the page has said why
    const url = new URL(String(link));
    url.searchParams.set("embed", "1");
    const look = 'width="850" height="450" title="speculative decoding, step by step"';
    const code = `<iframe src="${url}" ${look}></iframe>`;
    this.stage.toast.say((await copy(code)) ? "code copied: paste it into a page" : code);
  }

  /** @param {string} kind of file, see export.js */
  async save(kind) {
    if (!this.record) return;
    const { rule, seed } = this.record.setup.options;
    const place = ["svg", "png", "gif"].includes(kind) ? `-step${this.step + 1}` : "";
    const name = `hsd-${rule}-seed${seed}${place}.${kind}`;
    try {
      const { step, node, supposed } = this.state();
      const view = {
        step,
        node,
        supposed,
        from: this.options.address?.() ?? "",
      };
      const { make } = await needed(import("./export.js"));
      save(name, await make(kind, this.record, view, this));
    } catch (error) {
      this.stage.toast.say(error instanceof Error ? error.message : String(error));
    }
  }

  /**
   * What `draw` gives at each beat of the step, and for how many milliseconds it stays.
   * @template T
   * @param {() => T} draw
   */
  beats(draw) {
    const { beat } = this.now;
    const { plan = null } = this.shown ?? {};
    const all = Array.from({ length: plan?.total ?? 0 }, (_, at) => {
      this.goBeat(at);
      for (const motion of this.stage.root.getAnimations({ subtree: true })) motion.cancel();
      return { drawn: draw(), pause: this.pace() };
    });
    this.goBeat(beat);
    return all;
  }

  /**
   * The words around a picture: what happened, prompt and text so far, what made it, and where it
   * can be seen.
   */
  around() {
    const steps = this.steps.slice(0, this.step + Number(this.complete));
    const committed = steps.flatMap((step) => step.committed);
    const prompt = charactersOf(this.record?.prompt.text ?? "");
    const text = charactersOf(together(committed));
    const start = prompt.slice(0, TEXT).join("");
    const end = text.slice(-TEXT).join("");
    const { rule: name = "", options = {} } = this.shown?.view ?? {};
    const { short, mark } = infoOf(options, name);
    const rule = mark ? `${short} (${mark})` : short;
    const above = [
      `${rule}, step ${this.step + 1}: ${this.stage.story.parts.lead.textContent}`,
      `Prompt: ${prompt.length > TEXT ? `${start.replace(/ \S*$/, "")} …` : start}`,
      `Text so far: ${text.length > TEXT ? `… ${end.replace(/^\S* /, "")}` : end}`,
    ];
    // what stands behind it is a whole trace
    const [page] = (this.options.address?.() ?? "").split("#");
    return { above, below: [this.stage.transport.setup.textContent ?? "", page] };
  }

  // ---- what is shown

  /** @param {Trace} trace @param {Where & {live?: boolean}} where */
  load(trace, { step = 0, live = false, ...where } = {}) {
    this.pause();
    this.record = { ...trace, steps: [...trace.steps] };
    this.live = live;
    this.shown = null;
    this.supposed = NO_CHANGE;
    this.step = -1;
    this.now = {
      ...this.now,
      node: 0,
      item: null,
      pinned: false,
    };
    this.stage.load(this.record);
    if (this.steps.length) this.select({ step, ...where });
    else this.showEmpty(this.record);
  }

  showEmpty(/** @type {Trace} */ record) {
    this.stage.drawEmpty(this.live ? "Waiting for the first step …" : "This run has no steps.");
    this.stage.place(record, -1, this.live);
    this.changed();
  }

  /**
   * @param {Step[]} steps
   * @param {Result | null} [result] it ends a live run
   * @param {Scores} [scores] the probabilities of its tokens, which may come with the end
   */
  extend(steps, result, scores) {
    if (!this.record) return;
    const known = this.steps.length;
    const following = this.step + this.passed === known - 1 && !this.stage.transport.playing();
    this.record.steps.push(...steps);
    if (result) {
      this.record = { ...this.record, result };
      this.live = false;
    }
    if (scores) this.record = { ...this.record, scores };
    this.stage.extend(this.record, known);
    if (!this.steps.length) return this.showEmpty(this.record);
    // of a run without drafts the last step
    const drafted = this.steps.findLastIndex((step) => step.drafted > 0);
    const newest = drafted < 0 ? this.steps.length - 1 : drafted;
    if (following && newest !== this.step) this.show(newest);
    if (following) this.passed = this.steps.length - 1 - newest;
    this.stage.place(this.record, this.step, this.live);
    this.changed();
  }

  /** @param {Where} where */
  select({ step = this.step, node = null, supposed = null }) {
    if (!this.steps.length) return;
    this.go(step);
    const known = node === 0 || (node !== null && this.shown?.view.nodes.has(node));
    if (known && node !== this.now.node) this.selectNode(node);
    if (supposed) this.suppose(supposed);
  }

  /** @returns {PlayerReport} */
  state() {
    const { step, live, shown, now } = this;
    const { item, ...place } = now;
    const phase = shown ? phases.at(shown.plan, now.beat).phase.name : null;
    const supposed = { rule: this.supposed.rule, coins: [...this.supposed.coins] };
    const playing = this.stage.transport.playing();
    return {
      ...place,
      step,
      phase,
      steps: this.steps.length,
      live,
      playing,
      supposed,
    };
  }

  /** Tell the page where we are; the callback hears of every move once. */
  changed() {
    const { step, steps, node, live, pinned, mass, supposed } = this.state();
    const { kept = null, shadow = null } = this.shown?.view.step ?? {};
    window.__hsd = {
      ready: true,
      step,
      steps,
      node,
      live,
      kept,
      shadowKept: shadow?.kept ?? null,
    };
    const { rule, coins } = supposed;
    const place = [step, node, pinned, mass, rule, ...coins].join();
    if (place === this.announced) return;
    this.announced = place;
    this.options.onSelect?.(this.state());
  }
}

/** The characters of a text in one line. @param {string} text */
const charactersOf = (text) => [...text.replace(/\s+/g, " ").trim()];

/**
 * Make a player inside `root`. See README.md.
 * @param {HTMLElement} root
 * @param {PlayerOptions} options
 */
const create = (root, options = {}) => new Player(root, options);

export { create, Player };
