// A film of a step: a GIF, which plays wherever a picture is shown. Pure but for the canvas:
// pictures in, a file out.
import { canvasOf } from "./picture.js";

const COLOURS = 256; // of the one table that all pictures share
const CLEAR = 256;
const END = 257;
const FIRST = 258;
const MOST = 4096; // codes of GIF's compression, and how many there are
const NAME = new TextEncoder().encode("NETSCAPE2.0");
const REPEATING = [0x21, 0xff, NAME.length, ...NAME, 3, 1, 0, 0, 0];

/**
 * Pictures as SVG, one over the foot of the other, each for its milliseconds. Rejects if the
 * browser cannot draw them.
 * @type {(pictures: {drawn: string, pause: number}[]) => Promise<Blob>}
 */
async function film(pictures) {
  const canvases = await Promise.all(pictures.map(({ drawn }) => canvasOf(drawn, 1)));
  const width = Math.max(...canvases.map((canvas) => canvas.width));
  const height = Math.max(...canvases.map((canvas) => canvas.height));
  const frames = canvases.map((canvas) => pixelsOf(canvas, width, height));
  const { table, places } = palette(frames);
  const size = two(width, height);
  const parts = [
    new TextEncoder().encode("GIF89a"),
    bytes([...size, 0xf7, 0, 0, ...table, ...REPEATING]),
  ];
  frames.forEach((frame, i) => {
    const changed = (/** @type {number} */ pixel, /** @type {number} */ at) =>
      i === 0 || pixel !== frames[i - 1][at];
    const from = Math.max(0, frame.findIndex(changed));
    const to = Math.max(0, frame.findLastIndex(changed));
    // the rows that this picture changes
    const top = Math.floor(from / width);
    const end = Math.floor(to / width) + 1;
    const pause = two(Math.round(pictures[i].pause / 10));
    const control = [0x21, 0xf9, 4, 4, ...pause, 0, 0];
    const place = two(0, top, width, end - top);
    const rows = frame.subarray(top * width, end * width);
    parts.push(bytes([...control, 0x2c, ...place, 0, 8]), packed(rows, places));
  });
  return new Blob([...parts, bytes([0x3b])], { type: "image/gif" });
}

const bytes = (/** @type {number[]} */ all) => Uint8Array.from(all);
const two = (/** @type {number[]} */ ...all) => all.flatMap((value) => [value & 255, value >> 8]);

/**
 * The colours of a picture in one of this size, a number each.
 * @type {(picture: OffscreenCanvas, width: number, height: number) => Uint32Array}
 */
function pixelsOf(picture, width, height) {
  const canvas = new OffscreenCanvas(width, height);
  const to = /** @type {OffscreenCanvasRenderingContext2D} */ (
    canvas.getContext("2d", { willReadFrequently: true })
  );
  to.drawImage(picture, 0, 0, 1, 1, 0, 0, width, height); // its ground
  to.drawImage(picture, 0, height - picture.height);
  return new Uint32Array(to.getImageData(0, 0, width, height).data.buffer);
}

/** A colour of 24 bits by five bits of each of its parts. @param {number} colour */
function coarse(colour) {
  const low = (colour >> 3) & 31;
  const middle = (colour >> 6) & 0x3e0;
  const high = (colour >> 9) & 0x7c00;
  return low | middle | high;
}

/**
 * The most frequent colours, three bytes each, and by coarse colour the place of the nearest.
 * @param {Uint32Array[]} frames
 */
function palette(frames) {
  const counts = new Uint32Array(1 << 15);
  const exact = new Uint32Array(1 << 15);
  for (const frame of frames)
    for (const colour of frame) {
      const at = coarse(colour);
      if (counts[at] === 0) exact[at] = colour;
      counts[at] += 1;
    }
  const parts = (/** @type {number} */ at) => [0, 8, 16].map((shift) => (exact[at] >> shift) & 255);
  const seen = [...counts.keys()].filter((at) => counts[at]);
  seen.sort((a, b) => counts[b] - counts[a]);
  const chosen = seen.slice(0, COLOURS).map(parts);
  const distance = (/** @type {number[]} */ a, /** @type {number[]} */ b) =>
    Math.hypot(...a.map((x, i) => x - b[i]));
  const places = new Uint8Array(1 << 15);
  seen.forEach((at, i) => {
    if (i < COLOURS) {
      places[at] = i;
      return;
    }
    const distances = chosen.map((colour) => distance(colour, parts(at)));
    places[at] = distances.indexOf(Math.min(...distances));
  });
  return {
    table: Array.from({ length: COLOURS }, (_, i) => chosen[i] ?? [0, 0, 0]).flat(),
    places,
  };
}

/**
 * Pixels by GIF's compression (LZW), in blocks of at most 255 bytes.
 * @type {(pixels: Uint32Array, places: Uint8Array) => Uint8Array<ArrayBuffer>}
 */
function packed(pixels, places) {
  const out = /** @type {number[]} */ ([]);
  const known = /** @type {Map<number, number>} */ (new Map());
  let held = 0;
  let bits = 0;
  let size = 9;
  let next = FIRST;
  const put = (/** @type {number} */ code) => {
    held |= code << bits;
    bits += size;
    while (bits >= 8) {
      out.push(held & 255);
      held >>= 8;
      bits -= 8;
    }
  };
  const grow = () => {
    if (next >= 1 << size && next < MOST) size += 1;
  };
  put(CLEAR);
  let code = places[coarse(pixels[0])];
  for (let i = 1; i < pixels.length; i += 1) {
    const place = places[coarse(pixels[i])];
    const longer = known.get((code << 8) | place);
    if (longer === undefined) {
      put(code);
      grow();
      if (next < MOST) {
        known.set((code << 8) | place, next);
        next += 1;
      } else {
        put(CLEAR);
        known.clear();
        size = 9;
        next = FIRST;
      }
    }
    code = longer ?? place;
  }
  put(code);
  grow();
  for (const last of [END, 0]) put(last); // the last one fills the byte of END
  const blocks = /** @type {number[]} */ ([]);
  for (let start = 0; start < out.length; start += 255) {
    const block = out.slice(start, start + 255);
    blocks.push(block.length, ...block);
  }
  return bytes([...blocks, 0]);
}

export { film };
