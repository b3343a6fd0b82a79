// A model's files: from the browser's own store, from the page's folder, or picked by the visitor. They come in pieces. Each
// is checked by its length and its sha256 before anything of it is used, and what passed is kept at once: a download that
// breaks off, or whose tab is closed, goes on from there. Two tabs that load at the same time share the pieces.
import { Refusal } from "../refusal.js";

const STORE = "hsd-models";
/** @param {ArrayBuffer} buffer */
const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
/** Where the browser keeps a piece. @param {Piece} piece */
const place = ({ sha256 }) => new URL(`./kept/${sha256}`, import.meta.url).href.replace(/\/web\/[^/]+\//, "/");

/** Where a browser keeps files; null where it keeps none, as over http. */
const store = async () => self.caches?.open(STORE).catch(() => null);

/** How many bytes of the file the browser does not have. @param {PiecedFile} file */
async function lacking({ pieces }) {
  const kept = await store();
  const cached = await Promise.all(pieces.map((piece) => kept?.match(place(piece))));
  return pieces.reduce((sum, { bytes }, i) => sum + (cached[i] ? 0 : bytes), 0);
}

/** Reads a whole stream into an array of the expected length. Throws Refusal if it is shorter or longer. @type {(into: Bytes, response: Response, name: string, heard: (bytes: number) => void) => Promise<void>} */
async function fill(into, response, name, heard) {
  let at = 0;
  for (const reader = response.body?.getReader(); ; ) {
    const { value } = (await reader?.read().catch(() => null)) ?? {}; // null: the connection broke
    if (!value) break;
    if (at + value.length > into.length) throw new Refusal(`${name} is another file than this page was made for`);
    into.set(value, at);
    at += value.length;
    value.buffer.transfer?.(0); // given back now, not some time later
    heard(at);
  }
  if (at < into.length) throw new Refusal(`${name} came only in part: press Run to load the rest`);
}

/** @type {(path: string, name: string) => Promise<Response>} */
async function fetched(path, name) {
  const response = await fetch(new URL(path, self.name), { cache: "no-store" }).catch(() => null); // it is kept here, and once
  if (!response?.ok) throw new Refusal(`${name} cannot be read: check the connection, and press Run again`);
  return response;
}

/** One piece, checked. part: a Blob to take it from, or null. @type {(piece: Piece, name: string, part: Blob | null, heard: (bytes: number) => void) => Promise<Blob>} */
async function bring(piece, name, part, heard) {
  const kept = await store();
  const known = await kept?.match(place(piece));
  const bytes = new Uint8Array(piece.bytes);
  await fill(bytes, part ? new Response(part) : (known ?? (await fetched(piece.path, name))), name, heard);
  const hash = await crypto.subtle?.digest("SHA-256", bytes); // over http there is none: then the file's own structure is checked
  if (hash && hex(hash) !== piece.sha256) {
    await kept?.delete(place(piece));
    throw new Refusal(`${name} is damaged, or another file than this page was made for: press Run to begin again`);
  }
  const blob = part ?? new Blob([bytes]);
  if (!known) await kept?.put(place(piece), new Response(blob)).catch(() => {}); // a full store: loaded again next time
  return blob;
}

/**
 * A whole file from its pieces, each checked: {name, bytes, pieces}. picked: a File to take it from, or null; heard(bytes):
 * how many there are. Rejects with a Refusal where a piece is cut short, or another one.
 * @type {(file: PiecedFile, picked: File | null, heard: (bytes: number) => void) => Promise<Blob>}
 */
async function whole(file, picked, heard) {
  if (picked && picked.size !== file.bytes)
    throw new Refusal(
      `${picked.name} is not ${file.name}: it has ${picked.size} bytes, and ${file.bytes} were expected`,
    );
  const pieces = [];
  let begin = 0;
  for (const piece of file.pieces) {
    const part = picked && picked.slice(begin, begin + piece.bytes);
    const work = () => bring(piece, file.name, part, (bytes) => heard(begin + bytes));
    pieces.push(await (navigator.locks?.request(place(piece), work) ?? work())); // another tab may be at it: then it is kept, once this begins
    begin += piece.bytes;
  }
  return new Blob(pieces);
}

export { lacking, whole };
