/** `keep`, `keep once`, `keep status`. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { SYSTEM_CLOCK } from "@pagurus/core/data/clock";
import { attempt } from "@pagurus/core/data/attempt";
import { errorText } from "@pagurus/core/data/error-text";
import { plural } from "@pagurus/core/data/plain-numbers";
import { shellWord } from "@pagurus/core/platform/shell-word";
import { bytes, table, terminalSafe } from "@pagurus/host/command/layout";
import { Archive, type FileRow } from "@pagurus/keeper/archive/archive";
import { KeepWatch } from "@pagurus/keeper/keep-watch";
import { Keeper, type PassProgress } from "@pagurus/keeper/keeper";
import { keeperPlace, lockKeeper, runningKeeper } from "@pagurus/keeper/keeper-place";
import { ignoreFileOf } from "@pagurus/keeper/watch/left-out";
import { driftOf, versionLines } from "@pagurus/keeper/words/drift";
import { KeptWords } from "@pagurus/keeper/words/kept-words";
import { driftSentence, lossSentences, programLabel } from "@pagurus/keeper/loss-words";
import { printJson, printLine, type Cli } from "../cli.ts";
import { EXIT_DONE, usageError } from "../cli-failure.ts";
import { progressLine } from "../setup/import-conversations.ts";

export interface KeepOptions {
  json?: boolean;
}

/** Most sentences of losses that the status shows. */
const SHOWN_LOSSES = 10;
const BACK = "\r\u001b[K";

/** Runs the work with the keeper of the home; `before` runs when it has the lock and is not open yet. Throws `session_locked` where another process keeps. */
export async function withKeeper<T>(
  cli: Cli,
  work: (keeper: Keeper) => Promise<T>,
  before?: () => void,
): Promise<T> {
  const home = resolveHome(cli.env);
  const lock = lockKeeper(home);
  try {
    before?.();
    const keeper = Keeper.open({
      place: keeperPlace(home),
      env: cli.env,
      clock: SYSTEM_CLOCK,
      onProblem: (path, error) => printLine(cli.stderr, `Not read: ${path} (${errorText(error)}).`),
    });
    try {
      return await work(keeper);
    } finally {
      keeper.close();
    }
  } finally {
    lock.release();
  }
}

/** A line that replaces itself on a terminal, and nothing elsewhere. */
function progressOf(cli: Cli): { show: (at: PassProgress) => void; end: () => void } {
  if (cli.stderr.isTTY !== true) return { show: () => undefined, end: () => undefined };
  let shown = -1;
  return {
    show: ({ files, of, bytes: added }) => {
      const share = Math.floor((files / of) * 100);
      if (share === shown && files !== of) return;
      shown = share;
      cli.stderr.write(BACK + progressLine(files, of, bytes(added)));
    },
    end: () => cli.stderr.write(BACK),
  };
}

/** `keep`: until an interrupt. */
export function keepOn(cli: Cli, { withInput }: { withInput?: boolean }): Promise<number> {
  return withKeeper(cli, async (keeper) => {
    const progress = progressOf(cli);
    const watch = new KeepWatch(keeper, {
      progress: progress.show,
      ready: () => {
        progress.end();
        const files = keeper.archive.files().length;
        printLine(cli.stderr, `${plural(files, "file")} kept; watching. Ctrl+C ends.`);
      },
      kept: ({ events }) => {
        for (const sentence of lossSentences(events)) printLine(cli.stdout, sentence);
      },
    });
    const release = cli.onInterrupt(() => watch.stop());
    if (withInput === true) cli.stdin.on("end", () => watch.stop()).resume();
    try {
      await watch.run();
    } finally {
      release();
    }
    return EXIT_DONE;
  });
}

