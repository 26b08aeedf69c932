/**
 * One turn of the host on an agent: its native session and prompts, the steering that joins them, and what the session holds
 * afterwards. Source: agent runtimes, "Runtime ownership"; harness port, 5 and 6.
 */
import type { ContentBlock } from "@agentclientprotocol/sdk/unstable";
import { PagurusError } from "@pagurus/contract/errors";
import type {
  AssembledContext,
  HarnessBinding,
  HarnessTurn,
  HarnessTurnResult,
  SteeringMessage,
} from "@pagurus/contract/harness/harness";
import type { AgentMessage, Usage, UserMessage } from "@pagurus/contract/message";
import { type Fields, stringOf } from "@pagurus/core/data/record-fields";
import { splitInput } from "../thread/thread-input.ts";
import { extended } from "../thread/thread-state.ts";
import { endOf, endsWithin, type Steer } from "../thread/thread-steering.ts";
import { ServedTurn } from "@pagurus/core/native/served-turn";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { askedModel } from "./acp-access.ts";
import { otherModel, RanModel, type AskedModel } from "./acp-model.ts";
import { RequestRefused } from "./acp-process.ts";
import { reasonOf, refusal } from "./acp-failure.ts";
import { boundTo, openSession, splitContext, type Opening, type TurnPlace } from "./acp-place.ts";
import { lostImages, promptBlocks, type Projection } from "./acp-projection.ts";
import { AcpNativeTurn, usageOf } from "./acp-native-turn.ts";
import { leave, missingTools, rest, type Place } from "./acp-sessions.ts";
import { closedBinding, openBinding } from "./acp-thread.ts";
import type { Agents } from "./agent-pool.ts";

/** Timeout for a prompt to end after its cancel, ms. */
const CANCEL_MS = 3_000;
const STEER_MS = 10_000;
/** How long a request waits for the agent's reports before it, ms. */
const REPORT_MS = 250;

/** The agent's process, which the turn holds until its release. */
interface HeldPlace extends TurnPlace {
  agents: Pick<Agents, "hold" | "release">;
  /** Reports a slow start, until the session is open. */
  slow: NodeJS.Timeout;
}

/** How a prompt ended. */
type Ended = { answer: Fields } | { stopped: Stopped };
type Stopped = "aborted" | "exceeded" | "unserved";

export class AcpTurn {
  /** The agent was sent a prompt of the turn. */
  hasStarted = false;
  readonly #turn: HarnessTurn;
  readonly #at: HeldPlace;
  /** Undefined when the gateway assembles the context. */
  readonly #context: AssembledContext | undefined;
  readonly #keeps: boolean;
  #open: Opening | undefined;
  #run: AcpNativeTurn;
  /** Answers of the model in the earlier prompts of the turn. */
  #answers = 0;
  readonly #asked: AskedModel;
  readonly #model: RanModel;
  /** It was reported that the model has none of the host's tools. */
  #lacksTools = false;
  /** The reported degradation about the model. */
  #otherModel = "";
  /** No later turn continues the session. */
  #isForgotten = false;
  /** The binding at the start of the turn. */
  readonly #before: HarnessBinding | undefined;
  /** Input that could not join the prompt; the next prompt begins with it. */
  readonly #late: SteeringMessage[] = [];

  constructor(turn: HarnessTurn, context: AssembledContext | undefined, at: HeldPlace) {
    this.#turn = turn;
    this.#at = at;
    this.#context = context;
    this.#keeps = !turn.engine.governs;
    this.#before = turn.thread.binding();
    this.#asked = askedModel(at.agent, turn.model, at.place.process.env);
    this.#model = new RanModel(this.#asked, turn.model);
    this.#run = this.#newRun();
  }

  get place(): Place {
    return this.#at.place;
  }

  /** Finds or creates the session, and runs the first prompt: what the session lacks, and the input. Throws `PagurusError`. */
  first(): Promise<HarnessTurnResult> {
    return this.#released(async () => this.#begin(await this.#opened()));
  }

  get canContinue(): boolean {
    const { process, sessions } = this.#at.place;
    return (
      !this.#isForgotten && process.isAlive && this.#open !== undefined && sessions.has(this.#open.session.id)
    );
  }

