/**
 * The entries of a session in the order of writing, off the path too, without their contents: a transcript is read once, and what is
 * added to it later.
 */
import { closeSync, fstatSync, openSync } from "node:fs";
import type { AgentMessage } from "@pagurus/contract/message";
import type { SessionHeader, TranscriptEntry } from "@pagurus/contract/session/transcript";
import { Pace } from "@pagurus/core/platform/pace";
import { readFailure } from "@pagurus/host/stores/files/failures";
import { parseEntry, parseHeader } from "@pagurus/host/stores/files/transcript/transcript-entry";
import {
  linesBackward,
  linesForward,
  type Line,
} from "@pagurus/host/stores/files/transcript/transcript-lines";
import { OneReading } from "../one-reading.ts";
import type { InspectedCompaction } from "@pagurus/api/types";
import { compactionRecord } from "./compaction-record.ts";
import { defined } from "@pagurus/core/data/defined";

/** Characters kept of a user's text, which is the title of a turn, and of other messages. */
const TITLE = 160;
const SNIPPET = 100;
/** Of an outline of a session's end: it has as many lines as fill several pages, where these are not too long. */
const END_BYTES = 256 * 1024;
const END_LINES = 400;
const MOST_END_BYTES = 4 * 2 ** 20;

export interface OutlineEntry {
  id: string;
  parentId: string | null;
  type: TranscriptEntry["type"];
  /** ISO 8601. */
  at: string;
  /** Byte offset of its line, and the bytes of that. */
  offset: number;
  bytes: number;
  turnId?: string;
  role?: AgentMessage["role"];
  /** Beginning of a message's text; of a result after the name of its tool. */
  snippet?: string;
  supersedes?: string;
  compaction?: InspectedCompaction;
  /** Target of a rewind. */
  targetId?: string | null;
  /** End of a turn. */
  outcome?: string;
  code?: string;
  customType?: string;
  /** Of small custom entries of the host, such as a degradation. */
  data?: unknown;
}

/** Custom entries whose data the timeline shows; it holds no contents. */
const SHOWN = new Set(["pagurus.degraded", "pagurus.native_compaction", "pagurus.engine_compaction"]);

export class SessionOutline {
  readonly #file: string;
  #end = 0;
  #header: SessionHeader | undefined;
  readonly #entries: OutlineEntry[] = [];
  readonly #index = new Map<string, number>();
  readonly #reading = new OneReading(() => this.#read());

  constructor(file: string) {
    this.#file = file;
  }

  /** An outline of the newest entries alone, without the header; undefined for a short session. Throws `store_read_failed`. */
  static ofEnd(file: string): Promise<SessionOutline | undefined> {
    return withTranscript(file, (fd, size) => {
      if (size <= END_BYTES) return undefined;
      const outline = new SessionOutline(file);
      const lines: Line[] = [];
      for (const line of linesBackward(fd, 0, size)) {
        lines.push(line);
        const bytes = size - line.offset;
        if ((bytes >= END_BYTES && lines.length >= END_LINES) || bytes >= MOST_END_BYTES) break;
      }
      for (const line of lines.toReversed()) {
        const parsed = parseEntry(line.bytes);
        if ("entry" in parsed) outline.#add(parsed.entry, line);
      }
      return outline;
    });
  }

  get header(): SessionHeader | undefined {
    return this.#header;
  }

  /** Reads what was added. Throws `store_read_failed`. */
  refresh(): Promise<void> {
    return this.#reading.fresh();
  }

  /** In the order of writing. */
  get entries(): readonly OutlineEntry[] {
    return this.#entries;
  }

  get(id: string): OutlineEntry | undefined {
    const at = this.#index.get(id);
    return at === undefined ? undefined : this.#entries[at];
  }

  /** Position in the order of writing; -1 for an unknown id. */
  positionOf(id: string): number {
    return this.#index.get(id) ?? -1;
  }

  /** The branch that ends with the entry before this position of the order of writing, from its end to the root. */
  *pathBefore(position: number): Generator<OutlineEntry> {
    let entry = this.#leafBefore(position);
    while (entry) {
      yield entry;
      entry = entry.parentId === null ? undefined : this.get(entry.parentId);
    }
  }

