/**
 * Record stage: mirrors the turn into the transcript. Every message is written as soon as it is complete; the commit marker makes them
 * final. When the transcript cannot be written, the messages are kept in memory for the engine.
 */
import type { TurnEvent } from "@pagurus/contract/host/events";
import { type PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { AgentMessage } from "@pagurus/contract/message";
import { TOOL_RUN_ENTRY } from "../../stores/files/transcript/recover.ts";
import type { NewEntry, TurnOutcome } from "@pagurus/contract/session/transcript";
import type { RecordedTurn, SessionWriter } from "@pagurus/contract/session/writer";
import { withBoundedCalls } from "@pagurus/core/platform/call-arguments";
import { boundedResult, resultsFolder } from "./large-results.ts";
import type { Guard } from "../guard/guard.ts";
import { defined } from "@pagurus/core/data/defined";

export interface RecorderOptions {
  /** Called for each entry: a compaction may rotate the session. */
  writer(): SessionWriter;
  turnId: string;
  guard: Guard;
  /** Stops the turn: what cannot be recorded must not be done. */
  stop(error: PagurusError): void;
}

export class Recorder {
  /** The turn's messages in order, including those that could not be written. */
  messages: AgentMessage[] = [];
  inputEntryId: string | undefined;
  /** The entry that the input comes after; null when it is the first. */
  leafBefore: string | null = null;
  /** The newest compaction of the history before the turn, made inside the turn. */
  compaction: NewEntry | undefined;
  readonly #options: RecorderOptions;
  #failure: PagurusError | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  get failure(): PagurusError | undefined {
    return this.#failure;
  }

  /** The turn is another host's now: nothing more of it is written here. */
  abandon(error: PagurusError): void {
    this.#failure ??= error;
    this.#options.stop(error);
  }

  /** Takes over what an earlier process recorded of the turn. */
  resume({ messages, leafBefore }: RecordedTurn): void {
    this.messages = [...messages];
    this.inputEntryId = messages[0]?.entryId;
    this.leafBefore = leafBefore;
  }

  /** Writes one message; returns it with its entry id. */
  message(input: AgentMessage): AgentMessage {
    const { writer, turnId } = this.#options;
    const message = this.#bounded(input);
    let recorded = message;
    if (!this.#failure) {
      try {
        const entry = writer().append({ type: "message", turnId, message });
        if (this.inputEntryId === undefined) {
          this.inputEntryId = entry.id;
          this.leafBefore = entry.parentId;
        }
        recorded = { ...message, entryId: entry.id };
      } catch (error) {
        this.#fail(error);
      }
    }
    this.messages.push(recorded);
    return recorded;
  }

  /** Records degradations, so that `status` shows them after a restart. */
  degradation(event: Extract<TurnEvent, { type: "context.degraded" }>): void {
    const { stage, reason, engineId } = event;
    this.note("pagurus.degraded", { stage, reason, engineId });
  }

  /** Records a fact of the turn that the model does not see. */
  note(customType: string, data: Record<string, unknown>): void {
    const { writer, turnId } = this.#options;
    if (this.#failure || this.inputEntryId === undefined) return;
    try {
      writer().append({ type: "custom", turnId, customType, data });
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Records that a call runs: after a crash, one without this record has had no effect and may run. Throws what stopped the recording. */
  toolRuns(toolCallId: string): void {
    this.note(TOOL_RUN_ENTRY, { toolCallId });
    if (this.#failure) throw this.#failure;
  }

  /**
   * Rewinds the conversation to before the turn when nothing but input was recorded: an input that a model refused must not be sent with
   * every later turn. The text stays in the transcript. Returns whether it was done.
   */
  takeBack(): boolean {
    if (this.#failure || this.messages.some((message) => message.role !== "user")) return false;
    try {
      const writer = this.#options.writer();
      writer.rewind(this.leafBefore);
      // It was paid for, and the next turn needs the free tokens as well.
      if (this.compaction) writer.append(this.compaction);
      return true;
    } catch (error) {
      this.#fail(error);
      return false;
    }
  }

  /** Rewinds to before the turn, whatever it has done: its answer says that there is nothing to say. Returns whether it was done. */
  takeBackQuiet(): boolean {
    const inputs = this.messages.filter((message) => message.role === "user").length;
    if (this.#failure || inputs !== 1 || this.compaction) return false;
    try {
      this.#options.writer().rewind(this.leafBefore);
      return true;
    } catch (error) {
      this.#fail(error);
      return false;
    }
  }

  /** Ends the turn in the transcript; `settled`: the engine has nothing to take from it. False when it could not be written. */
  commit(
    outcome: TurnOutcome,
    how: { code?: string | undefined; settled?: boolean; heartbeat?: boolean } = {},
  ): boolean {
    if (this.#failure) return false;
    const { writer, turnId } = this.#options;
    try {
      writer().commitTurn({
        turnId,
        outcome,
        ...(how.settled === true ? {} : { finalized: false }),
        ...defined({ code: how.code }),
        ...(how.heartbeat === true ? { heartbeat: true } : {}),
      });
      return true;
    } catch (error) {
      this.#fail(error);
      return false;
    }
  }

  /** A rotation gave entries of the turn new ids. */
  moved(ids: ReadonlyMap<string, string>): void {
    // Its kept entries belong to the former generation.
    this.compaction = undefined;
    const now = (id: string | undefined): string | undefined => (id === undefined ? id : (ids.get(id) ?? id));
    this.inputEntryId = now(this.inputEntryId);
    this.messages = this.messages.map((message) => {
      const entryId = now(message.entryId);
      return entryId === undefined ? message : { ...message, entryId };
    });
  }

  #bounded(message: AgentMessage): AgentMessage {
    if (message.role !== "toolResult") return withBoundedCalls(message);
    const folder = (): string => resultsFolder(this.#options.writer().record.file);
    return { ...message, content: boundedResult(message.content, folder) };
  }

  #fail(error: unknown): void {
    const failure = toPagurusError(error, "store_write_failed");
    this.#failure = failure;
    this.#options.guard.degrade("transcript", failure.message);
    this.#options.stop(failure);
  }
}
