/**
 * Mailbox of a running turn for other processes: small files in `<sessionId>.mailbox/`, which exists while a turn runs. Each file is
 * created and taken with one rename, so that a request is applied once or not at all.
 */
import { randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { writeFileAtomic } from "@pagurus/core/platform/atomic-files";
import { systemCode } from "./failures.ts";
import { sessionPaths, TRANSCRIPT_SUFFIX } from "./session-paths.ts";

export type MailRequest = { kind: "steer"; text: string } | { kind: "stop" };

export interface MailAnswer {
  accepted: boolean;
}

const REQUEST_ENDING = ".request.json";
const TAKEN = ".taken.json";
const ANSWER_ENDING = ".answer.json";
/** Exists while a turn polls the mailbox; answers may wait for their senders when it is gone. */
const OPEN = "open";

export function mailboxFolder(record: SessionRecord): string {
  return sessionPaths(dirname(record.file), basename(record.file, TRANSCRIPT_SUFFIX)).mailbox;
}

/** The turn's side. Only the holder of the session's lock may open it. */
export class Mailbox {
  readonly folder: string;

  /** Removes what a dead process has left there. Throws the system's errors. */
  constructor(record: SessionRecord) {
    this.folder = mailboxFolder(record);
    rmSync(this.folder, { recursive: true, force: true });
    mkdirSync(this.folder, { mode: 0o700 });
    writeFileSync(join(this.folder, OPEN), "", { mode: 0o600 });
  }

  /** Requests that have arrived, oldest first; anything else is dropped. Throws the system's errors. */
  take(): { id: string; request: MailRequest }[] {
    const names = readdirSync(this.folder).filter((name) => name.endsWith(REQUEST_ENDING));
    return names.toSorted().flatMap((name) => {
      const id = name.slice(0, -REQUEST_ENDING.length);
      const request = this.#take(id);
      return request ? [{ id, request }] : [];
    });
  }

  #take(id: string): MailRequest | undefined {
    const taken = join(this.folder, id + TAKEN);
    try {
      renameSync(join(this.folder, id + REQUEST_ENDING), taken);
    } catch (error) {
      // Its sender has withdrawn it.
      if (systemCode(error) === "ENOENT") return undefined;
      throw error;
    }
    const request = readJson(taken);
    if (request?.["kind"] === "stop") return { kind: "stop" };
    const text = request?.["kind"] === "steer" ? request["text"] : undefined;
    if (typeof text === "string") return { kind: "steer", text };
    rmSync(taken, { force: true });
    return undefined;
  }

  /** Throws the system's errors. */
  answer(id: string, answer: MailAnswer): void {
    writeFileAtomic(join(this.folder, id + ANSWER_ENDING), JSON.stringify(answer));
    // Not before: a sender that finds no trace of its request takes the turn for ended.
    rmSync(join(this.folder, id + TAKEN), { force: true });
  }

  /** Removes requests that will not be taken; answers wait for their senders. Never throws. */
  close(): void {
    try {
      for (const name of readdirSync(this.folder))
        if (!name.endsWith(ANSWER_ENDING)) rmSync(join(this.folder, name), { force: true });
    } catch {
      // The next turn of the session removes the rest.
      return;
    }
    removeEmpty(this.folder);
  }
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It is in use, or the reader of the last answer removes it.
    return;
  }
}

/** The sender's side: one request. */
export class Letter {
  readonly #folder: string;
  readonly #id = `${Date.now().toString(36).padStart(9, "0")}-${randomUUID()}`;

  constructor(record: SessionRecord) {
    this.#folder = mailboxFolder(record);
  }

  /** False without a mailbox: no turn runs. Throws the system's errors. */
  post(request: MailRequest): boolean {
    if (!existsSync(join(this.#folder, OPEN))) return false;
    try {
      writeFileAtomic(join(this.#folder, this.#id + REQUEST_ENDING), JSON.stringify(request));
      return true;
    } catch (error) {
      if (systemCode(error) === "ENOENT") return false;
      throw error;
    }
  }

  /** Reads and removes the answer; `gone` when the turn has ended without one. */
  answer(): MailAnswer | "gone" | undefined {
    const file = join(this.#folder, this.#id + ANSWER_ENDING);
    const found = readJson(file);
    if (found) {
      rmSync(file, { force: true });
      removeEmpty(this.#folder);
      return { accepted: found["accepted"] === true };
    }
    return this.#isWaiting() ? undefined : "gone";
  }

  /** True when the request was not taken, and will not be. */
  withdraw(): boolean {
    try {
      rmSync(join(this.#folder, this.#id + REQUEST_ENDING));
      return true;
    } catch {
      // It was taken, or the mailbox is gone.
      return false;
    }
  }

  /** Also true when the answer has arrived between two polls. */
  #isWaiting(): boolean {
    try {
      return readdirSync(this.#folder).some((name) => name.startsWith(this.#id));
    } catch {
      // The turn has ended and removed its mailbox.
      return false;
    }
  }
}

function readJson(file: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    // It does not exist yet, or is not one of ours.
    return undefined;
  }
}
