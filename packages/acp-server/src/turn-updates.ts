import { readFile, stat } from "node:fs/promises";
import type { StopReason, ToolCallContent } from "@agentclientprotocol/sdk";
import type { TurnEvent, TurnSummary } from "@pagurus/contract/host/events";
import type { AgentMessage } from "@pagurus/contract/message";
import { sleep } from "@pagurus/core/platform/deadline";
import type { Client } from "./acp-client.ts";
import type { AnnouncedCall } from "./permission-request.ts";
import { type CallIds, shownCall, shownResult, writtenFile } from "./tool-call-updates.ts";
import { durationText } from "@pagurus/core/platform/duration";
import { compactionSizes } from "@pagurus/host/command/context-gauge";
import { fallbackText } from "@pagurus/host/command/fallback-text";

type Of<T extends TurnEvent["type"]> = Extract<TurnEvent, { type: T }>;
type CompactionEvent = Of<"compaction.started" | "compaction.completed" | "compaction.failed">;

/** Destination of a turn's updates, and the data they need besides its events. */
export interface TurnPlace {
  client: Client;
  sessionId: string;
  cwd: string;
  callIds: CallIds;
  /** Context window of a model, tokens; 0 if unknown. */
  windowOf(model: string): number;
  /** The newest summary of the session, sent after a compaction. */
  summary(): Promise<string | undefined>;
  /** Whether successful compactions are reported to a client that does not support compaction updates. */
  notifyCompactions: boolean;
}

/** First half of a surrogate pair whose second half has not come yet: not every JSON reader accepts it alone. */
const HALF_CHARACTER = /[\ud800-\udbff]$/;
/** Maximum length of a running call's shown output, characters; the newest ones are kept. */
const OUTPUT_TAIL = 8_000;
const OUTPUT_EVERY_MS = 200;
/** Largest file whose previous text is shown in a diff, bytes. */
const MOST_DIFF_BYTES = 256 * 1024;

/** How long a permission question waits for its call to be announced, ms. */
const ANNOUNCE_MS = 500;
const STEP_MS = 5;

const PLAN_STATUS = { pending: "pending", inProgress: "in_progress", completed: "completed" } as const;

interface OpenCall extends AnnouncedCall {
  output: string;
  shownAt: number;
  /** Set for a call that writes a whole file: its previous text, undefined if unknown. */
  file?: { path: string; text: string; before: string | undefined };
}

/** Text of one kind as it streams in. */
class Chunks {
  #half = "";
  /** A part of the message has been sent. */
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

/** Sends the events of one turn to the client as updates. */
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
        return this.#report(event);
    }
  }

  /** Ends the turn: calls that are still open are marked as failed. */
  async end(): Promise<void> {
    for (const { shownId: toolCallId } of this.#calls.values()) {
      await this.#update({ sessionUpdate: "tool_call_update", toolCallId, status: "failed" });
    }
    this.#calls.clear();
    this.#over = true;
  }

  /**
   * Returns the call as the client knows it. Events are queued, so a question may come before its call: waits for the call, but not
   * for long, because a runtime may ask about a call that it never announces.
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

  /** Marks a waiting call as in progress, after the user allowed it; by its id in the editor. */
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

  /** Sends a whole message, for runtimes that do not stream. */
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

  async #started({ toolCallId, toolName, arguments: args }: Of<"tool.started">): Promise<void> {
    const shown = shownCall(toolName, args, this.#place.cwd);
    const hasDiff = (shown.content ?? []).length > 0;
    const shownId = this.#place.callIds.next(toolCallId);
    const call: OpenCall = { shownId, output: "", shownAt: 0, hasDiff, title: shown.title };
    const written = writtenFile(toolName, args, this.#place.cwd);
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
      const notice = compactionSentence(event, notifyCompactions);
      if (notice !== undefined) await client.notice(sessionId, notice.severity, notice.sentence);
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
    // The newest request's count is better than the estimate of the next one, which leaves out what all requests share.
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

  async #report(event: TurnEvent): Promise<void> {
    if (event.type === "notice") return this.#notice("info", event.detail);
    if (event.type === "model.retry") {
      // The answer restarts; the partial one stays as a message of its own.
      this.#next();
      return this.#notice(
        "info",
        `Retry ${event.attempt} in ${durationText(event.delayMs)}: ${event.reason}`,
      );
    }
    if (event.type === "model.fallback") {
      this.#window = this.#place.windowOf(event.to);
      this.#next();
      return this.#notice("warning", `Fallback: ${fallbackText(event)}.`);
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
  const sentence = `Compacted by ${handledBy}: ${compactionSizes(tokensBefore, tokensAfter)}.`;
  return { severity: "info", sentence };
}

/** The file's current text; undefined if it cannot be shown or the call has already written it. */
async function textOf(path: string, written: string): Promise<string | undefined> {
  try {
    const { size } = await stat(path);
    if (size > MOST_DIFF_BYTES) return undefined;
    const bytes = await readFile(path);
    const text = bytes.toString("utf8");
    return bytes.includes(0) || text === written ? undefined : text;
  } catch {
    // No such file; the result shows whether it was created.
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
