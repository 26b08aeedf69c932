/**
 * The conversations in a home of OpenClaw: each agent's database, and the older JSON lines files with their index `sessions.json`. Nothing
 * in the home is written.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  type Stats,
} from "node:fs";
import { basename, join, relative } from "node:path";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import { asRecord, type Fields, filledString } from "@pagurus/core/data/record-fields";
import { parseFields } from "../../sessions/foreign-fields.ts";
import { sourceLines, type SourceLine } from "../../sessions/source-lines.ts";
import { AgentDatabase, inflated, nameOf, usedAt } from "./agent-database.ts";
import type { OpenClawSource } from "./openclaw-transcript.ts";

export interface OpenClawConversation extends OpenClawSource {
  agentId: string;
  sessionKey: string | undefined;
  /** The key's current conversation, not an earlier generation. */
  current: boolean;
  /** Its path, relative to the home. */
  from: string;
}

export interface OpenClawHome {
  conversations: OpenClawConversation[];
  /** Parts of the home that cannot be read; a sentence each. */
  problems: string[];
  /** Parts that are left out on purpose; a sentence each. */
  leftOut: string[];
  close(): void;
}

/** Folders of archived conversations that were not used for long. */
const COLD = ["sessions/cold", "agent/cold", "sessions"];
const DATABASE = "openclaw-agent.sqlite";
/** `<session>.jsonl`, or an archive of it with the reason. */
const TRANSCRIPT = /^(.+?)\.jsonl(?:\.(reset|deleted)\..+|\.zst)?$/;

/** Reads every agent's folder; an agent's current conversations come first. */
export function openHome(folder: string): OpenClawHome {
  const home: OpenClawHome = { conversations: [], problems: [], leftOut: [], close: () => undefined };
  const databases: AgentDatabase[] = [];
  home.close = () => {
    for (const database of databases) database.close();
  };
  // The layout from before agents existed.
  addFiles(home, { folder, place: join(folder, "sessions"), agentId: "main", archives: new Set() });
  for (const agentId of namesIn(home, join(folder, "agents"), (stats) => stats.isDirectory())) {
    const place = join(folder, "agents", agentId);
    const archives = addDatabase(home, databases, { folder, place, agentId });
    addFiles(home, { folder, place: join(place, "sessions"), agentId, archives });
  }
  home.conversations.sort((a, b) => Number(b.current) - Number(a.current));
  return home;
}

function addDatabase(
  home: OpenClawHome,
  databases: AgentDatabase[],
  { folder, place, agentId }: { folder: string; place: string; agentId: string },
): ReadonlySet<string> {
  const path = join(place, "agent", DATABASE);
  if (!isThere(path)) return new Set();
  try {
    const database = new AgentDatabase(path);
    databases.push(database);
    noteDeleted(home, database.deleted, relative(folder, path));
    const archive = (name: string): Buffer => {
      const files = COLD.map((part) => join(place, part, basename(name)));
      return readFileSync(files.find((file) => existsSync(file)) ?? files[0] ?? "");
    };
    const stored = database.conversations();
    if (database.damage !== undefined) home.problems.push(database.damage);
    for (const each of stored)
      home.conversations.push({
        ...each,
        agentId,
        from: relative(folder, path),
        lines: () => database.lines(each.sessionId, archive),
      });
    return new Set(database.archiveNames);
  } catch (error) {
    home.problems.push(toPagurusError(error).message);
    return new Set();
  }
}

interface Files {
  folder: string;
  place: string;
  agentId: string;
  /** Names of archive files that the database lists. */
  archives: ReadonlySet<string>;
}

/** Files of sessions that the database does not have. */
function addFiles(home: OpenClawHome, { folder, place, agentId, archives }: Files): void {
  const names = namesIn(home, place, (stats) => stats.isFile(), TRANSCRIPT);
  const index = readIndex(home, join(place, "sessions.json"), new Set(names));
  const known = new Set(
    home.conversations.filter((each) => each.agentId === agentId).map(({ sessionId }) => sessionId),
  );
  let deleted = 0;
  // Live files come before their archives in the order of names.
  for (const name of names) {
    const [, stem, reason] = TRANSCRIPT.exec(name) ?? [];
    if (stem === undefined || archives.has(name)) continue;
    if (reason === "deleted") {
      deleted += 1;
      continue;
    }
    const sessionId = known.has(stem) && reason === "reset" ? name.replace(".jsonl", "") : stem;
    if (known.has(sessionId)) continue;
    known.add(sessionId);
    const entry = reason === undefined ? index.get(stem) : undefined;
    const path = join(place, name);
    home.conversations.push({
      agentId,
      sessionId,
      sessionKey: entry?.key,
      current: entry !== undefined,
      name: entry?.name,
      from: relative(folder, path),
      lines: linesOf(path),
    });
  }
  noteDeleted(home, deleted, relative(folder, place));
}

