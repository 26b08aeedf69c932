/**
 * Structural pruning, at an epoch change only: results that a later one has made obsolete, and the text of a file that
 * was rewritten later, become a line that names the entry for recall. No model decides.
 */
import { callsOf, textOf } from "@pagurus/core/compaction/message-text";
import { pathOf } from "@pagurus/core/compaction/summary/calls";
import type { ToolCallPart } from "@pagurus/contract/message";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { callKey, type Stub } from "../epoch.ts";
import { sentTokens, type Item } from "../session-in-memory.ts";

/** Minimum size of a pruned result; a shorter one costs no more than the line that replaces it. Tokens. */
const WORTH = 120;

interface Result {
  item: Item;
  /** Message of the call. */
  calledIn: Item;
  call: ToolCallPart;
  path: string | undefined;
  reads: boolean;
  changes: boolean;
  failed: boolean;
  text: string;
}

function resultsOf(items: readonly Item[]): Result[] {
  const calls = new Map<string, { call: ToolCallPart; calledIn: Item }>();
  const results: Result[] = [];
  for (const item of items) {
    const { message } = item;
    if (message.role === "assistant")
      for (const call of callsOf(message)) calls.set(call.id, { call, calledIn: item });
    if (message.role !== "toolResult") continue;
    const known = calls.get(message.toolCallId);
    if (!known) continue;
    const { call, calledIn } = known;
    const name = call.name.toLowerCase();
    results.push({
      item,
      calledIn,
      call,
      path: pathOf(call),
      reads: /^read|^view|^cat$/.test(name),
      changes: /write|create/.test(name),
      failed: message.isError,
      text: textOf(message),
    });
  }
  return results;
}

function keyOf({ call }: Result): string {
  return `${call.name}\n${JSON.stringify(call.arguments)}`;
}

/** Why a result is obsolete; undefined when it is not. */
function reasonOf(result: Result, later: readonly Result[]): { why: string; by: string } | undefined {
  const { path, reads, failed, text } = result;
  const key = keyOf(result);
  const again = later.find((other) => keyOf(other) === key);
  const because = (why: string, other: Result): { why: string; by: string } => ({
    why,
    by: other.item.entryId,
  });
  if (again?.text === text) return because("the same call gave the same result again later", again);
  if (failed && again && !again.failed) return because("the error did not come again later", again);
  if (!reads || path === undefined) return undefined;
  const of = later.filter((other) => other.path === path && !other.failed);
  if (again && !again.failed && of.includes(again)) return because("the file was read again later", again);
  const write = of.find(({ changes }) => changes);
  return write && because("the file was written anew later", write);
}

/** Stub for the text of a file that was written completely, and completely again later. */
function rewritten(result: Result, later: readonly Result[]): Stub | undefined {
  const { path, changes, failed, call, calledIn } = result;
  if (!changes || failed || path === undefined) return undefined;
  if (estimateTokens(JSON.stringify(call.arguments)) < WORTH) return undefined;
  const again = later.find((other) => other.changes && other.path === path && !other.failed);
  if (!again) return undefined;
  const text = `[Left out: the file was written anew later. The whole call is entry ${calledIn.entryId}.]`;
  return { text, by: again.item.entryId };
}

/** Stubs for obsolete results of `items` by entry id, and for calls by `callKey`. `keep`: ids that stay unchanged. */
export function stubsOf(items: readonly Item[], keep: ReadonlySet<string>): Record<string, Stub> {
  const results = resultsOf(items);
  const stubs: Record<string, Stub> = {};
  for (const [index, result] of results.entries()) {
    const { entryId, message } = result.item;
    const written = keep.has(result.calledIn.entryId)
      ? undefined
      : rewritten(result, results.slice(index + 1));
    if (written) stubs[callKey(result.calledIn.entryId, result.call.id)] = written;
    const hasImage = message.role === "toolResult" && message.content.some(({ type }) => type !== "text");
    if (keep.has(entryId) || hasImage || sentTokens(message) < WORTH) continue;
    const reason = reasonOf(result, results.slice(index + 1));
    if (!reason) continue;
    const text = `[Left out: ${reason.why}. The whole result is entry ${entryId}.]`;
    stubs[entryId] = { text, by: reason.by };
  }
  return stubs;
}
