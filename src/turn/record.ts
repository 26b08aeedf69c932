/**
 * Fifth room: the mirror. Every message of the turn is in the transcript as soon as it is complete; the commit
 * marker makes them final. When the transcript cannot be written the messages are kept for the engine.
 */
import type { TurnEvent } from "../contract/events.ts";
import { type PagurusError, toPagurusError } from "../contract/errors.ts";
import type { AgentMessage } from "../contract/message.ts";
import type { NewEntry, TurnOutcome } from "../contract/transcript.ts";
import type { SessionWriter } from "../contract/writer.ts";
import type { Guard } from "./guard.ts";

export interface RecorderOptions {
  /** Asked anew for each entry: a compaction may rotate the session. */
  writer(): SessionWriter;
  turnId: string;
  guard: Guard;
  /** Stops the turn: what cannot be recorded must not be done. */
  stop(error: PagurusError): void;
}

export class Recorder {
  /** The turn's messages in order, also those that could not be written. */
  messages: AgentMessage[] = [];
  inputEntryId: string | undefined;
  /** The entry that the input stands behind; null where it is the first. */
  leafBefore: string | null = null;
  /** The newest compaction of what stood before the turn, made inside it. */
  compaction: NewEntry | undefined;
  readonly #options: RecorderOptions;
  #failure: PagurusError | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  get failure(): PagurusError | undefined {
    return this.#failure;
  }

  /** Writes one message; returns it with its entry id. */
  message(message: AgentMessage): AgentMessage {
    const { writer, turnId } = this.#options;
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

  /** Degradations outlive the process, so that `status` can tell them. */
  degradation(event: Extract<TurnEvent, { type: "context.degraded" }>): void {
    const { stage, reason, engineId } = event;
    this.note("pagurus.degraded", { stage, reason, engineId });
  }

  /** A fact of the turn that no model is shown. */
  note(customType: string, data: Record<string, unknown>): void {
    const { writer, turnId } = this.#options;
    if (this.#failure || this.inputEntryId === undefined) return;
    try {
      writer().append({ type: "custom", turnId, customType, data });
    } catch (error) {
      this.#fail(error);
    }
  }

  /**
   * Moves the conversation back before the turn when nothing but input was recorded: what a model refused must not
   * be sent with every later turn. The words stay in the transcript. Whether it was done.
   */
  takeBack(): boolean {
    if (this.#failure || this.messages.some((message) => message.role !== "user")) return false;
    try {
      const writer = this.#options.writer();
      writer.rewind(this.leafBefore);
      // It was paid for, and the next turn is as short of room.
      if (this.compaction) writer.append(this.compaction);
      return true;
    } catch (error) {
      this.#fail(error);
      return false;
    }
  }

  /**
   * Ends the turn in the transcript; `settled`: there is nothing in it for the engine. False when it could not be
   * written.
   */
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
        ...(how.code === undefined ? {} : { code: how.code }),
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
    // What it kept is of the former generation.
    this.compaction = undefined;
    const now = (id: string | undefined): string | undefined => (id === undefined ? id : (ids.get(id) ?? id));
    this.inputEntryId = now(this.inputEntryId);
    this.messages = this.messages.map((message) => {
      const entryId = now(message.entryId);
      return entryId === undefined ? message : { ...message, entryId };
    });
  }

  #fail(error: unknown): void {
    const failure = toPagurusError(error, "store_write_failed");
    this.#failure = failure;
    this.#options.guard.degrade("transcript", failure.message);
    this.#options.stop(failure);
  }
}
