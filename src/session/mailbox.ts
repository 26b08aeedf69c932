/**
 * How another process reaches the turn that runs in a session: small files in `<sessionId>.mailbox/`, which is there
 * while a turn runs. Each is put in place and taken with one rename, so that a request is applied once or not at all.
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
import type { SessionRecord } from "../contract/writer.ts";
import { writeFileAtomic } from "../platform/files.ts";
import { systemCode } from "./failures.ts";
import { sessionPaths, TRANSCRIPT_SUFFIX } from "./paths.ts";

export type MailRequest = { kind: "steer"; text: string } | { kind: "stop" };

export interface MailAnswer {
  accepted: boolean;
}

const REQUEST = ".request.json";
const TAKEN = ".taken.json";
const ANSWER = ".answer.json";
/** There while a turn looks into the mailbox; answers may wait for their senders when it is gone. */
const OPEN = "open";

export function mailboxFolder(record: SessionRecord): string {
  return sessionPaths(dirname(record.file), basename(record.file, TRANSCRIPT_SUFFIX)).mailbox;
}

/** The side of the turn. Only who holds the session's lock may open it. */
export class Mailbox {
  readonly folder: string;

  /** What a process that died has left there is removed. Throws what the system throws. */
  constructor(record: SessionRecord) {
    this.folder = mailboxFolder(record);
    rmSync(this.folder, { recursive: true, force: true });
    mkdirSync(this.folder, { mode: 0o700 });
    writeFileSync(join(this.folder, OPEN), "", { mode: 0o600 });
  }

  /** Requests that have arrived, oldest first; what is no request is dropped. Throws what the system throws. */
  take(): { id: string; request: MailRequest }[] {
    const names = readdirSync(this.folder).filter((name) => name.endsWith(REQUEST));
    return names.toSorted().flatMap((name) => {
      const id = name.slice(0, -REQUEST.length);
      const request = this.#take(id);
      return request ? [{ id, request }] : [];
    });
  }

  #take(id: string): MailRequest | undefined {
    const taken = join(this.folder, id + TAKEN);
    try {
      renameSync(join(this.folder, id + REQUEST), taken);
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

  /** Throws what the system throws. */
  answer(id: string, answer: MailAnswer): void {
    writeFileAtomic(join(this.folder, id + ANSWER), JSON.stringify(answer));
    // Not before: a sender that finds nothing of its request takes the turn for ended.
    rmSync(join(this.folder, id + TAKEN), { force: true });
  }

  /** Requests that nobody will take go; answers wait for their senders. Never throws. */
  close(): void {
    try {
      for (const name of readdirSync(this.folder))
        if (!name.endsWith(ANSWER)) rmSync(join(this.folder, name), { force: true });
    } catch {
      // The next turn of the session sweeps what is left.
      return;
    }
    removeEmpty(this.folder);
  }
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It is in use, or whoever reads the last answer removes it.
    return;
  }
}

/** The side of the sender: one request. */
export class Letter {
  readonly #folder: string;
  readonly #id = `${Date.now().toString(36).padStart(9, "0")}-${randomUUID()}`;

  constructor(record: SessionRecord) {
    this.#folder = mailboxFolder(record);
  }

  /** False where there is no mailbox: no turn runs. Throws what the system throws. */
  post(request: MailRequest): boolean {
    if (!existsSync(join(this.#folder, OPEN))) return false;
    try {
      writeFileAtomic(join(this.#folder, this.#id + REQUEST), JSON.stringify(request));
      return true;
    } catch (error) {
      if (systemCode(error) === "ENOENT") return false;
      throw error;
    }
  }

  /** The answer, which is removed; `gone` when the turn has ended without one. */
  answer(): MailAnswer | "gone" | undefined {
    const file = join(this.#folder, this.#id + ANSWER);
    const found = readJson(file);
    if (found) {
      rmSync(file, { force: true });
      removeEmpty(this.#folder);
      return { accepted: found["accepted"] === true };
    }
    return this.#isWaiting() ? undefined : "gone";
  }

  /** True when nobody has taken the request, and nobody will. */
  withdraw(): boolean {
    try {
      rmSync(join(this.#folder, this.#id + REQUEST));
      return true;
    } catch {
      // It was taken, or the mailbox is gone.
      return false;
    }
  }

  /** True too when the answer has come between two looks. */
  #isWaiting(): boolean {
    try {
      return readdirSync(this.#folder).some((name) => name.startsWith(this.#id));
    } catch {
      // The turn has ended and taken its mailbox away.
      return false;
    }
  }
}

function readJson(file: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    // It is not there yet, or it is nothing of ours.
    return undefined;
  }
}
