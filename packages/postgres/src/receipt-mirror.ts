/**
 * Receipts of the sessions on this host, and of those that ran elsewhere: the file beside a transcript mirrors a second stream of bytes in the
 * database. A receipt that is lost costs the receipt, so none is waited for.
 */
import { closeSync, openSync, statSync } from "node:fs";
import { sessionPaths } from "@pagurus/host/stores/files/session-paths";
import { readAt } from "@pagurus/host/stores/files/transcript/transcript-lines";
import type { Bridge } from "./bridge.ts";
import { receiptsName, type MirrorState } from "./mirror-state.ts";
import { receiptsLane } from "./receipts-lane.ts";
import type { SharedSession } from "./shared-rows.ts";

const CHUNK_BYTES = 1024 * 1024;

/** What this process writes under the last lease that it had of a session. */
interface Writing {
  epoch: number;
  /** Up to where the file was sent; undefined where nothing was. */
  end: number | undefined;
  /** The database refused something, which was reported: nothing more is sent. */
  hasFailed: boolean;
}

export class ReceiptMirror {
  readonly #bridge: Bridge;
  readonly #agent: string;
  readonly #mirrors: MirrorState;
  readonly #writing = new Map<string, Writing>();

  constructor({ bridge, agent, mirrors }: { bridge: Bridge; agent: string; mirrors: MirrorState }) {
    this.#bridge = bridge;
    this.#agent = agent;
    this.#mirrors = mirrors;
  }

  /** Whether the file has all that the database has. */
  isSame({ sessionId, receiptBytes }: SharedSession): boolean {
    if (this.#mirrors.mark(receiptsName(sessionId)).bytes !== receiptBytes) return false;
    return this.#size(sessionId) >= receiptBytes;
  }

  /** Fetches what other hosts wrote. Throws `store_read_failed`. */
  catchUp(session: SharedSession): void {
    if (this.isSame(session)) return;
    const { sessionId } = session;
    const name = receiptsName(sessionId);
    const made = this.#bridge.call("mirror", {
      agent: this.#agent,
      sessionId,
      stream: "receipts",
      file: this.#file(sessionId),
      unsent: this.#mirrors.unsent(name),
      confirmed: this.#mirrors.mark(name).bytes,
    });
    if (made) this.#mirrors.note(name, made);
  }

  /** Under a new lease of a session, whose file has all that the database has: sends what a process that ended could not send. */
  begin(sessionId: string, epoch: number): void {
    const writing: Writing = { epoch, end: undefined, hasFailed: false };
    this.#writing.set(sessionId, writing);
    const { bytes } = this.#mirrors.mark(receiptsName(sessionId));
    const size = this.#size(sessionId);
    if (size <= bytes) return;
    const fd = openSync(this.#file(sessionId), "r");
    try {
      for (let at = bytes; at < size; at += CHUNK_BYTES)
        this.#send(sessionId, writing, { at, bytes: readAt(fd, at, Math.min(CHUNK_BYTES, size - at)) });
    } finally {
      closeSync(fd);
    }
  }

  /** Of the last lease of a session that this process had. */
  epochOf(sessionId: string): number | undefined {
    return this.#writing.get(sessionId)?.epoch;
  }

  /** Sends bytes that were appended to the file, without waiting. Throws once what refused earlier ones. */
  written(sessionId: string, at: number, bytes: Uint8Array): void {
    const writing = this.#writing.get(sessionId);
    if (!writing || writing.hasFailed) return;
    const failure = this.#failure(sessionId, writing);
    if (!failure) return this.#send(sessionId, writing, { at, bytes });
    writing.hasFailed = true;
    throw failure;
  }

  /** After a lease was released, and what was on its way has arrived or failed. */
  released(sessionId: string): void {
    const writing = this.#writing.get(sessionId);
    if (writing?.end === undefined || this.#failure(sessionId, writing)) return;
    this.#mirrors.note(receiptsName(sessionId), { bytes: writing.end, revision: 0 });
  }

  #failure(sessionId: string, { epoch }: Writing): Error | undefined {
    return this.#bridge.failureOf(receiptsLane({ sessionId, epoch }));
  }

  #send(sessionId: string, writing: Writing, part: { at: number; bytes: Uint8Array }): void {
    const { epoch } = writing;
    this.#bridge.post("appendReceipts", { agent: this.#agent, sessionId, epoch, ...part });
    writing.end = part.at + part.bytes.length;
  }

  #file(sessionId: string): string {
    return sessionPaths(this.#mirrors.folder, sessionId).receipts;
  }

  #size(sessionId: string): number {
    return statSync(this.#file(sessionId), { throwIfNoEntry: false })?.size ?? 0;
  }
}
