// Learn: ten lessons on one recorded step, common mistakes, and questions. The server tells texts and numbers.
// For tests, window.__hsdLearn = {ready, lesson, answered, present, score} mirrors what is shown.
import { ask } from "../answers/answers.js";
import { h, plain, prose } from "../kit/dom.js";
import { listen } from "../kit/keys.js";
import { address, addressBar, asked } from "../kit/link.js";
import * as page from "../kit/page.js";
import { button, card, roving, said } from "../kit/parts.js";
import { choices, guess } from "./guess.js";
import { scene } from "./scene.js";
import * as store from "./store.js";

const TURNS = { ArrowLeft: "back", ArrowRight: "forward", Home: "first", End: "last" };
const PRESENTED = { ...TURNS, " ": "forward", PageUp: "back", PageDown: "forward" };

/** A link into the app, to what `query` asks for. */
const link = ({ words, query }) =>
  h("a.ln-see", { href: address(Object.fromEntries(new URLSearchParams(query))) }, words);

/** Sentence parts with nothing in them that could be clicked. */
const bare = (parts) => prose(parts.map((part) => (part.term ? part.words : part)));

class Learn {
  constructor(root, content) {
    this.root = root;
    this.content = content;
    this.guesses = store.read();
    this.at = 0;
    this.turned = false; // presented: the answer is shown
    this.bar = addressBar("learn", () => ({ lesson: this.at + 1, present: this.dialog.open ? 1 : null }));
    this.build();
    this.open(asked("learn"));
    page.listen((what) => what === "tab" && this.bar.remember());
  }

  get lessons() {
    return this.content.lessons;
  }

  get lesson() {
    return this.lessons[this.at];
  }

  build() {
    const { beliefs, questions, notes } = this.content;
    const copied = said();
    const copy = button("Copy link", "a link to this lesson", async () => copied.say(await this.bar.copyLink()));
    const present = button("Present", "large type, arrow keys, no controls; Esc ends it", () => this.present());
    this.list = h("ol.ln-list-of-lessons");
    this.stop = roving(this.list, () => [...this.list.querySelectorAll("button")]);
    this.score = h("span.hp-hint");
    this.again = button("Start over", "forget all guesses", () => this.forget());
    this.place = h("section.hp-card.ln-page", { "aria-label": "lesson" });
    this.dialog = h("dialog.ln-present", { "aria-label": "lesson", "onclose": () => this.ended() });
    const tools = h("div.ln-tools", this.score, this.again, copied.element, copy, present);
    const top = h("header.ln-top", h("nav", { "aria-label": "lessons" }, this.list), tools);
    const lines = ({ title, lines }) => [
      h("p.hp-subtitle", title),
      h(
        "ul.ln-notes",
        lines.map((line) => h("li", line)),
      ),
    ];
    this.root.replaceChildren(
      top,
      this.place,
      card("", "Common mistakes", null, h("div.ln-beliefs", beliefs.map(belief))),
      card("", "Questions", null, h("div.ln-questions", questions.map(question))),
      h("details.hp-card", h("summary", "Notes for a speaker: 20 minutes, 45 minutes"), notes.map(lines)),
      this.dialog,
    );
    const turn = { back: () => this.turn(-1), forward: () => this.turn(1) };
    const ends = { first: () => this.go(0), last: () => this.go(this.lessons.length - 1) };
    listen(this.place, { ...turn, ...ends }, TURNS);
    this.dialog.addEventListener("keydown", (event) => {
      const move = PRESENTED[event.key];
      if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      ({ ...ends, back: turn.back, forward: () => this.reveal() })[move]();
    });
  }

  /** What a link asks for. */
  open(query) {
    const wanted = query.get("lesson");
    const found = /^\d{1,3}$/.test(wanted || "") ? Number(wanted) : 0;
    const known = found >= 1 && found <= this.lessons.length;
    if (wanted !== null && !known)
      page.alert(`There is no lesson “${wanted.slice(0, 20)}”: choose 1 to ${this.lessons.length}`);
    this.at = known ? found - 1 : 0;
    this.draw();
    if (query.get("present") === "1") this.present();
  }

  // ---- turning pages

  go(at) {
    this.at = Math.min(Math.max(at, 0), this.lessons.length - 1);
    this.turned = false;
    this.draw();
    this.place.querySelector("h2").focus({ preventScroll: true });
  }

