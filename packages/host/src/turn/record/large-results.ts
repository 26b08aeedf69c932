/**
 * Tool results that are too large for a transcript: the entry keeps a stub, and the whole text is a file of the session that the model can
 * read. A transcript line is read, copied and counted as one piece, again and again.
 */
import { createHash } from "node:crypto";
import { closeSync, mkdirSync, openSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { toPagurusError } from "@pagurus/contract/errors";
import type { ImagePart, TextPart } from "@pagurus/contract/message";
import { writeAll } from "@pagurus/core/platform/atomic-files";
import type { ToolSet } from "@pagurus/contract/harness/tool";

/** Characters of a result's texts, and of one image's data, that stay in the transcript. */
const MOST_CHARACTERS = 4 * 1024 * 1024;
const MOST_IMAGE_CHARACTERS = 32 * 1024 * 1024;
/** Characters kept of the start and of the end of a larger text. */
const HEAD_CHARACTERS = 24_000;
const TAIL_CHARACTERS = 8_000;
/** Longest line in the file; the tool `read` cuts longer ones. */
const LINE_CHARACTERS = 1_900;
/** Characters per write. */
const PIECE_CHARACTERS = 1024 * 1024;

type Content = readonly (TextPart | ImagePart)[];

/** Folder of a session's large results; its name begins with the session's, so it is deleted with the session. */
export function resultsFolder(transcript: string): string {
  const folder = dirname(transcript);
  const name = `${basename(transcript, ".jsonl")}.results`;
  try {
    return join(realpathSync.native(folder), name);
  } catch {
    // The sessions folder is created with its first session.
    return join(folder, name);
  }
}

/** The content itself when it is small enough, else its stub. `folder`: where the whole text is stored. */
export function boundedResult(content: Content, folder: () => string): (TextPart | ImagePart)[] {
  const texts = content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
  return content.map((part) => {
    if (part.type === "image") return part.data.length > MOST_IMAGE_CHARACTERS ? imageStub(part) : part;
    if (texts <= MOST_CHARACTERS || part.text.length <= HEAD_CHARACTERS + TAIL_CHARACTERS) return part;
    return textStub(part.text, folder);
  });
}

/** The same tools with bounded results. */
export function withBoundedResults(tools: ToolSet, folder: () => string): ToolSet {
  return {
    get specs() {
      return tools.specs;
    },
    get fingerprint() {
      return tools.fingerprint;
    },
    permits: (call, signal) => tools.permits(call, signal),
    expect: () => tools.expect?.(),
    call: async (call, signal) => {
      const outcome = await tools.call(call, signal);
      return { ...outcome, content: boundedResult(outcome.content, folder) };
    },
  };
}

function imageStub({ data, mimeType }: ImagePart): TextPart {
  const text = `[An image (${mimeType}) of ${data.length} characters was left out: ${MOST_IMAGE_CHARACTERS} is the most.]`;
  return { type: "text", text };
}

function textStub(text: string, folder: () => string): TextPart {
  const left = text.length - HEAD_CHARACTERS - TAIL_CHARACTERS;
  const head = text.slice(0, HEAD_CHARACTERS).toWellFormed();
  const tail = text.slice(-TAIL_CHARACTERS).toWellFormed();
  return {
    type: "text",
    text: `${head}\n[… ${left} characters are left out here; ${keptResult(text, folder)} …]\n${tail}`,
  };
}

/** Writes the file; returns where it is, or why it is not. Equal texts share a file. */
function keptResult(text: string, folder: () => string): string {
  try {
    const place = folder();
    mkdirSync(place, { recursive: true, mode: 0o700 });
    const file = join(place, `${createHash("sha256").update(text).digest("hex").slice(0, 16)}.txt`);
    const fd = openSync(file, "w", 0o600);
    try {
      for (const piece of brokenLines(text)) writeAll(fd, Buffer.from(piece));
    } finally {
      closeSync(fd);
    }
    return `the whole result is in ${file}, with long lines broken, for the tool read with offset and limit`;
  } catch (error) {
    return `the whole result could not be kept: ${toPagurusError(error).message}`;
  }
}

/** The text in pieces, with a newline inserted in each line that is longer than `read` shows. */
function* brokenLines(text: string): Generator<string> {
  let lines: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length;) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline + 1;
    const next = Math.min(end, at + LINE_CHARACTERS);
    lines.push(text.slice(at, next), next < end && text[next] !== "\n" ? "\n" : "");
    at = next;
    if (at - start < PIECE_CHARACTERS) continue;
    yield lines.join("");
    lines = [];
    start = at;
  }
  yield lines.join("");
}