/** `keep once`. */
export function keepOnce(cli: Cli, options: KeepOptions): Promise<number> {
  return withKeeper(cli, async (keeper) => {
    const progress = progressOf(cli);
    const { files, added, events } = await keeper.pass(progress.show);
    progress.end();
    if (options.json === true) {
      printJson(cli, { files, added, events });
      return EXIT_DONE;
    }
    printLine(cli.stdout, `${plural(files, "file")} looked at, ${bytes(added)} new.`);
    for (const sentence of lossSentences(events)) printLine(cli.stdout, sentence);
    return EXIT_DONE;
  });
}

/** The archive for reading. Throws `usage_invalid` where nothing was kept yet. */
export function lookAtArchive(cli: Cli): Archive {
  const { folder } = keeperPlace(resolveHome(cli.env));
  if (!existsSync(join(folder, "index.db")))
    throw usageError("Nothing is kept yet; pagurus keep once keeps what the agents have now.");
  return Archive.look(folder);
}

/** The version of a kept file, the newest by default. Throws `usage_invalid` for one that is not kept. */
export function keptVersion(archive: Archive, file: FileRow, version = file.version): number {
  const versions = archive.versions(file.id);
  if (versions.some((each) => each.version === version)) return version;
  throw usageError(`The kept file has the versions 1 to ${versions.length}, and no version ${version}.`);
}

/** `keep status`. */
export function keepStatus(cli: Cli, options: KeepOptions): Promise<number> {
  const archive = lookAtArchive(cli);
  try {
    const running = runningKeeper(resolveHome(cli.env));
    const agents = [...Map.groupBy(archive.files(), ({ agent }) => agent)].map(([agent, files]) => ({
      agent,
      files: files.length,
      gone: files.filter(({ state }) => state === "gone").length,
      bytes: files.reduce((sum, { size }) => sum + size, 0),
    }));
    const events = archive.events();
    const { folder } = keeperPlace(resolveHome(cli.env));
    const drift = driftOf(versionLines(folder));
    const leftOut = leftOutFolders(folder, cli);
    if (options.json === true) {
      printJson(cli, {
        running: running ?? null,
        storedBytes: archive.storedBytes,
        agents,
        events,
        drift,
        leftOut,
      });
      return Promise.resolve(EXIT_DONE);
    }
    const rows = agents.map(({ agent, files, gone, bytes: size }) => [
      programLabel(agent),
      String(files),
      String(gone),
      bytes(size),
    ]);
    for (const line of table(["program", "files", "gone there", "bytes"], rows, [1, 2, 3]))
      printLine(cli.stdout, line);
    printLine(cli.stdout, `The archive has ${bytes(archive.storedBytes)}.`);
    const watching = running
      ? `Process ${running.pid} keeps since ${running.since}.`
      : "No process keeps now.";
    printLine(cli.stdout, watching);
    for (const each of drift) printLine(cli.stdout, driftSentence(each));
    for (const { folder: left, conversations, by } of leftOut)
      printLine(
        cli.stdout,
        terminalSafe(
          `${by} leaves out ${left}, of which ${plural(conversations, "earlier conversation")} ${conversations === 1 ? "is" : "are"} kept; pagurus keep forget --folder ${shellWord(left)} lists ${conversations === 1 ? "it" : "them"}.`,
        ),
      );
    for (const sentence of lossSentences(events).slice(0, SHOWN_LOSSES)) printLine(cli.stdout, sentence);
    return Promise.resolve(EXIT_DONE);
  } finally {
    archive.close();
  }
}

/** Folders that are left out now and have conversations from before. */
function leftOutFolders(archive: string, cli: Cli): { folder: string; conversations: number; by: string }[] {
  if (!existsSync(join(archive, "words.db"))) return [];
  // Written by another version of Pagurus: it is made again by the next look.
  const words = attempt(() => new KeptWords(archive, cli.env));
  if (!words) return [];
  try {
    return words.folders().flatMap(({ folder, conversations }) => {
      const by = ignoreFileOf(folder);
      return by === undefined ? [] : [{ folder, conversations, by }];
    });
  } finally {
    words.close();
  }
}