  /** A rewind moves the leaf; it is no entry of a branch itself. */
  #leafBefore(position: number): OutlineEntry | undefined {
    const last = this.#entries[Math.min(position, this.#entries.length) - 1];
    if (last?.type !== "rewind") return last;
    const { targetId } = last;
    return typeof targetId === "string" ? this.get(targetId) : undefined;
  }

  /**
   * These entries with their contents, in the order of writing; without those that the outline does not have. Many of them are read
   * much faster than one by one. Throws `store_read_failed`.
   */
  async *contents(ids: Iterable<string>): AsyncGenerator<TranscriptEntry> {
    const wanted = new Set(ids);
    const places = [...wanted].flatMap((id) => this.get(id) ?? []).toSorted((a, b) => a.offset - b.offset);
    const fd = openedFile(this.#file);
    try {
      const pace = new Pace();
      for (const { from, to } of rangesOf(places)) {
        for (const line of linesForward(fd, from, to)) {
          const parsed = parseEntry(line.bytes);
          if ("entry" in parsed && wanted.has(parsed.entry.id)) yield parsed.entry;
          if (pace.due) await pace.rest();
        }
      }
    } finally {
      closeSync(fd);
    }
  }

  #read(): Promise<void> {
    return withTranscript(this.#file, async (fd, size) => {
      const pace = new Pace();
      for (const line of linesForward(fd, this.#end, size)) {
        if (!line.terminated) break;
        if (this.#end === 0) this.#header = parseHeader(line.bytes);
        this.#end = line.offset + line.length;
        const parsed = parseEntry(line.bytes);
        if ("entry" in parsed) this.#add(parsed.entry, line);
        if (pace.due) await pace.rest();
      }
    });
  }

  #add(entry: TranscriptEntry, { offset, length }: Line): void {
    if (this.#index.has(entry.id)) return;
    this.#index.set(entry.id, this.#entries.length);
    this.#entries.push(outlineOf(entry, { offset, bytes: length }));
  }
}

/** Throws `store_read_failed`. */
function openedFile(file: string): number {
  try {
    return openSync(file, "r");
  } catch (error) {
    throw readFailure(error, file);
  }
}

/** Byte ranges of lines; those of neighbouring lines are one. */
function rangesOf(lines: readonly Pick<OutlineEntry, "offset" | "bytes">[]): { from: number; to: number }[] {
  const ranges: { from: number; to: number }[] = [];
  for (const { offset, bytes } of lines) {
    const last = ranges.at(-1);
    if (last?.to === offset) last.to += bytes;
    else ranges.push({ from: offset, to: offset + bytes });
  }
  return ranges;
}

/** Throws `store_read_failed`. */
async function withTranscript<T>(
  file: string,
  work: (fd: number, size: number) => T | Promise<T>,
): Promise<T> {
  const fd = openedFile(file);
  try {
    return await work(fd, fstatSync(fd).size);
  } finally {
    closeSync(fd);
  }
}

function outlineOf(entry: TranscriptEntry, place: Pick<OutlineEntry, "offset" | "bytes">): OutlineEntry {
  const { id, parentId, type, timestamp: at, turnId } = entry;
  const known = { id, parentId, type, at, ...place, ...defined({ turnId }) };
  switch (entry.type) {
    case "message": {
      const { message, supersedes } = entry;
      const snippet = messageSnippet(message);
      return { ...known, role: message.role, ...defined({ snippet, supersedes }) };
    }
    case "custom_message":
      return { ...known, customType: entry.customType };
    case "compaction":
      return { ...known, compaction: compactionRecord(entry) };
    case "rewind":
      return { ...known, targetId: entry.targetId };
    case "turn_commit":
      return { ...known, outcome: entry.outcome, ...defined({ code: entry.code }) };
    case "custom":
      return {
        ...known,
        customType: entry.customType,
        ...(SHOWN.has(entry.customType) ? { data: entry.data } : {}),
      };
    default:
      return known;
  }
}

function messageSnippet(message: AgentMessage): string | undefined {
  if (message.role === "user") return textOf(message.content).slice(0, TITLE);
  const { content } = message;
  if (!Array.isArray(content) && typeof content !== "string") return undefined;
  const before = message.role === "toolResult" ? `${message.toolName}: ` : "";
  const words = `${before}${textOf(content)}`.slice(0, SNIPPET);
  return words === "" ? undefined : words;
}

/** Texts, calls by their names, and a word for each image; as much as a snippet can have. */
function textOf(content: AgentMessage["content"]): string {
  if (typeof content === "string") return content.slice(0, TITLE);
  let text = "";
  for (const part of content) {
    const words =
      part.type === "text"
        ? part.text
        : part.type === "toolCall"
          ? `${part.name}(${JSON.stringify(part.arguments).slice(0, SNIPPET)})`
          : part.type === "thinking"
            ? ""
            : "[image]";
    if (words !== "") text += `${text === "" ? "" : " "}${words.slice(0, TITLE)}`;
    if (text.length >= TITLE) break;
  }
  return text;
}
