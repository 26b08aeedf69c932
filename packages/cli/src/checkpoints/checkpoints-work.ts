import { realpathSync } from "node:fs";
import { CheckpointStore, type Checkpoint } from "@pagurus/host/checkpoints/checkpoint-store";
import { changeLine, diffLines, leftOutLine, restoreText } from "@pagurus/host/checkpoints/checkpoint-text";
import { finishInterrupted, planRestore, restore } from "@pagurus/host/checkpoints/restore";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { escapedUnseen } from "@pagurus/core/data/plain-text";
import { PagurusError } from "@pagurus/contract/errors";
import { type Cli, printJson, printLine } from "../cli.ts";
import { EXIT_DONE, EXIT_FAILED } from "../cli-failure.ts";
import { workspace } from "../cli-workspace.ts";

export interface CheckpointOptions {
  cwd?: string;
  json?: boolean;
}

export interface TakeCommandOptions extends CheckpointOptions {
  ofTurn?: boolean;
}

export interface RestoreCommandOptions extends CheckpointOptions {
  dryRun?: boolean;
  overwrite?: boolean;
}

const REASONS: Readonly<Record<Checkpoint["kind"], string>> = {
  after: "after a turn",
  restored: "after a restore",
  now: "as it was",
};

/** Runs `work` with the folder's checkpoints; a restore that was interrupted is finished first, and reported. */
async function withStore(
  cli: Cli,
  { cwd }: CheckpointOptions,
  work: (store: CheckpointStore) => number,
): Promise<number> {
  const store = new CheckpointStore(resolveHome(cli.env), realpathSync.native(workspace(cli, cwd)));
  try {
    for (const report of finishInterrupted(store)) {
      printLine(
        cli.stderr,
        `note: a restore of checkpoint ${report.to} was interrupted, and is finished now`,
      );
      printText(cli.stderr, restoreText(report));
    }
    return work(store);
  } finally {
    store.close();
  }
}

function printText(stream: Cli["stdout"], text: string): void {
  for (const line of text.split("\n")) printLine(stream, escapedUnseen(line));
}

/** Throws `usage_invalid`. */
function idOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const message = `"${escapedUnseen(text.slice(0, 80))}" is no number of a checkpoint; \`pagurus checkpoints list\` shows them.`;
  throw new PagurusError("usage_invalid", message);
}

/** `pagurus checkpoints list`. */
export function checkpointsList(cli: Cli, options: CheckpointOptions): Promise<number> {
  return withStore(cli, options, (store) => {
    const checkpoints = store.list();
    if (options.json === true) printJson(cli, checkpoints);
    else if (checkpoints.length === 0) printLine(cli.stdout, `There is no checkpoint of ${store.root}.`);
    else for (const checkpoint of checkpoints) printLine(cli.stdout, rowOf(checkpoint));
    return EXIT_DONE;
  });
}

function rowOf({ id, at, kind, changed }: Checkpoint): string {
  return `${String(id).padStart(5)}  ${at}  ${REASONS[kind].padEnd(15)}  ${changed} changed`;
}

/** `pagurus checkpoints take`. */
export function checkpointsTake(cli: Cli, options: TakeCommandOptions): Promise<number> {
  return withStore(cli, options, (store) => {
    const taken = store.take({ kind: options.ofTurn === true ? "after" : "now" });
    if (options.json === true) printJson(cli, taken);
    else printLine(cli.stdout, `Checkpoint ${taken.id}: ${taken.changed} changed.`);
    return EXIT_DONE;
  });
}

/** `pagurus checkpoints show <id>`. */
export function checkpointsShow(cli: Cli, text: string, options: CheckpointOptions): Promise<number> {
  return withStore(cli, options, (store) => {
    const checkpoint = store.find(idOf(text));
    const lines = store.changes(checkpoint.id - 1, checkpoint.id).map(changeLine);
    const leftOut = store.leftOutAt(checkpoint.id).map(leftOutLine);
    if (options.json === true) {
      printJson(cli, { ...checkpoint, changes: lines, leftOut });
      return EXIT_DONE;
    }
    printLine(cli.stdout, rowOf(checkpoint).trim());
    printText(cli.stdout, lines.join("\n"));
    if (leftOut.length > 0) printText(cli.stdout, `Left out: ${leftOut.join(", ")}`);
    return EXIT_DONE;
  });
}

/** `pagurus checkpoints diff <id> [other]`. */
export function checkpointsDiff(
  cli: Cli,
  [text, other]: readonly [string, string | undefined],
  options: CheckpointOptions,
): Promise<number> {
  return withStore(cli, options, (store) => {
    const from = store.find(idOf(text)).id;
    const to = other === undefined ? store.take({ kind: "now" }).id : store.find(idOf(other)).id;
    const changes = store.changes(from, to);
    if (options.json === true) printJson(cli, { from, to, changes: changes.map(changeLine) });
    else for (const change of changes) printText(cli.stdout, diffLines(store, change).join("\n"));
    return EXIT_DONE;
  });
}

/** `pagurus checkpoints restore <id>`. Exit code 1 when a path was kept as it is. */
export function checkpointsRestore(cli: Cli, text: string, options: RestoreCommandOptions): Promise<number> {
  return withStore(cli, options, (store) => {
    const plan = planRestore(store, idOf(text), { overwrite: options.overwrite === true });
    if (options.dryRun === true) {
      const changes = plan.changes.map(changeLine);
      if (options.json === true) printJson(cli, { ...plan, changes });
      else {
        printText(cli.stdout, changes.length === 0 ? "Nothing would change." : changes.join("\n"));
        for (const { path, why } of plan.kept) printText(cli.stdout, `kept as it is: ${path}: ${why}`);
      }
      return EXIT_DONE;
    }
    const report = restore(store, plan);
    if (options.json === true) printJson(cli, report);
    else printText(cli.stdout, restoreText(report));
    return report.kept.length === 0 ? EXIT_DONE : EXIT_FAILED;
  });
}
