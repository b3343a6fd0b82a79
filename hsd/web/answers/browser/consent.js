// The question before a model is loaded: how large it is, and where it comes from.
import { h } from "../../kit/dom.js";
import { openDialog } from "../../kit/features.js";
import { button } from "../../kit/controls.js";

const megabytes = (/** @type {number} */ bytes) => `${Math.round(bytes / 1e6)} MB`;

/**
 * Ask the visitor. Resolves to a File if one was picked, false to load what lies beside the page,
 * null for a refusal.
 * @param {object} question
 * @param {PiecedFile[]} question.missing - files and how many bytes of each are to be loaded
 * @param {boolean} question.keeps - whether this browser keeps files
 * @param {PiecedFile} question.weights - the file that may have to be picked
 * @param {string} question.title
 * @param {string} question.licence
 * @param {AbortSignal} [question.signal]
 * @returns {Promise<File | false | null>}
 */
function consent({ missing, keeps, weights, title, licence, signal }) {
  const size = megabytes(missing.reduce((sum, { bytes }) => sum + bytes, 0));
  const lacksWeights = missing.some(({ name }) => name === weights.name);
  const wanted = lacksWeights && !weights.pieces[0].path;
  return new Promise((answer) => {
    const input = h("input", {
      "type": "file",
      "accept": ".gguf",
      "hidden": true,
      "aria-label": weights.name,
    });
    const file = `${weights.name} (${megabytes(weights.bytes)})`;
    const need = `Decoding here needs ${title}`;
    const words = wanted
      ? `${need}, which this page does not bring: choose ${file}, or drop it here.`
      : `${need}: ${size}${keeps ? ", once" : ""}.`;
    const stays = keeps
      ? "It stays in this browser"
      : "This browser keeps no files here, so it is there for this visit alone";
    const first = { class: "hf-button is-first" };
    const choose = wanted
      ? button("Choose the file …", "a file on this device", () => input.click(), first)
      : button(`Load ${size}`, "load the model", () => end(false), first);
    const leave = button("Not now", "recorded runs need no model", () => end(null), {
      class: "hf-button",
    });
    const dialog = h(
      "dialog.hsd-kit.hf-consent",
      { "aria-label": "The model" },
      h("p", h("b", words)),
      h("p", `${stays}, and nothing that you type leaves it. ${licence}`),
      h("p", choose, " ", leave, input),
    );
    const end = (/** @type {File | false | null} */ value) => {
      dialog.remove();
      signal?.removeEventListener("abort", abandon);
      answer(value);
    };
    const abandon = () => end(null);
    signal?.addEventListener("abort", abandon, { once: true });
    dialog.addEventListener("cancel", abandon);
    input.addEventListener("change", () => {
      const file = input.files?.[0];
      if (file) end(file);
    });
    dialog.addEventListener("dragover", (event) => event.preventDefault());
    dialog.addEventListener("drop", (event) => {
      event.preventDefault();
      event.stopPropagation(); // else the page opens it as a trace
      const file = event.dataTransfer?.files[0];
      if (wanted && file) end(file);
    });
    document.body.append(dialog);
    openDialog(dialog);
  });
}

export { consent, megabytes };
