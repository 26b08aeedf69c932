/** Texts about native threads and bindings, for every channel. */
import type { BindReport, ListedThread, NativeStatus } from "@pagurus/contract/harness/native";
import { oneLine, table, time } from "./layout.ts";

const PREVIEW_COLUMNS = 60;

export function threadsText(threads: readonly ListedThread[], where: { cwd?: string }): string {
  if (threads.length === 0)
    return where.cwd === undefined
      ? "There are no threads."
      : `There are no threads of ${where.cwd}; --all lists those of other folders.`;
  const all = where.cwd === undefined;
  const head = ["thread", "last used", "session", ...(all ? ["folder"] : []), "began with"];
  const rows = threads.map(({ nativeId, updatedAt, sessionKey, cwd, preview }) => [
    nativeId,
    time(updatedAt),
    sessionKey ?? "-",
    ...(all ? [oneLine(cwd, PREVIEW_COLUMNS)] : []),
    oneLine(preview, PREVIEW_COLUMNS),
  ]);
  return table(head, rows).join("\n");
}

export function bindText({ session, goesOn, told }: BindReport, runtime: string): string {
  const next =
    goesOn === "thread"
      ? `The next turn on ${runtime} continues natively: in the thread, or in a fork of it if it is served elsewhere.`
      : `The next turn continues from the context engine's view of it; the thread is unchanged.`;
  const how = `pagurus ${runtime} resume, or --session ${session.sessionKey}, continues it.`;
  return [...told, `${next} ${how}`].join("\n");
}

export function nativeStatusText(status: NativeStatus): string {
  const { program, problem, runtime, sessionKey, boundTo, adoptedFrom } = status;
  const rows: [string, string][] = program
    ? [
        ["Program", program.program],
        ["Version", program.version],
        ["Login", program.login],
      ]
    : [["Program", problem ?? `the runtime ${runtime} has none of its own`]];
  rows.push(["Session", sessionKey]);
  rows.push(["Thread", boundTo === undefined ? `none: the next turn on ${runtime} begins one` : boundTo]);
  if (adoptedFrom !== undefined) rows.push(["Made from", adoptedFrom]);
  return rows.map(([label, value]) => `${label.padEnd(11)}${value}`).join("\n");
}
