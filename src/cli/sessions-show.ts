import { PagurusError } from "../contract/errors.ts";
import type { SessionStore } from "../contract/store.ts";
import type { SessionRecord } from "../contract/writer.ts";
import type { TranscriptEntry } from "../contract/transcript.ts";
import { bytes, count, oneLine, plural, table, terminalSafe, time } from "../command/layout.ts";
import { type Cli, printJson, printLine, styleFor, withPagurus, written } from "./cli.ts";
import { EXIT_DONE, usageError } from "./failure.ts";
import { entryText } from "./entry-text.ts";

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

/** The record of a key. Throws `session_not_found` with what to do. */
export function existing(store: SessionStore, key: string): SessionRecord {
  const record = store.find(key);
  if (record) return record;
  throw new PagurusError(
    "session_not_found",
    `There is no session "${key}"; pagurus sessions list shows those there are.`,
  );
}

/** Says on standard error what of a transcript cannot be read; it is in the file all the same. */
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

/** `sessions list`. */
export function listSessions(cli: Cli, options: ListOptions): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    const records = pagurus
      .sessions(options.agent)
      .list()
      .filter((record) => record.current || options.all === true)
      .toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
    if (options.json === true) printJson(cli, records);
    else if (records.length === 0) printLine(cli.stderr, "No sessions yet; pagurus run starts one.");
    else {
      const rows = records.map((record) => [
        record.current ? record.sessionKey : `${record.sessionKey} (earlier)`,
        record.sessionId,
        time(record.updatedAt),
        count(record.entryCount),
        bytes(record.bytes),
        oneLine(record.name ?? "", 40),
      ]);
      const head = ["KEY", "SESSION", "UPDATED", "ENTRIES", "SIZE", "NAME"];
      printLine(cli.stdout, table(head, rows, [3, 4]).join("\n"));
    }
    return EXIT_DONE;
  });
}

/** `sessions search`. */
export function searchSessions(cli: Cli, query: string, options: SearchOptions): Promise<number> {
  if (query.trim() === "") throw usageError("The words to search for are empty; give at least one.");
  return withPagurus(cli, async (pagurus) => {
    const hits = pagurus.sessions(options.agent).search(query, {
      limit: options.limit ?? 20,
      ...(options.session === undefined ? {} : { sessionKey: options.session }),
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
  });
}

/** What is known of the session besides its entries: which are on the path, and which turns never ended. */
interface Marks {
  onPath: Set<string>;
  interrupted: Set<string>;
  superseded: Set<string>;
  /** Process that runs a turn of it now. */
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
  // The marker stands behind the turn's entries, so they are marked in a second reading.
  for await (const line of linesOf(store.export(key, "jsonl"))) {
    const entry = line.includes('"interrupted"') ? parseEntry(line) : undefined;
    if (entry?.type === "turn_commit" && entry.outcome === "interrupted") marks.interrupted.add(entry.turnId);
  }
  return marks;
}

/** The lines of a transcript, from its bytes, without holding them all. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}

function parseEntry(line: string): TranscriptEntry | undefined {
  try {
    const value = JSON.parse(line) as TranscriptEntry | { type: "session" };
    return value.type === "session" ? undefined : value;
  } catch {
    // A line that cannot be read is told when the session is opened; `--raw` shows it.
    return undefined;
  }
}

interface Shown {
  entry: TranscriptEntry;
  state: "rewound" | "superseded" | undefined;
  interrupted: boolean;
}

/** Every entry of the file in its order, those off the path marked. */
async function* entriesOf(store: SessionStore, key: string, marks: Marks): AsyncIterable<Shown> {
  for await (const line of linesOf(store.export(key, "jsonl"))) {
    const entry = parseEntry(line);
    if (!entry) continue;
    const structural = entry.type === "turn_commit" || entry.type === "rewind";
    const off = !structural && !marks.onPath.has(entry.id);
    yield {
      entry,
      state: off ? (marks.superseded.has(entry.id) ? "superseded" : "rewound") : undefined,
      interrupted: entry.turnId !== undefined && marks.interrupted.has(entry.turnId),
    };
  }
}

/** Those that have something for a person. */
async function* visible(items: AsyncIterable<Shown>): AsyncIterable<Shown> {
  for await (const item of items) if (entryText(item.entry)) yield item;
}

/** The newest `count` items; without a count all, as they come. */
async function* newest<T>(items: AsyncIterable<T>, count: number | undefined): AsyncIterable<T> {
  if (count === undefined) return yield* items;
  const kept: T[] = [];
  for await (const item of items) if (kept.push(item) > count) kept.shift();
  return yield* kept;
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
export function showSession(cli: Cli, key: string, options: ShowOptions): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    const store = pagurus.sessions(options.agent);
    const record = existing(store, key);
    if (options.raw === true) {
      const lines = newest(linesOf(store.export(key, "jsonl")), options.last);
      for await (const line of lines) await written(cli.stdout, `${line}\n`);
      noteUnreadable(cli, store, key);
      return EXIT_DONE;
    }
    const marks = await marksOf(store, key);
    if (options.json !== true) {
      const turns = marks.interrupted.size;
      const running = marks.runningIn === undefined ? "" : `, running in process ${marks.runningIn}`;
      const tail = `${turns === 0 ? "" : `, ${plural(turns, "interrupted turn")}`}${running}`;
      const entries = plural(record.entryCount, "entry", "entries");
      printLine(cli.stdout, `Session ${key} (${record.sessionId}), ${entries}${tail}\n`);
    }
    const entries = entriesOf(store, key, marks);
    for await (const shown of newest(options.json === true ? entries : visible(entries), options.last)) {
      const { entry, state, interrupted } = shown;
      const text =
        options.json === true
          ? `${JSON.stringify({ ...entry, onPath: state === undefined, interrupted })}\n`
          : entryForPerson(cli, shown);
      await written(cli.stdout, text);
    }
    noteUnreadable(cli, store, key);
    return EXIT_DONE;
  });
}
