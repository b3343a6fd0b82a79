// A film of a step: a GIF, which plays wherever a picture is shown. Pure but for the canvas: pictures in, a file out.
import { canvasOf } from "./picture.js";

const COLOURS = 256; // of the one table that all pictures share
const [CLEAR, END, FIRST, MOST] = [256, 257, 258, 4096]; // codes of GIF's compression, and how many there are
const REPEATING = [0x21, 0xff, 11, ...new TextEncoder().encode("NETSCAPE2.0"), 3, 1, 0, 0, 0];

/** Pictures as SVG, one over the foot of the other, each for its milliseconds. Rejects if the browser cannot draw them. @type {(pictures: {drawn: string, pause: number}[]) => Promise<Blob>} */
async function film(pictures) {
  const canvases = await Promise.all(pictures.map(({ drawn }) => canvasOf(drawn, 1)));
  const width = Math.max(...canvases.map((one) => one.width));
  const height = Math.max(...canvases.map((one) => one.height));
  const frames = canvases.map((one) => pixelsOf(one, width, height));
  const { table, places } = palette(frames);
  const parts = [
    new TextEncoder().encode("GIF89a"),
    bytes([...two(width, height), 0xf7, 0, 0, ...table, ...REPEATING]),
  ];
  frames.forEach((frame, i) => {
    const changed = (/** @type {number} */ pixel, /** @type {number} */ at) => i === 0 || pixel !== frames[i - 1][at];
    const [from, to] = [frame.findIndex(changed), frame.findLastIndex(changed)].map((at) => Math.max(0, at));
    const [top, end] = [Math.floor(from / width), Math.floor(to / width) + 1]; // the rows that this picture changes
    const control = [0x21, 0xf9, 4, 4, ...two(Math.round(pictures[i].pause / 10)), 0, 0];
    const rows = frame.subarray(top * width, end * width);
    parts.push(bytes([...control, 0x2c, ...two(0, top, width, end - top), 0, 8]), packed(rows, places));
  });
  return new Blob([...parts, bytes([0x3b])], { type: "image/gif" });
}

const bytes = (/** @type {number[]} */ all) => Uint8Array.from(all);
const two = (/** @type {number[]} */ ...all) => all.flatMap((one) => [one & 255, one >> 8]);

/** The colours of a picture in one of this size, a number each. @type {(picture: OffscreenCanvas, width: number, height: number) => Uint32Array} */
function pixelsOf(picture, width, height) {
  const canvas = new OffscreenCanvas(width, height);
  const to = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: true }));
  to.drawImage(picture, 0, 0, 1, 1, 0, 0, width, height); // its ground
  to.drawImage(picture, 0, height - picture.height);
  return new Uint32Array(to.getImageData(0, 0, width, height).data.buffer);
}

/** A colour by five bits of each of its parts. @param {number} colour */
const coarse = (colour) => ((colour >> 3) & 31) | ((colour >> 6) & 0x3e0) | ((colour >> 9) & 0x7c00);

/** The most frequent colours, three bytes each, and by coarse colour the place of the nearest. @param {Uint32Array[]} frames */
function palette(frames) {
  const [counts, exact] = [new Uint32Array(1 << 15), new Uint32Array(1 << 15)];
  for (const frame of frames)
    for (const colour of frame) {
      const at = coarse(colour);
      if (counts[at]++ === 0) exact[at] = colour;
    }
  const parts = (/** @type {number} */ at) => [0, 8, 16].map((shift) => (exact[at] >> shift) & 255);
  const seen = [...counts.keys()].filter((at) => counts[at]).sort((a, b) => counts[b] - counts[a]);
  const chosen = seen.slice(0, COLOURS).map(parts);
  const distance = (/** @type {number[]} */ a, /** @type {number[]} */ b) => Math.hypot(...a.map((x, i) => x - b[i]));
  const places = new Uint8Array(1 << 15);
  seen.forEach((at, i) => {
    const apart = i < COLOURS ? [] : chosen.map((one) => distance(one, parts(at)));
    places[at] = i < COLOURS ? i : apart.indexOf(Math.min(...apart));
  });
  return { table: Array.from({ length: COLOURS }, (_, i) => chosen[i] ?? [0, 0, 0]).flat(), places };
}

/** Pixels by GIF's compression (LZW), in blocks of at most 255 bytes. @type {(pixels: Uint32Array, places: Uint8Array) => Uint8Array<ArrayBuffer>} */
function packed(pixels, places) {
  const [out, known] = [/** @type {number[]} */ ([]), /** @type {Map<number, number>} */ (new Map())];
  let [held, bits, size, next] = [0, 0, 9, FIRST];
  const put = (/** @type {number} */ code) => {
    held |= code << bits;
    for (bits += size; bits >= 8; bits -= 8, held >>= 8) out.push(held & 255);
  };
  const grow = () => (size += Number(next >= 1 << size && next < MOST));
  put(CLEAR);
  let code = places[coarse(pixels[0])];
  for (let i = 1; i < pixels.length; i += 1) {
    const place = places[coarse(pixels[i])];
    const longer = known.get((code << 8) | place);
    if (longer === undefined) {
      put(code);
      grow();
      if (next < MOST) known.set((code << 8) | place, next++);
      else {
        put(CLEAR);
        known.clear();
        [size, next] = [9, FIRST];
      }
    }
    code = longer ?? place;
  }
  put(code);
  grow();
  for (const last of [END, 0]) put(last); // the last one fills the byte of END
  const blocks = Array.from({ length: Math.ceil(out.length / 255) }, (_, i) => out.slice(255 * i, 255 * (i + 1)));
  return bytes([...blocks.flatMap((block) => [block.length, ...block]), 0]);
}

export { film };