  turn(by) {
    this.go(this.at + by);
  }

  present() {
    this.turned = false;
    this.dialog.showModal();
    this.draw();
  }

  /** Presented, a page turns twice: first the answer comes. */
  reveal() {
    if (this.turned && this.at < this.lessons.length - 1) return this.turn(1);
    this.turned = true;
    this.draw();
  }

  ended() {
    this.draw();
    this.place.querySelector("h2").focus({ preventScroll: true });
  }

  // ---- guesses

  answered(given) {
    this.guesses = { ...this.guesses, [this.lesson.key]: given };
    store.write(this.guesses);
    this.draw();
    this.place.querySelector(".ln-answer").focus({ preventScroll: true });
  }

  forget() {
    this.guesses = {};
    store.write({});
    this.go(0);
  }

  // ---- drawing

  draw() {
    const given = this.guesses[this.lesson.key] ?? null;
    this.list.replaceChildren(...this.lessons.map((lesson, i) => this.item(lesson, i)));
    this.stop(this.list.querySelector("[aria-current]"));
    const made = this.lessons.filter(({ key }) => this.guesses[key]);
    const right = made.filter(({ key }) => this.guesses[key].right).length;
    this.score.textContent = made.length ? `${right} of ${made.length} guesses right` : "";
    this.again.hidden = !made.length;
    this.place.replaceChildren(...this.page(given));
    if (this.dialog.open) this.dialog.replaceChildren(...this.slide());
    this.bar.remember();
    const shown = this.dialog.open;
    const answered = shown ? this.turned : given !== null;
    window.__hsdLearn = { ready: true, lesson: this.at + 1, answered, present: shown, score: [right, made.length] };
  }

  item({ key, title }, i) {
    const given = this.guesses[key];
    const mark = given ? (given.right ? " ✓" : " ✕") : "";
    const said = `Lesson ${i + 1}: ${title}${given ? `, guessed ${given.right ? "right" : "wrong"}` : ""}`;
    const now = i === this.at ? "step" : null;
    const named = {
      "type": "button",
      "title": title,
      "aria-label": said,
      "aria-current": now,
      "onclick": () => this.go(i),
    };
    return h("li", h("button.hp-button", named, `${i + 1}${mark}`));
  }

  page(given) {
    const { lesson } = this;
    const last = this.at === this.lessons.length - 1;
    const back = button("← Back", "the lesson before", () => this.turn(-1), { disabled: this.at === 0 });
    const following = last ? "Next →" : `Next: ${this.lessons[this.at + 1].title} →`;
    const next = button(following, "the next lesson", () => this.turn(1), { disabled: last });
    const words = h(
      "div.ln-words",
      h("p", prose(lesson.text)),
      h("p.ln-ask", prose(lesson.ask)),
      guess(lesson, given, (made) => this.answered(made)),
      given && h("p.ln-answer", { tabindex: -1 }, prose(lesson.answer)),
      given && h("details.ln-think", h("summary", plain(lesson.think)), h("p", prose(lesson.fold))),
      given && lesson.see && link(lesson.see),
      given && last && h("p.ln-score", this.score.textContent, ". They are kept in this browser only."),
    );
    return [
      h("h2.hp-title", { tabindex: -1 }, `${this.at + 1}. ${lesson.title}`),
      h("div.ln-columns", words, scene(this.content, lesson, given !== null)),
      h("div.ln-turn", back, next),
    ];
  }

  /** The same, for a room: nothing to click. */
  slide() {
    const { lesson, turned } = this;
    const words = h(
      "div.ln-words",
      h("p", bare(lesson.text)),
      h("p.ln-ask", bare(lesson.ask)),
      turned ? h("p.ln-answer", bare(lesson.answer)) : choices(lesson),
      turned && h("p.ln-think", bare(lesson.think)),
    );
    const where = h("p.ln-where", `${this.at + 1} / ${this.lessons.length}`);
    return [
      h("h2", `${this.at + 1}. ${lesson.title}`),
      h("div.ln-columns", words, scene(this.content, lesson, turned)),
      where,
    ];
  }
}

const belief = ({ title, text, see }) => h("article", h("p.hp-subtitle", `“${title}”`), h("p", prose(text)), link(see));

const question = ({ title, text, see }) => h("details", h("summary", title), h("p", prose(text), " ", link(see)));

async function start(root) {
  new Learn(root, await ask("lessons"));
}

export { start };
