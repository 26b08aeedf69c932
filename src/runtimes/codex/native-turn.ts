/** One turn of a native thread, from `turn/start` to `turn/completed`: its events become ours as they come. */
import type { PagurusError } from "../../contract/errors.ts";
import type { TurnEvent } from "../../contract/events.ts";
import type { HarnessTurn } from "../../contract/harness.ts";
import type { Usage } from "../../contract/message.ts";
import type { ThreadListener } from "./app-server.ts";
import { answerRequest, bareCommand } from "./approvals.ts";
import { nativeCode, type NativeError } from "./failure.ts";
import { TurnMirror, type RawItem } from "./mirror.ts";

type Fields = Readonly<Record<string, unknown>>;

export interface NativeEnd {
  status: "completed" | "interrupted" | "failed";
  error?: NativeError;
}

const BACKEND = "codex-app-server";

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Tokens as the provider reported them; nothing is invented for what it did not say. */
function usageOf(value: unknown): Usage | undefined {
  const usage = fields(value);
  const count = (name: string): number | undefined => {
    const tokens = usage[name];
    return typeof tokens === "number" && tokens >= 0 ? tokens : undefined;
  };
  const [input, output] = [count("inputTokens"), count("outputTokens")];
  if (input === undefined || output === undefined) return undefined;
  const [cacheRead, cacheWrite] = [count("cachedInputTokens"), count("cacheWriteInputTokens")];
  const reasoning = count("reasoningOutputTokens");
  return {
    input: Math.max(0, input - (cacheRead ?? 0) - (cacheWrite ?? 0)),
    output,
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
    ...(reasoning === undefined ? {} : { reasoning }),
    totalTokens: input + output,
  };
}

/** What a native tool call is about, for those who watch. */
function toolOf(item: Fields): { name: string; arguments: Record<string, unknown> } | undefined {
  switch (item["type"]) {
    case "commandExecution":
      return { name: "exec_command", arguments: { command: bareCommand(text(item["command"])) } };
    case "fileChange":
      return { name: "apply_patch", arguments: { changes: item["changes"] } };
    case "dynamicToolCall":
      return { name: text(item["tool"]), arguments: { ...fields(item["arguments"]) } };
    case "mcpToolCall":
      return {
        name: `${text(item["server"])}__${text(item["tool"])}`,
        arguments: { ...fields(item["arguments"]) },
      };
    case "webSearch":
      return { name: "web_search", arguments: { query: item["query"] } };
    default:
      return undefined;
  }
}

function hasFailed(item: Fields): boolean {
  const { status, exitCode, success } = item;
  return (
    status === "failed" ||
    status === "declined" ||
    success === false ||
    (typeof exitCode === "number" && exitCode !== 0)
  );
}

function outputText(item: Fields): string {
  if (typeof item["aggregatedOutput"] === "string") return item["aggregatedOutput"];
  const contents = Array.isArray(item["contentItems"]) ? item["contentItems"] : [];
  return contents.map((part) => text(fields(part)["text"])).join("\n");
}

export class NativeTurn implements ThreadListener {
  readonly ended: Promise<NativeEnd>;
  /** Codex compacted the thread inside this turn. */
  compacted = false;
  /** Of the newest answer of the model. */
  usage: Usage | undefined;
  /** Resolves when the model has answered more often than the turn allows. */
  readonly exceeded: Promise<"exceeded">;
  /** Set by the answer to `turn/start`. */
  nativeTurnId: string | undefined;
  readonly #turn: HarnessTurn;
  readonly #mirror: TurnMirror;
  readonly #changes = new Map<string, { path: string; diff: string }[]>();
  readonly #end = Promise.withResolvers<NativeEnd>();
  #written: Promise<void> = Promise.resolve();
  readonly #exceeds = Promise.withResolvers<"exceeded">();
  #responses = 0;
  #tokensBefore = 0;

  constructor(turn: HarnessTurn) {
    this.#turn = turn;
    this.ended = this.#end.promise;
    this.exceeded = this.#exceeds.promise;
    // A failure that nobody waits for yet is told where it is awaited.
    this.ended.catch(() => undefined);
    const { provider, id: model } = turn.model;
    this.#mirror = new TurnMirror({ provider, model }, (message) => this.#emit({ type: "message", message }));
  }

  /** Before input joins the turn. */
  split(): Promise<void> {
    this.#mirror.split();
    return this.#written;
  }

  /** After the end: what only streamed, and calls that nothing answered, become messages too. */
  close(how: "stop" | "aborted" | "error"): Promise<void> {
    this.#mirror.end(how);
    return this.#written;
  }

  closed(error: PagurusError): void {
    this.#end.reject(error);
  }

