/** Parses the structure of a Messages request body, and classifies the request. */
import { createHash } from "node:crypto";
import {
  countOf,
  type Fields,
  parseRecord,
  recordOf,
  recordsOf,
  stringOf,
} from "@pagurus/core/data/record-fields";
import { blocksOf } from "@pagurus/core/protocols/messages/messages-blocks";
import { JsonScanError, objectMembers, readable, wholeValue, type Span } from "../../json/scan.ts";
import type { RequestKind, WireHeaders, WireRequest } from "../wire-dialect.ts";
import { blockText } from "./messages-decode.ts";
import { memberOf } from "./messages-fields.ts";
import { itemsOf, type MessagesItem } from "./messages-items.ts";
import { nativeCompaction } from "./messages-compaction.ts";
import { asksForSuggestion, asksForTitle, compactionAsked } from "./messages-marks.ts";
import { defined } from "@pagurus/core/data/defined";

/** The most cache marks that the API accepts in one request. */
const MOST_MARKS = 4;
const DEEPEST_BLOCK = 8;
const MARK = '"cache_control"';
const OTHER_PATH = "its path is none that asks for an answer";
const BILLING = "x-anthropic-billing-header:";
const MESSAGES_ROLES = new Set(["user", "assistant", "system"]);

/** Input for the classification of a request. */
interface Shape {
  path: string;
  headers: WireHeaders;
  body: Buffer;
  members: ReadonlyMap<string, Span>;
  items: readonly MessagesItem[];
  system: readonly Fields[];
  isClaudeCode: boolean;
}

function headerText(headers: WireHeaders, name: string): string {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? "";
}

function isMarked(block: Fields): boolean {
  return recordOf(block["cache_control"])["type"] !== undefined;
}

/** The text at the end of a request, if it is a block of its own without a cache mark. */
function closingWords({ items }: Shape): string {
  const last = items.at(-1);
  const block = last?.role === "user" ? last.blocks.at(-1) : undefined;
  return block && !isMarked(block) ? (blockText(block) ?? "") : "";
}

/**
 * Claude Code sets its last cache mark at the end of the conversation, and appends its own questions after it: if there are marks
 * and the last element has none, the request is no turn of the conversation, whatever its text.
 */
function isAside({ items, system }: Shape): boolean {
  const isMarkedElsewhere = system.some(isMarked) || (items.at(-2)?.blocks.some(isMarked) ?? false);
  return isMarkedElsewhere && items.at(-1)?.blocks.some(isMarked) !== true;
}

/** A request of a program, outside the conversation: without tools, and with a required output format. */
function isForm({ body, members }: Shape): boolean {
  const tools = memberOf(body, members, "tools");
  const output = recordOf(memberOf(body, members, "output_config"));
  const hasForm = recordOf(output["format"])["type"] !== undefined;
  return hasForm && (!Array.isArray(tools) || tools.length === 0);
}

/** Why a request is no turn, as a clause; undefined for a turn. Rules for Claude Code's own requests apply to no other client. */
function notTurn(shape: Shape): string | undefined {
  const { items, isClaudeCode } = shape;
  const odd = items.find(({ role }) => !MESSAGES_ROLES.has(role));
  if (odd) return `it has a message of the unknown role "${odd.role}"`;
  if (!items.some(({ role }) => role === "user")) return "it has no message of a user";
  if (!isClaudeCode) return undefined;
  if (items.at(-1)?.role === "assistant") return "it begins an answer of the model";
  if (isAside(shape)) return "its last message has no cache mark, as that of a turn has";
  return isForm(shape) ? "it asks for a format and offers no tools" : undefined;
}

function isTurn(shape: Shape): boolean {
  return notTurn(shape) === undefined;
}

/** A request of Claude Code for a single token only checks the key. */
function checksKey({ body, members, isClaudeCode }: Shape): boolean {
  return isClaudeCode && (countOf(memberOf(body, members, "max_tokens")) ?? 0) <= 1;
}

/** By its headers, or by the line that it puts before its rules for its provider's billing. */
function isOfClaudeCode(headers: WireHeaders, system: readonly Fields[]): boolean {
  if (headerText(headers, "x-claude-code-session-id") !== "") return true;
  if (headerText(headers, "user-agent").startsWith("claude-cli/")) return true;
  return (blockText(system[0]) ?? "").startsWith(BILLING);
}

function isOfSubagent({ headers, system }: Shape): boolean {
  if (headerText(headers, "x-claude-code-agent-id") !== "") return true;
  const billing = blockText(system[0]) ?? "";
  return billing.startsWith(BILLING) && /; cc_is_subagent=true;/.test(billing);
}

function isSide(shape: Shape): boolean {
  const tools = memberOf(shape.body, shape.members, "tools");
  const hasNoTools = !Array.isArray(tools) || tools.length === 0;
  if (hasNoTools && asksForTitle(blockText(shape.system.at(-1)) ?? "")) return true;
  return asksForSuggestion(closingWords(shape));
}

function kindOf(shape: Shape, native: WireRequest["compaction"]): RequestKind {
  const path = shape.path.split("?")[0];
  if (path === "/messages/count_tokens") return "count";
  if (path !== "/messages") return "unknown";
  if (isOfSubagent(shape)) return "subagent";
  if (shape.isClaudeCode && compactionAsked(closingWords(shape))) return "compaction";
  if (native && native.otherwise === undefined) return "compaction";
  if (shape.isClaudeCode && (isSide(shape) || checksKey(shape))) return "side";
  if (native && isTurn(shape)) return "compaction";
  return isTurn(shape) ? "main" : "unknown";
}

