/** The lines of an exported transcript, and their entries. */
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";

/** The lines of a transcript, from its bytes, without holding them all. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}

/** Parses the entry of a line, without the line's checksum. */
export function parseEntry(line: string): TranscriptEntry | undefined {
  try {
    const { crc32: _, ...value } = JSON.parse(line) as (TranscriptEntry | { type: "session" }) & {
      crc32?: string;
    };
    return value.type === "session" ? undefined : (value as TranscriptEntry);
  } catch {
    // An unreadable line is reported when the session is opened; `--raw` shows it.
    return undefined;
  }
}
