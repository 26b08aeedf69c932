/** `keep list`, `keep show`, `keep search`. */
import { resolve } from "node:path";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { defined } from "@pagurus/core/data/defined";
import { plural } from "@pagurus/core/data/plain-numbers";
import { oneLine, table, terminalSafe } from "@pagurus/host/command/layout";
import { keeperPlace } from "@pagurus/keeper/keeper-place";
import { programLabel } from "@pagurus/keeper/loss-words";
import { KeptWords, type KeptHit, type ShownRecord } from "@pagurus/keeper/words/kept-words";
import type { ConversationRow } from "@pagurus/keeper/words/words-database";
import { printJson, printLine, written, type Cli } from "../cli.ts";
import { EXIT_DONE, EXIT_FAILED, usageError } from "../cli-failure.ts";
import { lookAtArchive } from "./keep-work.ts";

export interface LookOptions {
  agent?: string;
  folder?: string;
  since?: string;
  until?: string;
  limit?: number;
  json?: boolean;
}

export interface ShowOptions {
  at?: number;
  around?: number;
  all?: boolean;
  json?: boolean;
}

const AROUND = 3;
const NAMES: Readonly<Record<string, string>> = {
  call: "call",
  result: "result",
  thinking: "thinking",
  image: "image",
  data: "data",
};

/** Opens the kept words for one command. Throws `usage_invalid` without an archive. */
export async function withWords<T>(cli: Cli, work: (words: KeptWords) => Promise<T>): Promise<T> {
  // Refuses where nothing is kept.
  lookAtArchive(cli).close();
  const words = new KeptWords(keeperPlace(resolveHome(cli.env)).folder, cli.env);
  try {
    return await work(words);
  } finally {
    words.close();
  }
}

function timeOption(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  const at = Date.parse(text);
  if (Number.isNaN(at))
    throw usageError(`${name} ${JSON.stringify(text)} is no time; write one such as 2026-11-30.`);
  return at;
}

export function filterOf(cli: Cli, { agent, folder, since, until, limit }: LookOptions) {
  return defined({
    agent,
    folder: folder === undefined ? undefined : resolve(cli.cwd, folder),
    since: timeOption(since, "--since"),
    until: timeOption(until, "--until"),
    limit,
  });
}

export function dayOf(at: number | null | undefined): string {
  return at === null || at === undefined ? "" : new Date(at).toISOString().slice(0, 16).replace("T", " ");
}

/** `keep list`. */
export function keepList(cli: Cli, options: LookOptions): Promise<number> {
  return withWords(cli, async (words) => {
    const filter = filterOf(cli, options);
    const all = words
      .conversations(filter)
      .filter(
        ({ last_at: last }) => (last ?? 0) >= (filter.since ?? 0) && (last ?? 0) < (filter.until ?? Infinity),
      );
    const shown = all.slice(0, options.limit ?? 50);
    if (options.json === true) {
      printJson(cli, shown);
      return EXIT_DONE;
    }
    const rows = shown.map(({ id, agent, native, folder, title, messages, last_at: last, isGone }) => [
      String(id),
      programLabel(agent),
      dayOf(last),
      String(messages),
      isGone ? "only here" : "",
      oneLine(folder ?? "", 40),
      oneLine(title ?? native, 50),
    ]);
    for (const line of table(["", "program", "last", "messages", "", "folder", "conversation"], rows, [0, 3]))
      printLine(cli.stdout, terminalSafe(line));
    if (shown.length < all.length)
      printLine(cli.stdout, `${plural(all.length - shown.length, "more")}; --limit shows them.`);
    return EXIT_DONE;
  });
}

/** `keep search`. */
export function keepSearch(cli: Cli, query: readonly string[], options: LookOptions): Promise<number> {
  return withWords(cli, async (words) => {
    const hits = words.search(query.join(" "), filterOf(cli, options));
    if (options.json === true) printJson(cli, hits);
    else for (const hit of hits) printHit(cli, hit);
    if (hits.length === 0 && options.json !== true)
      printLine(cli.stderr, "Nothing that is kept has these words.");
    return hits.length > 0 ? EXIT_DONE : EXIT_FAILED;
  });
}

function printHit(cli: Cli, { num, conversation, role, at, snippet }: KeptHit): void {
  const where = [programLabel(conversation.agent), conversation.folder ?? "", dayOf(at), role].filter(
    (each) => each !== "",
  );
  printLine(cli.stdout, terminalSafe(where.join(" · ")));
  printLine(cli.stdout, `  ${terminalSafe(snippet)}`);
  printLine(cli.stdout, `  pagurus keep show ${conversation.id} --at ${num}`);
}

/** The conversation with this name. Throws `usage_invalid` for no match and for several. */
export function foundConversation(words: KeptWords, name: string): ConversationRow {
  const [found, ...others] = words.find(name);
  if (!found)
    throw usageError(`No kept conversation is named ${JSON.stringify(name)}; pagurus keep list shows them.`);
  if (others.length === 0) return found;
  const names = [found, ...others].map(({ id, native }) => `${id} (${native})`).join(", ");
  throw usageError(`Several conversations begin with ${name}: ${names}; name one by its number.`);
}

/** `keep show`. */
export function keepShow(cli: Cli, name: string, options: ShowOptions): Promise<number> {
  return withWords(cli, async (words) => {
    const found = foundConversation(words, name);
    const records = words.records(found.id, { isWhole: options.all === true });
    const shown =
      options.at === undefined ? records : withNeighbours(records, options.at, options.around ?? AROUND);
    if (options.json === true) {
      printJson(cli, { conversation: found, children: words.children(found.native), records: [...shown] });
      return EXIT_DONE;
    }
    printLine(
      cli.stdout,
      terminalSafe(`${programLabel(found.agent)} · ${found.title ?? found.native} · ${found.folder ?? ""}`),
    );
    if (found.parent !== null) printLine(cli.stdout, `Continues, or is a part of, ${found.parent}.`);
    for (const record of shown)
      if (options.all === true || options.at !== undefined || record.role !== "data")
        await written(cli.stdout, textOf(record, options));
    for (const child of words.children(found.native))
      printLine(cli.stdout, `A part of it: pagurus keep show ${child.id} (${terminalSafe(child.native)})`);
    return EXIT_DONE;
  });
}

/** The record with its neighbours. */
function withNeighbours(records: Iterable<ShownRecord>, num: number, count: number): ShownRecord[] {
  const before: ShownRecord[] = [];
  let after = -1;
  for (const record of records) {
    if (after < 0 && record.role === "data" && record.num !== num) continue;
    before.push(record);
    if (record.num === num) after = 0;
    else if (after >= 0) after += 1;
    else if (before.length > count) before.shift();
    if (after >= count) break;
  }
  if (after < 0) throw usageError(`The conversation has no record ${num}.`);
  return before;
}

function textOf(record: ShownRecord, { all, at }: ShowOptions): string {
  const mark = record.num === at ? "▶ " : "";
  const old = record.isReplaced ? ", replaced later" : "";
  const lines = [`\n${mark}${record.role} ${dayOf(record.at)}${old}`];
  for (const { kind, name, text } of record.parts) {
    const label = NAMES[kind];
    lines.push(label === undefined ? text : `[${[label, name].filter(Boolean).join(" ")}] ${text}`);
  }
  if (record.rest !== "" && (all === true || record.num === at)) lines.push(`[beside it] ${record.rest}`);
  return `${terminalSafe(lines.join("\n"))}\n`;
}
