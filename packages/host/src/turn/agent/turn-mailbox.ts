/** The running turn's end of the mailbox: other processes steer and stop it through files next to its session. */
import { watch, type FSWatcher } from "node:fs";
import { Mailbox, mailboxFolder } from "../../stores/files/session-mailbox.ts";
import type { Logger } from "@pagurus/core/platform/log";
import type { LiveSession } from "../record/live-session.ts";

/** Poll interval, ms: watching a folder does not work everywhere (network file systems, no watches left). */
const POLL_MS = 500;
/** A shorter turn opens no mailbox: it would cost more than it is worth. */
const OPEN_AFTER_MS = 500;

/** Effect of a request on the turn. */
export interface TurnInput {
  /** False when the turn takes no more input. */
  steer(text: string): boolean;
  abort(): void;
}

export class TurnMailbox {
  readonly #session: LiveSession;
  readonly #turn: TurnInput;
  readonly #logger: Logger;
  #box: Mailbox | undefined;
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout;

  /** A mailbox that cannot be created is logged: the turn runs without it. */
  constructor(session: LiveSession, turn: TurnInput, logger: Logger) {
    this.#session = session;
    this.#turn = turn;
    this.#logger = logger;
    this.#timer = setTimeout(() => {
      this.#guarded(() => this.#open());
      this.#timer = setInterval(() => this.#guarded(() => this.#look()), POLL_MS);
      this.#timer.unref();
    }, OPEN_AFTER_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#shut();
  }

  #open(): void {
    const box = new Mailbox(this.#session.writer.record);
    this.#box = box;
    const watcher = watch(box.folder, { persistent: false }, () => this.#guarded(() => this.#look()));
    // Polling continues.
    watcher.on("error", () => watcher.close());
    this.#watcher = watcher;
  }

  #shut(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#box?.close();
    this.#box = undefined;
  }

  #look(): void {
    // A rotating compaction gives the session another id.
    if (this.#box?.folder !== mailboxFolder(this.#session.writer.record)) {
      this.#shut();
      this.#open();
    }
    const box = this.#box;
    if (!box) return;
    for (const { id, request } of box.take()) {
      if (request.kind === "stop") this.#turn.abort();
      const accepted = request.kind === "stop" || this.#turn.steer(request.text);
      box.answer(id, { accepted });
    }
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#logger.debug("mailbox of a turn failed", { code: (error as NodeJS.ErrnoException).code });
      // The next poll opens it again.
      this.#shut();
    }
  }
}
