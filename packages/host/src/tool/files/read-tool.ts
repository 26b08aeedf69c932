import type { TextDecoder } from "node:util";
import type { FileHandle } from "node:fs/promises";
import type { ToolOutcome } from "@pagurus/contract/harness/tool";
import { numberArgument, stringArgument } from "../arguments.ts";
import { isBinary, textDecoderFor, withFile } from "./file-access.ts";
import { partsOutcome, textOutcome, type HostTool } from "../host-tool.ts";
import { imageKind, MOST_IMAGE_BYTES } from "./image-kind.ts";
import { ToolError } from "../tool-error.ts";
import type { WorkspacePath } from "../places/workspace-boundary.ts";

const DEFAULT_LINES = 2_000;
const MOST_LINE_CHARACTERS = 2_000;
/** Maximum characters of one answer; below the host's trim limit of a tool result (48,000). */
const MOST_CHARACTERS = 40_000;
/** Files up to this size are read to their end, so that the number of lines is known. */
const COUNTED_BYTES = 16 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;

interface Window {
  /** First line, 1-based. */
  offset: number;
  limit: number;
}

/** Collects the lines of a window from chunks of text; a long line never grows beyond its limit. */
class LineWindow {
  readonly lines: string[] = [];
  #line = "";
  #lineLength = 0;
  #number = 1;
  #characters = 0;
  readonly #window: Window;

  constructor(window: Window) {
    this.#window = window;
  }

  /** Number of lines so far, including an unfinished last one. */
  get total(): number {
    return this.#lineLength > 0 ? this.#number : this.#number - 1;
  }

  get full(): boolean {
    return this.lines.length >= this.#window.limit || this.#characters >= MOST_CHARACTERS;
  }

  push(text: string): void {
    let at = 0;
    for (;;) {
      const end = text.indexOf("\n", at);
      const piece = text.slice(at, end === -1 ? undefined : end);
      this.#line += piece.slice(0, Math.max(0, MOST_LINE_CHARACTERS + 1 - this.#line.length));
      this.#lineLength += piece.length;
      if (end === -1) return;
      this.#endLine();
      at = end + 1;
    }
  }

  finish(): void {
    if (this.#lineLength > 0) this.#endLine();
  }

  #endLine(): void {
    if (this.#number >= this.#window.offset && !this.full) {
      const cut = this.#lineLength > MOST_LINE_CHARACTERS + 1;
      const text = cut
        ? `${this.#line.slice(0, MOST_LINE_CHARACTERS)} [line cut: ${this.#lineLength} characters]`
        : this.#line.replace(/\r$/, "");
      const numbered = `${this.#number}\t${text}`;
      this.lines.push(numbered);
      this.#characters += numbered.length + 1;
    }
    this.#number += 1;
    this.#line = "";
    this.#lineLength = 0;
  }
}

async function readText(
  file: FileHandle,
  size: number,
  at: WorkspacePath,
  window: Window,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const collected = new LineWindow(window);
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let decoder: TextDecoder | undefined;
  let position = 0;
  let ended = false;
  while (!ended && !(collected.full && size > COUNTED_BYTES)) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, position);
    const bytes = chunk.subarray(0, bytesRead);
    if (position === 0 && isBinary(bytes)) {
      throw new ToolError(
        `"${at.shown}" is a binary file of ${size} bytes; only text and images can be read.`,
      );
    }
    decoder ??= textDecoderFor(bytes);
    ended = bytesRead === 0;
    position += bytesRead;
    collected.push(decoder.decode(bytes, { stream: !ended }));
  }
  if (ended) collected.finish();
  const total = collected.total;
  const count = collected.lines.length;
  if (count === 0) {
    if (total === 0) return textOutcome(`"${at.shown}" is empty.`, { lines: 0, bytes: size });
    throw new ToolError(`"${at.shown}" has ${total} lines; "offset" ${window.offset} is behind its end.`);
  }
  const last = window.offset + count - 1;
  const whole = ended && window.offset === 1 && last >= total;
  const of = ended ? `of ${total}` : `of a file of ${size} bytes`;
  const next = ended && last >= total ? "" : `; continue with offset ${last + 1}`;
  const note = whole ? "" : `\n[lines ${window.offset}-${last} ${of}${next}]`;
  return textOutcome(collected.lines.join("\n") + note, { lines: count, bytes: size });
}

async function readImage(
  file: FileHandle,
  size: number,
  at: WorkspacePath,
  mimeType: string,
): Promise<ToolOutcome> {
  if (size > MOST_IMAGE_BYTES) {
    throw new ToolError(`"${at.shown}" is an image of ${size} bytes; ${MOST_IMAGE_BYTES} is the most.`);
  }
  const bytes = Buffer.alloc(size);
  const { bytesRead } = await file.read(bytes, 0, size, 0);
  const data = bytes.subarray(0, bytesRead).toString("base64");
  return partsOutcome(
    [
      { type: "text", text: `${at.shown}: ${mimeType}, ${bytesRead} bytes` },
      { type: "image", data, mimeType },
    ],
    { bytes: bytesRead, mimeType },
  );
}

export const readTool: HostTool = {
  onlyReads: true,
  name: "read",
  description: "Read a text file (lines are numbered) or an image.",
  parameters: {
    type: "object",
    properties: {
      path: { type: "string" },
      offset: { type: "integer", minimum: 1, description: "First line, from 1" },
      limit: { type: "integer", minimum: 1, description: `Lines, default ${DEFAULT_LINES}` },
    },
    required: ["path"],
    additionalProperties: false,
  },
  plan(params, workspace) {
    const at = workspace.locate(stringArgument(params, "path") ?? "");
    const window = {
      offset: numberArgument(params, "offset") ?? 1,
      limit: numberArgument(params, "limit") ?? DEFAULT_LINES,
    };
    return {
      access: { kind: "read", path: at },
      run: ({ signal }) =>
        withFile(at, async (file, size) => {
          const start = Buffer.alloc(16);
          const { bytesRead } = await file.read(start, 0, start.length, 0);
          const mimeType = imageKind(start.subarray(0, bytesRead));
          if (mimeType) return await readImage(file, size, at, mimeType);
          return await readText(file, size, at, window, signal);
        }),
    };
  },
};
