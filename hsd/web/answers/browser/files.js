// A model's files: from the browser's own store, from the page's folder, or picked by the visitor.
// They come in pieces. Each is checked by its length and its sha256 before anything of it is used,
// and what passed is kept at once: a download that breaks off, or whose tab is closed, goes on from
// there. Two tabs that load at the same time share the pieces.
import { fileStore, inTurn, sha256 } from "../../kit/features.js";
import { Refusal } from "../refusal.js";

/** Return bytes in hexadecimal. @param {ArrayBuffer} buffer */
function hex(buffer) {
  const bytes = [...new Uint8Array(buffer)];
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The address under which the browser keeps a piece. @param {Piece} piece */
function place({ sha256 }) {
  const { href } = new URL(`./kept/${sha256}`, import.meta.url);
  return href.replace(/\/web\/[^/]+\//, "/");
}

/** Resolve to the browser's store of files; null where it keeps none. */
const store = () => fileStore("hsd-models");

/** Resolve to whether what is loaded stays for the next visit. */
const keeps = async () => Boolean(await store());

/** Resolve to how many bytes of a file the browser does not have. @param {PiecedFile} file */
async function lacking({ pieces }) {
  const kept = await store();
  const cached = await Promise.all(pieces.map((piece) => kept?.find(place(piece))));
  const missing = pieces.filter((_, i) => !cached[i]);
  return missing.reduce((sum, { bytes }) => sum + bytes, 0);
}

/**
 * Read a whole stream into an array of the expected length. Throws Refusal if the stream is shorter
 * or longer.
 * @param {Bytes} into
 * @param {Response} response
 * @param {string} name - of the file
 * @param {(bytes: number) => void} heard - called with how many bytes there are
 */
async function fill(into, response, name, heard) {
  let at = 0;
  for (const reader = response.body?.getReader(); ; ) {
    const { value } = (await reader?.read().catch(() => null)) ?? {}; // null: the connection broke
    if (!value) break;
    if (at + value.length > into.length)
      throw new Refusal(`${name} is another file than this page was made for`);
    into.set(value, at);
    at += value.length;
    value.buffer.transfer?.(0); // given back now, not some time later
    heard(at);
  }
  if (at < into.length) throw new Refusal(`${name} came only in part: press Run to load the rest`);
}

/** @type {(path: string, name: string) => Promise<Response>} */
async function fetched(path, name) {
  const address = new URL(path, self.name);
  // not in the browser's cache too: the store keeps it
  const response = await fetch(address, { cache: "no-store" }).catch(() => null);
  if (!response?.ok)
    throw new Refusal(`${name} cannot be read: check the connection, and press Run again`);
  return response;
}

/**
 * Resolve to one piece, checked.
 * @param {Piece} piece
 * @param {string} name - of the file
 * @param {Blob | null} part - to take it from, if there is one
 * @param {(bytes: number) => void} heard - called with how many bytes there are
 */
async function bring(piece, name, part, heard) {
  const kept = await store();
  const known = await kept?.find(place(piece));
  const bytes = new Uint8Array(piece.bytes);
  const response = part ? new Response(part) : (known ?? (await fetched(piece.path, name)));
  await fill(bytes, response, name, heard);
  // where there is no hash, as over http, the file's own structure is checked
  const hash = await sha256(bytes);
  if (hash && hex(hash) !== piece.sha256) {
    await kept?.remove(place(piece));
    throw new Refusal(
      `${name} is damaged, or another file than this page was made for: press Run to begin again`,
    );
  }
  const blob = part ?? new Blob([bytes]);
  if (!known) {
    // a full store: the piece is loaded again next time
    await kept?.put(place(piece), new Response(blob));
  }
  return blob;
}

/**
 * Resolve to a whole file from its pieces, each checked. picked: a File to take it from, or null;
 * heard(bytes): called with how many there are. Rejects with a Refusal where a piece is cut short,
 * or of another file.
 * @type {(file: PiecedFile, picked: File | null, heard: (bytes: number) => void) => Promise<Blob>}
 */
async function whole(file, picked, heard) {
  if (picked && picked.size !== file.bytes) {
    const sizes = `it has ${picked.size} bytes, and ${file.bytes} were expected`;
    throw new Refusal(`${picked.name} is not ${file.name}: ${sizes}`);
  }
  const pieces = [];
  let begin = 0;
  for (const piece of file.pieces) {
    const part = picked && picked.slice(begin, begin + piece.bytes);
    const work = () => bring(piece, file.name, part, (bytes) => heard(begin + bytes));
    // another tab may load it now: then it is in the store when this begins
    pieces.push(await inTurn(place(piece), work));
    begin += piece.bytes;
  }
  return new Blob(pieces);
}

export { fetched, keeps, lacking, whole };