/**
 * Index of the user's last input. Text next to results is steering, and text after an interruption cannot be separated from the
 * results before it: both belong to the turn before.
 */
function liveFromOf(items: readonly MessagesItem[], prefixCount: number): number {
  const isAsked = ({ role, kind, hasResults }: MessagesItem): boolean =>
    role === "user" && kind === "message" && !hasResults;
  let at = items.findLastIndex(isAsked);
  if (at <= prefixCount) return prefixCount;
  // Settings sent with the text, before it.
  for (; at - 1 >= prefixCount; at--) {
    const before = items[at - 1];
    if (before?.kind !== "setting" || before.isContinuation) break;
  }
  return at;
}

function prefixCountOf(items: readonly MessagesItem[]): number {
  const first = items.findIndex(({ kind, isPassing }) => kind === "message" || isPassing);
  return first < 0 ? items.length : first;
}

function nativeOf({ headers, body, members, items }: Shape, prefixCount: number): WireRequest["native"] {
  const metadata = recordOf(memberOf(body, members, "metadata"));
  const user = parseRecord(stringOf(metadata["user_id"])) ?? {};
  const threadId = headerText(headers, "x-claude-code-session-id") || stringOf(user["session_id"]);
  const agentId = headerText(headers, "x-claude-code-agent-id");
  const summary = items[prefixCount]?.continuation;
  return {
    ...(threadId === "" ? {} : { threadId }),
    ...(agentId === "" ? {} : { agentId }),
    ...(summary === undefined
      ? {}
      : { window: createHash("sha256").update(summary).digest("hex").slice(0, 16) }),
  };
}

/**
 * Requests do not state who started a compaction. A focus text is from `/compact`; without one, the user or the program may have
 * started it, also after the end of an answer.
 */
function compactionOf(
  shape: Shape,
  native: WireRequest["compaction"],
): NonNullable<WireRequest["compaction"]> {
  if (native) return native;
  const { focus } = compactionAsked(closingWords(shape)) ?? {};
  return focus === undefined ? { trigger: "auto" } : { trigger: "manual", focus };
}

/** Throws `JsonScanError`. */
export function readRequest(path: string, headers: WireHeaders, body: Buffer): WireRequest {
  const whole = wholeValue(body);
  const members = objectMembers(body, whole);
  const list = members.get("messages");
  if (!list) throw new JsonScanError("there are no messages", whole.start);
  const systemAt = members.get("system");
  const system = systemAt ? blocksOf(readable(body, systemAt)) : [];
  const isClaudeCode = isOfClaudeCode(headers, system);
  const all = itemsOf(body, list, isClaudeCode);
  // After a pause the program asks for the answer with the block last: the user's input before it is what is answered.
  const items = all.at(-1)?.isOwnSummary === true ? all.slice(0, -1) : all;
  const shape: Shape = { path, headers, body, members, items, system, isClaudeCode };
  const from = all.findLast(({ isCompaction }) => isCompaction)?.start ?? list.start;
  const native = nativeCompaction(body, members, { list, from });
  const kind = kindOf(shape, native);
  const prefixCount = prefixCountOf(items);
  const unknownBecause = kind === "unknown" ? (notTurn(shape) ?? OTHER_PATH) : undefined;
  return {
    api: "anthropic-messages",
    kind,
    ...defined({ unknownBecause }),
    body,
    model: stringOf(memberOf(body, members, "model")),
    stream: memberOf(body, members, "stream") === true,
    list,
    items,
    prefixCount,
    // One that asks for nothing else has no input of its own.
    liveFrom: native && native.otherwise === undefined ? items.length : liveFromOf(items, prefixCount),
    native: nativeOf(shape, prefixCount),
    ...(kind === "compaction" ? { compaction: compactionOf(shape, native) } : {}),
  };
}

/** Number of cache marks in a value and its nested blocks, down to the depth at which results and messages nest. */
function marksIn(value: unknown, depth = 0): number {
  if (typeof value !== "object" || value === null || depth > DEEPEST_BLOCK) return 0;
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + marksIn(one, depth + 1), 0);
  const { cache_control: own, content } = recordOf(value);
  return (own !== undefined && own !== null ? 1 : 0) + marksIn(content, depth + 1);
}

/** Number of occurrences of the mark's name in a body, up to `most`. */
function namesOfMarks(body: Buffer, most: number): number {
  let count = 0;
  for (let at = body.indexOf(MARK); at >= 0 && count < most; at = body.indexOf(MARK, at + MARK.length))
    count += 1;
  return count;
}

/** Whether the API accepts one more cache mark. Text that only mentions marks does not count; false for an invalid body. */
export function acceptsMark({ body }: Pick<WireRequest, "body">): boolean {
  if (namesOfMarks(body, MOST_MARKS) < MOST_MARKS) return true;
  const whole = readable(body, { start: 0, end: body.length });
  if (whole === undefined) return false;
  const { cache_control: top, system, tools, messages } = recordOf(whole);
  return marksIn([{ cache_control: top }, system, tools, messages]) < MOST_MARKS;
}

/** Names of the tools that the request offers. */
export function toolNames({ body }: Pick<WireRequest, "body">): string[] {
  const tools = objectMembers(body, wholeValue(body)).get("tools");
  return tools ? recordsOf(readable(body, tools)).map(({ name }) => stringOf(name)) : [];
}
