/** Makes a screenshot small: a browser writes a PNG in true colour, a page has few colours. */
import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MOST_COLOURS = 256;
const RGB = 2;
const RGBA = 6;
const PALETTE = 3;

interface Picture {
  width: number;
  height: number;
  /** Three bytes for each point. */
  points: Buffer;
}

/** The same picture with at most 256 colours; of more, those that are almost equal become one. Throws for a PNG of another form. */
export function smallPng(png: Buffer): Buffer {
  const picture = decoded(png);
  for (let mask = 0xff; ; mask = (mask << 1) & 0xff) {
    const found = indexed(picture, mask);
    if (found) return encoded(picture, found);
  }
}

function* chunks(png: Buffer): Generator<{ type: string; data: Buffer }> {
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    yield { type: png.toString("latin1", at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) };
    at += length + 12;
  }
}

function decoded(png: Buffer): Picture {
  const all = [...chunks(png)];
  const head = all.find(({ type }) => type === "IHDR")?.data ?? Buffer.alloc(13);
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)];
  const [depth, colour, , , interlaced] = head.subarray(8);
  const size = colour === RGBA ? 4 : 3;
  if (depth !== 8 || interlaced !== 0 || (colour !== RGB && colour !== RGBA))
    throw new TypeError("The picture is no PNG with 8 bits a colour and without interlacing.");
  const lines = inflateSync(Buffer.concat(all.filter(({ type }) => type === "IDAT").map(({ data }) => data)));
  const points = Buffer.alloc(width * height * 3);
  let above = Buffer.alloc(width * size);
  for (let y = 0; y < height; y++) {
    const start = y * (width * size + 1);
    const line = unfiltered(
      lines[start] ?? 0,
      lines.subarray(start + 1, start + 1 + width * size),
      above,
      size,
    );
    for (let x = 0; x < width; x++) line.copy(points, (y * width + x) * 3, x * size, x * size + 3);
    above = line;
  }
  return { width, height, points };
}

function unfiltered(filter: number, line: Buffer, above: Buffer, size: number): Buffer<ArrayBuffer> {
  const out = Buffer.alloc(line.length);
  for (let at = 0; at < line.length; at++) {
    const [left, up] = [out[at - size] ?? 0, above[at] ?? 0];
    const corner = above[at - size] ?? 0;
    const guesses = [0, left, up, (left + up) >> 1, paeth(left, up, corner)];
    out[at] = ((line[at] ?? 0) + (guesses[filter] ?? 0)) & 0xff;
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

/** Undefined where there are more colours than a palette holds; a colour is its first one that is equal below the mask. */
function indexed({ points }: Picture, mask: number): { palette: number[]; indices: Buffer } | undefined {
  const known = new Map<number, number>();
  const palette: number[] = [];
  const indices = Buffer.alloc(points.length / 3);
  for (let at = 0; at < indices.length; at++) {
    const colour = points.readUIntBE(at * 3, 3);
    const key = colour & ((mask << 16) | (mask << 8) | mask);
    let index = known.get(key);
    if (index === undefined) {
      index = palette.push(colour) - 1;
      if (index >= MOST_COLOURS) return undefined;
      known.set(key, index);
    }
    indices[at] = index;
  }
  return { palette, indices };
}

function encoded(
  { width, height }: Picture,
  { palette, indices }: { palette: readonly number[]; indices: Buffer },
): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, PALETTE], 8);
  const colours = Buffer.alloc(palette.length * 3);
  for (const [at, colour] of palette.entries()) colours.writeUIntBE(colour, at * 3, 3);
  const lines = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++) indices.copy(lines, y * (width + 1) + 1, y * width, (y + 1) * width);
  const data = deflateSync(lines, { level: 9, memLevel: 9 });
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", head),
    chunk("PLTE", colours),
    chunk("IDAT", data),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
