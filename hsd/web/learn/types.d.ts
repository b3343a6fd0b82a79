// Types of lessons, known in all modules.

type Guess = { value: number; right: boolean };
type LessonLink = { words: string; query: string };
/** A common mistake, or a question. */
type LessonNote = { title: string; text: Part[]; see: LessonLink };
type Lesson = {
  key: string;
  title: string;
  text: Part[];
  ask: Part[];
  answer: Part[];
  think: Part[];
  fold: Part[];
  see?: LessonLink;
  /** The rows of its picture, those that are lit, and those that come with the answer. */
  show: string[];
  lit: string[];
  later: string[];
  /** The drafted tokens that it is about; none: all. */
  columns: number[];
  /** A choice, or a slider. */
  guess: {
    options?: Part[][];
    right: number;
    low?: number;
    high?: number;
    by?: number;
    unit?: string;
    close?: number;
  };
};
type LearnContent = {
  lessons: Lesson[];
  beliefs: LessonNote[];
  questions: LessonNote[];
  notes: { title: string; lines: (string | LessonLink)[] }[];
  /** The recorded step of all lessons, and the text before it. */
  step: Step;
  text: string;
  times: { width: number; ms: number }[];
  costs: { gamma: number; cost: number; brings: number }[];
};
