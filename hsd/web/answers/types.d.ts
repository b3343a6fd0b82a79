// Types of questions and answers, known in all modules.

/** An argument or an answer, plain data by name. */
type Values = Record<string, any>;
/**
 * The number in the queue while something waits, and how many seconds that takes, where it is
 * known.
 */
type Waiting = { place: number; seconds: number | null; words?: string };
/** How a stream is ended, and who hears that it waits. */
type StreamOptions = { signal?: AbortSignal; status: (waiting: Waiting) => void };
/** Who answers. */
type Maker = {
  why: (name: string) => string;
  ask: (name: string, argument: Values) => Promise<any>;
  stream: (name: string, options: Values, ways: StreamOptions) => AsyncGenerator<Values>;
};
/** A JSON Schema, or a part of one. */
type JsonSchema = { [name: string]: any };
/**
 * A trace that a visitor opened, and the step to begin with; or what is wrong with it, in one line.
 */
type OpenedTrace = { trace: Trace; step: number; error?: undefined } | { error: string };
