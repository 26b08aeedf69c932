/**
 * Which conversation a request of a wrapped program belongs to, and which kind it is, where its protocol does not mark that: by the
 * rules of the program, and by content.
 */
import { toPagurusError } from "@pagurus/contract/errors";
import type { AssistantMessage } from "@pagurus/contract/message";
import type { WrapRequestRule, WrapRequestView } from "@pagurus/contract/harness/wrap-rules";
import { listOf, recordOf, recordsOf, stringOf } from "@pagurus/core/data/record-fields";
import { JsonScanError, objectMembers, parsePart, wholeValue, type Span } from "../json/scan.ts";
import type { RequestKind, WireHeaders, WireRequest } from "../dialect/wire-dialect.ts";
import { ContentNames } from "./content-names.ts";
import { digest, liveMessages } from "./request-messages.ts";

export interface RequestKindsOptions {
  rules: readonly WrapRequestRule[];
  /** As in `ProgramWrap`. */
  conversationHeader?: string | undefined;
  /** Whether a turn waits for the result of a call, which may be another agent's work. */
  hasOpenCalls(): boolean;
  /** Whether a conversation of that name waits for an answer. */
  isAnswering(contentId: string): boolean;
  /** Reports a sentence to the user. */
  notify(sentence: string): void;
}

/** What a request is besides its body. */
interface Call {
  path: string;
  headers: WireHeaders;
}

/** Maximum number of conversations whose kind is remembered. */
const MOST_KNOWN = 200;
const MOST_REASONS = 10;

