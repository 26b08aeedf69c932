/**
 * The conversations in a home of OpenClaw: of each agent the database, and the JSON lines files of before, with their
 * index `sessions.json`. Nothing in the home is written.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  type Stats,
} from "node:fs";
import { basename, join, relative } from "node:path";
import { toPagurusError } from "../../../contract/errors.ts";
import { fieldsOf, parseFields, textOf, type Fields } from "../fields.ts";
import { sourceLines, type SourceLine } from "../source-lines.ts";
import { AgentDatabase, inflated, nameOf, usedAt } from "./agent-database.ts";
import type { OpenClawSource } from "./transcript.ts";

export interface OpenClawConversation extends OpenClawSource {
  agentId: string;
  sessionKey: string | undefined;
  /** What the key means today, not an earlier generation. */
  current: boolean;
  /** Where it lies, from the home on. */
  from: string;
}

export interface OpenClawHome {
  conversations: OpenClawConversation[];
  /** Parts of the home that cannot be read; a sentence each. */
  problems: string[];
  /** What is left out on purpose; a sentence each. */
  leftOut: string[];
  close(): void;
}

/** Where archives of conversations are that nobody used for long. */
const COLD = ["sessions/cold", "agent/cold", "sessions"];
const DATABASE = "openclaw-agent.sqlite";
/** `<session>.jsonl`, or an archive of it with why it was put away. */
const TRANSCRIPT = /^(.+?)\.jsonl(?:\.(reset|deleted)\..+|\.zst)?$/;

/** Looks into every agent's folder; conversations of one agent with the current ones first. */
export function openHome(folder: string): OpenClawHome {
  const home: OpenClawHome = { conversations: [], problems: [], leftOut: [], close: () => undefined };
  const databases: AgentDatabase[] = [];
  home.close = () => {
    for (const database of databases) database.close();
  };
  // The layout of before there were agents.
  addFiles(home, { folder, place: join(folder, "sessions"), agentId: "main", archives: new Set() });
  for (const agentId of foldersIn(join(folder, "agents"))) {
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
  if (!existsSync(path)) return new Set();
  try {
    const database = new AgentDatabase(path);
    databases.push(database);
    tellDeleted(home, database.deleted, relative(folder, path));
    const archive = (name: string): Buffer => {
      const files = COLD.map((part) => join(place, part, basename(name)));
      return readFileSync(files.find((file) => existsSync(file)) ?? files[0] ?? "");
    };
    for (const stored of database.conversations())
      home.conversations.push({
        ...stored,
        agentId,
        from: relative(folder, path),
        lines: () => database.lines(stored.sessionId, archive),
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
  /** Names of files that the database accounts for. */
  archives: ReadonlySet<string>;
}

function addFiles(home: OpenClawHome, files: Files): void {
  if (!existsSync(files.place)) return;
  try {
    addTranscripts(home, files);
  } catch (error) {
    home.problems.push(`${files.place} cannot be read (${toPagurusError(error).message}).`);
  }
}

/** Files of sessions that the database does not hold. */
function addTranscripts(home: OpenClawHome, { folder, place, agentId, archives }: Files): void {
  const index = readIndex(home, join(place, "sessions.json"));
  const known = new Set(
    home.conversations.filter((each) => each.agentId === agentId).map(({ sessionId }) => sessionId),
  );
  let deleted = 0;
  // Live files come before their archives in the order of names.
  for (const name of filesIn(place)) {
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
      lines: () => fileLines(path),
    });
  }
  tellDeleted(home, deleted, relative(folder, place));
}

function tellDeleted(home: OpenClawHome, count: number, where: string): void {
  if (count === 0) return;
  const archives = count === 1 ? "1 archive" : `${count} archives`;
  home.leftOut.push(`${archives} of deleted conversations in ${where} left out.`);
}

type Index = ReadonlyMap<string, { key: string; name: string | undefined }>;

/** By the name of the file, without its ending. */
function readIndex(home: OpenClawHome, path: string): Index {
  const index = new Map<string, { key: string; name: string | undefined; used: number }>();
  if (!existsSync(path)) return index;
  let entries: Fields | undefined;
  try {
    entries = parseFields(readFileSync(path, "utf8"));
  } catch (error) {
    home.problems.push(`${path} cannot be read (${toPagurusError(error).message}).`);
  }
  if (!entries) {
    home.problems.push(`${path} is no JSON object; its conversations are taken without their keys.`);
    return index;
  }
  for (const [key, value] of Object.entries(entries)) {
    const entry = fieldsOf(value);
    const file = textOf(entry?.["sessionFile"]);
    const stem = file === undefined ? textOf(entry?.["sessionId"]) : basename(file).replace(/\.jsonl$/, "");
    if (!entry || stem === undefined) continue;
    const used = usedAt(entry);
    // Of two keys for one conversation the one that was used last has it.
    if ((index.get(stem)?.used ?? -1) < used) index.set(stem, { key, name: nameOf(entry), used });
  }
  return index;
}

function* fileLines(path: string): Generator<SourceLine> {
  if (path.endsWith(".zst")) {
    const lines = inflated(readFileSync(path)).toString("utf8").split("\n");
    for (const [index, text] of lines.entries()) {
      const value = parseFields(text);
      const line = { number: index + 1, bytes: Buffer.from(text) };
      if (text.trim() !== "") yield value ? { ...line, value } : { ...line, problem: "it is no JSON object" };
    }
    return;
  }
  const fd = openSync(path, "r");
  try {
    yield* sourceLines(fd, fstatSync(fd).size);
  } finally {
    closeSync(fd);
  }
}

function foldersIn(place: string): string[] {
  return namesIn(place, (stats) => stats.isDirectory());
}

function filesIn(place: string): string[] {
  return namesIn(place, (stats) => stats.isFile());
}

/** Links are followed: homes are moved to other disks in parts. */
function namesIn(place: string, fits: (stats: Stats) => boolean): string[] {
  if (!existsSync(place)) return [];
  return readdirSync(place)
    .filter((name) => {
      const stats = statSync(join(place, name), { throwIfNoEntry: false });
      return stats !== undefined && fits(stats);
    })
    .toSorted();
}
