// Answers from the app: what is recorded as files (files.js), questions as POST answers/NAME, runs and races by Gradio's
// queue, whose client is loaded when the first of them is wanted.
import { recorded } from "./files.js";
import { Refusal } from "./refusal.js";

const ENDPOINTS = { run: "/decode", race: "/race" };
const NO_ANSWER = "the server does not answer: check the connection, or reload the page";
const LOST = "the server has gone away: what came before stays; check the connection, and run it again";
const CLOSED = 2; // as an EventSource's readyState
const LOOK = 2000; // milliseconds between two looks at a connection from which nothing comes

const why = () => "";

async function ask(name, argument) {
  const answer = await recorded(name, argument);
  return answer === undefined ? post(name, argument) : answer;
}

async function post(name, argument) {
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(argument) };
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

let connecting = null; // the promise of Gradio's client

function connected() {
  connecting ??= import("../vendor/gradio_client.js")
    .then(({ Client }) => {
      const address = new URL(".", document.baseURI).href;
      return Client.connect(address, { events: ["data", "status"], record_history: false });
    })
    .catch(() => {
      connecting = null;
      throw new Refusal(NO_ANSWER);
    });
  return connecting;
}

async function* stream(name, options, { signal, status }) {
  const client = await connected();
  if (signal?.aborted) return;
  const job = client.submit(ENDPOINTS[name], options);
  const end = async () => {
    job.return(); // what came is still given
    if (await job.wait_for_id()) job.cancel();
  };
  let timer;
  const lost = new Promise((tell) => {
    timer = setInterval(() => closed(client) && tell({ value: { stage: "error", broken: true } }), LOOK);
  });
  signal?.addEventListener("abort", end, { once: true });
  try {
    for (;;) {
      const { done, value: event } = await Promise.race([job.next(), lost]);
      if (done) return;
      if (event.type === "data") yield JSON.parse(event.data[0]);
      else if (event.stage === "error") throw failure(event);
      else if (event.stage === "pending") status({ place: event.position ?? 0, seconds: event.eta ?? null });
    }
  } finally {
    clearInterval(timer);
    signal?.removeEventListener("abort", end);
  }
}

/** Whether something between has closed the connection without a word, which the client does not notice. */
const closed = ({ stream_status, stream_instance }) => stream_status.open && stream_instance?.readyState === CLOSED;

function failure({ broken, session_not_found: forgotten, message }) {
  if (!broken && !forgotten) return new Refusal(message);
  connecting = null; // the next run begins with a new connection
  return new Refusal(LOST);
}

export { ask, stream, why };
