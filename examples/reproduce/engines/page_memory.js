// What page_memory.py puts into the page: it types prompts, presses Run, and tells the server when each is done.
const tell = (words) => fetch("/note", { method: "POST", body: words });
const pause = (ms) => new Promise((over) => setTimeout(over, ms));
const find = (selector) => document.querySelector(selector);
const until = async (there) => {
  for (;;) {
    const found = there();
    if (found) return found;
    await pause(50);
  }
};
const live = () => find(".hf-source")?.textContent.includes("live");
const PROMPTS = ["Tell me about the sea.", "Why is the sky blue?", "Count from one to ten."];

async function run(prompt) {
  const box = find("#hsd-prompt textarea");
  box.value = prompt;
  for (const event of ["input", "change"]) box.dispatchEvent(new Event(event, { bubbles: true }));
  find("#hsd-run").click();
  await pause(200);
}

const done = () => until(() => !find("#hsd-run").disabled && find("#hsd-run").offsetParent);

await until(() => find(".hf-device")?.textContent.includes("in this browser"));
await tell("idle");
await run("What is the capital of France?");
const asked = await until(() => find("dialog.hf-consent .is-first") ?? (live() && "kept"));
if (asked !== "kept") asked.click();
await until(live);
await tell("loaded");
await done();
await tell("after one run");
for (const prompt of [...PROMPTS, ...PROMPTS.slice(0, 2)]) {
  await run(prompt);
  await done();
}
await tell("after six runs");
await tell("end");
