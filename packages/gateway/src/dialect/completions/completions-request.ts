/** Parses the structure of a Chat Completions request body. */
import type { AgentMessage } from "@pagurus/contract/message";
import { recordOf, stringOf } from "@pagurus/core/data/record-fields";
import {
  arrayElements,
  JsonScanError,
  objectMembers,
  parsePart,
  wholeValue,
  type Span,
} from "../../json/scan.ts";
import { lastingParts, mayBeMarked, ownContent } from "../program-marks.ts";
import type { RequestKind, WireItem, WireRequest } from "../wire-dialect.ts";
import { messagesOf } from "@pagurus/core/protocols/completions/completions-messages";
import { defined } from "@pagurus/core/data/defined";

const ROLES = new Set(["system", "developer", "user", "assistant", "tool"]);

class Element implements WireItem {
  readonly start: number;
  readonly end: number;
  readonly role: string;
  readonly kind: "message" | "setting";
  readonly #body: Buffer;
  readonly #list: readonly Element[];
  readonly #index: number;
  #messages: readonly AgentMessage[] | undefined;

  /** `list` contains the elements before this one, and later all. */
  constructor(body: Buffer, { start, end }: Span, list: readonly Element[]) {
    this.start = start;
    this.end = end;
    this.#body = body;
    this.#list = list;
    this.#index = list.length;
    const role = objectMembers(body, { start, end }).get("role");
    this.role = role ? stringOf(parsePart(body, role)) : "";
    this.kind = this.role === "system" || this.role === "developer" ? "setting" : "message";
  }

  /** Whether a program put text of its own into the user's message. */
  get #isMarked(): boolean {
    return this.role === "user" && mayBeMarked(this.#body.subarray(this.start, this.end));
  }

  get surroundings(): Buffer | undefined {
    if (!this.#isMarked) return undefined;
    const content = lastingParts(recordOf(parsePart(this.#body, this))["content"]);
    return content.length === 0 ? undefined : Buffer.from(JSON.stringify({ role: "user", content }));
  }

  get messages(): readonly AgentMessage[] {
    this.#messages ??= this.kind === "setting" ? [] : this.#decoded();
    return this.#messages;
  }

  #decoded(): AgentMessage[] {
    try {
      const element = recordOf(parsePart(this.#body, this));
      const own = this.#isMarked ? { ...element, content: ownContent(element["content"]) } : element;
      return messagesOf(own, (callId) => this.#nameOf(callId)).filter(hasContent);
    } catch (error) {
      // Invalid inside: its place is known, its content is not, and the provider will reject it.
      if (error instanceof JsonScanError) return [];
      throw error;
    }
  }

  /** A call is in the nearest answer before its results; some servers reuse ids in each answer. */
  #nameOf(callId: string): string | undefined {
    for (let at = this.#index - 1; at >= 0; at--) {
      const element = this.#list[at];
      if (element?.role !== "assistant") continue;
      for (const { content } of element.messages) {
        if (typeof content === "string") continue;
        const call = content.find((part) => part.type === "toolCall" && part.id === callId);
        if (call?.type === "toolCall") return call.name;
      }
    }
    return undefined;
  }
}

function hasContent({ role, content }: AgentMessage): boolean {
  return role !== "user" || content.length > 0;
}

function elementsOf(body: Buffer, list: Span): Element[] {
  const elements: Element[] = [];
  for (const span of arrayElements(body, list)) elements.push(new Element(body, span, elements));
  return elements;
}

/** Why a request passes unchanged, as a clause: several choices, audio, the calls of the API's first year. Undefined for a turn. */
function notTurn(
  body: Buffer,
  members: ReadonlyMap<string, Span>,
  elements: readonly Element[],
): string | undefined {
  const odd = elements.find(({ role }) => !ROLES.has(role));
  if (odd) return `it has a message of the unknown role "${odd.role}"`;
  if (!elements.some(({ role }) => role === "user")) return "it has no message of a user";
  const has = (name: string): boolean => {
    const span = members.get(name);
    return span !== undefined && parsePart(body, span) !== null;
  };
  if (has("functions")) return 'it has the field "functions"';
  if (has("audio")) return "it asks for audio";
  const n = members.get("n");
  const many = n ? parsePart(body, n) : 1;
  return many === 1 || many === null ? undefined : "it asks for several answers";
}

function text(body: Buffer, span: Span | undefined): string {
  return span ? stringOf(parsePart(body, span)) : "";
}

/** Throws `JsonScanError`. */
export function readRequest(path: string, body: Buffer): WireRequest {
  const whole = wholeValue(body);
  const members = objectMembers(body, whole);
  const list = members.get("messages");
  if (!list) throw new JsonScanError("there are no messages", whole.start);
  const items = elementsOf(body, list);
  const first = items.findIndex(({ kind }) => kind === "message");
  const prefixCount = first < 0 ? items.length : first;
  const lastUser = items.findLastIndex(({ role }) => role === "user");
  const isAsked = path.split("?")[0] === "/chat/completions";
  const unknownBecause = isAsked ? notTurn(body, members, items) : "its path is none that asks for an answer";
  const kind: RequestKind = unknownBecause === undefined ? "main" : "unknown";
  const stream = members.get("stream");
  const threadId = text(body, members.get("prompt_cache_key"));
  return {
    api: "openai-completions",
    kind,
    ...defined({ unknownBecause }),
    body,
    model: text(body, members.get("model")),
    stream: stream !== undefined && parsePart(body, stream) === true,
    list,
    items,
    prefixCount,
    liveFrom: Math.max(prefixCount, lastUser),
    native: threadId === "" ? {} : { threadId },
  };
}
