// Learn: ten lessons on one recorded step, common mistakes, and questions. The server sends texts
// and numbers. For tests, window.__hsdLearn = {ready, lesson, answered, present, score} mirrors the
// screen.
import { ask } from "../answers/answers.js";
import { find, h, plain, prose, special } from "../kit/dom.js";
import { openDialog } from "../kit/features.js";
import { listen } from "../kit/keys.js";
import { address, addressBar, asked } from "../kit/link.js";
import * as page from "../kit/page.js";
import { button, card, roving, said } from "../kit/controls.js";
import { choices, guess } from "./guess.js";
import { scene } from "./scene.js";
import * as store from "./store.js";

/** @type {Record<string, string>} */
const TURNS = {
  ArrowLeft: "back",
  ArrowRight: "forward",
  Home: "first",
  End: "last",
};
/** @type {typeof TURNS} */
const PRESENTED = {
  ...TURNS,
  " ": "forward",
  PageUp: "back",
  PageDown: "forward",
};

/** A link into the app, with the parameters in `query`. @param {LessonLink} see */
const link = ({ words, query }) =>
  h("a.hf-see", { href: address(Object.fromEntries(new URLSearchParams(query))) }, words);

/** Sentence parts with nothing in them that could be clicked. @param {Part[]} parts */
function bare(parts) {
  const words = parts.map((part) => (special(part) && part.term ? part.words : part));
  return prose(words);
}

class Learn {
  guesses = store.read();
  at = 0;
  turned = false; // presented: the answer is shown
  list = h("ol.hf-list-of-lessons");
  stop = roving(this.list, () => [...this.list.querySelectorAll("button")]);
  score = h("span.hp-hint");
  again = button("Start over", "forget all guesses", () => this.forget());
  place = h("section.hp-card.hf-page", { "aria-label": "lesson" });
  dialog = h("dialog.hf-present", { "aria-label": "lesson", "onclose": () => this.ended() });
  bar = addressBar("learn", () => ({
    lesson: this.at + 1,
    present: this.dialog.open ? 1 : null,
  }));

  constructor(/** @type {HTMLElement} */ root, /** @type {LearnContent} */ content) {
    this.content = content;
    this.build(root);
    this.open(asked("learn"));
    page.listen((what) => what === "tab" && this.bar.remember());
  }

  get lessons() {
    return this.content.lessons;
  }

  get lesson() {
    return this.lessons[this.at];
  }

  build(/** @type {HTMLElement} */ root) {
    const { beliefs, questions, notes } = this.content;
    const copied = said();
    const copy = button("Copy link", "a link to this lesson", async () =>
      copied.say(await this.bar.copyLink()),
    );
    const present = button("Present", "large type, arrow keys, no controls; Esc ends it", () =>
      this.present(),
    );
    const ten = button("Ten links", "for ten minutes in front of a room", () => {
      links.open = true;
      links.scrollIntoView({ block: "start" });
    });
    const tools = h("div.hp-row", this.score, this.again, copied.element, copy, ten, present);
    const top = h(
      "header.hp-row.hf-learn-top",
      h("nav", { "aria-label": "lessons" }, this.list),
      tools,
    );
    const spoken = notes.map(({ title, lines }) => {
      const items = lines.map((line) => {
        const words = typeof line === "string" ? line : link(line);
        return h("li", words);
      });
      return [h("p.hp-subtitle", title), h("ul.hf-notes", items)];
    });
    const links = h(
      "details.hp-card",
      h("summary", "Notes for a speaker: 10, 20 and 45 minutes"),
      spoken,
    );
    root.replaceChildren(
      top,
      this.place,
      card("", "Common mistakes", null, h("div.hf-beliefs", beliefs.map(belief))),
      card("", "Questions", null, h("div.hf-questions", questions.map(question))),
      links,
      this.dialog,
    );
    const moves = {
      back: () => this.turn(-1),
      forward: () => this.turn(1),
      first: () => this.go(0),
      last: () => this.go(this.lessons.length - 1),
    };
    listen(this.place, moves, TURNS);
    this.dialog.addEventListener("keydown", (event) => {
      const move = PRESENTED[event.key];
      if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      /** @type {Record<string, () => void>} */
      const presented = {
        ...moves,
        forward: () => this.reveal(),
      };
      presented[move]();
    });
  }

  /** Show the lesson that a link names. @param {URLSearchParams} query */
  open(query) {
    const wanted = query.get("lesson");
    const number = /^\d{1,3}$/.test(wanted || "") ? Number(wanted) : 0;
    const known = number >= 1 && number <= this.lessons.length;
    if (wanted !== null && !known) {
      const start = wanted.slice(0, 20);
      page.alert(`There is no lesson “${start}”: choose 1 to ${this.lessons.length}`);
    }
    this.at = known ? number - 1 : 0;
    this.draw();
    if (query.get("present") === "1") this.present();
  }

  // ---- turning pages

  go(/** @type {number} */ at) {
    this.at = Math.min(Math.max(at, 0), this.lessons.length - 1);
    this.turned = false;
    this.draw();
    this.focus("h2");
  }