  /** Runs a prompt with input that arrived after the last one ended. Throws `PagurusError`. */
  further(inputs: readonly SteeringMessage[]): Promise<HarnessTurnResult> {
    const { agents, place } = this.#at;
    agents.hold(place);
    return this.#released(() => this.#more(inputs));
  }

  /** Releases the agent's process after the work. */
  async #released(work: () => Promise<HarnessTurnResult>): Promise<HarnessTurnResult> {
    const { agents, place, slow } = this.#at;
    try {
      return await work();
    } catch (error) {
      throw error instanceof RequestRefused ? refusal(error, place.process) : error;
    } finally {
      clearTimeout(slow);
      place.route?.serve(undefined);
      agents.release(place);
    }
  }

  async #opened(): Promise<Opening> {
    const open = await openSession(this.#turn, this.#context, this.#at, this.#run);
    clearTimeout(this.#at.slow);
    this.#open = open;
    this.#run.session = open.session;
    return open;
  }

  #begin(open: Opening): Promise<HarnessTurnResult> {
    const context = this.#context;
    const { inputs } = context ? splitContext(context) : splitInput(this.#turn.context.messages());
    this.#hold(inputs);
    const { traits } = this.#at.place.process;
    const blocks = this.#blocks({
      instructions: open.isNew && !traits.takesSystemPrompt ? context?.system : undefined,
      context: open.lacks,
      continues: !open.isNew,
      shownAgain: open.shownAgain,
      inputs,
    });
    return this.#prompt(open, blocks);
  }

  /** Input that arrived late, or could not join the last prompt. */
  #more(inputs: readonly SteeringMessage[]): Promise<HarnessTurnResult> {
    const open = this.#again();
    this.#hold(inputs);
    return this.#prompt(open, this.#blocksOf(inputs));
  }

  /** Opening of another prompt in the same session. */
  #again(): Opening {
    const open = this.#open;
    if (!open) throw notOpen();
    this.#answers += this.#run.answers;
    this.#run = this.#newRun();
    this.#run.session = open.session;
    open.session.user = this.#run;
    this.#turn.thread.bind(openBinding(boundTo(this.#turn, this.#at, open), this.#turn.turnId));
    return open;
  }

  #newRun(): AcpNativeTurn {
    const { id: agentId, label } = this.#at.agent;
    return new AcpNativeTurn(this.#turn, {
      agentId,
      label,
      mostAnswers: this.#turn.maxSteps - this.#answers,
      isWired: this.#context === undefined,
      onMessage: (message) => this.#hold([message]),
      onCompacted: () => undefined,
      model: this.#model,
    });
  }

  #blocksOf(inputs: readonly UserMessage[]): ContentBlock[] {
    return this.#blocks({ instructions: undefined, context: [], continues: true, shownAgain: [], inputs });
  }

  /** Reports images that do not reach the agent. */
  #blocks(prompt: Omit<Projection, "takesImages">): ContentBlock[] {
    const projection = { ...prompt, takesImages: this.#at.place.process.traits.takesImages };
    for (const reason of lostImages(projection, this.#at.agent.label))
      this.#turn.io.degrade("projection", reason);
    return promptBlocks(projection);
  }

  #hold(messages: readonly AgentMessage[]): void {
    const open = this.#open;
    if (open?.held) open.held = extended(open.held, messages);
  }

  #notice(kind: string, detail: string): Promise<void> {
    return this.#turn.io.emit({ type: "notice", kind, detail });
  }

  async #prompt(open: Opening, prompt: ContentBlock[]): Promise<HarnessTurnResult> {
    const { process } = this.#at.place;
    const { session } = open;
    const run = this.#run;
    const { route } = this.#at.place;
    const unlisten = process.listen(session.id, run);
    const { instructions } = this.#turn;
    const promptOptions = process.traits.takesSystemPrompt
      ? { instructions }
      : { addedTokens: estimateTokens(instructions) };
    const served = route && new ServedTurn(this.#turn, run, { reportMs: REPORT_MS, ...promptOptions });
    route?.serve(served?.turn);
    let ended: Ended;
    try {
      if (!served) this.#turn.context.receipt({ seam: "projection" });
      this.hasStarted = true;
      ended = await this.#untilEnd(
        process.ask("session/prompt", { sessionId: session.id, prompt }),
        served?.refused,
      );
      if ("answer" in ended) await served?.settled();
      const { failure } = run;
      if (failure !== undefined && !("stopped" in ended)) throw new RequestRefused(failure, 0, undefined);
    } catch (error) {
      const reason = error instanceof RequestRefused ? reasonOf(error) : undefined;
      await run.close(this.#turn.signal.aborted ? "aborted" : "error", undefined, reason);
      this.#priced(undefined);
      this.#reportTools(open);
      this.#failed(open, error);
      // The failure of `assemble` says more than the error that followed from it.
      throw served?.failure ?? error;
    } finally {
      route?.serve(undefined);
      unlisten();
      rest(this.#at.place, session);
    }
    if ("stopped" in ended && ended.stopped === "unserved") {
      await run.close("error");
      this.#forget(open);
      throw served?.failure ?? notOpen();
    }
    return this.#finish(open, ended);
  }

  /** A refusal leaves the session unchanged; for a governing engine its content must be recorded, too. */
  #failed(open: Opening, error: unknown): void {
    const isRefusal = error instanceof RequestRefused;
    if (!this.#keeps || !isRefusal) return this.#forget(open);
    const isUnsent = error.needsLogin && this.#answers + this.#run.answers === 0;
    if (!isUnsent) return this.#keep(open);
    // No part of the turn has reached it.
    if (open.isNew) this.#forget(open);
    else this.#turn.thread.bind(this.#before);
  }

  async #untilEnd(answer: Promise<Fields>, refused: Promise<"unserved"> | undefined): Promise<Ended> {
    const ended = answer.then((fields): Ended => ({ answer: fields }));
    const stops = [this.#run.exceeded, ...(refused ? [refused] : [])];
    const steer: Steer = () => this.#steer();
    const end = await endOf<Ended, "exceeded" | "unserved">(this.#turn, { ended, stops, steer });
    return typeof end === "string" ? this.#cancel(ended, end) : end;
  }

  async #cancel(ended: Promise<Ended>, stopped: Stopped): Promise<Ended> {
    const { process } = this.#at.place;
    process.notify("session/cancel", { sessionId: this.#open?.session.id });
    this.#run.stop();
    // Some agents answer a cancelled prompt with an error, which ends it as well.
    if (!(await endsWithin(ended, CANCEL_MS)) && process.isAlive) {
      const sentence = `${process.agent.label} did not end a turn within ${CANCEL_MS / 1_000} s of its cancel and was ended, with every session that it had open; the next turn starts it again.`;
      await process.end(new PagurusError("runtime_failed", sentence), true);
    }
    return { stopped };
  }

  /** False when no more input can come. */
  async #steer(): Promise<boolean> {
    const inputs = await this.#turn.io.takeInputs();
    if (inputs.length === 0) return false;
    const { process } = this.#at.place;
    const open = this.#open;
    if (!process.traits.canSteer || !open) {
      this.#late.push(...inputs);
      return true;
    }
    await this.#run.split();
    const params = {
      sessionId: open.session.id,
      prompt: this.#blocksOf(inputs),
      _meta: { steering: { idleBehavior: "promptRequired" } },
    };
    try {
      const { outcome } = await process.ask("_session/steering", params, { deadlineMs: STEER_MS });
      // The agent appends it after the current answer, the transcript at its time of arrival: the orders differ.
      if (outcome === "injected") open.held = undefined;
      else this.#late.push(...inputs);
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      this.#late.push(...inputs);
    }
    return true;
  }

  async #finish(open: Opening, ended: Ended): Promise<HarnessTurnResult> {
    const { aborted } = this.#turn.signal;
    const answer = "answer" in ended ? ended.answer : {};
    const stopReason = "stopped" in ended ? "cancelled" : stringOf(answer["stopReason"]);
    this.#run.ranOn(answer);
    this.#reportTools(open);
    const usage = this.#priced(usageOf(answer) ?? this.#run.usage);
    const how = stopReason === "cancelled" ? "aborted" : stopReason === "max_tokens" ? "length" : "stop";
    await this.#run.close(aborted ? "aborted" : how, usage);
    if (usage) {
      // Only the sum of several requests is reported.
      if (this.#context && this.#run.answers <= 1) this.#turn.context.receipt({ usage });
      await this.#turn.io.emit({ type: "usage", usage });
    }
    const { refusals } = this.#run;
    const isCutShort = stopReason === "cancelled" && "answer" in ended && !aborted;
    if (isCutShort && refusals.length > 0 && this.#answers + this.#run.answers < this.#turn.maxSteps)
      return this.#prompt(this.#again(), [{ type: "text", text: notAllowed(refusals) }]);
    const isWhole =
      stopReason === "end_turn" || stopReason === "max_tokens" || stopReason === "max_turn_requests";
    if (isWhole && this.#late.length > 0 && !aborted) return this.#more(this.#late.splice(0));
    // With the gateway, other content of the session does not matter.
    const isHeld = !this.#context || (open.held && !this.#run.compacted);
    const isKnown = this.#keeps || (isWhole && isHeld);
    // Input that never reached it comes after the anchor too; an agent that was ended may not have stored the turn.
    const isWanting = this.#late.length > 0 || ("stopped" in ended && !this.#at.place.process.isAlive);
    if (isKnown && !isWanting) this.#keep(open);
    else this.#forget(open);
    const total = usage ?? { input: 0, output: 0, totalTokens: 0 };
    if (stopReason === "refusal")
      throw new PagurusError(
        "model_refused",
        `${this.#at.agent.label} ended the turn: its model refuses to continue. Rephrase the request.`,
      );
    if (aborted) return { stopReason: "aborted", usage: total };
    if (isCutShort) {
      await this.#notice("acp_agent", `${this.#at.agent.label} ended its turn by itself.`);
      return { stopReason: "stop", usage: total };
    }
    if (stopReason === "cancelled" || stopReason === "max_turn_requests")
      return { stopReason: "max_steps", usage: total };
    return { stopReason: stopReason === "max_tokens" ? "length" : "stop", usage: total };
  }

  /** Reports, once, that the model has none of the host's tools; some agents take them only during their first prompt. */
  #reportTools({ session }: Opening): void {
    if (this.#lacksTools) return;
    const reason = missingTools(this.#at.agent, session, this.#turn.tools);
    this.#lacksTools = reason !== undefined;
    if (reason !== undefined) this.#turn.io.degrade("tools", reason);
  }

  /** Reports, once, that the model is not the asked one. The usage has the cost of the one that ran, where its prices are known. */
  #priced(usage: Usage | undefined): Usage | undefined {
    const { isOther, id, recorded } = this.#model;
    const { model } = this.#turn;
    const isPriced = recorded.model === model.id && recorded.provider === model.provider;
    const { agent, options } = this.#at;
    const cost =
      usage && !isPriced ? options.costOf?.(`${recorded.provider}/${recorded.model}`, usage) : undefined;
    if (isOther) {
      const isEstimate = usage && !isPriced && cost === undefined && model.cost;
      const estimate = isEstimate
        ? ` Its prices are unknown: the cost is computed with those of ${model.ref}.`
        : "";
      const reason = `${otherModel(agent.label, this.#asked, id)}${estimate}`;
      if (reason !== this.#otherModel) this.#turn.io.degrade("transcript", reason);
      this.#otherModel = reason;
    }
    return usage && cost !== undefined ? { ...usage, cost } : usage;
  }

  /** Binds the session for the next turn: its content is known, or managed by the agent. */
  #keep(open: Opening): void {
    if (!this.#at.place.process.isAlive && !this.#keeps) return this.#forget(open);
    const anchor = this.#turn.context.newestEntryId();
    const held = this.#keeps ? undefined : open.held;
    const isCompacted = this.#run.compacted;
    this.#turn.thread.bind(
      closedBinding(boundTo(this.#turn, this.#at, open), {
        held,
        anchor,
        ...(isCompacted ? { isCompacted } : {}),
      }),
    );
  }

  /** Unbinds the session: the next turn begins a new one from the engine's context. */
  #forget(open: Opening): void {
    this.#isForgotten = true;
    this.#turn.thread.bind(undefined);
    leave(this.#at.place, open.session);
  }
}

/** For agents that end their turn at a refusal without reporting it to their model. */
function notAllowed(refusals: readonly string[]): string {
  return `[The host did not allow this, and nothing of it was done:\n${refusals.join("\n")}\nGo on without it.]`;
}

function notOpen(): PagurusError {
  return new PagurusError("internal", "A turn without a native session cannot be continued.");
}
