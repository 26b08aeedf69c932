/** Parses the structure of a generateContent request, and classifies it. */
import { createHash } from "node:crypto";
import { recordOf, recordsOf, stringOf } from "@pagurus/core/data/record-fields";
import { memberOf, partsOf } from "@pagurus/core/protocols/gemini/gemini-parts";
import { JsonScanError } from "../../json/scan.ts";
import type { RequestKind, WireHeaders, WireRequest } from "../wire-dialect.ts";
import {
  asksForCompaction,
  asksForSessionSummary,
  asksToCheck,
  isGeminiCli,
  isOfSubagent,
} from "./gemini-cli-marks.ts";
import {
  declaredFunctions,
  recordAt,
  requestMembers,
  spanOf,
  valueOf,
  type Members,
} from "./generate-content-fields.ts";
import { itemsOf, type ContentItem } from "./generate-content-items.ts";
import { modelPath, type ModelPath } from "./generate-content-path.ts";

const CONTENT_ROLES = new Set(["user", "model", "function"]);
const METHODS = new Set(["generateContent", "streamGenerateContent"]);

/** Input for the classification of a request. */
interface Shape {
  path: ModelPath | undefined;
  headers: WireHeaders;
  body: Buffer;
  members: Members;
  items: readonly ContentItem[];
}

/** False for several answers, for answers that are not text, and for arguments in pieces: such requests pass unchanged. */
function isUsual({ body, members, items }: Shape): boolean {
  if (!items.every(({ role }) => CONTENT_ROLES.has(role))) return false;
  const config = recordAt(body, members, "generationConfig");
  const count = memberOf(config, "candidateCount");
  if (count !== undefined && count !== null && count !== 1) return false;
  const kinds = memberOf(config, "responseModalities");
  if (Array.isArray(kinds) && kinds.some((kind) => kind !== "TEXT")) return false;
  const calling = recordOf(memberOf(recordAt(body, members, "toolConfig"), "functionCallingConfig"));
  return memberOf(calling, "streamFunctionCallArguments") !== true;
}

function functionsOf({ body, members }: Shape): readonly unknown[] {
  return declaredFunctions(valueOf(body, members, "tools"));
}

/** A request of a program, outside the conversation: without functions, and with a required output format. */
function isForm(shape: Shape): boolean {
  const config = recordAt(shape.body, shape.members, "generationConfig");
  const type = stringOf(memberOf(config, "responseMimeType"));
  const hasSchema = ["responseSchema", "responseJsonSchema"].some(
    (name) => memberOf(config, name) !== undefined,
  );
  return ((type !== "" && type !== "text/plain") || hasSchema) && functionsOf(shape).length === 0;
}

/** Tools that Google runs itself count too. */
function hasTools({ body, members }: Shape): boolean {
  const tools = valueOf(body, members, "tools");
  return Array.isArray(tools) && tools.length > 0;
}

function isTurn(shape: Shape): boolean {
  const { items, body, members } = shape;
  if (!items.some(({ role }) => role === "user") || items.at(-1)?.role === "model") return false;
  // A request for a single token only checks the key.
  if (memberOf(recordAt(body, members, "generationConfig"), "maxOutputTokens") === 1) return false;
  return isUsual(shape) && !isForm(shape);
}

function systemText({ body, members }: Shape): string {
  const system = recordAt(body, members, "systemInstruction");
  return partsOf(system)
    .map((part) => stringOf(part["text"]))
    .join("");
}

/**
 * Gemini CLI asks its models for more than turns, in forms that differ between versions. Its turns have its surroundings first, and
 * functions; all else that is not known passes.
 */
function kindOfCli(shape: Shape): RequestKind {
  const { items } = shape;
  const asked = items.at(-1)?.parts ?? [];
  const system = systemText(shape);
  if (asksForCompaction(system, asked)) return "compaction";
  if (asksToCheck(system, asked)) return "side";
  const functions = recordsOf(functionsOf(shape));
  if (isOfSubagent(functions)) return "subagent";
  // A search, or a question to which the answer is JSON: who speaks next, which model is for the task.
  const isAside = isForm(shape) || hasTools(shape) || asksForSessionSummary(asked);
  if (functions.length === 0) return isAside ? "side" : "unknown";
  return items[0]?.surroundings !== undefined && isTurn(shape) ? "main" : "unknown";
}

function kindOf(shape: Shape): RequestKind {
  const { path, headers } = shape;
  if (path?.method === "countTokens") return "count";
  if (path === undefined || !METHODS.has(path.method)) return "unknown";
  if (isGeminiCli(headers)) return kindOfCli(shape);
  return isTurn(shape) ? "main" : "unknown";
}

/** Index of the user's last input. */
function liveFromOf(items: readonly ContentItem[], prefixCount: number): number {
  let at = items.findLastIndex(({ isInput }) => isInput);
  if (at <= prefixCount) return prefixCount;
  // Settings sent with the text, before it.
  while (at > prefixCount && items[at - 1]?.kind === "setting" && items[at - 1]?.isPassing !== true) at -= 1;
  return at;
}

function prefixCountOf(items: readonly ContentItem[]): number {
  const first = items.findIndex(({ kind, isPassing }) => kind === "message" || isPassing);
  return first < 0 ? items.length : first;
}

function windowOf(items: readonly ContentItem[]): { window?: string } {
  const summary = items[0]?.summary ?? items[1]?.summary;
  if (summary === undefined) return {};
  return { window: createHash("sha256").update(summary).digest("hex").slice(0, 16) };
}

/** Throws `JsonScanError`. */
export function readRequest(path: string, headers: WireHeaders, body: Buffer): WireRequest {
  const members = requestMembers(body);
  const list = spanOf(members, "contents");
  if (!list) throw new JsonScanError("there are no contents", 0);
  const items = itemsOf(body, list);
  const shape: Shape = { path: modelPath(path), headers, body, members, items };
  const kind = kindOf(shape);
  const prefixCount = prefixCountOf(items);
  const stream = shape.path?.method === "streamGenerateContent";
  return {
    api: "google-generative-ai",
    kind,
    body,
    model: shape.path?.model ?? "",
    stream,
    ...(stream && shape.path?.hasEvents === false ? { isListStream: true } : {}),
    list,
    items,
    prefixCount,
    liveFrom: liveFromOf(items, prefixCount),
    native: windowOf(items),
    // Requests do not state who started a compaction: the user, or the program at its threshold.
    ...(kind === "compaction" ? { compaction: { trigger: "auto" as const } } : {}),
    ...(kind === "side" && asksToCheck(systemText(shape), items.at(-1)?.parts ?? []) ? checkedOf(items) : {}),
  };
}

/** The summary that a request asks to check. */
function checkedOf(items: readonly ContentItem[]): { checked?: string } {
  const answer = items.at(-2);
  if (answer?.role !== "model") return {};
  return { checked: answer.parts.map((part) => stringOf(part["text"])).join("") };
}