/** Text of a field that is a string or a list of parts with text. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return listOf(value)
    .map((part) => stringOf(recordOf(part)["text"]))
    .filter((text) => text !== "")
    .join("\n");
}

class View implements WrapRequestView {
  readonly path: string;
  readonly headers: WireHeaders;
  readonly model: string;
  readonly #request: WireRequest;
  /** Read on demand: most requests need none of the body. */
  #members: ReadonlyMap<string, Span> | undefined;

  constructor(request: WireRequest, { path, headers }: Call) {
    this.#request = request;
    this.path = path;
    this.headers = headers;
    this.model = request.model;
  }

  get system(): string {
    const { body, items, prefixCount } = this.#request;
    const leading = items
      .slice(0, prefixCount)
      .map((item) => textOf(recordOf(parsePart(body, item))["content"]));
    const google = recordOf(this.#value("systemInstruction"))["parts"];
    return [this.#value("system"), this.#value("instructions"), google]
      .map(textOf)
      .concat(leading)
      .filter((text) => text !== "")
      .join("\n");
  }

  get toolNames(): string[] {
    return recordsOf(this.#value("tools")).flatMap((tool) => {
      const own = stringOf(tool["name"]) || stringOf(recordOf(tool["function"])["name"]);
      const declared = recordsOf(tool["functionDeclarations"]).map(({ name }) => stringOf(name));
      return own === "" ? declared : [own];
    });
  }

  get hasTools(): boolean {
    return listOf(this.#value("tools")).length > 0;
  }

  get question(): string {
    const last = liveMessages(this.#request).findLast(({ role }) => role === "user");
    return last?.role === "user" ? textOf(last.content) : "";
  }

  #value(name: string): unknown {
    const { body } = this.#request;
    this.#members ??= objectMembers(body, wholeValue(body));
    const span = this.#members.get(name);
    return span && parsePart(body, span);
  }
}

export class RequestKinds {
  readonly #options: RequestKindsOptions;
  readonly #kinds = new Map<string, RequestKind>();
  readonly #names = new ContentNames();
  /** Number of requests that passed, by the reason. */
  readonly #passed = new Map<string, number>();
  /** Most references of one request to answers that only the provider has. */
  #references = 0;
  /** What the program's own conversations have in common: rules and tools. */
  #main: { rules: string; hasTools: boolean } | undefined;

  constructor(options: RequestKindsOptions) {
    this.#options = options;
  }

  noteSummary(request: WireRequest, summary: string): void {
    this.#names.noteSummary(request, summary);
  }

  noteAnswer(request: WireRequest, message: AssistantMessage): void {
    this.#names.noteAnswer(request, message);
  }

  /** Sentences on what the session lacks: the requests that passed without the engine, by their reasons. */
  get reports(): string[] {
    const total = [...this.#passed.values()].reduce((sum, count) => sum + count, 0);
    const reasons = [...this.#passed].map(([reason, count]) =>
      count > 1 ? `${reason} (${count} times)` : reason,
    );
    const requests = total === 1 ? "1 request" : `${total} requests`;
    return [
      ...(total === 0
        ? []
        : [`${requests} passed without the engine and are not in the session: ${reasons.join("; ")}.`]),
      ...(this.#references === 0
        ? []
        : [
            `The session is incomplete: the program named earlier answers by their ids alone (${this.#references} in one request), which only its provider has. Set "store" to false in the program, so that it sends them whole.`,
          ]),
    ];
  }

  /** Counts what the session lacks, and reports the first of each kind at once. */
  #note({ kind, unknownBecause: reason = "of an unknown kind", items }: WireRequest): void {
    const count = this.#passed.get(reason) ?? 0;
    if (kind === "unknown" && (count > 0 || this.#passed.size < MOST_REASONS)) {
      this.#passed.set(reason, count + 1);
      if (count === 0) this.#options.notify(`A request passed without the engine: ${reason}.`);
    }
    const references = items.filter((item) => "type" in item && item.type === "item_reference").length;
    if (references > 0 && this.#references === 0)
      this.#options.notify(
        "The program names earlier answers by their ids alone, so the session lacks them.",
      );
    this.#references = Math.max(this.#references, references);
  }

  /** The request with its kind and the name of its conversation. One that cannot be read further stays as it is. */
  classified(read: WireRequest, call: Call): WireRequest {
    this.#note(read);
    const request = this.#named(read, call);
    if (request.kind !== "main") return request;
    try {
      return this.#classified(request, new View(request, call));
    } catch (error) {
      if (error instanceof JsonScanError) return request;
      throw error;
    }
  }

  #classified(request: WireRequest, view: View): WireRequest {
    const rule = this.#options.rules.find((each) => this.#matches(each, view));
    if (rule?.kind === "compaction") return asking(request);
    const id = request.native.contentId;
    if (rule) {
      if (id !== undefined) this.#names.forget(id);
      return { ...request, kind: rule.kind };
    }
    if (id === undefined) return request;
    const known = this.#kinds.get(id);
    // What continues with its answer is a conversation, although it began like a request beside one.
    const kind =
      known === undefined || (known === "side" && hasAnswer(request)) ? this.#kindOf(view, request) : known;
    this.#kinds.set(id, kind);
    if (kind !== "main") this.#names.forget(id);
    if (this.#kinds.size > MOST_KNOWN) this.#kinds.delete([...this.#kinds.keys()][0] ?? "");
    return { ...request, kind };
  }

  /** A rule that fails is skipped: the program's other requests stay governed. */
  #matches(rule: WrapRequestRule, view: View): boolean {
    try {
      return rule.matches(view);
    } catch (error) {
      if (error instanceof JsonScanError) throw error;
      const { message } = toPagurusError(error);
      this.#options.notify(`A rule for the program's requests failed and was skipped: ${message}`);
      return false;
    }
  }

  /** The request with the name of its conversation: the program's own, else one made from its first words. */
  #named(request: WireRequest, { headers }: Call): WireRequest {
    const { native, kind } = request;
    if (native.threadId !== undefined || (kind !== "main" && kind !== "compaction")) return request;
    const threadId = headers[this.#options.conversationHeader ?? ""];
    if (typeof threadId === "string") return { ...request, native: { ...native, threadId } };
    const id = this.#names.nameOf(request, (each) => this.#options.isAnswering(each));
    return id === undefined ? request : { ...request, native: { ...native, contentId: id } };
  }

  /**
   * A conversation that begins with other rules than the program's own ones is another agent's, if a call of the program's own
   * conversation is open, and a side request if it has no tools and no answer yet.
   */
  #kindOf(view: View, request: WireRequest): RequestKind {
    const { hasTools } = view;
    const rules = digest(JSON.stringify([view.system, view.toolNames]));
    if (this.#main === undefined || this.#main.rules === rules) {
      this.#main = { rules, hasTools };
      return "main";
    }
    if (this.#options.hasOpenCalls()) return "subagent";
    if (!hasTools && (this.#main.hasTools || !hasAnswer(request))) return "side";
    this.#main = { rules, hasTools };
    return "main";
  }
}

function hasAnswer({ items, prefixCount }: WireRequest): boolean {
  return items.slice(prefixCount).some(({ messages }) => messages.some(({ role }) => role === "assistant"));
}

/** The request as a compaction: its last element is the prompt, and not part of the conversation. */
function asking(request: WireRequest): WireRequest {
  const { items, prefixCount } = request;
  const last = items.at(-1);
  if (!last) return request;
  const prompt = { start: last.start, end: last.end, kind: "setting" as const, messages: [] };
  const kept = [...items.slice(0, -1), prompt];
  return {
    ...request,
    kind: "compaction",
    compaction: { trigger: "auto" },
    items: kept,
    prefixCount: Math.min(prefixCount, kept.length - 1),
    liveFrom: kept.length - 1,
  };
}
