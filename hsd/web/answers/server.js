// Answers from the app: what is recorded as files (files.js), questions as POST answers/NAME, runs
// and races by Gradio's queue, whose client is loaded when the first of them is wanted.
import { recorded } from "./files.js";
import { Refusal } from "./refusal.js";

/** @import {Client, Event} from "../vendor/gradio_client.js" */
const ENDPOINTS = /** @type {Record<string, string>} */ ({
  run: "/decode",
  race: "/race",
  request: "/follow",
});
const NO_ANSWER = "the server does not answer: check the connection, or reload the page";
const LOST =
  "the server has gone away: what came before stays; check the connection, and run it again";
const NOT_WATCHED = "this app watches no server, so it has no requests: choose a preset";
const CLOSED = 2; // as an EventSource's readyState
const LOOK = 2000; // milliseconds between two looks at a connection from which nothing comes

const why = () => "";

/** @type {(name: string, argument: Values) => Promise<any>} */
async function ask(name, argument) {
  const answer = await recorded(name, argument);
  return answer === undefined ? post(name, argument) : answer;
}

/** @type {(name: string, argument: Values) => Promise<any>} */
async function post(name, argument) {
  const request = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(argument),
  };
  let reply;
  try {
    reply = await (await fetch(new URL(`answers/${name}`, document.baseURI), request)).json();
  } catch {
    throw new Refusal(NO_ANSWER);
  }
  if (reply?.error) throw new Refusal(reply.error);
  return reply;
}

// ---- runs and races

const ADDRESS = new URL(".", document.baseURI).href;
// its runs take turns with those of others
const VISITOR = { "X-HSD-Visitor": Math.random().toString(36).slice(2) };
const OPTIONS = { events: ["data", "status"], record_history: false, headers: VISITOR };
/**
 * The client's class, and what a client knows of the server.
 * @type {Promise<{Client: typeof Client, known: Partial<Client>}> | null}
 */
let connecting = null;

/** Load the client and ask the server for its configuration, once. */
function connected() {
  connecting ??= import("../vendor/gradio_client.js")
    .then(async ({ Client }) => {
      const first = new Client(ADDRESS, OPTIONS);
      const { resolve_config: resolve } = first;
      first.resolve_config = async (at) => {
        const resolved = await resolve(at);
        return { ...resolved, root: ADDRESS.slice(0, -1) }; // not as a proxy's server knows it
      };
      await first.init();
      const { config, api_info, api_map, api_prefix } = first;
      if (!api_info) throw new Refusal(NO_ANSWER);
      return { Client, known: { config, api_info, api_map, api_prefix } };
    })
    .catch(() => {
      connecting = null;
      throw new Refusal(NO_ANSWER);
    });
  return connecting;
}

/**
 * @param {string} name
 * @param {Values} options
 * @param {StreamOptions} ways
 * @returns {AsyncGenerator<Values>}
 */
async function* stream(name, options, { signal, status }) {
  const { Client, known } = await connected();
  if (signal?.aborted) return;
  const endpoint = ENDPOINTS[name];
  if (!(endpoint in (known.api_info?.named_endpoints ?? {}))) throw new Refusal(NOT_WATCHED);
  // a session of its own: Gradio cancels by session
  const client = Object.assign(new Client(ADDRESS, OPTIONS), known);
  const job = client.submit(endpoint, { options });
  const cancel = async () => {
    job.return(); // what came is still given
    const id = await job.wait_for_id();
    if (!id) return;
    client.event_callbacks[id] = () => {}; // for messages that are still on their way
    await job.cancel();
  };
  let over = false;
  let begun = false;
  let timer = 0;
  /** @type {Promise<{done?: boolean, value: Event | undefined}>} */
  const lost = new Promise((tell) => {
    const broken = { type: "status", data: [], stage: "error", broken: true };
    timer = window.setInterval(() => {
      if (closed(client)) tell({ value: broken });
    }, LOOK);
  });
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    for (let fresh = false; ; ) {
      const { done, value: event } = await Promise.race([job.next(), lost]);
      over = !event || Boolean(done) || event.stage === "error";
      if (!event || done) return;
      if (event.type === "data" && fresh) {
        begun = true;
        yield JSON.parse(event.data[0]);
      } else if (event.stage === "error") {
        throw failure(event, begun);
      } else if (event.stage === "pending") {
        status(waiting(event));
      }
      fresh = event.stage === "generating"; // at its end Gradio sends the last message again
    }
  } finally {
    clearInterval(timer);
    signal?.removeEventListener("abort", cancel);
    if (!over) cancel(); // nobody listens any more
  }
}

/**
 * The place in the queue, of which Gradio counts those before it, and the seconds until it begins.
 * The size of the queue is known as long as it waits.
 * @type {(event: Event) => Waiting}
 */
const waiting = ({ size, position = 0, eta }) => ({
  place: size ? position + 1 : 0,
  seconds: eta ?? null,
});

/**
 * Whether a proxy, say, has closed the connection, which the client does not notice.
 * @param {Client} client
 */
const closed = ({ stream_status, stream_instance }) =>
  stream_status.open && stream_instance?.readyState === CLOSED;

/** @type {(event: Event, begun: boolean) => Refusal} */
function failure({ broken, session_not_found, message }, begun) {
  // of a proxy, say
  const foreign = !message || /^(Could not parse server|Not Found|Method Not)/.test(message);
  if (!broken && !session_not_found && !foreign) return new Refusal(message);
  return new Refusal(begun ? LOST : NO_ANSWER);
}

export { ask, stream, why };
