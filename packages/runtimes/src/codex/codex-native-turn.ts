/** One turn of a native thread, from `turn/start` to `turn/completed`: its events become ours as they arrive. */
import { PagurusError } from "@pagurus/contract/errors";
import type { PlanStep, TurnEvent } from "@pagurus/contract/host/events";
import type { HarnessTurn } from "@pagurus/contract/harness/harness";
import type { AgentMessage, Usage } from "@pagurus/contract/message";
import type { ToolOutcome } from "@pagurus/contract/harness/tool";
import type { ThreadListener } from "./app-server/app-server.ts";
import { reportedUsage } from "../thread/reported-usage.ts";
import { answerRequest, bareCommand } from "./codex-approvals.ts";
import { nativeCode, type NativeError } from "./codex-failure.ts";
import { CodexTurnMirror, type RawItem } from "./codex-mirror.ts";
import type { RolloutTail } from "./app-server/rollout-tail.ts";
import type { OpenThread } from "./codex-threads.ts";
import type { WiredTurn } from "./wire/codex-wire.ts";
import { type Fields, objectOrListOf, recordOf, stringOf } from "@pagurus/core/data/record-fields";

export interface NativeEnd {
  status: "completed" | "interrupted" | "failed";
  error?: NativeError;
}

const BACKEND = "codex-app-server";
/** Limit of failed connections in a row: Codex retries without end, after 5 s and then twice as long each time. */
const MOST_UNREACHED = 2;

/** Tokens as the provider reported them. */
function usageOf(value: unknown): Usage | undefined {
  const caches = { cacheRead: "cachedInputTokens", cacheWrite: "cacheWriteInputTokens" };
  return reportedUsage(value, { ...caches, reasoning: "reasoningOutputTokens" });
}

/** Name and arguments of a native tool call, for events. */
function toolOf(item: Fields): { name: string; arguments: Record<string, unknown> } | undefined {
  switch (item["type"]) {
    case "commandExecution":
      return { name: "exec_command", arguments: { command: bareCommand(stringOf(item["command"])) } };
    case "fileChange":
      return { name: "apply_patch", arguments: { changes: item["changes"] } };
    case "dynamicToolCall":
      return { name: stringOf(item["tool"]), arguments: { ...objectOrListOf(item["arguments"]) } };
    case "mcpToolCall":
      return {
        name: `${stringOf(item["server"])}__${stringOf(item["tool"])}`,
        arguments: { ...objectOrListOf(item["arguments"]) },
      };
    case "collabAgentToolCall":
      return { name: stringOf(item["tool"]), arguments: { prompt: item["prompt"] } };
    case "webSearch":
      return { name: "web_search", arguments: { query: item["query"] } };
    default:
      return undefined;
  }
}

function planOfMessage(message: Fields): { explanation?: string; steps: PlanStep[] } {
  const steps = Array.isArray(message["plan"]) ? message["plan"].map(recordOf) : [];
  const explanation = stringOf(message["explanation"]);
  return {
    ...(explanation === "" ? {} : { explanation }),
    steps: steps.map(({ step, status }) => ({
      step: stringOf(step),
      status: status === "completed" || status === "inProgress" ? status : "pending",
    })),
  };
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
  return contents.map((part) => stringOf(recordOf(part)["text"])).join("\n");
}

export interface NativeTurnWatcher {
  /** Set for a thread whose raw items are only in its file. */
  tail: RolloutTail | undefined;
  /** The thread, which also gets its token counts. */
  thread: OpenThread;
  /** A message of the turn, before the host gets it. */
  onMessage(message: AgentMessage): void;
  /** Codex compacted the thread inside the turn. */
  onCompacted(): void;
  /** Resolves when the input that has arrived was sent to Codex. */
  inputsSent(): Promise<void>;
  /** Set when the gateway reports requests and offers compactions to the engine. */
  wired?: Pick<WiredTurn, "takeAnswer"> | undefined;
}

