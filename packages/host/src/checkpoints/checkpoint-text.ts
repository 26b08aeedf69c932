/** Changes and restores of files as lines for a person. Names and contents are another's text: escape them for a terminal. */
import { forPerson } from "../tool/changes/manifest.ts";
import type { CheckpointStore, PathChange } from "./checkpoint-store.ts";
import type { LeftOut } from "./tree-entry.ts";
import type { RestoreReport } from "./restore.ts";

const MOST_LINES = 200;

/** For example `A src/new.ts`, `M README.md`, `D old.txt`. */
export function changeLine({ path, from, to }: PathChange): string {
  const sign = !from ? "A" : !to ? "D" : "M";
  const folder = (to ?? from)?.type === "folder" ? "/" : "";
  const mode =
    from && to && from.hash === to.hash && from.target === to.target && from.mode !== to.mode
      ? ` (mode ${from.mode.toString(8)} → ${to.mode.toString(8)})`
      : "";
  return `${sign} ${forPerson(path)}${folder}${mode}`;
}

/** The line of the change, and its changed lines where both contents are texts. */
export function diffLines(store: CheckpointStore, change: PathChange): string[] {
  const texts = [change.from, change.to].map((entry) =>
    entry?.type === "file" ? textOf(store.bytes(entry.hash)) : entry?.type === "link" ? entry.target : "",
  );
  const [before, after] = texts;
  if (before === undefined || after === undefined) return [changeLine(change), "  (binary)"];
  return [changeLine(change), ...changedLines(before, after)];
}

/** Undefined for bytes that are no text. */
function textOf(bytes: Buffer): string | undefined {
  const text = bytes.toString("utf8");
  return text.includes("\0") || text.includes("\uFFFD") ? undefined : text;
}

/** The lines between the common beginning and the common end of two texts. */
function changedLines(before: string, after: string): string[] {
  if (before === after) return [];
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < Math.min(old.length, fresh.length) && old[start] === fresh[start]) start += 1;
  let end = 0;
  const most = Math.min(old.length, fresh.length) - start;
  while (end < most && old.at(-1 - end) === fresh.at(-1 - end)) end += 1;
  const lines = [
    `@@ line ${start + 1} @@`,
    ...old.slice(start, old.length - end).map((line) => `-${line}`),
    ...fresh.slice(start, fresh.length - end).map((line) => `+${line}`),
  ];
  const more = lines.length - MOST_LINES;
  return more > 0 ? [...lines.slice(0, MOST_LINES), `… and ${more} more lines`] : lines;
}

/** For example `node_modules (dependencies)`. */
export function leftOutLine({ path, why }: LeftOut): string {
  return `${forPerson(path)} (${why})`;
}

const MOST_NAMED = 10;

/** Sentences about a restore that has ended. */
export function restoreText({ restored, kept, from }: RestoreReport): string {
  const lines = [
    restored.length === 0
      ? "No file had to be restored."
      : `Restored ${restored.length} ${restored.length === 1 ? "path" : "paths"}; \`pagurus checkpoints restore ${from}\` takes it back.`,
    ...kept.slice(0, MOST_NAMED).map(({ path, why }) => `Kept as it is: ${path}: ${why}.`),
  ];
  if (kept.length > MOST_NAMED) lines.push(`Kept as they are: ${kept.length - MOST_NAMED} more.`);
  return lines.join("\n");
}
