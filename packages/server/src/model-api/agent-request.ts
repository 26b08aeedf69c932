/** Members of a request to an agent besides its input: instructions, ignored fields, and fields that it cannot honour. */
import type { AdditionalContext } from "@pagurus/contract/fragment";
import type { WireApi } from "@pagurus/contract/harness/wire";
import type { WireRequest } from "@pagurus/gateway/dialect/wire-dialect";
import { readAsked } from "@pagurus/gateway/upstream/translate/translate-request";
import { asksNothing, FIELDS, type Endpoint } from "./fields.ts";
import { untranslatablePart } from "./untranslatable.ts";

/** The fields of a request that an agent honours. */
const HONOURED: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "input",
  "system",
  "instructions",
  "stream",
  "stream_options",
  "store",
]);
/** Fields that a model honours and an agent decides itself; ignored without being named, as every request of some protocols has them. */
const ITS_OWN: ReadonlySet<string> = new Set([
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
  "metadata",
  "user",
]);
/** Fields that a model honours and an agent decides itself. */
const DECIDED: ReadonlySet<string> = new Set([
  "thinking",
  "reasoning",
  "reasoning_effort",
  "verbosity",
  "parallel_tool_calls",
]);

/** Longest text of an entry of additional context that is shown whole, bytes. */
const ENTRY_BYTES = 3_600;

export interface AgentFields {
  /** Fields that are ignored, for the reply's header. */
  unread: string[];
  /** One sentence on what an agent does not do. */
  problem?: string;
}

export function agentFields(
  endpoint: Endpoint,
  api: WireApi,
  body: Readonly<Record<string, unknown>>,
): AgentFields {
  const unread: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (HONOURED.has(name) || ITS_OWN.has(name) || asksNothing(name, value)) continue;
    const handling = FIELDS[endpoint].get(name) ?? "hint";
    if (handling === "hint" || DECIDED.has(name)) unread.push(name);
    else if (handling !== "ignored")
      return {
        unread,
        problem: `An agent does not support the field "${name}"; remove it from the request.`,
      };
  }
  const part = untranslatablePart(api, body);
  if (part === undefined) return { unread };
  return { unread, problem: `The part ${part} cannot be sent to an agent; send texts and images as data.` };
}

/** The client's rules, in their order, as instructions besides the agent's own; whole, in pieces that are each shown whole. */
export function clientInstructions(request: WireRequest): AdditionalContext {
  const { system, messages } = readAsked(request);
  const later = messages.flatMap((message) =>
    message.role === "user" && message.fragment && typeof message.content === "string"
      ? [message.content]
      : [],
  );
  const pieces = [system, ...later].filter((text) => text.trim() !== "").flatMap(textPieces);
  const entries = pieces.map((value, at) => [
    `client instructions ${String(at + 1).padStart(3, "0")}`,
    { value, kind: "application" as const },
  ]);
  return Object.fromEntries(entries) as AdditionalContext;
}

/** Ends pieces at line breaks where it can. */
function textPieces(text: string): string[] {
  const pieces: string[] = [];
  let piece = "";
  for (const line of text.split(/(?<=\n)/)) {
    if (piece !== "" && Buffer.byteLength(piece + line) > ENTRY_BYTES) {
      pieces.push(piece);
      piece = "";
    }
    piece += line;
    while (Buffer.byteLength(piece) > ENTRY_BYTES) {
      // A character is at most three bytes for each of its code units.
      const head = piece.slice(0, ENTRY_BYTES / 3).replace(/[\ud800-\udbff]$/, "");
      pieces.push(head);
      piece = piece.slice(head.length);
    }
  }
  return piece === "" ? pieces : [...pieces, piece];
}