export class CodexNativeTurn implements ThreadListener {
  readonly ended: Promise<NativeEnd>;
  /** Codex compacted the thread inside this turn. */
  compacted = false;
  /** Usage of the model's newest answer. */
  usage: Usage | undefined;
  /** Resolves when the turn has to be interrupted: the model exceeded its limit of answers, or cannot be reached. */
  readonly exceeded: Promise<"exceeded">;
  /** Set by the answer to `turn/start`. */
  nativeTurnId: string | undefined;
  readonly #turn: HarnessTurn;
  readonly #mirror: CodexTurnMirror;
  readonly #changes = new Map<string, { path: string; diff: string }[]>();
  /** Answers of the host's tools, by call id, until they are emitted. */
  readonly #outcomes = new Map<string, ToolOutcome>();
  readonly #end = Promise.withResolvers<NativeEnd>();
  #written: Promise<void> = Promise.resolve();
  readonly #exceeds = Promise.withResolvers<"exceeded">();
  readonly #watcher: NativeTurnWatcher;
  responses = 0;
  /** Failed connections in a row, and the error when they reach the limit. */
  #unreached = 0;
  #unreachable: NativeEnd | undefined;
  /** The newest item is input. */
  #endsWithInput = false;
  /** Tokens of the thread before its compaction. */
  #tokensBefore = 0;
  /** Set while Codex compacts the thread. */
  #compacting: PromiseWithResolvers<void> | undefined;

