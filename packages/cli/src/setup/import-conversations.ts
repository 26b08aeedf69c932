/** Imports conversations of other agents with a line of progress. */
import { isPagurusError, toPagurusError } from "@pagurus/contract/errors";
import { plural } from "@pagurus/core/data/plain-numbers";
import { oneLine } from "@pagurus/host/command/layout";
import { withPagurus, type Cli } from "../cli.ts";
import type { Conversations } from "./agent-places.ts";
import type { SetupForm } from "./setup-form.ts";
import type { SetupRecord } from "./setup-record.ts";

const BAR = 24;
const MOST_PROBLEMS = 3;

/** `██████░░░░  25 %  11 of 44 · Codex`. */
export function progressLine(done: number, all: number, label: string): string {
  const share = all === 0 ? 1 : done / all;
  const full = Math.round(share * BAR);
  const bar = "█".repeat(full) + "░".repeat(BAR - full);
  return `${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${done} of ${all} · ${label}`;
}

/** Returns lines for people. An interrupt ends the import after the current conversation; what is imported stays. */
export async function importConversations(
  cli: Cli,
  { form, record, chosen }: { form: SetupForm; record: SetupRecord; chosen: readonly Conversations[] },
): Promise<string[]> {
  const files = chosen.flatMap((each) => each.files.map((file) => ({ file, label: each.label })));
  let [taken, known, empty, done] = [0, 0, 0, 0];
  let isStopped = false;
  const problems: string[] = [];
  const release = cli.onInterrupt(() => (isStopped = true));
  try {
    await withPagurus(cli, async (pagurus) => {
      const store = pagurus.sessions();
      const before = new Set(store.list().map(({ sessionId }) => sessionId));
      for (const { file, label } of files) {
        if (isStopped) break;
        form.progress(progressLine(done, files.length, label));
        try {
          const { sessionKey, sessionId, bytes } = await store.import(file);
          taken += 1;
          if (!before.has(sessionId)) record.addImported({ sessionKey, sessionId, bytes });
        } catch (error) {
          if (isPagurusError(error) && error.code === "session_exists") known += 1;
          else if (isPagurusError(error) && error.code === "import_invalid") empty += 1;
          else problems.push(oneLine(toPagurusError(error).message, 300));
        }
        done += 1;
      }
      form.progress(progressLine(done, files.length, isStopped ? "stopped" : "done"));
      form.progress(undefined);
    });
  } finally {
    release();
  }
  const others = [
    ...(known > 0 ? [`${known} here already`] : []),
    ...(empty > 0 ? [`${empty} without a message`] : []),
    ...(problems.length > 0 ? [`${problems.length} not imported`] : []),
    ...(isStopped ? [`${files.length - done} left (pagurus setup continues)`] : []),
  ];
  return [
    `${[`${plural(taken, "conversation")} imported`, ...others].join(", ")}.`,
    ...problems.slice(0, MOST_PROBLEMS).map((problem) => `Not imported: ${problem}`),
  ];
}
