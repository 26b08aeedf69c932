import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { toPagurusError } from "@pagurus/contract/errors";
import type { SessionStore } from "@pagurus/contract/session/store";
import { plural } from "@pagurus/core/data/plain-numbers";
import { bytes, oneLine, terminalSafe } from "@pagurus/host/command/layout";
import { rewindSession, undoLastTurn } from "@pagurus/host/command/rewind";
import { type Cli, printLine, withPagurus, written } from "../cli.ts";
import { EXIT_DONE, EXIT_FAILED, usageError } from "../cli-failure.ts";
import { writeNewFile } from "../new-file.ts";
import { existing, noteUnreadable } from "./sessions-show.ts";
import { defined } from "@pagurus/core/data/defined";

export interface ExportOptions {
  agent?: string;
  output?: string;
  format: "jsonl" | "markdown";
}
export interface ImportOptions {
  agent?: string;
  session?: string;
  format?: string;
}
export interface ForkOptions {
  agent?: string;
  entry?: string;
}
export interface DeleteOptions {
  agent?: string;
  yes?: boolean;
}

/** `sessions export`. */
export function exportSession(cli: Cli, key: string, options: ExportOptions): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    const store = pagurus.sessions(options.agent);
    existing(store, key);
    const chunks = store.export(key, options.format);
    if (options.output === undefined) await printChunks(cli, chunks);
    else {
      const size = await writeNewFile(cli.cwd, options.output, chunks);
      printLine(cli.stderr, `Wrote ${bytes(size)} to ${options.output}.`);
    }
    noteUnreadable(cli, store, key);
    return EXIT_DONE;
  });
}

/** Prints raw chunks, except on a terminal, where control codes of a model's or tool's text are removed. */
async function printChunks(cli: Cli, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const onTerminal = cli.stdout.isTTY === true;
  const decoder = new TextDecoder();
  for await (const chunk of chunks) {
    const shown = onTerminal ? terminalSafe(decoder.decode(chunk, { stream: true })) : chunk;
    await written(cli.stdout, shown);
  }
  if (onTerminal) await written(cli.stdout, terminalSafe(decoder.decode()));
}

/** Session files in a folder and below, in order. */
function sessionFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:jsonl|db)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

/** Imports each file separately: an existing or invalid one does not stop the others. */
async function importFolder(cli: Cli, folder: string, options: ImportOptions): Promise<number> {
  if (options.session !== undefined)
    throw usageError("A folder holds several sessions, so --session cannot name their key; import one file.");
  const files = sessionFiles(folder);
  if (files.length === 0) throw usageError(`The folder ${folder} holds no session file (.jsonl or .db).`);
  let [taken, known, failed] = [0, 0, 0];
  for (const file of files) {
    try {
      await importSession(cli, file, options);
      taken += 1;
    } catch (error) {
      const { code, message } = toPagurusError(error);
      if (code === "session_exists") known += 1;
      else {
        failed += 1;
        printLine(cli.stderr, `Not imported: ${message}`);
      }
    }
  }
  printLine(cli.stdout, `${plural(taken, "file")} imported, ${known} here already, ${failed} not imported.`);
  return failed > 0 ? EXIT_FAILED : EXIT_DONE;
}

/** `sessions import`. */
export function importSession(cli: Cli, file: string, options: ImportOptions): Promise<number> {
  const path = resolve(cli.cwd, file);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
    return importFolder(cli, path, options);
  return withPagurus(cli, async (pagurus) => {
    let hasReported = false;
    const request = {
      ...defined({ sessionKey: options.session, format: options.format }),
      tell: (sentence: string) => {
        hasReported = true;
        printLine(cli.stdout, sentence);
      },
    };
    const record = await pagurus.sessions(options.agent).import(path, request);
    if (!hasReported) {
      printLine(
        cli.stdout,
        `Imported ${plural(record.entryCount, "entry", "entries")} as session "${record.sessionKey}".`,
      );
    }
    return EXIT_DONE;
  });
}

/** `sessions fork`. */
export function forkSession(cli: Cli, key: string, newKey: string, options: ForkOptions): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    const store = pagurus.sessions(options.agent);
    existing(store, key);
    const record = await store.fork(
      key,
      newKey,
      options.entry === undefined ? {} : { entryId: options.entry },
    );
    printLine(
      cli.stdout,
      `Session "${record.sessionKey}" holds ${plural(record.entryCount, "entry", "entries")} of "${key}".`,
    );
    return EXIT_DONE;
  });
}

/** `sessions rewind`: to an entry, `start`, or `undo`. */
export function rewind(cli: Cli, key: string, entry: string, options: { agent?: string }): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    const store = pagurus.sessions(options.agent);
    const { cwd } = existing(store, key);
    if (entry === "undo") {
      const undone = await undoLastTurn(store, key, cwd);
      printLine(cli.stdout, `Undone: "${oneLine(undone.text, 60)}".`);
    } else {
      rewindSession(store, key, entry === "start" ? null : entry, cwd);
      printLine(cli.stdout, `Session "${key}" ends at ${entry} now.`);
    }
    printLine(cli.stdout, "Files are unchanged: only the conversation was rewound. Nothing was erased.");
    return EXIT_DONE;
  });
}

async function confirmed(cli: Cli, store: SessionStore, key: string): Promise<boolean> {
  const generations = store.list().filter((record) => record.sessionKey === key);
  const size = bytes(generations.reduce((sum, record) => sum + record.bytes, 0));
  const what = `${plural(generations.length, "conversation")} under "${key}" (${size}) and those of its subagents`;
  if (cli.stdin.isTTY !== true)
    throw usageError(`Deleting ${what} needs --yes without a terminal to confirm.`);
  const lines = createInterface({ input: cli.stdin });
  try {
    cli.stderr.write(`This erases ${what} permanently. Type the key to confirm: `);
    // A closed terminal counts as no.
    const [line] = (await Promise.race([once(lines, "line"), once(lines, "close")])) as [string?];
    return line?.trim() === key;
  } finally {
    lines.close();
  }
}

/** `sessions delete`. */
export function deleteSession(cli: Cli, key: string, options: DeleteOptions): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    const store = pagurus.sessions(options.agent);
    // Without a session an earlier deletion may have been interrupted: then there is nothing to confirm any more.
    const isThere = store.find(key) !== undefined;
    if (isThere && options.yes !== true && !(await confirmed(cli, store, key))) {
      printLine(cli.stderr, "Nothing was deleted.");
      return EXIT_FAILED;
    }
    const gone = await pagurus
      .deleteSession({ sessionKey: key, agentId: options.agent ?? "main" })
      .catch((error: unknown) => {
        if (!isThere) existing(store, key);
        throw error;
      });
    const what = plural(gone.sessions, "conversation");
    const done =
      gone.isResumed === true
        ? `The deletion of ${what} had been interrupted, and is finished now.`
        : `Deleted ${what}, ${bytes(gone.bytes)}.`;
    printLine(cli.stdout, done);
    return EXIT_DONE;
  });
}
