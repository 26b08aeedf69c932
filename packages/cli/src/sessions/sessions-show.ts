import { existsSync } from "node:fs";
import { PagurusError } from "@pagurus/contract/errors";
import type { SessionStore } from "@pagurus/contract/session/store";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { plural } from "@pagurus/core/data/plain-numbers";
import { linesOf, parseEntry } from "@pagurus/host/command/transcript-lines";
import { oneLine, terminalSafe, time } from "@pagurus/host/command/layout";
import { type Cli, printJson, printLine, styleFor, withPagurus, written } from "../cli.ts";
import { EXIT_DONE, usageError } from "../cli-failure.ts";
import { newestLines } from "../chat/transcript-tail.ts";
import { entryText } from "./entry-text.ts";
import { keyOf } from "./session-choice.ts";
import { listWidth, sessionTable } from "./session-rows.ts";
import { defined } from "@pagurus/core/data/defined";

export interface ListOptions {
  agent?: string;
  all?: boolean;
  json?: boolean;
}
export interface ShowOptions {
  agent?: string;
  last?: number;
  raw?: boolean;
  json?: boolean;
}
export interface SearchOptions {
  agent?: string;
  session?: string;
  limit?: number;
  json?: boolean;
}

/** The record of a key. Throws `session_not_found` with a remedy. */
export function existing(store: SessionStore, key: string): SessionRecord {
  const record = store.find(key);
  if (record) return record;
  throw new PagurusError(
    "session_not_found",
    `There is no session "${key}"; pagurus sessions list shows them all.`,
  );
}

/** Warns on standard error of unreadable parts of a transcript; they stay in the file. */
export function noteUnreadable(cli: Cli, store: SessionStore, key: string): void {
  const reader = store.openReader(key);
  try {
    for (const { kind, detail } of reader.notices) {
      if (kind === "quarantined_line" || kind === "torn_line") printLine(cli.stderr, `note: ${detail}`);
    }
  } finally {
    reader.close();
  }
}

/** Stored data must be readable with a broken configuration. */
const ONLY_LOOK = { onlyLook: true };

/** `sessions list`. */
export function listSessions(cli: Cli, options: ListOptions): Promise<number> {
  return withPagurus(
    cli,
    async (pagurus) => {
      const records = pagurus
        .sessions(options.agent)
        .list()
        .filter((record) => record.current || options.all === true)
        .toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
      if (options.json === true) printJson(cli, records);
      else if (records.length === 0) printLine(cli.stderr, "No sessions yet; pagurus run starts one.");
      else {
        const [head = "", ...rows] = sessionTable(records, { width: listWidth(cli.stdout), now: Date.now() });
        printLine(cli.stdout, [styleFor(cli.stdout, cli.env)("dim", head), ...rows].join("\n"));
      }
      return EXIT_DONE;
    },
    ONLY_LOOK,
  );
}

/** `sessions search`. */
export function searchSessions(cli: Cli, query: string, options: SearchOptions): Promise<number> {
  if (query.trim() === "") throw usageError("The words to search for are empty; name at least one.");
  return withPagurus(
    cli,
    async (pagurus) => {
      const hits = pagurus.sessions(options.agent).search(query, {
        limit: options.limit ?? 20,
        ...defined({ sessionKey: options.session }),
      });
      if (options.json === true) printJson(cli, hits);
      else if (hits.length === 0) printLine(cli.stderr, "Nothing found.");
      const style = styleFor(cli.stdout, cli.env);
      for (const hit of options.json === true ? [] : hits) {
        const off = hit.onPath ? "" : style("yellow", "  (rewound)");
        const where = `${hit.sessionKey}  ${hit.entryId}  ${time(hit.timestamp)}  ${hit.role}`;
        printLine(cli.stdout, `${style("dim", where)}${off}\n  ${oneLine(hit.snippet, 300)}`);
      }
      return EXIT_DONE;
    },
    ONLY_LOOK,
  );
}

/** Session state besides its entries: which are on the path, and which turns never ended. */
interface Marks {
  onPath: Set<string>;
  interrupted: Set<string>;
  superseded: Set<string>;
  /** Process that is running a turn of it. */
  runningIn?: number;
}

async function marksOf(store: SessionStore, key: string): Promise<Marks> {
  const marks: Marks = { onPath: new Set(), interrupted: new Set(), superseded: new Set() };
  const reader = store.openReader(key);
  try {
    if (reader.runningIn) marks.runningIn = reader.runningIn.pid;
    for (const turn of reader.interruptedTurns()) marks.interrupted.add(turn);
    for await (const entry of reader.cursor.forward()) {
      marks.onPath.add(entry.id);
      if (entry.type === "message" && entry.supersedes !== undefined) marks.superseded.add(entry.supersedes);
    }
  } finally {
    reader.close();
  }
  // The commit marker follows the turn's entries, so they are marked in a second pass.
  for await (const line of linesOf(store.export(key, "jsonl"))) {
    const entry = line.includes('"interrupted"') ? parseEntry(line) : undefined;
    if (entry?.type === "turn_commit" && entry.outcome === "interrupted") marks.interrupted.add(entry.turnId);
  }
  return marks;
}

