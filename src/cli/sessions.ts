import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import type { SessionStore } from "../contract/store.ts";
import { bytes, oneLine, plural } from "../command/layout.ts";
import { rewindSession, undoLastTurn } from "../command/rewind.ts";
import { type Cli, printLine, withPagurus, written } from "./cli.ts";
import { EXIT_DONE, EXIT_FAILED, usageError } from "./failure.ts";
import { writeNewFile } from "./new-file.ts";
import { existing, noteUnreadable } from "./sessions-show.ts";

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
    if (options.output === undefined) for await (const chunk of chunks) await written(cli.stdout, chunk);
    else {
      const size = await writeNewFile(cli.cwd, options.output, chunks);
      printLine(cli.stderr, `Wrote ${bytes(size)} to ${options.output}.`);
    }
    noteUnreadable(cli, store, key);
    return EXIT_DONE;
  });
}

/** `sessions import`. */
export function importSession(cli: Cli, file: string, options: ImportOptions): Promise<number> {
  return withPagurus(cli, async (pagurus) => {
    let told = false;
    const request = {
      ...(options.session === undefined ? {} : { sessionKey: options.session }),
      ...(options.format === undefined ? {} : { format: options.format }),
      tell: (sentence: string) => {
        told = true;
        printLine(cli.stdout, sentence);
      },
    };
    const record = await pagurus.sessions(options.agent).import(resolve(cli.cwd, file), request);
    if (!told) {
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
    const record = store.fork(key, newKey, options.entry === undefined ? {} : { entryId: options.entry });
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
    printLine(cli.stdout, "Files are as they are: only the conversation went back. Nothing was erased.");
    return EXIT_DONE;
  });
}

async function confirmed(cli: Cli, store: SessionStore, key: string): Promise<boolean> {
  const generations = store.list().filter((record) => record.sessionKey === key);
  const size = bytes(generations.reduce((sum, record) => sum + record.bytes, 0));
  const what = `${plural(generations.length, "conversation")} under "${key}" (${size}) and those of its subagents`;
  if (cli.stdin.isTTY !== true) throw usageError(`Deleting ${what} needs --yes where nobody can be asked.`);
  const lines = createInterface({ input: cli.stdin });
  try {
    cli.stderr.write(`This erases ${what} for good. Type the key to confirm: `);
    // A closed terminal answers nothing, which is a no.
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
    existing(store, key);
    if (options.yes !== true && !(await confirmed(cli, store, key))) {
      printLine(cli.stderr, "Nothing was deleted.");
      return EXIT_FAILED;
    }
    const gone = await pagurus.deleteSession({ sessionKey: key, agentId: options.agent ?? "main" });
    printLine(cli.stdout, `Deleted ${plural(gone.sessions, "conversation")}, ${bytes(gone.bytes)}.`);
    return EXIT_DONE;
  });
}
