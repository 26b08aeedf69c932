/**
 * `turn.assemble()`: asks the engine behind the failure policy what the model sees, joins the live turn to it, and
 * makes sure that it fits and is valid. The same for every runtime.
 */
import type { AssembleParams, AssembleResult } from "../contract/engine-params.ts";
import type { RuntimeContext, RuntimeSettings } from "../contract/runtime-context.ts";
import type { ContextEngine } from "../contract/engine.ts";
import { PagurusError } from "../contract/errors.ts";
import type { CompactionTrigger } from "../contract/events.ts";
import type { AssembledContext } from "../contract/harness.ts";
import type { AgentMessage, ToolResultMessage } from "../contract/message.ts";
import type { ModelInfo } from "../contract/model.ts";
import type { ReceiptPart } from "../contract/receipt.ts";
import type { ContextSlice } from "../contract/store.ts";
import type { ToolSpec } from "../contract/tool.ts";
import { repairPairs } from "../compaction/pairing.ts";
import { trimToolResult } from "../compaction/trim.ts";
import type { Calibration } from "../tokens/calibration.ts";
import { estimateTokens } from "../tokens/estimate.ts";
import { messageTokens } from "../tokens/messages.ts";
import { checkAssembleResult } from "./answer-checks.ts";
import { fitHistory } from "./budget.ts";
import type { Guard } from "./guard.ts";
import { joinLive, splitLive } from "./live.ts";
import { receiptParts, type SystemPiece } from "./receipt-parts.ts";

export interface AssemblerOptions {
  engine: ContextEngine;
  /** An engine of this package, which leaves the messages it is given as they are. */
  trusted: boolean;
  guard: Guard;
  model: ModelInfo;
  sessionKey: string;
  sessionId: string;
  /** Entry of the live turn's input; undefined while nothing is recorded (preview). */
  inputEntryId: string | undefined;
  prompt: string;
  system: readonly SystemPiece[];
  tools: readonly ToolSpec[];
  tokenBudget: number;
  toolResultMaxChars: number;
  calibration: Calibration;
  signal: AbortSignal;
  slice(): ContextSlice;
  /** Messages of earlier turns that the engine has not taken; all that a `history: "live"` engine is given of them. */
  pending(): AgentMessage[];
  runtimeContext(): RuntimeContext;
  runtimeSettings(): RuntimeSettings;
  /** The queued lane; resolves to whether the context has become smaller. Absent: nothing may be compacted. */
  compact?(trigger: CompactionTrigger, currentTokens: number): Promise<boolean>;
  /** `before_prompt_build`: text to stand around the base system prompt. */
  promptHooks(
    prompt: string,
    system: string,
    messages: readonly AgentMessage[],
  ): Promise<{ prepend: string[]; append: string[] }>;
}

/** An assembled context with its receipt's parts. */
export interface Assembly extends AssembledContext {
  parts: ReceiptPart[];
  liveFrom: number;
}

interface Answer {
  messages: AgentMessage[];
  /** The input, where the engine was given it as `prompt`. */
  prompt: string | undefined;
  result: AssembleResult | undefined;
  degraded: string | undefined;
}

interface Joined extends Answer {
  /** Valid, trimmed, live turn last. */
  sent: AgentMessage[];
  /** Messages of `sent` before the live turn. */
  historyCount: number;
  trims: Map<AgentMessage, { fromBytes: number; toBytes: number }>;
  tokens: number;
}

/** How much a context grows until a refused compaction is asked for again. */
const GROWN = 1.1;

export class Assembler {
  readonly #options: AssemblerOptions;
  /** Answer of a `turn`-scoped engine, kept until a compaction. */
  #kept: Answer | undefined;
  readonly #trimmed = new WeakMap<ToolResultMessage, ReturnType<typeof trimToolResult>>();
  #calls = 0;
  /** The call before this one was an overflow. */
  #overflowed = false;
  /** Tokens at which a compaction was refused; it is asked for again when the context has grown since. */
  #refusedAt: number | undefined;
  #saidLeftOut = false;
  #saidImages = false;

  constructor(options: AssemblerOptions) {
    this.#options = options;
  }