/** The same for the newest entries only, read from the end of the conversation. */
async function marksOfNewest(
  store: SessionStore,
  key: string,
  entries: readonly TranscriptEntry[],
): Promise<Marks> {
  const marks: Marks = { onPath: new Set(), interrupted: new Set(), superseded: new Set() };
  const ids = new Set(entries.map(({ id }) => id));
  const reader = store.openReader(key);
  try {
    if (reader.runningIn) marks.runningIn = reader.runningIn.pid;
    for (const turn of reader.interruptedTurns()) marks.interrupted.add(turn);
    for await (const entry of reader.cursor.backward()) {
      // The path is in file order: the rest is older.
      if (!ids.has(entry.id)) break;
      marks.onPath.add(entry.id);
      if (entry.type === "message" && entry.supersedes !== undefined) marks.superseded.add(entry.supersedes);
    }
  } finally {
    reader.close();
  }
  for (const entry of entries)
    if (entry.type === "turn_commit" && entry.outcome === "interrupted") marks.interrupted.add(entry.turnId);
  return marks;
}

interface Shown {
  entry: TranscriptEntry;
  state: "rewound" | "superseded" | undefined;
  interrupted: boolean;
}

function shown(entry: TranscriptEntry, marks: Marks): Shown {
  const structural = entry.type === "turn_commit" || entry.type === "rewind";
  const off = !structural && !marks.onPath.has(entry.id);
  return {
    entry,
    state: off ? (marks.superseded.has(entry.id) ? "superseded" : "rewound") : undefined,
    interrupted: entry.turnId !== undefined && marks.interrupted.has(entry.turnId),
  };
}

/** Every entry in file order, with those off the path marked. */
async function* entriesOf(store: SessionStore, key: string, marks: Marks): AsyncIterable<Shown> {
  for await (const line of linesOf(store.export(key, "jsonl"))) {
    const entry = parseEntry(line);
    if (entry) yield shown(entry, marks);
  }
}

/** Entries that have readable text. */
async function* visible(items: AsyncIterable<Shown>): AsyncIterable<Shown> {
  for await (const item of items) if (entryText(item.entry)) yield item;
}

/** The selected entries of `sessions show`, with their marks. */
async function chosen(
  store: SessionStore,
  record: SessionRecord,
  { last, json }: ShowOptions,
): Promise<{ marks: Marks; entries: AsyncIterable<Shown> | Iterable<Shown> }> {
  const key = record.sessionKey;
  if (last === undefined) {
    const marks = await marksOf(store, key);
    const entries = entriesOf(store, key, marks);
    return { marks, entries: json === true ? entries : visible(entries) };
  }
  const forReader = (lines: readonly string[]): TranscriptEntry[] =>
    lines.flatMap((line) => {
      const entry = parseEntry(line);
      return entry && (json === true || entryText(entry)) ? [entry] : [];
    });
  const lines = await linesAtEnd(store, record, (found) => forReader(found).length >= last);
  const all = lines.flatMap((line) => parseEntry(line) ?? []);
  const marks = await marksOfNewest(store, key, all);
  return { marks, entries: tail(forReader(lines), last).map((entry) => shown(entry, marks)) };
}

/** Enough of the newest lines; all from a store that has no file per session. */
async function linesAtEnd(
  store: SessionStore,
  record: SessionRecord,
  enough: (lines: readonly string[]) => boolean,
): Promise<string[]> {
  if (existsSync(record.file)) return newestLines(record.file, enough);
  const lines: string[] = [];
  for await (const line of linesOf(store.export(record.sessionKey, "jsonl"))) lines.push(line);
  return lines;
}

function tail<T>(items: readonly T[], count: number): readonly T[] {
  return items.slice(Math.max(0, items.length - count));
}

function entryForPerson(cli: Cli, { entry, state, interrupted }: Shown): string {
  const body = entryText(entry);
  if (!body) return "";
  const style = styleFor(cli.stdout, cli.env);
  const flags = [...(state === undefined ? [] : [state]), ...(interrupted ? ["interrupted turn"] : [])];
  const note = flags.length === 0 ? "" : style("yellow", `  (${flags.join(", ")})`);
  const where = style("dim", `${entry.id}  ${time(entry.timestamp)}`);
  const text = cli.stdout.isTTY === true ? terminalSafe(body.text) : body.text;
  return `${style("bold", body.title)}  ${where}${note}\n${text === "" ? "" : `${text}\n\n`}`;
}

/** `sessions show`. */
export function showSession(cli: Cli, named: string | undefined, options: ShowOptions): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    const { agent } = options;
    const key = named ?? keyOf(pagurus, cli, agent === undefined ? {} : { agent });
    const store = pagurus.sessions(options.agent);
    const record = existing(store, key);
    if (options.raw === true) {
      const { last } = options;
      const lines =
        last === undefined
          ? linesOf(store.export(key, "jsonl"))
          : tail(await linesAtEnd(store, record, (found) => found.length >= last), last);
      for await (const line of lines) await written(cli.stdout, `${line}\n`);
      noteUnreadable(cli, store, key);
      return EXIT_DONE;
    }
    const { marks, entries: items } = await chosen(store, record, options);
    if (options.json !== true) {
      const turns = marks.interrupted.size;
      const running = marks.runningIn === undefined ? "" : `, running in process ${marks.runningIn}`;
      const tail = `${turns === 0 ? "" : `, ${plural(turns, "interrupted turn")}`}${running}`;
      const entries = plural(record.entryCount, "entry", "entries");
      printLine(cli.stdout, `Session ${key} (${record.sessionId}), ${entries}${tail}\n`);
    }
    for await (const item of items) {
      const { entry, state, interrupted } = item;
      const text =
        options.json === true
          ? `${JSON.stringify({ ...entry, onPath: state === undefined, interrupted })}\n`
          : entryForPerson(cli, item);
      await written(cli.stdout, text);
    }
    noteUnreadable(cli, store, key);
    return EXIT_DONE;
  });
}