  constructor(turn: HarnessTurn, watcher: NativeTurnWatcher) {
    this.#turn = turn;
    this.#watcher = watcher;
    this.ended = this.#end.promise;
    this.exceeded = this.#exceeds.promise;
    // A failure without a waiter is reported where it is awaited.
    this.ended.catch(() => undefined);
    const { provider, id: model } = turn.model;
    this.#mirror = new CodexTurnMirror({ provider, model }, (message) => {
      watcher.onMessage(message);
      this.#emit({ type: "message", message });
    });
  }

  /** Resolves when Codex is not compacting the thread, at the latest after `deadlineMs`. */
  async compactionOver(deadlineMs: number): Promise<void> {
    const compacting = this.#compacting?.promise;
    if (!compacting) return;
    const over = this.ended.then(
      () => undefined,
      () => undefined,
    );
    const late = new Promise<void>((resolve) => setTimeout(resolve, deadlineMs).unref());
    await Promise.race([compacting, over, late]);
  }

  /** Codex has only recorded the newest input without showing it to the model, as for input at the end of a turn. */
  get endsWithInput(): boolean {
    return this.#endsWithInput;
  }

  /** Call it before input joins the turn. */
  split(): Promise<void> {
    this.#mirror.split();
    return this.#written;
  }

  /** Ends the run: text that only streamed and calls without a result become messages. */
  close(how: "stop" | "aborted" | "error"): Promise<void> {
    this.#drain();
    this.#watcher.tail?.close();
    this.#mirror.end(how);
    return this.#written;
  }

  closed(error: PagurusError): void {
    this.#end.reject(error);
  }

  async request(method: string, params: unknown): Promise<unknown> {
    const message = recordOf(params);
    // A subagent's calls do not emit events.
    const isOwn = stringOf(message["threadId"]) === this.#watcher.thread.id;
    const answer = answerRequest(this.#turn, method, message, {
      announced: this.#changes,
      onOutcome: (callId, outcome) => (isOwn ? this.#called(callId, outcome) : undefined),
    });
    if (!answer) throw new PagurusError("runtime_failed", `Pagurus does not answer ${method}.`);
    const response = await answer;
    // Input that arrived while the tool ran has to be next to its result in the next request.
    if (isOwn) await this.#watcher.inputsSent();
    return response;
  }

  #called(callId: string, outcome: ToolOutcome): void {
    this.#outcomes.set(callId, outcome);
    this.#mirror.answered(callId, outcome.content);
  }

  notification(method: string, params: unknown): void {
    const message = recordOf(params);
    const thread = stringOf(message["threadId"]);
    if (thread !== "" && thread !== this.#watcher.thread.id) return this.#agentNotified(method, message);
    const turnId = stringOf(message["turnId"]) || stringOf(recordOf(message["turn"])["id"]);
    if (method === "turn/started") this.nativeTurnId ??= turnId;
    // From another turn: an injection before this one, or the rest of an interrupted one.
    if (turnId !== "" && turnId !== this.nativeTurnId) return;
    if (!method.endsWith("elta")) this.#drain();
    this.#handle(method, message);
  }

  /** From a subagent that Codex started itself; its work is reported by the parent's calls. */
  #agentNotified(method: string, message: Fields): void {
    const item = recordOf(message["item"]);
    if (method === "item/started" && item["type"] === "fileChange") this.#announced(item);
  }

  /** Reads new lines of the thread's file, for a thread without raw items on the wire. */
  #drain(): void {
    const { tail } = this.#watcher;
    if (!tail) return;
    for (const record of tail.next())
      if (record.kind === "item") this.#raw(record.item);
      else if (record.kind === "ended") this.#callEnded(record.call);
      else this.#response(usageOf(record.usage));
  }

  #emit(event: TurnEvent): void {
    const before = this.#written;
    const done = this.#turn.io.emit(event);
    this.#written = before.then(() => done);
  }

  #handle(method: string, message: Fields): void {
    switch (method) {
      case "item/agentMessage/delta":
        this.#mirror.delta(stringOf(message["itemId"]), stringOf(message["delta"]));
        return this.#emit({ type: "text.delta", delta: stringOf(message["delta"]) });
      case "item/reasoning/summaryTextDelta":
      case "item/reasoning/textDelta":
        return this.#emit({ type: "thinking.delta", delta: stringOf(message["delta"]) });
      case "item/commandExecution/outputDelta":
        return this.#emit({
          type: "tool.output",
          toolCallId: stringOf(message["itemId"]),
          chunk: stringOf(message["delta"]),
        });
      case "item/started":
        return this.#started(recordOf(message["item"]));
      case "item/completed":
        return this.#completed(recordOf(message["item"]));
      case "rawResponseItem/completed":
        return this.#raw(recordOf(message["item"]));
      case "rawResponse/completed":
        return this.#response(usageOf(message["usage"]));
      case "thread/tokenUsage/updated":
        return this.#counted(recordOf(recordOf(message["tokenUsage"])["last"])["totalTokens"]);
      case "error":
        return this.#error(message);
      case "turn/plan/updated":
        return this.#emit({ type: "plan.updated", ...planOfMessage(message) });
      case "turn/diff/updated":
        return this.#emit({ type: "diff.updated", diff: stringOf(message["diff"]) });
      case "turn/completed":
        return this.#finished(recordOf(message["turn"]));
      default:
        return this.#warned(method, message);
    }
  }

  #warned(method: string, message: Fields): void {
    if (method === "warning" || method === "configWarning" || method === "guardianWarning")
      this.#notice("codex", stringOf(message["message"]) || stringOf(message["summary"]));
    if (method === "model/rerouted") this.#notice("codex", "Codex has called another model than the turn's.");
  }

  #notice(kind: string, detail: string): void {
    this.#emit({ type: "notice", kind, detail });
  }

  #started(item: Fields): void {
    this.#endsWithInput = item["type"] === "userMessage";
    // Text that streamed before the input reached Codex belongs before the input.
    if (this.#endsWithInput) this.#mirror.split();
    if (item["type"] === "contextCompaction") return this.#compaction("started");
    if (item["type"] === "fileChange") this.#announced(item);
    const tool = toolOf(item);
    if (!tool) return;
    const { name: toolName, arguments: args } = tool;
    this.#emit({ type: "tool.started", toolCallId: stringOf(item["id"]), toolName, arguments: args });
  }

  #announced({ id, changes }: Fields): void {
    const list = Array.isArray(changes) ? changes.map(recordOf) : [];
    this.#changes.set(
      stringOf(id),
      // A moved file is also written at its new path.
      list.flatMap(({ path, diff, kind }) =>
        [stringOf(path), stringOf(recordOf(kind)["move_path"])]
          .filter((each, index) => index === 0 || each !== "")
          .map((each) => ({ path: each, diff: stringOf(diff) })),
      ),
    );
  }

  #completed(item: Fields): void {
    if (item["type"] === "contextCompaction") return this.#compaction("completed");
    const tool = toolOf(item);
    if (!tool) return;
    const isError = this.#callEnded(item);
    const toolCallId = stringOf(item["id"]);
    const outcome = this.#outcomes.get(toolCallId) ?? { content: [{ type: "text", text: outputText(item) }] };
    this.#outcomes.delete(toolCallId);
    this.#emit({ type: "tool.completed", toolCallId, toolName: tool.name, outcome: { ...outcome, isError } });
  }

  /** Whether it failed: the item says so, its output does not. */
  #callEnded(item: Fields): boolean {
    const isError = hasFailed(item);
    if (isError) this.#mirror.failed(stringOf(item["id"]));
    return isError;
  }

  /** The summary of a compaction is Codex's own. */
  #raw(item: Fields): void {
    if (this.#compacting) return;
    if (typeof item["type"] === "string") this.#mirror.item(item as RawItem);
  }

  #response(usage: Usage | undefined): void {
    if (this.#compacting) return;
    this.responses += 1;
    this.#unreached = 0;
    // The first request was reported before the turn began; a later one held the messages up to its answer.
    const { wired } = this.#watcher;
    if (this.responses > 1 && !wired) this.#turn.context.receipt({});
    if (this.responses > this.#turn.maxSteps) this.#exceeds.resolve("exceeded");
    this.#mirror.response(usage);
    if (!usage) return;
    this.usage = usage;
    this.#watcher.thread.tokens = usage.totalTokens;
    if (!wired) this.#turn.context.receipt({ usage });
    this.#emit({ type: "usage", usage });
  }

  #counted(tokens: unknown): void {
    if (typeof tokens === "number") this.#watcher.thread.tokens = tokens;
  }

  #error(params: Fields): void {
    if (params["willRetry"] !== true) return;
    this.#mirror.retry();
    const { name } = nativeCode(recordOf(params["error"])["codexErrorInfo"]);
    const error = recordOf(params["error"]);
    const message = stringOf(error["message"]);
    const waits = /waiting for network/i.test(message);
    this.#unreached = waits ? this.#unreached + 1 : 0;
    const attempt = waits ? this.#unreached : Number(/(\d+)\/\d+/.exec(message)?.[1] ?? 1);
    this.#emit({ type: "model.retry", attempt, delayMs: 0, reason: name });
    if (this.#unreached < MOST_UNREACHED) return;
    const why = stringOf(error["additionalDetails"]) || message;
    const failure = { ...error, message: `the endpoint cannot be reached (${why})` };
    this.#unreachable ??= { status: "failed", error: failure };
    this.#exceeds.resolve("exceeded");
  }

  /** Never attributed to the engine. Source: harness port, "In-turn Codex native contextCompaction events". */
  #compaction(state: "started" | "completed"): void {
    const { ownsCompaction, id: engineId } = this.#turn.engine;
    const about = {
      lane: "harness" as const,
      trigger: "threshold" as const,
      backend: BACKEND,
      ownsCompaction,
    };
    const { wired, thread } = this.#watcher;
    const started = (): void =>
      this.#emit({ type: "compaction.started", ...about, tokensBefore: this.#tokensBefore });
    if (state === "started") {
      this.#compacting = Promise.withResolvers();
      this.#tokensBefore = thread.tokens ?? 0;
      // Its origin is known only when it has ended.
      if (!wired) started();
      return;
    }
    this.compacted = true;
    this.#compacting?.resolve();
    this.#compacting = undefined;
    // The host has reported the engine's answer.
    if (wired?.takeAnswer() === true) return;
    if (wired) started();
    const tokens = { tokensBefore: this.#tokensBefore, tokensAfter: thread.tokens ?? 0 };
    this.#emit({ type: "compaction.completed", ...about, ...tokens, handledBy: BACKEND });
    if (this.#turn.engine.governs && !wired)
      this.#notice(
        "native_compaction",
        `Codex compacted its thread by itself, which the engine ${engineId} did not request; the next turn begins a new thread from the engine's context.`,
      );
    this.#watcher.onCompacted();
  }

  #finished(turn: Fields): void {
    const { status, error } = turn;
    if (this.#unreachable && status !== "completed") return this.#end.resolve(this.#unreachable);
    if (status === "completed" || status === "interrupted") return this.#end.resolve({ status });
    this.#end.resolve({ status: "failed", error: recordOf(error) });
  }
}
