/** What programs did to their files, in sentences for people. */
import { plural } from "@pagurus/core/data/plain-numbers";
import { bytes } from "@pagurus/host/command/layout";
import type { EventRow } from "./archive/archive.ts";
import { PROGRAMS } from "./programs/all-programs.ts";
import type { Drift } from "./words/drift.ts";

const WORDS: Readonly<Record<string, string>> = {
  removed: "removed",
  truncated: "shortened",
  rewritten: "rewrote",
};

export function programLabel(id: string): string {
  return PROGRAMS.find((program) => program.id === id)?.label ?? id;
}

/** One sentence for each program and kind of loss, for example "Claude Code removed 12 files (3.4 MB); they are kept here." */
export function lossSentences(events: readonly EventRow[]): string[] {
  const losses = events.filter(({ kind }) => kind in WORDS);
  const groups = Map.groupBy(losses, ({ agent, kind }) => `${agent} ${kind}`);
  return [...groups.values()].map((group) => {
    const { agent = "", kind = "", path = "" } = group[0] ?? {};
    const size = bytes(group.reduce((sum, event) => sum + event.bytes, 0));
    const what = group.length === 1 ? path : plural(group.length, "file");
    return `${programLabel(agent)} ${WORDS[kind]} ${what}: ${size} are no longer there, and are kept here.`;
  });
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

export function driftSentence({ agent, version, lines, unread, before }: Drift): string {
  const former = before === undefined ? "" : `, ${percent(before)} in versions before`;
  return `${programLabel(agent)} ${version} writes what this version of Pagurus does not understand: ${unread} of ${lines} lines (${percent(unread / lines)}${former}). They are kept and found by their words; a newer Pagurus reads them.`;
}
