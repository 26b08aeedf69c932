/** Validation of what an engine returns. Each check returns the problem as text, or undefined. */
import type { AssembleResult } from "@pagurus/contract/engine/engine-params";
import type { CompactResult } from "@pagurus/contract/engine/engine-compaction";
import { isObjectOrList } from "@pagurus/core/data/record-fields";

function messageProblem(message: unknown): string | undefined {
  if (!isObjectOrList(message)) return "a message is not an object";
  const { role, content } = message;
  if (role === "user") {
    if (typeof content === "string" || isPartList(content, ["text", "image"])) return undefined;
    return "a user message has no text or parts";
  }
  if (role === "assistant") {
    return isPartList(content, ["text", "thinking", "toolCall"])
      ? undefined
      : "an assistant message has no parts";
  }
  if (role === "toolResult") {
    if (typeof message["toolCallId"] !== "string") return "a tool result names no call";
    return isPartList(content, ["text", "image"]) ? undefined : "a tool result has no parts";
  }
  return "a message has an unknown role";
}

function isPartList(content: unknown, types: readonly string[]): boolean {
  return (
    Array.isArray(content) &&
    content.every(
      (part: unknown) => isObjectOrList(part) && types.includes(part["type"] as string) && partIsWhole(part),
    )
  );
}

function partIsWhole(part: Record<string, unknown>): boolean {
  switch (part["type"]) {
    case "text":
      return typeof part["text"] === "string";
    case "thinking":
      return typeof part["thinking"] === "string";
    case "toolCall":
      return (
        typeof part["id"] === "string" &&
        typeof part["name"] === "string" &&
        isObjectOrList(part["arguments"])
      );
    default:
      return typeof part["data"] === "string" && typeof part["mimeType"] === "string";
  }
}

function isOneOf(value: unknown, allowed: readonly unknown[]): boolean {
  return allowed.includes(value);
}

export function checkAssembleResult(result: AssembleResult): string | undefined {
  if (!isObjectOrList(result)) return "assemble() returned no object";
  if (!Array.isArray(result.messages)) return "assemble() returned no messages";
  for (const message of result.messages as readonly unknown[]) {
    const problem = messageProblem(message);
    if (problem !== undefined) return problem;
  }
  if (!isCount(result.estimatedTokens)) return "estimatedTokens is not a count";
  const addition: unknown = result.systemPromptAddition;
  if (addition !== undefined && addition !== null && typeof addition !== "string")
    return "systemPromptAddition is not text";
  if (!isOneOf(result.wantsCompaction, [undefined, null, true, false]))
    return "wantsCompaction is neither true nor false";
  const { contextProjection: projection } = result;
  if (projection === undefined || projection === null) return undefined;
  if (projection.mode !== "thread_bootstrap" && projection.mode !== "per_turn")
    return "contextProjection names no known mode";
  return undefined;
}

export function checkCompactResult(result: CompactResult): string | undefined {
  if (!isObjectOrList(result)) return "compact() returned no object";
  if (typeof result.ok !== "boolean" || typeof result.compacted !== "boolean")
    return "compact() says neither ok nor compacted";
  if (!isText(result.reason)) return "the reason of compact() is no text";
  if (!isText(result.sessionId) || !isText(result.sessionFile)) return "compact() names no proper successor";
  const inner: unknown = result.result;
  if (inner === undefined || inner === null) return undefined;
  if (!isObjectOrList(inner)) return "compact() has a result that is no object";
  const target: unknown = inner["sessionTarget"] ?? {};
  if (
    !isText(inner["sessionId"]) ||
    !isText(inner["sessionFile"]) ||
    !isObjectOrList(target) ||
    !isText(target["sessionId"])
  )
    return "compact() names no proper successor";
  if (!isCount(inner["tokensBefore"]) || !isCount(inner["tokensAfter"])) {
    return "tokensBefore or tokensAfter of compact() is not a count";
  }
  const { summary } = inner;
  if (summary === undefined) return undefined;
  if (typeof summary !== "string" || summary.trim() === "") return "compact() returned an empty summary";
  if (!isText(inner["firstKeptEntryId"])) return "the first kept entry of compact() is no id";
  return typeof inner["tokensBefore"] === "number" ? undefined : "compact() gave no count of tokensBefore";
}

function isText(value: unknown): boolean {
  return value === undefined || value === null || typeof value === "string";
}

function isCount(value: unknown): boolean {
  return (
    value === undefined || value === null || (typeof value === "number" && value >= 0 && value < Infinity)
  );
}
