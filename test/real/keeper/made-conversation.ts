/** A conversation made for tests: each turn has words of its own, a call with its result, and some have images. */
import { crc32, deflateSync } from "node:zlib";
import type { ImagePart } from "../../../packages/contract/src/message.ts";
import type { PortableItem } from "../../../packages/keeper/src/native/portable.ts";

const START = Date.UTC(2026, 5, 1, 8);
const MINUTE = 60_000;
const SIDE = 16;

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** A small PNG whose colours depend on the number. */
function png(number: number): string {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(SIDE, 0);
  head.writeUInt32BE(SIDE, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const pixels = Buffer.concat(
    Array.from({ length: SIDE }, (_, row) =>
      Buffer.from([0, ...Array.from({ length: SIDE * 3 }, (_x, at) => (number * 7 + row * 31 + at) % 256)]),
    ),
  );
  const magic = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const parts = [
    magic,
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(pixels)),
    chunk("IEND", Buffer.alloc(0)),
  ];
  return Buffer.concat(parts).toString("base64");
}

/** Every tenth question and every fortieth result has an image. */
export function marksOf(turn: number): { words: string[]; images: string[] } {
  return {
    words: ["ask", "say", "run", "out"].map((kind) => `${kind}-${turn}-mark`),
    images: [...(turn % 10 === 5 ? [png(turn)] : []), ...(turn % 40 === 7 ? [png(1_000 + turn)] : [])],
  };
}

/** `compactedAt`: the turn before which a summary is. */
export function madeConversation(turns: number, compactedAt: number): PortableItem[] {
  return Array.from({ length: turns }, (_, turn) => turn).flatMap((turn) => {
    const timestamp = START + turn * MINUTE;
    const summary = { role: "summary", text: "Summary of the work: the-summary-mark.", timestamp } as const;
    return [...(turn === compactedAt ? [summary] : []), ...turnItems(turn, timestamp)];
  });
}

function turnItems(turn: number, timestamp: number): PortableItem[] {
  const image = (data: string): ImagePart => ({ type: "image", data, mimeType: "image/png" });
  const id = `call_${turn}`;
  return [
    {
      role: "user",
      content: [
        { type: "text", text: `Question ask-${turn}-mark about the pier?` },
        ...(turn % 10 === 5 ? [image(png(turn))] : []),
      ],
      timestamp,
    },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "A thought that is not carried." },
        { type: "toolCall", id, name: "survey", arguments: { part: `run-${turn}-mark` } },
      ],
      provider: "mine",
      model: "m1",
      timestamp,
    },
    {
      role: "toolResult",
      toolCallId: id,
      toolName: "survey",
      content: [
        { type: "text", text: `plank out-${turn}-mark 🦀` },
        ...(turn % 40 === 7 ? [image(png(1_000 + turn))] : []),
      ],
      isError: turn % 9 === 4,
      timestamp,
    },
    {
      role: "assistant",
      content: [{ type: "text", text: `The pier is say-${turn}-mark.` }],
      provider: "mine",
      model: "m1",
      timestamp,
    },
  ];
}
