// Where the page has its data from: the app's server, files beside it, or one file that holds a run (hsd/ui/export.py).
// Without a server nothing can be decoded: what would need that is left out, and a line says how to get it.
import { h } from "./dom.js";

const source = globalThis.document?.documentElement.dataset.source ?? "server"; // or "files", or "file"
const live = source === "server";

const NO_MODEL = "this page is made of files and has no model: its foot says how to run one";

/** That line. what: "Measuring needs", and the like. */
const elsewhere = (what) =>
  h("p.hp-hint.hp-elsewhere", `${what} a model, and this page is made of files: `, [
    h("a", { href: "#hsd-live" }, "how to run it live"),
  ]);

export { source, live, NO_MODEL, elsewhere };
