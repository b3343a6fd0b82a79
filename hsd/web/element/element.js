// <hsd-step src="run.json" step="3"></hsd-step>: a step of a saved run in any page, in a frame of
// its own, so that neither changes the other. hsd/app/element.py makes the script that defines it.

import { whenMatchesChange } from "../kit/features.js";

const LOOKS = ["board", "controls", "lanes"];
const RUN = "script[type='application/json']"; // in the element: pages on a disk fetch no file
const SETTLED = 400; // milliseconds in which a page has changed its colours
const SHEET = [
  ":host { display: block; height: 450px }",
  ":host([board='first']) { height: 700px }",
  "iframe { width: 100%; height: 100%; border: 0 }",
].join(" ");

/** Resolve once all of the page is there, and with it what stands inside an element. */
const wholePage = new Promise((resolve) => {
  if (document.readyState !== "loading") resolve(undefined);
  else document.addEventListener("DOMContentLoaded", resolve);
});

/**
 * Resolve to the JSON of the run at an address. Rejects with a line for the reader.
 * @param {string} src
 */
async function fetched(src) {
  const response = await fetch(new URL(src, document.baseURI)).catch(() => null);
  if (response?.ok) return response.text();
  const remedy =
    location.protocol === "file:"
      ? "a page on a disk fetches no files: put the run inside the element"
      : "check the address in src";
  throw new Error(
    `${src} cannot be read${response ? ` (status ${response.status})` : ""}: ${remedy}`,
  );
}

/** Whether an element's text is light, as on a dark page. @param {Element} element */
function onDark(element) {
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  if (!context) return false;
  context.fillStyle = getComputedStyle(element).color; // in any space of colours
  context.fillRect(0, 0, 1, 1);
  const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
  return red + green + blue > 384;
}

/**
 * Define <hsd-step>, unless a page has two of these scripts.
 * @param {string} template - the frame's document, with >RUN< in place of a run
 */
function define(template) {
  if (customElements.get("hsd-step")) return;

  class StepElement extends HTMLElement {
    static observedAttributes = ["src", "step", "theme", ...LOOKS];

    frame = document.createElement("iframe");
    settle = () => setTimeout(() => this.dress(), SETTLED);
    observer = new MutationObserver(this.settle);
    forget = () => {}; // the colours of the system
    turn = 0; // how often it was drawn: a run that comes late is not shown

    constructor() {
      super();
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(SHEET);
      const root = this.attachShadow({ mode: "open" });
      root.adoptedStyleSheets = [sheet];
      this.frame.title = "speculative decoding, step by step";
      this.frame.allow = "fullscreen";
      this.frame.setAttribute("sandbox", "allow-scripts allow-popups");
      root.append(this.frame);
    }

    connectedCallback() {
      for (const part of [document.documentElement, document.body])
        this.observer.observe(part, { attributes: true });
      this.forget = whenMatchesChange("(prefers-color-scheme: dark)", this.settle);
      this.draw();
    }

    disconnectedCallback() {
      this.observer.disconnect();
      this.forget();
    }

    attributeChangedCallback() {
      if (this.isConnected) this.draw();
    }

    get theme() {
      return this.getAttribute("theme") ?? (onDark(this) ? "dark" : "light");
    }

    /** Follow the page's colours. */
    dress() {
      this.frame.contentWindow?.postMessage({ theme: this.theme }, "*");
    }

    /** Resolve to the run's plain data. Rejects with a line for the reader. */
    async run() {
      const inside = this.querySelector(RUN)?.textContent;
      const src = this.getAttribute("src");
      if (!inside && !src)
        throw new Error("name a saved run in src, or put one inside the element");
      const text = inside ?? (await fetched(src ?? ""));
      try {
        return JSON.parse(text);
      } catch {
        throw new Error(`${inside ? "the run inside the element" : src} is not JSON`);
      }
    }

    async draw() {
      this.turn += 1;
      const { turn } = this;
      await wholePage;
      if (turn !== this.turn) return; // another attribute is read, too
      const look = Object.fromEntries(LOOKS.map((name) => [name, this.getAttribute(name)]));
      const step = this.getAttribute("step");
      const place = step === null ? null : Number(step);
      /** @type {FrameRun} */
      const run = { trace: null, problem: "", step: place, theme: this.theme, ...look };
      try {
        run.trace = await this.run();
      } catch (error) {
        run.problem = error instanceof Error ? error.message : String(error);
      }
      if (turn !== this.turn) return;
      const data = JSON.stringify(run).replaceAll("<", "\\u003c");
      this.frame.srcdoc = template.replace(">RUN<", () => `>${data}<`);
    }
  }
  customElements.define("hsd-step", StepElement);
}

export { define };
