/** A compaction that writes a successor: the newest closed turn, then a summary of what came before it. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type {
  CompactParams,
  CompactResult,
} from "../../../packages/contract/src/engine/engine-compaction.ts";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";

export const ROTATED_SUMMARY = "The successor starts with this.";

export interface Successor {
  sessionId: string;
  sessionFile: string;
}

/** How a result names its successor. */
export type Naming = (
  successor: Successor,
  params: CompactParams,
) => Pick<CompactResult, "sessionId" | "sessionFile"> & {
  result?: Partial<NonNullable<CompactResult["result"]>>;
};
export const inResult: Naming = (successor) => ({ result: successor });

/** Writes successors `<name>-1`, `<name>-2`, … into a folder of the engine's own. */
export function rotator(
  folder: string,
  naming: Naming = inResult,
): (params: CompactParams) => Promise<CompactResult> {
  let made = 0;
  return async (params) => {
    made += 1;
    const sessionId = `successor-${made}`;
    const sessionFile = join(folder, `${sessionId}.jsonl`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(sessionFile, await successorLines(params, sessionId));
    const { result, ...beside } = naming({ sessionId, sessionFile }, params);
    const tokensBefore = params.currentTokenCount ?? 0;
    return { ok: true, compacted: true, ...beside, result: { tokensBefore, tokensAfter: 100, ...result } };
  };
}

async function successorLines({ runtimeContext }: CompactParams, id: string): Promise<string> {
  assert.ok(runtimeContext);
  const closed: TranscriptEntry[] = [];
  for await (const entry of runtimeContext.transcript.forward())
    if (entry.turnId !== runtimeContext.turnId && entry.type !== "compaction") closed.push(entry);
  const start = closed.findLastIndex((entry) => entry.type === "message" && entry.message.role === "user");
  const kept = closed
    .slice(start)
    .map((entry, index, all) => ({ ...entry, parentId: index === 0 ? null : (all[index - 1]?.id ?? null) }));
  const last = kept.at(-1);
  assert.ok(last);
  const { timestamp } = last;
  const header = { type: "session", version: 3, id, timestamp, cwd: runtimeContext.cwd };
  const compaction = {
    type: "compaction",
    id: `${last.id}c`,
    parentId: last.id,
    timestamp,
    summary: ROTATED_SUMMARY,
    firstKeptEntryId: kept[0]?.id,
    tokensBefore: 10_000,
    origin: "engine",
  };
  return `${[header, ...kept, compaction].map((line) => JSON.stringify(line)).join("\n")}\n`;
}