  async request(method: string, params: unknown): Promise<unknown> {
    const answer = answerRequest(this.#turn, method, fields(params), this.#changes);
    if (!answer) throw new Error(`Pagurus does not answer ${method}.`);
    return answer;
  }

  notification(method: string, params: unknown): void {
    const given = fields(params);
    const turnId = text(given["turnId"]) || text(fields(given["turn"])["id"]);
    if (method === "turn/started") this.nativeTurnId ??= turnId;
    // Of another turn: what was injected before this one, or the rest of one that was interrupted.
    if (turnId !== "" && turnId !== this.nativeTurnId) return;
    this.#handle(method, given);
  }

  #emit(event: TurnEvent): void {
    const before = this.#written;
    const done = this.#turn.emit(event);
    this.#written = before.then(() => done);
  }

  #handle(method: string, given: Fields): void {
    switch (method) {
      case "item/agentMessage/delta":
        this.#mirror.delta(text(given["itemId"]), text(given["delta"]));
        return this.#emit({ type: "text.delta", delta: text(given["delta"]) });
      case "item/reasoning/summaryTextDelta":
      case "item/reasoning/textDelta":
        return this.#emit({ type: "thinking.delta", delta: text(given["delta"]) });
      case "item/commandExecution/outputDelta":
        return this.#emit({
          type: "tool.output",
          toolCallId: text(given["itemId"]),
          chunk: text(given["delta"]),
        });
      case "item/started":
        return this.#started(fields(given["item"]));
      case "item/completed":
        return this.#completed(fields(given["item"]));
      case "rawResponseItem/completed":
        return this.#raw(fields(given["item"]));
      case "rawResponse/completed":
        return this.#response(usageOf(given["usage"]));
      case "error":
        return this.#error(given);
      case "turn/plan/updated":
        return this.#notice("plan", "The agent has changed its plan.");
      case "turn/completed":
        return this.#finished(fields(given["turn"]));
      default:
        return this.#said(method, given);
    }
  }

  #said(method: string, given: Fields): void {
    if (method === "warning" || method === "configWarning" || method === "guardianWarning")
      this.#notice("codex", text(given["message"]) || text(given["summary"]));
    if (method === "model/rerouted")
      this.#notice("codex", "Codex has asked another model than the one of the turn.");
  }

  #notice(kind: string, detail: string): void {
    this.#emit({ type: "notice", kind, detail });
  }

  #started(item: Fields): void {
    if (item["type"] === "contextCompaction") return this.#compaction("started");
    if (item["type"] === "fileChange" && Array.isArray(item["changes"])) {
      const changes = item["changes"].map(fields);
      this.#changes.set(
        text(item["id"]),
        changes.map(({ path, diff }) => ({ path: text(path), diff: text(diff) })),
      );
    }
    const tool = toolOf(item);
    if (!tool) return;
    const { name: toolName, arguments: given } = tool;
    this.#emit({ type: "tool.started", toolCallId: text(item["id"]), toolName, arguments: given });
  }

  #completed(item: Fields): void {
    if (item["type"] === "contextCompaction") return this.#compaction("completed");
    const tool = toolOf(item);
    if (!tool) return;
    const isError = hasFailed(item);
    const toolCallId = text(item["id"]);
    if (isError) this.#mirror.failed(toolCallId);
    const content = [{ type: "text" as const, text: outputText(item) }];
    this.#emit({ type: "tool.completed", toolCallId, toolName: tool.name, outcome: { content, isError } });
  }

  #raw(item: Fields): void {
    if (typeof item["type"] === "string") this.#mirror.item(item as RawItem);
  }

  #response(usage: Usage | undefined): void {
    this.#responses += 1;
    if (this.#responses > this.#turn.maxSteps) this.#exceeds.resolve("exceeded");
    this.#mirror.response(usage);
    if (!usage) return;
    this.usage = usage;
    this.#tokensBefore = usage.totalTokens;
    this.#turn.receipt({ usage });
    this.#emit({ type: "usage", usage });
  }

  #error(given: Fields): void {
    if (given["willRetry"] !== true) return;
    const { name } = nativeCode(fields(given["error"])["codexErrorInfo"]);
    const attempt = Number(/(\d+)\/\d+/.exec(text(fields(given["error"])["message"]))?.[1] ?? 1);
    this.#emit({ type: "model.retry", attempt, delayMs: 0, reason: name });
  }

  /** Never taken for a compaction of the engine. Source: harness port, "In-turn Codex native contextCompaction events". */
  #compaction(state: "started" | "completed"): void {
    const about = {
      lane: "native" as const,
      trigger: "threshold" as const,
      backend: BACKEND,
      ownsCompaction: this.#turn.engine.ownsCompaction,
      tokensBefore: this.#tokensBefore,
    };
    if (state === "started") return this.#emit({ type: "compaction.started", ...about });
    this.compacted = true;
    this.#emit({ type: "compaction.completed", ...about, tokensAfter: 0, handledBy: BACKEND });
  }

  #finished(turn: Fields): void {
    const { status, error } = turn;
    if (status === "completed" || status === "interrupted") return this.#end.resolve({ status });
    this.#end.resolve({ status: "failed", error: fields(error) });
  }
}
