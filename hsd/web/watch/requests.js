// Requests of a server that is watched, as they come.
import { ask } from "../answers/answers.js";

const BEAT = 1500; // milliseconds between two looks

/**
 * Look again and again, and pass the list of requests on whenever it has changed. Ends at once
 * where no server is watched.
 * @param {(requests: ListedRequest[]) => void} list
 */
async function poll(list) {
  let known = "";
  for (;;) {
    // a server that is away says so elsewhere
    const requests = await ask("requests").catch(() => undefined);
    if (requests === null) return;
    const text = JSON.stringify(requests ?? []);
    if (requests && text !== known) {
      list(requests);
      known = text;
    }
    await new Promise((done) => setTimeout(done, BEAT));
  }
}

export { poll };
