/** One turn of a native thread, from `turn/start` to `turn/completed`: its events become ours as they come. */
import type { PagurusError } from "../../contract/errors.ts";
import type { PlanStep, TurnEvent } from "../../contract/events.ts";
import type { HarnessTurn } from "../../contract/harness.ts";
import type { AgentMessage, Usage } from "../../contract/message.ts";
import type { ToolOutcome } from "../../contract/tool.ts";
import type { ThreadListener } from "./app-server.ts";
import { answerRequest, bareCommand } from "./approvals.ts";
import { fields, text, type Fields } from "./fields.ts";
import { nativeCode, type NativeError } from "./failure.ts";
import { TurnMirror, type RawItem } from "./mirror.ts";
import type { RolloutTail } from "./rollout-tail.ts";
import type { OpenThread } from "./threads.ts";
import type { WiredTurn } from "./wire.ts";

export interface NativeEnd {
  status: "completed" | "interrupted" | "failed";
  error?: NativeError;
}

const BACKEND = "codex-app-server";
/** Codex waits for the network without end, 5 s and then twice as long each time. */
const MOST_UNREACHED = 2;

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
    case "collabAgentToolCall":
      return { name: text(item["tool"]), arguments: { prompt: item["prompt"] } };
    case "webSearch":
      return { name: "web_search", arguments: { query: item["query"] } };
    default:
      return undefined;
  }
}

