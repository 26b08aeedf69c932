/**
 * `turn.context.assemble()`: calls the engine under the failure policy, appends the live turn, and makes the context valid and small
 * enough. The same for every runtime.
 */
import { PagurusError } from "@pagurus/contract/errors";
import type { CompactionTrigger } from "@pagurus/contract/host/events";
import type { AssembledContext } from "@pagurus/contract/harness/harness";
import type { AgentMessage } from "@pagurus/contract/message";
import type { ReceiptPart } from "@pagurus/contract/session/receipt";
import type { ContextSlice } from "@pagurus/contract/session/writer";
import { quirksOf } from "@pagurus/core/model/quirks/quirk-table";
import { messageTokens } from "@pagurus/core/tokens/message-tokens";
import { EngineAsker } from "./ask-engine.ts";
import type { ContextScope, Lane } from "./context-scope.ts";
import { compactsInAttempt } from "./in-attempt-gauge.ts";
import { fitHistory } from "./context-budget.ts";
import { isFragment } from "../fragments/fragment-place.ts";
import { ContextJoiner, type Joined } from "./join-context.ts";
import { ownHead, placeVolatile, splitLive } from "./live-messages.ts";
import { finalSystem, type AssembleRequest } from "./prompt-hooks.ts";
import { measureMessages, receiptParts } from "../receipts/receipt-parts.ts";
import { defined } from "@pagurus/core/data/defined";

/** An assembled context with its receipt's parts. */
export interface Assembly extends AssembledContext {
  parts: ReceiptPart[];
  liveFrom: number;
  /** Tokens that thresholds and the gauge use: the larger of the engine's estimate and the host's (`estimatedTokens`). */
  contextTokens: number;
}

/** Growth of the context, as a factor, after which a refused compaction is tried again. */
const GROWN = 1.1;
/** Retries of the engine with a smaller budget, before what does not fit is compacted or trimmed. */
const MOST_ASSEMBLIES = 2;

export class Assembler {
  readonly #scope: ContextScope;
  readonly #asker: EngineAsker;
  readonly #joiner: ContextJoiner;
  /** The previous call was an overflow. */
  #overflowed = false;
  /** Tokens at which a lane made no compaction; it is tried again when the context has grown since. */
  readonly #refusedAt = new Map<Lane, number>();
  /** Lane of the newest compaction. */
  #compactedIn: Lane | undefined;
  /** Number of contexts of this turn so far, and the tokens of the newest. */
  #assembled = 0;
  #lastTokens: number | undefined;
  /** Epoch whose fragments were settled; undefined while that has to be done. */
  #settledEpoch: string | undefined;
  #saidLeftOut = false;
  #saidImages = false;

  constructor(scope: ContextScope) {
    this.#scope = scope;
    this.#asker = new EngineAsker(scope);
    this.#joiner = new ContextJoiner(scope);
  }

