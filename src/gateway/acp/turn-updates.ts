import { readFile, stat } from "node:fs/promises";
import type { StopReason, ToolCallContent } from "@agentclientprotocol/sdk";
import type { TurnEvent, TurnSummary } from "../../contract/events.ts";
import type { AgentMessage } from "../../contract/message.ts";
import { sleep } from "../../platform/deadline.ts";
import type { Client } from "./client.ts";
import type { AnnouncedCall } from "./permission.ts";
import { type CallIds, shownCall, shownResult, writtenFile } from "./tool-calls.ts";

type Of<T extends TurnEvent["type"]> = Extract<TurnEvent, { type: T }>;
type CompactionEvent = Of<"compaction.started" | "compaction.completed" | "compaction.failed">;

/** Where the updates of a turn go, and what they need to know besides its events. */
export interface TurnPlace {
  client: Client;
  sessionId: string;
  cwd: string;
  callIds: CallIds;
  /** Tokens of a model's window; 0 where it is not known. */
  windowOf(model: string): number;
  /** The newest summary of the session, for a compaction that is done. */
  summary(): Promise<string | undefined>;
  /** Whether compactions that go well are told of to a client that does not know them. */
  notifyCompactions: boolean;
}

/** A character of two UTF-16 units whose second one has not come yet: JSON of it alone is not read everywhere. */
const HALF_CHARACTER = /[\ud800-\udbff]$/;
/** Most characters of a running call's output that are shown, the newest ones. */
const OUTPUT_TAIL = 8_000;
const OUTPUT_EVERY_MS = 200;
/** Largest file whose text before a call is shown beside the one after it, bytes. */
const MOST_DIFF_BYTES = 256 * 1024;

/** How long a question waits for its call, ms. */
const ANNOUNCE_MS = 500;
const STEP_MS = 5;

const PLAN_STATUS = { pending: "pending", inProgress: "in_progress", completed: "completed" } as const;

interface OpenCall extends AnnouncedCall {
  output: string;
  shownAt: number;
  /** Set for a call that writes a whole file: its text before, undefined where that is not known. */
  file?: { path: string; text: string; before: string | undefined };
}

/** Text of one kind as it streams in. */
class Chunks {
  #half = "";
  /** Something of the message has been sent. */
  streamed = false;

  take(delta: string): string {
    const text = this.#half + delta;
    this.#half = HALF_CHARACTER.exec(text)?.[0] ?? "";
    this.streamed = true;
    return text.slice(0, text.length - this.#half.length);
  }

  end(): void {
    this.#half = "";
    this.streamed = false;
  }
}

/** Tells the client of one turn, event by event. */
export class TurnUpdates {
  readonly #place: TurnPlace;
  readonly #text = new Chunks();
  readonly #thought = new Chunks();
  readonly #calls = new Map<string, OpenCall>();
  #turnId = "turn";
  #began = false;
  #message = 0;
  #window = 0;
  /** Tokens of the newest request. */
  #used = 0;
  #compaction = 0;
  #over = false;

  constructor(place: TurnPlace) {
    this.#place = place;
  }

  /** Undefined before the turn has begun. */
  get turnId(): string | undefined {
    return this.#began ? this.#turnId : undefined;
  }

  async take(event: TurnEvent): Promise<void> {
    switch (event.type) {
      case "turn.started":
        this.#turnId = event.turnId;
        this.#began = true;
        this.#window = this.#place.windowOf(event.model);
        return;
      case "text.delta":
        return this.#say("agent_message_chunk", this.#text.take(event.delta));
      case "thinking.delta":
        return this.#say("agent_thought_chunk", this.#thought.take(event.delta));
      case "message":
        return this.#whole(event.message);
      case "tool.started":
        return this.#started(event);
      case "tool.output":
        return this.#output(event);
      case "tool.completed":
        return this.#completed(event);
      case "model.request":
        this.#used = event.tokens;
        return this.#usage();
      case "plan.updated":
        return this.#plan(event);
      case "compaction.started":
      case "compaction.completed":
      case "compaction.failed":
        return this.#compacted(event);
      case "turn.completed":
        return this.#ended(event);
      default:
        return this.#told(event);
    }
  }

