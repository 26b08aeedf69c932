/** Parses the structure of a Responses API request, and classifies the request. */
import { itemCall } from "@pagurus/core/protocols/responses/responses-items";
import {
  arrayObjects,
  parsePart,
  textAt,
  wholeMembers,
  type ObjectSpan,
  type Span,
} from "../../json/scan.ts";
import type { RequestKind, WireHeaders, WireRequest } from "../wire-dialect.ts";
import { codexTurn, timedId, type CodexTurn } from "./responses-codex.ts";
import { ResponsesItem } from "./responses-item.ts";
import { defined } from "@pagurus/core/data/defined";

export const COMPACTION_TRIGGER = "compaction_trigger";

/** Asks for a compaction of its whole input by its address. */
const COMPACT_PATH = "/responses/compact";
/** If one of these is set, the provider holds a part of the conversation. */
const PARTIAL = ["previous_response_id", "conversation"];
const OPEN_ARRAY = 0x5b;

/** Throws `JsonScanError`. */
export function readRequest(path: string, headers: WireHeaders, body: Buffer): WireRequest {
  const members = wholeMembers(body);
  const turn = codexTurn(headers, () => value(body, members.get("client_metadata")));
  const input = members.get("input");
  const list = input && body[input.start] === OPEN_ARRAY ? input : undefined;
  const elements = list && arrayObjects(body, list);
  const isWhole = PARTIAL.every((name) => value(body, members.get(name)) == null);
  const kind = elements && isWhole ? kindOf(path, turn, lastType(body, elements)) : otherKind(path);
  const byAddress = kind === "compaction" && withoutQuery(path) === COMPACT_PATH;
  const items = elements && isWhole ? itemsOf(body, elements, kind === "compaction" && !byAddress) : [];
  const first = items.findIndex(({ kind: of, isPassing }) => of === "message" || isPassing);
  const prefixCount = first < 0 ? items.length : first;
  return {
    api: "openai-responses",
    kind,
    ...(kind === "unknown" ? { unknownBecause: unknownBecause(isWhole, list, turn) } : {}),
    body,
    model: textAt(body, members.get("model")) ?? "",
    stream: value(body, members.get("stream")) === true,
    list: list ?? { start: 0, end: 0 },
    items,
    prefixCount,
    liveFrom: liveFrom(items, prefixCount, kind, turn?.turnId),
    native: nativeOf(turn, headers, textAt(body, members.get("prompt_cache_key"))),
    ...(kind === "compaction" ? { compaction: compactionOf(turn, byAddress) } : {}),
  };
}

function unknownBecause(isWhole: boolean, list: Span | undefined, turn: CodexTurn | undefined): string {
  if (!isWhole) return "it names an earlier response that only its provider has";
  if (!list) return "its input is no list of items";
  if (turn) return `it is a request of Codex of an unknown kind ("${turn.requestKind ?? ""}")`;
  return "its path is none that asks for an answer";
}

function compactionOf(
  turn: CodexTurn | undefined,
  byAddress: boolean,
): NonNullable<WireRequest["compaction"]> {
  // An address that asks for nothing else is called by a program or a person that wants one now.
  const trigger = turn?.trigger === "manual" || (byAddress && !turn) ? "manual" : "auto";
  return { trigger, ...(byAddress ? { isWhole: true } : {}) };
}

/** Throws `JsonScanError`. */
function value(body: Buffer, span: Span | undefined): unknown {
  return span === undefined ? undefined : parsePart(body, span);
}

function lastType(body: Buffer, elements: readonly ObjectSpan[]): string {
  return textAt(body, elements.at(-1)?.members.get("type")) ?? "";
}

function itemsOf(body: Buffer, elements: readonly ObjectSpan[], endsWithPrompt: boolean): ResponsesItem[] {
  const names = new Map<string, string>();
  let hasNames = false;
  const nameOfCall = (callId: string): string | undefined => {
    for (const item of hasNames ? [] : items) {
      const call = item.type.endsWith("_call") ? itemCall(item.fields) : undefined;
      if (call) names.set(call.id, call.name);
    }
    hasNames = true;
    return names.get(callId);
  };
  // Does not capture `elements`: the items' closures live as long as the answer streams.
  const prompt = endsWithPrompt ? elements.length - 1 : undefined;
  const items = elements.map(
    (element, index) => new ResponsesItem(body, element, { nameOfCall, isPrompt: index === prompt }),
  );
  return items;
}

function withoutQuery(path: string): string {
  return path.split("?", 1)[0] ?? path;
}

/** Kind of a request whose conversation is not completely in its input. */
function otherKind(path: string): RequestKind {
  return withoutQuery(path) === "/responses/input_tokens" ? "count" : "unknown";
}

function kindOf(path: string, turn: CodexTurn | undefined, last: string): RequestKind {
  const isCompact = withoutQuery(path) === COMPACT_PATH;
  if (withoutQuery(path) !== "/responses" && !isCompact) return otherKind(path);
  if (turn?.isSubagent) return "subagent";
  if (isCompact) return "compaction";
  if (turn?.isAside) return "side";
  if (last === COMPACTION_TRIGGER) return "compaction";
  if (!turn || turn.requestKind === "turn") return "main";
  return turn.requestKind === "compaction" ? "compaction" : "unknown";
}

function nativeOf(
  turn: CodexTurn | undefined,
  headers: WireHeaders,
  cacheKey: string | undefined,
): WireRequest["native"] {
  const header = headers["thread-id"];
  const threadId = turn?.threadId ?? (typeof header === "string" ? header : undefined) ?? cacheKey;
  const { turnId, window } = turn ?? {};
  return {
    ...defined({ threadId, turnId, window }),
    ...(turn?.isSubagent ? { agentId: threadId ?? "subagent" } : {}),
  };
}

/**
 * Codex's ids contain a time, and so show whether an element is of the turn, also after a steering text, a compaction or an
 * interruption. Without such ids the live turn begins with the user's last input.
 */
function liveFrom(
  items: readonly ResponsesItem[],
  prefixCount: number,
  kind: RequestKind,
  turnId: string | undefined,
): number {
  const turn = timedId(turnId);
  const isOfTurn = (item: ResponsesItem): boolean => turn !== undefined && (timedId(item.id) ?? "") >= turn;
  const first = items.findIndex((item) => item.kind === "message" && isOfTurn(item));
  // Before a turn and between turns Codex compacts everything.
  if (first < 0 && kind === "compaction") return items.length;
  const isByTime = first >= 0;
  const input = isByTime ? first : lastUserWords(items);
  if (input < 0) return items.length;
  let at = Math.max(input, prefixCount);
  for (; at > prefixCount; at--) {
    const before = items[at - 1];
    // The element left by a compaction at the start of a turn belongs to that turn only by its id.
    if (before?.kind !== "setting" || before.isPassing || (isByTime && !isOfTurn(before))) break;
  }
  return at;
}

function lastUserWords(items: readonly ResponsesItem[]): number {
  return items.findLastIndex((item) => item.kind === "message" && item.role === "user");
}