  focus(/** @type {string} */ css) {
    find(css, this.place).focus({ preventScroll: true });
  }

  turn(/** @type {number} */ by) {
    this.go(this.at + by);
  }

  present() {
    this.turned = false;
    openDialog(this.dialog);
    this.draw();
  }

  /** Show the answer; where it is shown, the next lesson. */
  reveal() {
    if (this.turned && this.at < this.lessons.length - 1) return this.turn(1);
    this.turned = true;
    this.draw();
  }

  ended() {
    this.draw();
    this.focus("h2");
  }

  // ---- guesses

  answered(/** @type {Guess} */ given) {
    this.guesses = { ...this.guesses, [this.lesson.key]: given };
    store.write(this.guesses);
    this.draw();
    this.focus(".hf-answer");
  }

  forget() {
    this.guesses = {};
    store.write({});
    this.go(0);
  }

  // ---- drawing

  draw() {
    const given = this.guesses[this.lesson.key] ?? null;
    const items = this.lessons.map((lesson, i) => this.item(lesson, i));
    this.list.replaceChildren(...items);
    this.stop(find("[aria-current]", this.list));
    const guessed = this.lessons.filter(({ key }) => this.guesses[key]);
    const right = guessed.filter(({ key }) => this.guesses[key].right).length;
    this.score.textContent = guessed.length ? `${right} of ${guessed.length} guesses right` : "";
    this.again.hidden = !guessed.length;
    this.place.replaceChildren(...this.page(given));
    if (this.dialog.open) this.dialog.replaceChildren(...this.slide());
    this.bar.remember();
    const shown = this.dialog.open;
    const answered = shown ? this.turned : given !== null;
    window.__hsdLearn = {
      ready: true,
      lesson: this.at + 1,
      answered,
      present: shown,
      score: [right, guessed.length],
    };
  }

  item(/** @type {Lesson} */ { key, title }, /** @type {number} */ i) {
    const given = this.guesses[key];
    let mark = "";
    let guessed = "";
    if (given) {
      mark = given.right ? " ✓" : " ✕";
      guessed = `, guessed ${given.right ? "right" : "wrong"}`;
    }
    const opener = button(`${i + 1}${mark}`, title, () => this.go(i), {
      "aria-label": `Lesson ${i + 1}: ${title}${guessed}`,
      "aria-current": i === this.at ? "step" : null,
    });
    return h("li", opener);
  }

  page(/** @type {Guess | null} */ given) {
    const { lesson } = this;
    const last = this.at === this.lessons.length - 1;
    const back = button("← Back", "the lesson before", () => this.turn(-1), {
      disabled: this.at === 0,
    });
    const following = last ? "Next →" : `Next: ${this.lessons[this.at + 1].title} →`;
    const next = button(following, "the next lesson", () => this.turn(1), { disabled: last });
    const more = [
      h("details.hf-think", h("summary", plain(lesson.think)), h("p", prose(lesson.fold))),
      lesson.see ? link(lesson.see) : null,
      last && h("p.hf-score", this.score.textContent, ". They are kept in this browser only."),
    ];
    const question = guess(lesson, given, (made) => this.answered(made));
    return [
      h("h2.hp-title", { tabindex: -1 }, `${this.at + 1}. ${lesson.title}`),
      this.columns(prose, given !== null, question, more),
      h("div.hp-row.hf-turn", back, next),
    ];
  }

  /** The lesson as it is presented in a room, with nothing to click. */
  slide() {
    const { lesson, turned } = this;
    const options = turned ? null : choices(lesson);
    const think = h("p.hf-think", bare(lesson.think));
    return [
      h("h2", `${this.at + 1}. ${lesson.title}`),
      this.columns(bare, turned, options, think),
      h("p.hf-where", `${this.at + 1} / ${this.lessons.length}`),
    ];
  }

  /**
   * The text of a lesson, its picture, and its question. options: to guess; more: after the answer.
   * @type {(words: typeof prose, answered: boolean, options: Child, more: Child) => HTMLElement}
   */
  columns(words, answered, options, more) {
    const { lesson } = this;
    const question = h("p.hf-question", words(lesson.ask));
    const answer = h("p.hp-callout.hf-answer", { tabindex: -1 }, words(lesson.answer));
    const after = answered && [answer, more];
    return h(
      "div.hf-columns",
      h("div.hf-words", h("p", words(lesson.text))),
      scene(this.content, lesson, answered),
      h("div.hf-words.hf-asks", question, options, after),
    );
  }
}

const belief = (/** @type {LessonNote} */ { title, text, see }) =>
  h("article", h("p.hp-subtitle", `“${title}”`), h("p", prose(text)), link(see));

const question = (/** @type {LessonNote} */ { title, text, see }) =>
  h("details", h("summary", title), h("p", prose(text), " ", link(see)));

async function start(/** @type {HTMLElement} */ root) {
  new Learn(root, await ask("lessons"));
}

export { start };
