/** Texts and assertions for the tests of forced compactions. */
import { turnMetadata } from "../codex/turn-metadata.ts";
import assert from "node:assert/strict";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { RecordedRequest } from "../../servers/server.ts";
import { conversation as claudeLines } from "../claude/claude-bench.ts";
import { conversation as codexLines } from "../codex/codex-bench.ts";
import type { Asked } from "./compactions-engine.ts";
import { linesOf } from "./spy.ts";

/** The model's answer to a compaction request. */
export const MODEL_SUMMARY = "The model says what was.";

/** What the harness keeps of a conversation, in its own format. */
const LEFT = /^user: (?:This session is being continued|Another language model started to solve)/;
const LEFT_TEXT =
  /^(?:user: <(?:system-reminder|local-command|command-)|system: |assistant (?:redacted_)?thinking$)/;

export function isCodexCompaction(request: RecordedRequest): boolean {
  return (
    turnMetadata(request).includes('"request_kind":"compaction"') ||
    request.text.includes("CONTEXT CHECKPOINT COMPACTION")
  );
}

export function isClaudeCompaction({ text }: RecordedRequest): boolean {
  return text.includes("CRITICAL: Respond with TEXT ONLY");
}

/** First line of a result alone, without surrounding text. */
function short(line: string): string {
  return line.replace(/^(result \S+)[^]*$/, "$1");
}

export function codexShows(request: RecordedRequest | undefined): string[] {
  assert.ok(request);
  return paired(codexLines(request).map(short));
}

export function claudeShows(request: RecordedRequest | undefined): string[] {
  assert.ok(request);
  return paired(
    claudeLines(request)
      .filter((line) => !LEFT_TEXT.test(line))
      .map(short),
  );
}

/** Without what the harness kept of its own conversation. */
export function withoutLeft(lines: readonly string[]): string[] {
  return lines.filter((line) => !LEFT.test(line));
}

/** Results of parallel calls come in any order. */
function inOrder(lines: readonly string[]): string[] {
  const isResult = (line: string | undefined): boolean => line?.startsWith("result ") === true;
  const ordered: string[] = [];
  for (let at = 0; at < lines.length;) {
    let end = at + 1;
    if (isResult(lines[at])) while (isResult(lines[end])) end += 1;
    ordered.push(...lines.slice(at, end).toSorted());
    at = end;
  }
  return ordered;
}

/** Each result follows its call, each call has one before the next user message, and none has two. */
function paired(lines: string[]): string[] {
  const open = new Set<string>();
  for (const line of lines) {
    const [what, second = "", third = ""] = line.split(" ");
    if (what === "call") open.add(third);
    else if (what === "result") assert.ok(open.delete(second), `no call of ${second}: ${lines.join("; ")}`);
    else assert.equal(open.size, 0, `no result of ${[...open].join()}: ${lines.join("; ")}`);
  }
  assert.equal(open.size, 0, `no result of ${[...open].join()}: ${lines.join("; ")}`);
  return inOrder(lines);
}

/** The session, a line for each message. */
export function sessionLines(messages: readonly AgentMessage[]): string[] {
  return inOrder(linesOf(messages).map(short));
}

/** The engine's view of a compaction request. */
export function requestOf({ messages, trigger, backend, customInstructions }: Asked): unknown[] {
  return [trigger, backend, customInstructions, messages.map(({ role }) => role).join(" ")];
}

/** Asserts that nothing after all that is dropped stays: its newest entry is the reported one. */
export function assertAllDropped({ messages, firstKeptEntryId }: Asked): void {
  assert.equal(firstKeptEntryId, messages.at(-1)?.entryId);
}