  /** Throws `context_overflow`, `live_turn_too_large`, `turn_aborted`. */
  async assemble(request: AssembleRequest = {}): Promise<Assembly> {
    let mayCompact = !this.#scope.isKept && this.#scope.compact !== undefined;
    await this.#scope.prepareSlice?.();
    if (request.overflow) {
      await this.#recover(request.overflow.message);
      mayCompact = false;
    } else {
      this.#overflowed = false;
    }
    let slice = this.#scope.slice();
    if (
      mayCompact &&
      this.#lacksHistory(slice) &&
      (await this.#compact("queued", "threshold", this.#tokensOf(slice)))
    ) {
      mayCompact = false;
      slice = this.#scope.slice();
      if (this.#lacksHistory(slice)) this.#refusedAt.set("queued", this.#tokensOf(slice));
    }
    let joined = await this.#join(slice);
    const asked = this.#pressure(joined, slice);
    if (mayCompact && (await this.#compactIfNeeded(joined, asked))) {
      slice = this.#scope.slice();
      joined = await this.#join(slice);
      this.#checkGain(asked, this.#pressure(joined, slice), joined.contextTokens);
    }
    if (this.#scope.isKept) return this.#deliver(joined, request.promptText);
    if (joined.tokens > this.#scope.tokenBudget) joined = await this.#retry(joined, slice);
    if (joined.tokens > this.#scope.tokenBudget) joined = this.#fit(joined, slice);
    else if (this.#lacksHistory(slice))
      joined = this.#leftOut(joined, "older messages that no summary covers");
    return this.#deliver(joined, request.promptText);
  }

  /**
   * For a fallback model: the context within the budget, without a compaction, since that would outlast the failure that the model takes
   * over for. Undefined where the conversation does not fit. Throws `turn_aborted`.
   */
  async assembleFitting(): Promise<Assembly | undefined> {
    await this.#scope.prepareSlice?.();
    const slice = this.#scope.slice();
    if (this.#lacksHistory(slice)) return undefined;
    const joined = await this.#join(slice);
    if (Math.max(joined.tokens, joined.contextTokens) > this.#scope.tokenBudget) return undefined;
    return this.#deliver(joined, undefined);
  }

  /** Another model has taken over, with another budget: nothing of the former one's contexts holds. */
  modelChanged(): void {
    this.compactedOutside();
    this.#saidImages = false;
    this.#lastTokens = undefined;
  }

  #deliver(joined: Joined, promptText: AssembleRequest["promptText"]): Promise<Assembly> {
    this.#assembled += 1;
    this.#lastTokens = joined.contextTokens;
    return this.#finish(joined, promptText);
  }

  /**
   * Compacts. What the engine itself wants compacted goes to the queued lane. Over the budget: the queued lane before the first call of a
   * turn; inside the turn the in-attempt lane, where it is on. The queued lane is the last resort when the context still cannot be sent.
   */
  async #compactIfNeeded({ result }: Joined, asked: number): Promise<boolean> {
    const { host, engine, model, fixedTokens, tokenBudget } = this.#scope;
    const wanted = result?.wantsCompaction === true;
    if (asked <= tokenBudget && !wanted) return false;
    if (!compactsInAttempt(host, engine, model) || this.#assembled === 0 || wanted)
      return this.#compact("queued", "threshold", asked);
    const overflows = asked > model.contextWindow - fixedTokens;
    if (await this.#compact("in-attempt", overflows ? "overflow" : "threshold", asked)) return true;
    return overflows && this.#compact("queued", "threshold", asked);
  }

  /** Older messages were not read, and the engine has no record of its own to replace them. */
  #lacksHistory(slice: ContextSlice): boolean {
    const { info } = this.#scope.engine;
    return !slice.complete && info.history !== "live" && info.ownsCompaction !== true;
  }

  async #recover(message: string): Promise<void> {
    const again = this.#overflowed;
    this.#overflowed = true;
    this.#refusedAt.clear();
    const { model, compact, isKept } = this.#scope;
    if (isKept)
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
    const refused = this.#lastTokens ?? this.#tokensOf(this.#scope.slice());
    if (await this.#compact("queued", "overflow", refused)) return;
    throw new PagurusError(
      "context_overflow",
      `${model.ref} refused the context as too long (${message}), and there was nothing that a compaction could shorten. Shorten the input, or choose a model with a larger window.`,
    );
  }

  async #compact(lane: Lane, trigger: CompactionTrigger, currentTokens: number): Promise<boolean> {
    const refusedAt = this.#refusedAt.get(lane);
    if (refusedAt !== undefined && currentTokens < refusedAt * GROWN) return false;
    const compacted = (await this.#scope.compact?.(lane, trigger, currentTokens)) ?? false;
    if (!compacted) this.#refusedAt.set(lane, currentTokens);
    else {
      this.#compactedIn = lane;
      this.compactedOutside();
    }
    return compacted;
  }

  /** Drops the cached answer, as after any compaction: the engine has just answered a compaction that was not made here. */
  compactedOutside(): void {
    this.#refusedAt.clear();
    this.#settledEpoch = undefined;
    this.#asker.forget();
  }

  async #join(slice: ContextSlice): Promise<Joined> {
    const { history, live } = this.#split(slice);
    const answer = await this.#asker.ask(history, live);
    const whole = this.#joiner.join(answer, live, slice);
    // A cached answer was within the budget; growth since then is left to compaction.
    const joined = this.#asker.isFresh ? await this.#retry(whole, slice) : whole;
    const epoch = `epoch ${joined.result?.contextProjection?.epoch ?? ""}`;
    if (epoch === this.#settledEpoch) return joined;
    this.#settledEpoch = epoch;
    const injected = this.#scope.settleFragments?.(joined.sent) === true;
    return injected ? this.#joiner.join(joined, live, this.#scope.slice()) : joined;
  }

  /** Retries with a smaller budget when the engine kept its budget by its own count but not by the host's. */
  async #retry(joined: Joined, slice: ContextSlice): Promise<Joined> {
    if (this.#scope.isKept) return joined;
    const { history, live } = this.#split(slice);
    let smallest = joined;
    for (let again = 0; again < MOST_ASSEMBLIES; again += 1) {
      const { tokens, answerTokens } = smallest;
      if (tokens <= this.#scope.tokenBudget) break;
      if (!this.#asker.shrink(smallest, { answer: answerTokens, context: tokens })) break;
      const next = this.#joiner.join(await this.#asker.ask(history, live), live, slice);
      if (!next.result || next.tokens >= tokens) {
        this.#asker.ignoresBudget();
        break;
      }
      smallest = next;
    }
    return smallest;
  }

  /** Splits into history and live turn, the latter with its volatile messages. */
  #split(slice: ContextSlice): { history: AgentMessage[]; live: AgentMessage[] } {
    const { history, live } = splitLive(slice.messages, this.#scope.inputEntryId);
    const volatile = this.#scope.volatile;
    return { history, live: volatile.length === 0 ? live : placeVolatile(live, volatile) };
  }

  /**
   * Tokens that are compared with the budget. Spec: promptAuthority; `preassembly_may_overflow` also counts the history that the engine
   * left out.
   */
  #pressure(joined: Joined, slice: ContextSlice): number {
    if (joined.result?.promptAuthority !== "preassembly_may_overflow") return joined.contextTokens;
    return Math.max(joined.contextTokens, this.#tokensOf(slice));
  }

  /** Calibrated token estimate of the slice that was read. */
  #tokensOf(slice: ContextSlice): number {
    const plain = slice.messages.reduce((sum, message) => sum + messageTokens(message), 0);
    return Math.ceil(this.#scope.calibration().apply(plain));
  }

  /**
   * Rejects a compaction after which nothing is smaller; otherwise each call of the turn would make another. `before` and `after`: the
   * compared tokens; `tokens`: of the context itself.
   */
  #checkGain(before: number, after: number, tokens: number): void {
    if (after < before || this.#compactedIn === undefined) return;
    this.#refusedAt.set(this.#compactedIn, after);
    if (tokens <= this.#scope.tokenBudget) return;
    const { engine, guard } = this.#scope;
    guard.degrade(
      "compact",
      `the engine ${engine.info.id} says that it compacted, and the context is not smaller`,
    );
  }

  /** Last resort when nothing more can be compacted: the newest history that fits, reported as a degradation. */
  #fit(joined: Joined, slice: ContextSlice): Joined {
    const { tokenBudget, model } = this.#scope;
    const calibration = this.#scope.calibration();
    const tokens = (message: AgentMessage): number => calibration.apply(messageTokens(message));
    const { history, live } = this.#split(slice);
    const fragments = joined.sent.filter((message) => isFragment(message));
    const liveTokens = [...live, ...fragments].reduce((sum, message) => sum + tokens(message), 0);
    const free = tokenBudget - liveTokens;
    if (free < 0 && liveTokens > model.contextWindow) {
      throw new PagurusError(
        "live_turn_too_large",
        `The current turn alone has about ${Math.ceil(liveTokens)} tokens and ${model.ref} takes ${model.contextWindow}; send less at once, or choose a model with a larger window.`,
      );
    }
    const sent = joined.sent.slice(0, joined.historyCount).filter((message) => !isFragment(message));
    const source = joined.result ? sent : history;
    const head = joined.result ? ownHead(source, history) : 0;
    const kept = fitHistory(source, Math.max(0, free), tokens, head);
    // Nothing to leave out: the live turn alone is over the budget, and the provider decides.
    if (kept.length === source.length) return joined;
    const fitted = this.#joiner.join({ ...joined, messages: kept }, live, this.#scope.slice(), joined.trims);
    return this.#leftOut(
      fitted,
      `the oldest messages: of about ${joined.tokens} tokens the budget takes ${tokenBudget}`,
    );
  }

  /** Reports once per turn that the model does not see all of the history. */
  #leftOut(joined: Joined, what: string): Joined {
    const reason = `the context leaves out ${what}`;
    if (!this.#saidLeftOut) this.#scope.guard.degrade("trim", reason);
    this.#saidLeftOut = true;
    return { ...joined, degraded: joined.degraded ?? reason };
  }

  /** Reports once per turn that images of the live turn cannot reach the model. */
  #noteImages(live: readonly AgentMessage[]): void {
    const { model, guard } = this.#scope;
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

  async #finish(joined: Joined, promptText: AssembleRequest["promptText"]): Promise<Assembly> {
    this.#noteImages(joined.sent.slice(joined.historyCount));
    const addition = joined.result?.systemPromptAddition;
    const pieces = await finalSystem(this.#scope, { ...joined, addition }, promptText);
    const { historyCount } = joined;
    await measureMessages(joined.sent);
    const { parts, liveFrom } = receiptParts({
      system: pieces,
      tools: this.#scope.tools.specs,
      messages: joined.sent,
      historyCount,
      trims: joined.trims,
      developerRole: quirksOf(this.#scope.model).developerMessages,
    });
    return {
      system: pieces.map((piece) => piece.text).join("\n\n"),
      messages: joined.sent,
      historyCount,
      estimatedTokens: joined.tokens,
      contextTokens: joined.contextTokens,
      hasSystemPromptAddition: addition !== undefined && addition !== "",
      ...(addition ? { systemPromptAddition: addition } : {}),
      ...defined({ projection: joined.result?.contextProjection, degraded: joined.degraded }),
      parts,
      liveFrom,
    };
  }
}
