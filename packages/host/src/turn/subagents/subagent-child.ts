/** A child session in this process, from its reservation to its end. */
import { toPagurusError } from "@pagurus/contract/errors";
import type { TurnEvent } from "@pagurus/contract/host/events";
import type { AgentMessage } from "@pagurus/contract/message";
import type { RunRequest, SpawnedAgent } from "@pagurus/contract/host/run";
import type { ChildEnd, ChildEndReason, ChildRecord } from "../../stores/files/subagent-log.ts";
import { TurnChannel } from "../state/steering-channel.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import type { SpawnPlan } from "./subagent-plan.ts";
import { defined } from "@pagurus/core/data/defined";

export type RunTurn = (host: AgentHost, request: RunRequest, channel: TurnChannel) => Promise<void>;
type Ended = Awaited<SpawnedAgent["ended"]>;

export class Child {
  readonly record: ChildRecord;
  readonly plan: SpawnPlan;
  /** Its end is being recorded, or was. */
  ending = false;
  running = false;
  #stopped: { reason: Exclude<ChildEndReason, "completed">; code: string | undefined } | undefined;
  #answer: { entryId: string | undefined; text: string } | undefined;
  readonly #controller = new AbortController();
  readonly #ended = Promise.withResolvers<Ended>();
  readonly #forget: () => void;

  constructor(record: ChildRecord, plan: SpawnPlan) {
    this.record = record;
    this.plan = plan;
    const release = (): void => this.stop("released");
    for (const signal of plan.signals) signal.addEventListener("abort", release);
    this.#forget = () => {
      for (const signal of plan.signals) signal.removeEventListener("abort", release);
    };
    if (plan.signals.some((signal) => signal.aborted)) release();
  }

  get key(): string {
    return this.record.childSessionKey;
  }

  /** Fires when the child is stopped. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get stopped(): boolean {
    return this.#stopped !== undefined;
  }

  /** Resolves when the child has ended and the follow-up work is done. Never rejects. */
  get ended(): Promise<Ended> {
    return this.#ended.promise;
  }

  /** Aborts the child; the first reason wins. */
  stop(reason: Exclude<ChildEndReason, "completed">, code?: string): void {
    if (this.ending || this.#stopped) return;
    this.#stopped = { reason, code };
    this.#controller.abort();
  }

  /** Runs the child's turn. Never throws. */
  async run(host: AgentHost, runTurn: RunTurn): Promise<ChildEnd> {
    this.running = true;
    const channel = new TurnChannel();
    let last: TurnEvent | undefined;
    const request: RunRequest = { ...this.plan.run, sessionKey: this.key, signal: this.signal };
    try {
      for await (const event of channel.run(() => runTurn(host, request, channel))) {
        if (event.type === "message") this.#note(event.message);
        if (event.type === "turn.completed" || event.type === "turn.failed") last = event;
      }
    } catch (error) {
      const { childSessionId: sessionId } = this.record;
      host.logger.error("subagent run failed", { sessionId, code: toPagurusError(error).code });
    }
    return this.endOf(last);
  }

  /** How the child ended, from its turn's last event; undefined for a turn that was given up. */
  endOf(last: TurnEvent | undefined): ChildEnd {
    const { outcome, code } = outcomeOf(last, this.stopped);
    const reason = this.#stopped?.reason ?? "completed";
    const why = outcome === "aborted" ? this.#stopped?.code : code;
    return { reason, outcome, code: why, answerEntryId: this.#answer?.entryId };
  }

  finish(end: ChildEnd): void {
    this.#forget();
    const { outcome, code } = end;
    this.#ended.resolve({ outcome, text: this.#answer?.text ?? "", ...defined({ code }) });
  }

  #note(message: AgentMessage): void {
    if (message.role !== "assistant") return;
    const text = answerText(message);
    if (text !== "") this.#answer = { entryId: message.entryId, text };
  }
}

/** The text of an assistant's message, without its thinking and calls. */
export function answerText(message: AgentMessage): string {
  if (message.role !== "assistant") return "";
  return message.content
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("\n\n")
    .trim();
}

function outcomeOf(last: TurnEvent | undefined, stopped: boolean): Pick<ChildEnd, "outcome" | "code"> {
  if (last?.type === "turn.completed")
    return { outcome: last.stopReason === "aborted" ? "aborted" : "completed" };
  if (stopped) return { outcome: "aborted" };
  if (last?.type !== "turn.failed") return { outcome: "failed", code: "internal" };
  return last.error.code === "turn_aborted"
    ? { outcome: "aborted" }
    : { outcome: "failed", code: last.error.code };
}