function planOf(given: Fields): { explanation?: string; steps: PlanStep[] } {
  const steps = Array.isArray(given["plan"]) ? given["plan"].map(fields) : [];
  const explanation = text(given["explanation"]);
  return {
    ...(explanation === "" ? {} : { explanation }),
    steps: steps.map(({ step, status }) => ({
      step: text(step),
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
  return contents.map((part) => text(fields(part)["text"])).join("\n");
}

export interface NativeTurnWatcher {
  /** Where the thread tells its raw items in its file only. */
  tail: RolloutTail | undefined;
  /** Its tokens are noted as Codex counts them. */
  thread: OpenThread;
  /** A message of the turn, before the host is told. */
  onMessage(message: AgentMessage): void;
  /** Codex compacted the thread inside the turn. */
  onCompacted(): void;
  /** Resolves when Codex has been given the input that had come. */
  inputsGiven(): Promise<void>;
  /** Where the gateway tells of requests, and offers compactions to the engine. */
  wired?: Pick<WiredTurn, "takeAnswer"> | undefined;
}

export class NativeTurn implements ThreadListener {
  readonly ended: Promise<NativeEnd>;
  /** Codex compacted the thread inside this turn. */
  compacted = false;
  /** Of the newest answer of the model. */
  usage: Usage | undefined;
  /** Resolves when the turn has to be interrupted: the model answered more often than it may, or cannot be reached. */
  readonly exceeded: Promise<"exceeded">;
  /** Set by the answer to `turn/start`. */
  nativeTurnId: string | undefined;
  readonly #turn: HarnessTurn;
  readonly #mirror: TurnMirror;
  readonly #changes = new Map<string, { path: string; diff: string }[]>();
  /** What the host's tools answered, by call id, until it is told. */
  readonly #outcomes = new Map<string, ToolOutcome>();
  readonly #end = Promise.withResolvers<NativeEnd>();
  #written: Promise<void> = Promise.resolve();
  readonly #exceeds = Promise.withResolvers<"exceeded">();
  readonly #watcher: NativeTurnWatcher;
  #responses = 0;
  /** How often in a row Codex found no way to the endpoint, and how the turn ends for that. */
  #unreached = 0;
  #unreachable: NativeEnd | undefined;
  /** Input is the newest item. */
  #endsWithInput = false;
  /** Tokens of the thread before its compaction. */
  #tokensBefore = 0;
  /** While Codex compacts the thread. */
  #compacting: PromiseWithResolvers<void> | undefined;

  constructor(turn: HarnessTurn, watcher: NativeTurnWatcher) {
    this.#turn = turn;
    this.#watcher = watcher;
    this.ended = this.#end.promise;
    this.exceeded = this.#exceeds.promise;
    // A failure that nobody waits for yet is told where it is awaited.
    this.ended.catch(() => undefined);
    const { provider, id: model } = turn.model;
    this.#mirror = new TurnMirror({ provider, model }, (message) => {
      watcher.onMessage(message);
      this.#emit({ type: "message", message });
    });
  }

  /** Resolves when Codex does not compact the thread, at the latest after `deadlineMs`. */
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

  /** Codex showed the model nothing of the newest input: where that comes as the turn ends, it only writes it down. */
  get endsWithInput(): boolean {
    return this.#endsWithInput;
  }

  /** Before input joins the turn. */
  split(): Promise<void> {
    this.#mirror.split();
    return this.#written;
  }

  /** After the end: what only streamed, and calls that nothing answered, become messages too. */
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
    const given = fields(params);
    // What an agent of Codex's own calls is not told.
    const isOwn = text(given["threadId"]) === this.#watcher.thread.id;
    const answer = answerRequest(this.#turn, method, given, {
      announced: this.#changes,
      onOutcome: (callId, outcome) => (isOwn ? this.#called(callId, outcome) : undefined),
    });
    if (!answer) throw new Error(`Pagurus does not answer ${method}.`);
    const said = await answer;
    // What came while the tool ran is to stand beside its result in the next request.
    if (isOwn) await this.#watcher.inputsGiven();
    return said;
  }

  #called(callId: string, outcome: ToolOutcome): void {
    this.#outcomes.set(callId, outcome);
    this.#mirror.answered(callId, outcome.content);
  }

  notification(method: string, params: unknown): void {
    const given = fields(params);
    const thread = text(given["threadId"]);
    if (thread !== "" && thread !== this.#watcher.thread.id) return this.#agentNotified(method, given);
    const turnId = text(given["turnId"]) || text(fields(given["turn"])["id"]);
    if (method === "turn/started") this.nativeTurnId ??= turnId;
    // Of another turn: what was injected before this one, or the rest of one that was interrupted.
    if (turnId !== "" && turnId !== this.nativeTurnId) return;
    if (!method.endsWith("elta")) this.#drain();
    this.#handle(method, given);
  }

  /** Of an agent that Codex started by itself; what it does is told by its parent's calls. */
  #agentNotified(method: string, given: Fields): void {
    const item = fields(given["item"]);
    if (method === "item/started" && item["type"] === "fileChange") this.#announced(item);
  }

  /** What the thread's file has more than before, for a thread that tells no raw items. */
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
      case "thread/tokenUsage/updated":
        return this.#counted(fields(fields(given["tokenUsage"])["last"])["totalTokens"]);
      case "error":
        return this.#error(given);
      case "turn/plan/updated":
        return this.#emit({ type: "plan.updated", ...planOf(given) });
      case "turn/diff/updated":
        return this.#emit({ type: "diff.updated", diff: text(given["diff"]) });
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
    this.#endsWithInput = item["type"] === "userMessage";
    // What streamed since the input was given to Codex was said before the model saw it.
    if (this.#endsWithInput) this.#mirror.split();
    if (item["type"] === "contextCompaction") return this.#compaction("started");
    if (item["type"] === "fileChange") this.#announced(item);
    const tool = toolOf(item);
    if (!tool) return;
    const { name: toolName, arguments: given } = tool;
    this.#emit({ type: "tool.started", toolCallId: text(item["id"]), toolName, arguments: given });
  }

  #announced({ id, changes }: Fields): void {
    const list = Array.isArray(changes) ? changes.map(fields) : [];
    this.#changes.set(
      text(id),
      // A file that is moved is written at its new place too.
      list.flatMap(({ path, diff, kind }) =>
        [text(path), text(fields(kind)["move_path"])]
          .filter((each, index) => index === 0 || each !== "")
          .map((each) => ({ path: each, diff: text(diff) })),
      ),
    );
  }

  #completed(item: Fields): void {
    if (item["type"] === "contextCompaction") return this.#compaction("completed");
    const tool = toolOf(item);
    if (!tool) return;
    const isError = this.#callEnded(item);
    const toolCallId = text(item["id"]);
    const outcome = this.#outcomes.get(toolCallId) ?? { content: [{ type: "text", text: outputText(item) }] };
    this.#outcomes.delete(toolCallId);
    this.#emit({ type: "tool.completed", toolCallId, toolName: tool.name, outcome: { ...outcome, isError } });
  }

  /** Whether it failed: the item says so, its output does not. */
  #callEnded(item: Fields): boolean {
    const isError = hasFailed(item);
    if (isError) this.#mirror.failed(text(item["id"]));
    return isError;
  }

  /** The summary of a compaction is Codex's own. */
  #raw(item: Fields): void {
    if (this.#compacting) return;
    if (typeof item["type"] === "string") this.#mirror.item(item as RawItem);
  }

  #response(usage: Usage | undefined): void {
    if (this.#compacting) return;
    this.#responses += 1;
    this.#unreached = 0;
    // The first was told of before the turn began; what a later one held is what was said until it was answered.
    const { wired } = this.#watcher;
    if (this.#responses > 1 && !wired) this.#turn.receipt({});
    if (this.#responses > this.#turn.maxSteps) this.#exceeds.resolve("exceeded");
    this.#mirror.response(usage);
    if (!usage) return;
    this.usage = usage;
    this.#watcher.thread.tokens = usage.totalTokens;
    if (!wired) this.#turn.receipt({ usage });
    this.#emit({ type: "usage", usage });
  }

  #counted(tokens: unknown): void {
    if (typeof tokens === "number") this.#watcher.thread.tokens = tokens;
  }

  #error(given: Fields): void {
    if (given["willRetry"] !== true) return;
    this.#mirror.retry();
    const { name } = nativeCode(fields(given["error"])["codexErrorInfo"]);
    const error = fields(given["error"]);
    const message = text(error["message"]);
    const waits = /waiting for network/i.test(message);
    this.#unreached = waits ? this.#unreached + 1 : 0;
    const attempt = waits ? this.#unreached : Number(/(\d+)\/\d+/.exec(message)?.[1] ?? 1);
    this.#emit({ type: "model.retry", attempt, delayMs: 0, reason: name });
    if (this.#unreached < MOST_UNREACHED) return;
    const why = text(error["additionalDetails"]) || message;
    const failure = { ...error, message: `the endpoint cannot be reached (${why})` };
    this.#unreachable ??= { status: "failed", error: failure };
    this.#exceeds.resolve("exceeded");
  }

  /** Never taken for a compaction of the engine. Source: harness port, "In-turn Codex native contextCompaction events". */
  #compaction(state: "started" | "completed"): void {
    const { ownsCompaction, id: engineId } = this.#turn.engine;
    const about = {
      lane: "native" as const,
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
      // Whose it is shows when it has ended.
      if (!wired) started();
      return;
    }
    this.compacted = true;
    this.#compacting?.resolve();
    this.#compacting = undefined;
    // The host has told of the engine's answer.
    if (wired?.takeAnswer() === true) return;
    if (wired) started();
    const tokens = { tokensBefore: this.#tokensBefore, tokensAfter: thread.tokens ?? 0 };
    this.#emit({ type: "compaction.completed", ...about, ...tokens, handledBy: BACKEND });
    if (this.#turn.engine.governs && !wired)
      this.#notice(
        "native_compaction",
        `Codex compacted its thread by itself, which the engine ${engineId} did not ask for; the next turn begins a thread anew from the engine's context.`,
      );
    this.#watcher.onCompacted();
  }

  #finished(turn: Fields): void {
    const { status, error } = turn;
    if (this.#unreachable && status !== "completed") return this.#end.resolve(this.#unreachable);
    if (status === "completed" || status === "interrupted") return this.#end.resolve({ status });
    this.#end.resolve({ status: "failed", error: fields(error) });
  }
}
