/**
 * `turn.assemble()`: asks the engine behind the failure policy what the model sees, joins the live turn to it, and
 * makes sure that it fits and is valid. The same for every runtime.
 */
import type { AssembleParams, AssembleResult } from "../contract/engine-params.ts";
import type { ContextEngine } from "../contract/engine.ts";
import { PagurusError } from "../contract/errors.ts";
import type { CompactionTrigger } from "../contract/events.ts";
import type { CitationsMode } from "../contract/memory.ts";
import type { AssembledContext } from "../contract/harness.ts";
import type { AgentMessage, ToolResultMessage, UserMessage } from "../contract/message.ts";
import type { ModelInfo } from "../contract/model.ts";
import type { ReceiptPart } from "../contract/receipt.ts";
import type { ContextSlice } from "../contract/writer.ts";
import { ENTRY_TOOL, type ToolSpec } from "../contract/tool.ts";
import { repairPairs } from "../compaction/pairing.ts";
import { trimToolResult } from "../compaction/trim.ts";
import type { Calibration } from "../tokens/calibration.ts";
import { takesDeveloper } from "../model/developer-role.ts";
import { estimateTokens } from "../tokens/estimate.ts";
import { messageTokens } from "../tokens/messages.ts";
import { checkAssembleResult } from "./answer-checks.ts";
import { fitHistory } from "./budget.ts";
import type { EngineCallBase } from "./engine-context.ts";
import { fragmentsOf, isFragment, placeFragments } from "./fragments/place.ts";
import type { Guard } from "./guard.ts";
import { joinLive, placeVolatile, splitLive } from "./live.ts";
import { receiptParts, type SystemPiece } from "./receipt-parts.ts";

export interface AssemblerOptions {
  engine: ContextEngine;
  /** An engine of this package, which leaves the messages it is given as they are. */
  trusted: boolean;
  guard: Guard;
  model: ModelInfo;
  /** Entry of the live turn's input; undefined while nothing is recorded. A rotation changes it. */
  inputEntryId(): string | undefined;
  prompt: string;
  system: readonly SystemPiece[];
  tools: readonly ToolSpec[];
  tokenBudget: number;
  /** Tokens that history and live turn may take when nothing is kept free. */
  mostTokens: number;
  toolResultMaxChars: number;
  citationsMode: CitationsMode;
  /** Of the session now: a compaction may rotate it. */
  calibration(): Calibration;
  signal: AbortSignal;
  slice(): ContextSlice;
  /** Messages of earlier turns that the engine has not taken; all that a `history: "live"` engine is given of them. */
  pending(): AgentMessage[];
  /** Live messages that no entry of the session holds, in order. */
  volatile(): readonly VolatileMessage[];
  /**
   * Told of a context that may lack fragments which earlier ones held; true when it injected some again, which the
   * slice then has. Absent: nothing is injected.
   */
  settleFragments?(sent: readonly AgentMessage[]): boolean;
  base(): EngineCallBase;
  /** The run's own threshold check may compact inside the turn. */
  inAttempt: boolean;
  /** Resolves to whether the context has become smaller. Absent: nothing may be compacted. */
  compact?: ((lane: Lane, trigger: CompactionTrigger, currentTokens: number) => Promise<boolean>) | undefined;
  /** The runtime keeps the context and makes it smaller by itself: it is told all that was said, whatever the budget. */
  isKept?: boolean;
  /** `before_prompt_build`: text to stand around the base system prompt. */
  promptHooks(
    prompt: string,
    system: string,
    messages: readonly AgentMessage[],
  ): Promise<{ prepend: string[]; append: string[] }>;
}

type Lane = "queued" | "in-attempt";

