/** Builds the context that is sent from an engine's answer and the live turn: valid, trimmed, fragments in their place. */
import type { AgentMessage, ToolResultMessage, UserMessage } from "@pagurus/contract/message";
import { ENTRY_TOOL } from "@pagurus/contract/harness/tool";
import type { ReceiptPart } from "@pagurus/contract/session/receipt";
import type { ContextSlice } from "@pagurus/contract/session/writer";
import { Ageing, ageingSettings, type AgedResult } from "@pagurus/core/compaction/ageing";
import { changedMessage } from "@pagurus/core/compaction/changed-message";
import { isValidSequence, repairPairs } from "@pagurus/core/compaction/tool-pairing";
import { trimToolResult } from "@pagurus/core/compaction/trim";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { messagesTokens } from "@pagurus/core/tokens/message-tokens";
import type { Answer } from "./ask-engine.ts";
import type { ContextScope } from "./context-scope.ts";
import { fragmentsOf, placeFragments } from "../fragments/fragment-place.ts";
import { joinLive, splitLive } from "./live-messages.ts";

/** Prepended to a context that does not begin with a user message: several providers refuse such a context. */
const OPENER: UserMessage = {
  role: "user",
  content: "[Earlier messages of this conversation are not shown.]",
};

const NONE_AGED: ReadonlyMap<AgentMessage, AgedResult> = new Map();

export interface Joined extends Answer {
  /** Valid, trimmed, fragments in their place, live turn last. */
  sent: AgentMessage[];
  /** Messages of `sent` before the live turn. */
  historyCount: number;
  trims: Map<AgentMessage, NonNullable<ReceiptPart["trimmed"]>>;
  /** Host's count of `sent` and the addition. */
  tokens: number;
  /** Host's count of the engine's messages as it returned them. */
  answerTokens: number;
  /** Tokens that thresholds and the gauge use: the larger of the engine's estimate and the host's. */
  contextTokens: number;
}

/** A tool result as it is sent, and the limit that it was trimmed to. */
type Trimmed = ReturnType<typeof trimToolResult> & { limit: number };

export class ContextJoiner {
  readonly #scope: ContextScope;
  readonly #trimmed = new WeakMap<ToolResultMessage, Trimmed>();
  readonly #reported = new Set<string>();
  readonly #ageing: Ageing;

  constructor(scope: ContextScope) {
    this.#scope = scope;
    this.#ageing = new Ageing(ageingSettings(scope.host.config));
  }

  join(answer: Answer, live: readonly AgentMessage[], slice: ContextSlice, known?: Joined["trims"]): Joined {
    const calibration = this.#scope.calibration();
    const trims: Joined["trims"] = new Map(known);
    const { messages, repaired } = this.#repaired(answer, live, slice);
    const aged = this.#aged(messages, slice);
    const trimmed = messages.map((message) => {
      if (message.role !== "toolResult") return message;
      const { message: short, trimmed } = aged.get(message) ?? this.#trim(message);
      if (trimmed) trims.set(short, trimmed);
      return short;
    });
    const sent = placeFragments(trimmed, fragmentsOf(slice));
    const addition = answer.result?.systemPromptAddition;
    const raw = messagesTokens(sent) + (addition ? estimateTokens(addition) : 0);
    const tokens = Math.ceil(calibration.apply(raw));
    const answerTokens = Math.ceil(calibration.apply(messagesTokens(answer.messages)));
    // The engine's estimate lacks what the host adds to the answer and trims from it.
    const estimated = answer.result?.estimatedTokens;
    const own = typeof estimated === "number" ? Math.ceil(estimated) + tokens - answerTokens : 0;
    const historyCount = splitLive(sent, this.#scope.inputEntryId).history.length;
    const contextTokens = Math.max(tokens, own);
    const degraded = answer.degraded ?? repaired;
    return { ...answer, degraded, sent, historyCount, trims, tokens, answerTokens, contextTokens };
  }

  /** A sequence that every provider accepts, beginning with a user message. Problems of the answer are reported. */
  #repaired(
    answer: Answer,
    live: readonly AgentMessage[],
    slice: ContextSlice,
  ): { messages: AgentMessage[]; repaired: string | undefined } {
    const joined = joinLive(answer.messages, live, answer.prompt);
    const paired = repairPairs(joined);
    const reasons: string[] = [];
    if (paired !== joined) {
      const problem = this.#problemOf(joined.slice(0, joined.length - live.length), slice);
      if (problem !== undefined) reasons.push(`what no provider takes was repaired: ${problem}`);
    }
    const changed = this.#changed(answer, slice);
    if (changed !== undefined) reasons.push(changed);
    const opens = paired[0] === undefined || paired[0].role === "user";
    if (!opens) reasons.push("the context began with no user message, and a line of the host opens it now");
    for (const reason of reasons) this.#report(reason, answer);
    return { messages: opens ? paired : [OPENER, ...paired], repaired: reasons[0] };
  }

  /** The problem of the engine's part of a context; undefined when the transcript itself has the same problem. */
  #problemOf(answered: readonly AgentMessage[], slice: ContextSlice): string | undefined {
    const { history } = splitLive(slice.messages, this.#scope.inputEntryId);
    const problem = isValidSequence(answered);
    return problem !== undefined && isValidSequence(history) === undefined ? problem : undefined;
  }

  /** Bundled engines shorten by rules of their own, which the conformance suite covers. */
  #changed({ result, messages }: Answer, slice: ContextSlice): string | undefined {
    if (!result || this.#scope.host.slot.bundled) return undefined;
    const change = changedMessage(slice.messages, messages);
    return change === undefined
      ? undefined
      : `${change}, which the transcript does not; an engine that rewrites a message leaves out its entryId`;
  }

  /** Reported once per turn and reason. */
  #report(reason: string, { result }: Answer): void {
    const { guard, engine } = this.#scope;
    const who = result ? `the answer of the engine ${engine.info.id}` : "the plain history";
    if (this.#reported.has(reason)) return;
    this.#reported.add(reason);
    guard.degrade("assemble", `In ${who} ${reason}`);
  }

  /** Empty if a thread of the runtime holds the conversation: the thread keeps what it was sent. */
  #aged(messages: readonly AgentMessage[], slice: ContextSlice): ReadonlyMap<AgentMessage, AgedResult> {
    const { harness, inputEntryId, model, isKept } = this.#scope;
    if (isKept || (harness.seam !== "embedded" && harness.seam !== "wire")) return NONE_AGED;
    const times = new Map(slice.messages.map(({ entryId, timestamp }) => [entryId, timestamp]));
    return this.#ageing.of({
      messages,
      liveFrom: splitLive(messages, inputEntryId).history.length,
      timeOf: ({ entryId, timestamp }) => (entryId === undefined ? timestamp : times.get(entryId)),
      asSent: (result) => this.#trim(result).message,
      window: model.contextWindow,
      hasEntryTool: this.#hasEntryTool,
    });
  }

  get #hasEntryTool(): boolean {
    return this.#scope.tools.specs.some(({ name }) => name === ENTRY_TOOL);
  }

  /** The same object for the same result at every call, so that values cached for it stay valid. */
  #trim(message: ToolResultMessage): Trimmed {
    const { toolResultMaxChars } = this.#scope;
    const known = this.#trimmed.get(message);
    if (known?.limit === toolResultMaxChars) return known;
    const tool = this.#hasEntryTool ? ENTRY_TOOL : undefined;
    const made = { ...trimToolResult(message, toolResultMaxChars, tool), limit: toolResultMaxChars };
    this.#trimmed.set(message, made);
    return made;
  }
}