  /** The turn is over: what is still open will not be completed. */
  async end(): Promise<void> {
    for (const { shownId: toolCallId } of this.#calls.values()) {
      await this.#update({ sessionUpdate: "tool_call_update", toolCallId, status: "failed" });
    }
    this.#calls.clear();
    this.#over = true;
  }

  /**
   * The call as the client has been told of it. Events wait in a line, so a question may be ahead of its call: it is
   * waited for, but not for long, because a runtime may ask about what it never announces.
   */
  async announced(toolCallId: string): Promise<AnnouncedCall | undefined> {
    for (
      let waited = 0;
      waited < ANNOUNCE_MS && !this.#over && !this.#calls.has(toolCallId);
      waited += STEP_MS
    )
      await sleep(STEP_MS);
    return this.#calls.get(toolCallId);
  }

  /** The user has allowed a call that waited; by its id there. */
  allowed(toolCallId: string): Promise<void> {
    return this.#update({ sessionUpdate: "tool_call_update", toolCallId, status: "in_progress" });
  }

  #update(update: Parameters<Client["update"]>[1]): Promise<void> {
    return this.#place.client.update(this.#place.sessionId, update);
  }

  async #say(sessionUpdate: "agent_message_chunk" | "agent_thought_chunk", text: string): Promise<void> {
    if (text === "") return;
    const messageId = `${this.#turnId}:${this.#message}`;
    await this.#update({ sessionUpdate, content: { type: "text", text }, messageId });
  }

  /** A runtime that does not stream sends whole messages only. */
  async #whole(message: AgentMessage): Promise<void> {
    if (message.role !== "assistant") return;
    for (const part of message.content) {
      if (part.type === "text" && !this.#text.streamed) await this.#say("agent_message_chunk", part.text);
      if (part.type === "thinking" && !this.#thought.streamed)
        await this.#say("agent_thought_chunk", part.thinking);
    }
    this.#next();
  }

  #next(): void {
    this.#message += 1;
    this.#text.end();
    this.#thought.end();
  }

  async #started({ toolCallId, toolName, arguments: given }: Of<"tool.started">): Promise<void> {
    const shown = shownCall(toolName, given, this.#place.cwd);
    const hasDiff = (shown.content ?? []).length > 0;
    const shownId = this.#place.callIds.next(toolCallId);
    const call: OpenCall = { shownId, output: "", shownAt: 0, hasDiff, title: shown.title };
    const written = writtenFile(toolName, given, this.#place.cwd);
    if (written) call.file = { ...written, before: await textOf(written.path, written.text) };
    const update = { sessionUpdate: "tool_call" as const, toolCallId: shownId };
    await this.#update({ ...update, status: "in_progress", ...shown });
    this.#calls.set(toolCallId, call);
  }

  async #output({ toolCallId, chunk }: Of<"tool.output">): Promise<void> {
    const call = this.#calls.get(toolCallId);
    if (!call) return;
    call.output = (call.output + chunk).slice(-OUTPUT_TAIL);
    if (performance.now() - call.shownAt < OUTPUT_EVERY_MS) return;
    call.shownAt = performance.now();
    const text = call.output.replace(/^[\udc00-\udfff]/, "").replace(HALF_CHARACTER, "");
    const content = shownResult([{ type: "text", text }]);
    const { shownId } = call;
    await this.#update({
      sessionUpdate: "tool_call_update",
      toolCallId: shownId,
      status: "in_progress",
      content,
    });
  }

  async #completed({ toolCallId, outcome }: Of<"tool.completed">): Promise<void> {
    const call = this.#calls.get(toolCallId);
    this.#calls.delete(toolCallId);
    const created = outcome.details?.["created"] === true;
    const diff = outcome.isError || !call?.file ? [] : wholeFileDiff(call.file, created);
    const keeps = call?.hasDiff === true && !outcome.isError;
    const content = diff.length > 0 ? diff : shownResult(outcome.content);
    await this.#update({
      sessionUpdate: "tool_call_update",
      toolCallId: call?.shownId ?? toolCallId,
      status: outcome.isError ? "failed" : "completed",
      ...(keeps ? {} : { content }),
      ...(outcome.details === undefined ? {} : { _meta: { pagurus: outcome.details } }),
    });
  }

  async #plan({ steps }: Of<"plan.updated">): Promise<void> {
    const entries = steps.map(({ step, status }) => ({
      content: step,
      priority: "medium" as const,
      status: PLAN_STATUS[status],
    }));
    await this.#update({ sessionUpdate: "plan", entries });
  }

  async #usage(cost?: number): Promise<void> {
    if (this.#window === 0) return;
    const amount = cost === undefined ? {} : { cost: { amount: cost, currency: "USD" } };
    const used = this.#used;
    await this.#update({ sessionUpdate: "usage_update", used, size: this.#window, ...amount });
  }

  async #compacted(event: CompactionEvent): Promise<void> {
    const { client, sessionId, notifyCompactions } = this.#place;
    if (event.type === "compaction.started") this.#compaction += 1;
    if (!client.compactions) {
      const told = compactionSentence(event, notifyCompactions);
      if (told !== undefined) await client.notice(sessionId, told.severity, told.sentence);
      return;
    }
    const compactionId = `${this.#turnId}:compaction:${this.#compaction}`;
    const base = { sessionUpdate: "compaction_update" as const, compactionId };
    if (event.type === "compaction.started") return this.#update({ ...base, status: "in_progress" });
    if (event.type === "compaction.failed")
      return this.#update({ ...base, status: "failed", error: event.reason });
    const summary = await this.#place.summary();
    return this.#update({
      ...base,
      status: "completed",
      ...(summary === undefined ? {} : { summary: [{ type: "text", text: summary }] }),
      _meta: { tokensBefore: event.tokensBefore, tokensAfter: event.tokensAfter, by: event.handledBy },
    });
  }

  async #ended(summary: TurnSummary): Promise<void> {
    const { context, cost } = summary;
    // What the newest request held says more than an estimate of the next one, which leaves out what every one holds.
    if (this.#used === 0) this.#used = context?.tokens ?? 0;
    await this.#usage(cost?.session);
    if (summary.stopReason === "length")
      await this.#notice("warning", "The answer reached the model's output limit.");
    if (summary.stopReason === "max_steps")
      await this.#notice("warning", "The turn stopped at its limit of steps.");
  }

  #notice(severity: "info" | "warning", sentence: string): Promise<void> {
    return this.#place.client.notice(this.#place.sessionId, severity, sentence);
  }

  async #told(event: TurnEvent): Promise<void> {
    if (event.type === "notice") return this.#notice("info", event.detail);
    if (event.type === "model.retry") {
      // The answer begins again: what came of it is a message of its own.
      this.#next();
      return this.#notice("info", `Retry ${event.attempt} in ${event.delayMs} ms: ${event.reason}`);
    }
    if (event.type === "context.degraded")
      return this.#notice("warning", `Degraded (${event.stage}, engine ${event.engineId}): ${event.reason}`);
    return undefined;
  }
}

