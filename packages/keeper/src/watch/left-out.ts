/** Folders whose conversations the user leaves out, with a file `.pagurusignore` in them or above. */
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";
import { compressedLines, isByLine, recordOfLine, recordsOfFile } from "../formats/read-records.ts";
import type { Taken } from "../programs/program.ts";
import type { SourceFile } from "./source-file.ts";

const NAME = ".pagurusignore";
/** Bytes in which a conversation names its folder, where it does. */
const HEAD_BYTES = 256 * 1024;
/** A larger document is not read for its folder. */
const DOCUMENT_BYTES = 4 * 1024 * 1024;

/** The file that leaves a folder out; undefined for a folder that is kept. */
export function ignoreFileOf(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const file = join(at, NAME);
    const content = attempt(() => readFileSync(file, "utf8"));
    if (content !== undefined && leavesOut(content, relative(at, folder))) return file;
    if (at === dirname(at)) return undefined;
  }
}

/** An empty file leaves its folder out; one with lines leaves out the folders below it that they name. */
function leavesOut(content: string, below: string): boolean {
  const names = content
    .split("\n")
    .map((line) => line.trim().replace(/^(?:\.?\/)+|\/+$/g, ""))
    .filter((line) => line !== "" && !line.startsWith("#"));
  return names.length === 0 || names.some((name) => below === name || below.startsWith(`${name}/`));
}

export class LeftOut {
  /** By folder, for one look at all files. */
  readonly #files = new Map<string, string | undefined>();
  /** By path of a conversation's file. */
  readonly #folders = new Map<string, string>();
  /** Ids of conversations that are left out, whose further files name no folder. */
  readonly #conversations = new Set<string>();

  /** Forgets which folders are left out: the user may have changed that. */
  again(): void {
    this.#files.clear();
  }

  has(agent: string, path: string, { format, conversation }: Taken, source: SourceFile): boolean {
    const key = `${agent} ${conversation?.id ?? path}`;
    const folder = this.#folders.get(path) ?? folderOf(path, format, source);
    if (folder === undefined) {
      const parent = conversation?.parent;
      return (
        this.#conversations.has(key) ||
        (parent !== undefined && this.#conversations.has(`${agent} ${parent}`))
      );
    }
    this.#folders.set(path, folder);
    if (!this.#files.has(folder)) this.#files.set(folder, ignoreFileOf(folder));
    const isLeftOut = this.#files.get(folder) !== undefined;
    if (isLeftOut) this.#conversations.add(key);
    else this.#conversations.delete(key);
    return isLeftOut;
  }
}

/** The folder that a conversation was held in, as its beginning says. */
function folderOf(path: string, format: Taken["format"], source: SourceFile): string | undefined {
  if (format === undefined || format === "text" || format === "database") return undefined;
  const isLines = isByLine(path, format);
  if (!isLines && source.size > DOCUMENT_BYTES) return undefined;
  const bytes = source.read(0, isLines ? Math.min(HEAD_BYTES, source.size) : source.size);
  // Half a document, or half a compressed file, has its folder later.
  const records = attempt(() => {
    const lines = compressedLines(path, bytes) ?? (isLines ? wholeLines(bytes) : undefined);
    return lines ? lines.map((line) => recordOfLine(line, format)) : recordsOfFile(path, bytes, format, "");
  });
  return records?.find(({ folder }) => folder !== undefined)?.folder;
}

function wholeLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; ;) {
    const end = bytes.indexOf(10, start);
    if (end < 0) return lines;
    if (end > start) lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
}