function noteDeleted(home: OpenClawHome, count: number, where: string): void {
  if (count === 0) return;
  const archives = count === 1 ? "1 archive" : `${count} archives`;
  home.leftOut.push(`${archives} of deleted conversations in ${where} left out.`);
}

type Index = ReadonlyMap<string, { key: string; name: string | undefined }>;

/** By file name without its ending. `names`: the existing files. */
function readIndex(home: OpenClawHome, path: string, names: ReadonlySet<string>): Index {
  const index = new Map<string, { key: string; name: string | undefined; used: number }>();
  if (!isThere(path)) return index;
  let entries: Fields | undefined;
  try {
    entries = parseFields(readFileSync(path, "utf8"));
  } catch (error) {
    home.problems.push(
      `${path} cannot be read (${toPagurusError(error).message}); its conversations are taken without their keys.`,
    );
    return index;
  }
  if (!entries) {
    home.problems.push(`${path} is no JSON object; its conversations are taken without their keys.`);
    return index;
  }
  for (const [key, value] of Object.entries(entries)) {
    const entry = asRecord(value);
    // A path, possibly of another system; its file may have been moved or renamed.
    const file = filledString(entry?.["sessionFile"])?.split(/[/\\]/).at(-1);
    const named = file !== undefined && names.has(file) ? file.replace(/\.jsonl$/, "") : undefined;
    const stem = named ?? filledString(entry?.["sessionId"]);
    if (!entry || stem === undefined) continue;
    const used = usedAt(entry);
    // Of two keys for one conversation the one used last wins.
    if ((index.get(stem)?.used ?? -1) < used) index.set(stem, { key, name: nameOf(entry), used });
  }
  return index;
}

/** A file that grows meanwhile is read up to its first size. */
function linesOf(path: string): () => Generator<SourceLine> {
  let size: number | undefined;
  return function* () {
    if (path.endsWith(".zst")) return yield* packedLines(path);
    const fd = openSync(path, "r");
    try {
      size = Math.min(size ?? Number.POSITIVE_INFINITY, fstatSync(fd).size);
      yield* sourceLines(fd, size);
    } finally {
      closeSync(fd);
    }
  };
}

function* packedLines(path: string): Generator<SourceLine> {
  for (const [index, text] of unpackedFile(path).split("\n").entries()) {
    const value = parseFields(text);
    const line = { number: index + 1, bytes: Buffer.from(text) };
    if (text.trim() !== "") yield value ? { ...line, value } : { ...line, problem: "it is no JSON object" };
  }
}

function unpackedFile(path: string): string {
  const bytes = readFileSync(path);
  try {
    return inflated(bytes).toString("utf8");
  } catch (error) {
    throw new PagurusError(
      "import_invalid",
      `${path} cannot be decompressed (${toPagurusError(error).message}); nothing of it was taken.`,
      { cause: error, details: { file: path } },
    );
  }
}

/** True for a dangling link, too: its target is missing, which has to be reported. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    // Opening it reports why it cannot be read.
    return true;
  }
}

/** Links are followed: homes are moved to other disks in parts. An unreadable folder does not exclude others. */
function namesIn(
  home: OpenClawHome,
  place: string,
  fits: (stats: Stats) => boolean,
  pattern?: RegExp,
): string[] {
  const look = <T>(path: string, read: () => T, none: T): T => {
    try {
      return read();
    } catch (error) {
      // A running host removes files.
      if (isThere(path)) home.problems.push(`${path} cannot be read (${toPagurusError(error).message}).`);
      return none;
    }
  };
  return look(place, () => readdirSync(place), [])
    .filter((name) => {
      const path = join(place, name);
      return pattern?.test(name) !== false && look(path, () => fits(statSync(path)), false);
    })
    .toSorted();
}