  /** Throws `context_overflow`, `live_turn_too_large`, `turn_aborted`. */
  async assemble(request: { overflow?: { message: string } } = {}): Promise<Assembly> {
    let mayCompact = this.#options.compact !== undefined;
    if (request.overflow) {
      await this.#recover(request.overflow.message);
      mayCompact = false;
    } else {
      this.#overflowed = false;
    }
    let slice = this.#options.slice();
    if (
      mayCompact &&
      this.#lacksHistory(slice) &&
      (await this.#compact("threshold", this.#options.tokenBudget))
    ) {
      mayCompact = false;
      slice = this.#options.slice();
    }
    let joined = await this.#join(slice);
    if (mayCompact && this.#overBudget(joined, slice) && (await this.#compact("threshold", joined.tokens))) {
      slice = this.#options.slice();
      joined = await this.#join(slice);
    }
    if (joined.tokens > this.#options.tokenBudget) joined = this.#fit(joined, slice);
    else if (this.#lacksHistory(slice))
      joined = this.#leftOut(joined, "older messages that no summary stands for");
    return this.#finish(joined);
  }

  /** Older messages were not read, and the engine has no record of its own to make up for it. */
  #lacksHistory(slice: ContextSlice): boolean {
    const { info } = this.#options.engine;
    return !slice.complete && info.history !== "live" && info.ownsCompaction !== true;
  }

  async #recover(message: string): Promise<void> {
    const again = this.#overflowed;
    this.#overflowed = true;
    this.#refusedAt = undefined;
    const { model, compact, tokenBudget } = this.#options;
    if (again || !compact) {
      throw new PagurusError(
        "context_overflow",
        `${model.ref} refused the context as too long again after a compaction: ${message} Start a new session with /new, or choose a model with a larger window.`,
      );
    }
    if (await this.#compact("overflow", tokenBudget)) return;
    throw new PagurusError(
      "context_overflow",
      `${model.ref} refused the context as too long (${message}), and there was nothing that a compaction could shorten. Shorten the input, or choose a model with a larger window.`,
    );
  }

  async #compact(trigger: CompactionTrigger, currentTokens: number): Promise<boolean> {
    if (this.#refusedAt !== undefined && currentTokens < this.#refusedAt * GROWN) return false;
    const compacted = (await this.#options.compact?.(trigger, currentTokens)) ?? false;
    this.#refusedAt = compacted ? undefined : currentTokens;
    if (compacted) {
      this.#kept = undefined;
      this.#calls = 0;
    }
    return compacted;
  }

  async #join(slice: ContextSlice): Promise<Joined> {
    const { history, live } = splitLive(slice.messages, this.#options.inputEntryId);
    const answer = await this.#ask(history, live);
    return this.#measure(answer, live);
  }

  /** The engine's answer without the live turn's guarantee; asked as often as its scope says. */
  async #ask(history: AgentMessage[], live: AgentMessage[]): Promise<Answer> {
    const { engine, guard, signal, prompt, inputEntryId } = this.#options;
    const everyCall = engine.info.assembleScope === "call";
    if (this.#kept && !everyCall) return this.#kept;
    const first = this.#calls === 0 && (inputEntryId === undefined || live.length <= 1);
    this.#calls += 1;
    const given = engine.info.history === "live" ? this.#options.pending() : history;
    const messages = first ? given : [...given, ...live];
    const params = this.#params(messages, first ? prompt : undefined);
    // A copy: what an engine does to its messages must not reach the transcript's own.
    const outcome = await guard.call("assemble", () => engine.assemble(params), {
      signal,
      check: checkAssembleResult,
    });
    if (!outcome.ok && signal.aborted) throw new PagurusError("turn_aborted", "The turn was aborted.");
    const answer: Answer = outcome.ok
      ? {
          messages: outcome.value.messages,
          prompt: params.prompt,
          result: outcome.value,
          degraded: undefined,
        }
      : { messages: history, prompt: undefined, result: undefined, degraded: outcome.reason };
    this.#kept = answer;
    return answer;
  }

  #params(messages: AgentMessage[], prompt: string | undefined): AssembleParams {
    const { sessionId, sessionKey, tokenBudget, tools, model } = this.#options;
    return {
      sessionId,
      sessionKey,
      messages: this.#options.trusted ? [...messages] : structuredClone(messages),
      tokenBudget,
      availableTools: new Set(tools.map((tool) => tool.name)),
      citationsMode: "auto",
      model: model.id,
      ...(prompt === undefined ? {} : { prompt }),
      runtimeContext: this.#options.runtimeContext(),
      runtimeSettings: this.#options.runtimeSettings(),
    };
  }

  #measure(answer: Answer, live: readonly AgentMessage[], known?: Joined["trims"]): Joined {
    const trims: Joined["trims"] = new Map(known);
    const sent = repairPairs(joinLive(answer.messages, live, answer.prompt)).map((message) => {
      if (message.role !== "toolResult") return message;
      const { message: short, trimmed } = this.#trim(message);
      if (trimmed) trims.set(short, trimmed);
      return short;
    });
    const addition = answer.result?.systemPromptAddition;
    const raw = sent.reduce(
      (sum, message) => sum + messageTokens(message),
      addition ? estimateTokens(addition) : 0,
    );
    const tokens = Math.ceil(this.#options.calibration.apply(raw));
    const historyCount = splitLive(sent, this.#options.inputEntryId).history.length;
    return { ...answer, sent, historyCount, trims, tokens };
  }

  /** The same object for the same result at every call, so that what is derived of it is kept. */
  #trim(message: ToolResultMessage): ReturnType<typeof trimToolResult> {
    const known = this.#trimmed.get(message);
    if (known) return known;
    const made = trimToolResult(message, this.#options.toolResultMaxChars);
    this.#trimmed.set(message, made);
    return made;
  }

  /** Spec: promptAuthority. `preassembly_may_overflow` also counts the history that the engine left out. */
  #overBudget(joined: Joined, slice: ContextSlice): boolean {
    let tokens = joined.tokens;
    if (joined.result?.promptAuthority === "preassembly_may_overflow") {
      const whole = slice.messages.reduce((sum, message) => sum + messageTokens(message), 0);
      tokens = Math.max(tokens, Math.ceil(this.#options.calibration.apply(whole)));
    }
    return tokens > this.#options.tokenBudget;
  }

  /** Too large although nothing more can be compacted: the newest history that fits, said as a degradation. */
  #fit(joined: Joined, slice: ContextSlice): Joined {
    const { tokenBudget, inputEntryId, model, calibration } = this.#options;
    const tokens = (message: AgentMessage): number => calibration.apply(messageTokens(message));
    const { history, live } = splitLive(slice.messages, inputEntryId);
    const liveTokens = live.reduce((sum, message) => sum + tokens(message), 0);
    const room = tokenBudget - liveTokens;
    if (room < 0 && liveTokens > model.contextWindow) {
      throw new PagurusError(
        "live_turn_too_large",
        `The current turn alone has about ${Math.ceil(liveTokens)} tokens and ${model.ref} takes ${model.contextWindow}; send less at once, or choose a model with a larger window.`,
      );
    }
    const source = joined.result ? joined.sent.slice(0, joined.historyCount) : history;
    const kept = fitHistory(source, Math.max(0, room), tokens);
    // Nothing to leave out: the live turn alone is over the budget, and the provider is the judge of it.
    if (kept.length === source.length) return joined;
    const fitted = this.#measure({ ...joined, messages: kept }, live, joined.trims);
    return this.#leftOut(
      fitted,
      `the oldest messages: of about ${joined.tokens} tokens the budget takes ${tokenBudget}`,
    );
  }

  /** Says once a turn that the model does not see all of the history. */
  #leftOut(joined: Joined, what: string): Joined {
    const reason = `the context leaves out ${what}`;
    if (!this.#saidLeftOut) this.#options.guard.degrade("trim", reason);
    this.#saidLeftOut = true;
    return { ...joined, degraded: joined.degraded ?? reason };
  }

  /** Says once a turn that images of the live turn cannot reach the model. */
  #noteImages(live: readonly AgentMessage[]): void {
    const { model, guard } = this.#options;
    if (this.#saidImages || model.input.includes("image")) return;
    const images = live.flatMap((message) =>
      Array.isArray(message.content) ? (message.content as { type: string }[]) : [],
    );
    const count = images.filter((part) => part.type === "image").length;
    if (count === 0) return;
    this.#saidImages = true;
    guard.degrade(
      "projection",
      `${model.ref} is not known to take images, so ${count} of them ${count === 1 ? "was" : "were"} left out; if it does, set input: ["text", "image"] for it under models.providers.${model.provider}.models`,
    );
  }

  async #finish(joined: Joined): Promise<Assembly> {
    this.#noteImages(joined.sent.slice(joined.historyCount));
    const { system, tools, prompt, promptHooks } = this.#options;
    const base = system.map((piece) => piece.text).join("\n\n");
    const { prepend, append } = await promptHooks(prompt, base, joined.sent);
    const addition = joined.result?.systemPromptAddition;
    const pieces: SystemPiece[] = [
      ...(addition ? [{ source: "addition" as const, text: addition }] : []),
      ...prepend.map((text) => ({ source: "system" as const, text })),
      ...system,
      ...append.map((text) => ({ source: "system" as const, text })),
    ];
    const { historyCount } = joined;
    const { parts, liveFrom } = receiptParts({
      system: pieces,
      tools,
      messages: joined.sent,
      historyCount,
      trims: joined.trims,
    });
    return {
      system: pieces.map((piece) => piece.text).join("\n\n"),
      messages: joined.sent,
      historyCount,
      estimatedTokens: joined.tokens,
      ...(joined.result?.contextProjection ? { projection: joined.result.contextProjection } : {}),
      ...(joined.degraded === undefined ? {} : { degraded: joined.degraded }),
      parts,
      liveFrom,
    };
  }
}
