// A model's files: from the browser's own store, from the page's folder, or picked by the visitor. Each is checked by its
// length and its sha256 before anything of it is used, and only what passed is kept.
import { Refusal } from "../refusal.js";

const STORE = "hsd-models";
const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const place = ({ sha256 }) => new URL(`./kept/${sha256}`, import.meta.url).href.replace(/\/web\/[^/]+\//, "/");

/** Where a browser keeps files; null where it keeps none. */
const store = () => caches.open(STORE).catch(() => null);

/** Whether the browser has the file. */
async function isKept(file) {
  const found = await (await store())?.match(place(file));
  return Boolean(found);
}

/** All of a stream, into as many bytes as there must be. Throws Refusal where it is shorter or longer. */
async function whole(response, { name, bytes }, told) {
  const found = new Uint8Array(bytes);
  let at = 0;
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    if (at + value.length > bytes) throw new Refusal(`${name} is another file than this page was made for`);
    found.set(value, at);
    at += value.length;
    told(at);
  }
  if (at < bytes) throw new Refusal(`${name} came only in part: press Run to begin again`);
  return found;
}

async function fetched({ url, name }) {
  const response = await fetch(url).catch(() => null);
  if (!response?.ok) throw new Refusal(`${name} cannot be read: check the connection, and press Run again`);
  return response;
}

/**
 * The bytes of a file: {url, name, bytes, sha256}. picked: a File to take it from, or null; told(bytes): how many there are.
 * Throws Refusal for one that is cut short, or another one.
 */
async function bytesOf(file, picked, told) {
  const kept = await store();
  const known = await kept?.match(place(file));
  if (picked && picked.size !== file.bytes)
    throw new Refusal(
      `${picked.name} is not ${file.name}: it has ${picked.size} bytes, and ${file.bytes} were expected`,
    );
  const response = known ?? (picked ? new Response(picked.stream()) : await fetched(file));
  const found = await whole(response, file, told);
  if (hex(await crypto.subtle.digest("SHA-256", found)) !== file.sha256) {
    await kept?.delete(place(file));
    throw new Refusal(`${file.name} is damaged, or another file than this page was made for: press Run to begin again`);
  }
  if (!known) await kept?.put(place(file), new Response(found)).catch(() => {}); // a full store: loaded again next time
  return found;
}

export { bytesOf, isKept };