/** A message of the live turn that is not in the transcript, such as a subagent's result. */
export interface VolatileMessage {
  message: UserMessage;
  /** The entry it stands behind. */
  after: string | undefined;
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

/** A tool result as it is sent, and the limit that it was shortened to. */
type Trimmed = ReturnType<typeof trimToolResult> & { limit: number };

interface Joined extends Answer {
  /** Valid, trimmed, fragments in their place, live turn last. */
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
  /** Answer of a `turn`-scoped engine, kept until a compaction, or until there is less room than it was given. */
  #kept: Answer | undefined;
  #keptWithin = 0;
  readonly #trimmed = new WeakMap<ToolResultMessage, Trimmed>();
  #calls = 0;
  /** The call before this one was an overflow. */
  #overflowed = false;
  /** Tokens at which a lane made no compaction; it is asked again when the context has grown since. */
  readonly #refusedAt = new Map<Lane, number>();
  /** Lane of the newest compaction. */
  #compactedIn: Lane | undefined;
  /** Contexts of this turn so far, and the tokens of the newest. */
  #assembled = 0;
  #lastTokens: number | undefined;
  /** Epoch of the context whose fragments were settled; undefined while that has to be done. */
  #settledEpoch: string | undefined;
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
      (await this.#compact("queued", "threshold", this.#tokensOf(slice)))
    ) {
      mayCompact = false;
      slice = this.#options.slice();
      if (this.#lacksHistory(slice)) this.#refusedAt.set("queued", this.#tokensOf(slice));
    }
    let joined = await this.#join(slice);
    const asked = this.#pressure(joined, slice);
    if (mayCompact && (await this.#makeRoom(joined, asked))) {
      slice = this.#options.slice();
      joined = await this.#join(slice);
      this.#checkGain(asked, this.#pressure(joined, slice), joined.tokens);
    }
    if (this.#options.isKept) return this.#told(joined);
    if (joined.tokens > this.#options.tokenBudget) joined = this.#fit(joined, slice);
    else if (this.#lacksHistory(slice))
      joined = this.#leftOut(joined, "older messages that no summary stands for");
    return this.#told(joined);
  }

  #told(joined: Joined): Promise<Assembly> {
    this.#assembled += 1;
    this.#lastTokens = joined.tokens;
    return this.#finish(joined);
  }

  /**
   * What the engine wants compacted goes to it, in the queued lane. Over the budget: before the first call of a turn
   * the queued lane; inside the turn the run's own, where it is on. When that leaves a context that cannot be sent at
   * all, the queued lane is the last resort.
   */
  async #makeRoom({ tokens, result }: Joined, asked: number): Promise<boolean> {
    const { inAttempt, mostTokens, tokenBudget } = this.#options;
    const wanted = result?.wantsCompaction === true;
    if (asked <= tokenBudget && !wanted) return false;
    if (!inAttempt || this.#assembled === 0 || wanted) return this.#compact("queued", "threshold", tokens);
    const overflows = tokens > mostTokens;
    if (await this.#compact("in-attempt", overflows ? "overflow" : "threshold", tokens)) return true;
    return overflows && this.#compact("queued", "threshold", tokens);
  }

  /** Older messages were not read, and the engine has no record of its own to make up for it. */
  #lacksHistory(slice: ContextSlice): boolean {
    const { info } = this.#options.engine;
    return !slice.complete && info.history !== "live" && info.ownsCompaction !== true;
  }

  async #recover(message: string): Promise<void> {
    const again = this.#overflowed;
    this.#overflowed = true;
    this.#refusedAt.clear();
    const { model, compact, isKept } = this.#options;
    if (isKept === true)
      throw new PagurusError(
        "context_overflow",
        `${model.ref} refused the context as too long: ${message} The runtime compacts its thread before the next turn; send the request again.`,
      );
    if (again || !compact) {
      throw new PagurusError(
        "context_overflow",
        `${model.ref} refused the context as too long again after a compaction: ${message} Start a new session with /new, or choose a model with a larger window.`,
      );
    }
    const refused = this.#lastTokens ?? this.#tokensOf(this.#options.slice());
    if (await this.#compact("queued", "overflow", refused)) return;
    throw new PagurusError(
      "context_overflow",
      `${model.ref} refused the context as too long (${message}), and there was nothing that a compaction could shorten. Shorten the input, or choose a model with a larger window.`,
    );
  }

  async #compact(lane: Lane, trigger: CompactionTrigger, currentTokens: number): Promise<boolean> {
    const refusedAt = this.#refusedAt.get(lane);
    if (refusedAt !== undefined && currentTokens < refusedAt * GROWN) return false;
    const compacted = (await this.#options.compact?.(lane, trigger, currentTokens)) ?? false;
    if (!compacted) this.#refusedAt.set(lane, currentTokens);
    else {
      this.#compactedIn = lane;
      this.compactedOutside();
    }
    return compacted;
  }

  /** The engine is asked anew, as after any compaction: it has just answered one that was not made here. */
  compactedOutside(): void {
    this.#refusedAt.clear();
    this.#kept = undefined;
    this.#settledEpoch = undefined;
    this.#calls = 0;
  }

  async #join(slice: ContextSlice): Promise<Joined> {
    const { history, live } = this.#split(slice);
    const answer = await this.#ask(history, live);
    const joined = this.#measure(answer, live, slice);
    const epoch = `epoch ${answer.result?.contextProjection?.epoch ?? ""}`;
    if (epoch === this.#settledEpoch) return joined;
    this.#settledEpoch = epoch;
    const injected = this.#options.settleFragments?.(joined.sent) === true;
    return injected ? this.#measure(answer, live, this.#options.slice()) : joined;
  }

  /** History and live turn, the latter with what no entry holds. */
  #split(slice: ContextSlice): { history: AgentMessage[]; live: AgentMessage[] } {
    const { history, live } = splitLive(slice.messages, this.#options.inputEntryId());
    const volatile = this.#options.volatile();
    return { history, live: volatile.length === 0 ? live : placeVolatile(live, volatile) };
  }

  /** The engine's answer without the live turn's guarantee; asked as often as its scope says. */
  async #ask(history: AgentMessage[], live: AgentMessage[]): Promise<Answer> {
    const { engine, guard, signal, prompt, tokenBudget } = this.#options;
    const everyCall = engine.info.assembleScope === "call";
    if (this.#kept && !everyCall) {
      if (this.#keptWithin <= tokenBudget) return this.#kept;
      this.#calls = 0;
    }
    const recorded = live.filter((message) => message.entryId !== undefined).length;
    const first = this.#calls === 0 && recorded <= 1;
    this.#calls += 1;
    const given = engine.info.history === "live" ? this.#options.pending() : history;
    const said = first ? live.filter((message) => message.entryId === undefined) : live;
    const messages = [...given, ...said];
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
    this.#keptWithin = tokenBudget;
    return answer;
  }

  #params(messages: AgentMessage[], prompt: string | undefined): AssembleParams {
    const { tokenBudget, tools, model, citationsMode } = this.#options;
    return {
      ...this.#options.base(),
      messages: this.#options.trusted ? [...messages] : structuredClone(messages),
      tokenBudget,
      availableTools: new Set(tools.map((tool) => tool.name)),
      citationsMode,
      model: model.id,
      ...(prompt === undefined ? {} : { prompt }),
    };
  }

  #measure(
    answer: Answer,
    live: readonly AgentMessage[],
    slice: ContextSlice,
    known?: Joined["trims"],
  ): Joined {
    const trims: Joined["trims"] = new Map(known);
    const said = repairPairs(joinLive(answer.messages, live, answer.prompt)).map((message) => {
      if (message.role !== "toolResult") return message;
      const { message: short, trimmed } = this.#trim(message);
      if (trimmed) trims.set(short, trimmed);
      return short;
    });
    const sent = placeFragments(said, fragmentsOf(slice));
    const addition = answer.result?.systemPromptAddition;
    const raw = sent.reduce(
      (sum, message) => sum + messageTokens(message),
      addition ? estimateTokens(addition) : 0,
    );
    const tokens = Math.ceil(this.#options.calibration().apply(raw));
    const historyCount = splitLive(sent, this.#options.inputEntryId()).history.length;
    return { ...answer, sent, historyCount, trims, tokens };
  }

  /** The same object for the same result at every call, so that what is derived of it is kept. */
  #trim(message: ToolResultMessage): Trimmed {
    const { tools, toolResultMaxChars } = this.#options;
    const known = this.#trimmed.get(message);
    if (known?.limit === toolResultMaxChars) return known;
    const tool = tools.some(({ name }) => name === ENTRY_TOOL) ? ENTRY_TOOL : undefined;
    const made = { ...trimToolResult(message, toolResultMaxChars, tool), limit: toolResultMaxChars };
    this.#trimmed.set(message, made);
    return made;
  }

  /** Tokens that the budget is held against. Spec: promptAuthority; `preassembly_may_overflow` also counts the
   * history that the engine left out. */
  #pressure(joined: Joined, slice: ContextSlice): number {
    if (joined.result?.promptAuthority !== "preassembly_may_overflow") return joined.tokens;
    return Math.max(joined.tokens, this.#tokensOf(slice));
  }

  /** Calibrated estimate of what was read of the session. */
  #tokensOf(slice: ContextSlice): number {
    const plain = slice.messages.reduce((sum, message) => sum + messageTokens(message), 0);
    return Math.ceil(this.#options.calibration().apply(plain));
  }

  /** A compaction after which nothing is smaller counts as none, or each call of the turn would make another. */
  #checkGain(before: number, after: number, tokens: number): void {
    if (after < before || this.#compactedIn === undefined) return;
    this.#refusedAt.set(this.#compactedIn, tokens);
    if (tokens <= this.#options.tokenBudget) return;
    const { engine, guard } = this.#options;
    guard.degrade(
      "compact",
      `the engine ${engine.info.id} says that it compacted, and the context is not smaller`,
    );
  }

  /** Too large although nothing more can be compacted: the newest history that fits, said as a degradation. */
  #fit(joined: Joined, slice: ContextSlice): Joined {
    const { tokenBudget, model } = this.#options;
    const calibration = this.#options.calibration();
    const tokens = (message: AgentMessage): number => calibration.apply(messageTokens(message));
    const { history, live } = this.#split(slice);
    const fragments = joined.sent.filter((message) => isFragment(message));
    const liveTokens = [...live, ...fragments].reduce((sum, message) => sum + tokens(message), 0);
    const room = tokenBudget - liveTokens;
    if (room < 0 && liveTokens > model.contextWindow) {
      throw new PagurusError(
        "live_turn_too_large",
        `The current turn alone has about ${Math.ceil(liveTokens)} tokens and ${model.ref} takes ${model.contextWindow}; send less at once, or choose a model with a larger window.`,
      );
    }
    const sent = joined.sent.slice(0, joined.historyCount).filter((message) => !isFragment(message));
    const source = joined.result ? sent : history;
    const kept = fitHistory(source, Math.max(0, room), tokens);
    // Nothing to leave out: the live turn alone is over the budget, and the provider is the judge of it.
    if (kept.length === source.length) return joined;
    const fitted = this.#measure({ ...joined, messages: kept }, live, this.#options.slice(), joined.trims);
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
      developerRole: takesDeveloper(this.#options.model),
    });
    return {
      system: pieces.map((piece) => piece.text).join("\n\n"),
      messages: joined.sent,
      historyCount,
      estimatedTokens: joined.tokens,
      hasSystemPromptAddition: addition !== undefined && addition !== "",
      ...(addition ? { systemPromptAddition: addition } : {}),
      ...(joined.result?.contextProjection ? { projection: joined.result.contextProjection } : {}),
      ...(joined.degraded === undefined ? {} : { degraded: joined.degraded }),
      parts,
      liveFrom,
    };
  }
}