function compactionSentence(
  event: CompactionEvent,
  notify: boolean,
): { severity: "info" | "warning"; sentence: string } | undefined {
  if (event.type === "compaction.failed")
    return { severity: "warning", sentence: `The compaction failed: ${event.reason}` };
  if (event.type === "compaction.started" || !notify) return undefined;
  const { handledBy, tokensBefore, tokensAfter } = event;
  const sentence = `Compacted by ${handledBy}: ${tokensBefore} → ${tokensAfter} tokens.`;
  return { severity: "info", sentence };
}

/** A file's text as it is now; undefined where it cannot be shown, or the call was faster. */
async function textOf(path: string, written: string): Promise<string | undefined> {
  try {
    const { size } = await stat(path);
    if (size > MOST_DIFF_BYTES) return undefined;
    const bytes = await readFile(path);
    const text = bytes.toString("utf8");
    return bytes.includes(0) || text === written ? undefined : text;
  } catch {
    // No such file: the result says whether it was made.
    return undefined;
  }
}

function wholeFileDiff(
  { path, text, before }: NonNullable<OpenCall["file"]>,
  created: boolean,
): ToolCallContent[] {
  if (created) return [{ type: "diff", path, oldText: null, newText: text }];
  return before === undefined ? [] : [{ type: "diff", path, oldText: before, newText: text }];
}

const STOP_REASONS = {
  stop: "end_turn",
  aborted: "cancelled",
  length: "max_tokens",
  max_steps: "max_turn_requests",
} as const;

export function stopReasonOf(summary: TurnSummary): StopReason {
  return STOP_REASONS[summary.stopReason];
}
