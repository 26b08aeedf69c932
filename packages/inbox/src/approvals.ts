/**
 * Permission questions of turns that the inbox runs: each is a row and an event until someone answers it. A question that a crash left
 * open keeps its id: the continued turn asks it again, and gets an answer that came meanwhile.
 */
import { createHash } from "node:crypto";
import { PagurusError } from "@pagurus/contract/errors";
import type { PermissionAnswer, PermissionQuestion } from "@pagurus/contract/host/run";
import type { Awaitable } from "./inbox.ts";
import type { Work } from "./work.ts";

export interface Approval {
  id: string;
  workId: string;
  agentId: string;
  sessionKey: string;
  toolCallId?: string;
  question: Omit<PermissionQuestion, "signal">;
  /** Milliseconds since the epoch. */
  askedAt: number;
}

export interface Approvals {
  /** Resolves with the answer, or with `deny` when the turn ends. */
  ask(work: Work, question: PermissionQuestion): Promise<PermissionAnswer>;
  /** Questions of work that has not ended, oldest first. */
  open(): Awaitable<Approval[]>;
  /** Throws `work_not_found`. */
  get(id: string): Awaitable<Approval>;
  /**
   * False where it is answered already: the first answer counts. `alongside` writes what belongs to the answer; with a shared inbox it
   * follows. Throws `work_not_found`.
   */
  answer(id: string, answer: PermissionAnswer, tokenId: string, alongside?: () => void): Awaitable<boolean>;
}

/**
 * The same whenever the same session of the same work asks the same question. `number`: how many equal ones the work asked before.
 */
export function questionId(
  { id, sessionKey }: Work,
  { toolName, summary, toolCallId, sessionKey: asking = sessionKey }: Approval["question"],
  number = 0,
): string {
  const more = [...(asking === sessionKey ? [] : [asking]), ...(number === 0 ? [] : [number])];
  const digest = createHash("sha256").update(JSON.stringify([id, toolCallId, toolName, summary, ...more]));
  return digest.digest("base64url").slice(0, 22);
}

export function questionNotFound(id: string): PagurusError {
  return new PagurusError("work_not_found", `There is no permission question ${id}; check the id.`, {
    details: { id },
  });
}

/** Data of the event of an answer. */
export function answeredEvent(id: string, answer: PermissionAnswer, by: string): object {
  const shown = typeof answer === "string" ? answer : "deny" in answer ? "deny" : "once";
  return { id, allowed: shown !== "deny" && shown !== "unasked", answer: shown, by };
}

/** Turns of this host that wait for an answer. */
export class OpenQuestions {
  readonly #waiting = new Map<string, Set<(answer: PermissionAnswer) => void>>();

  /** Resolves with the answer, or with `deny` when the signal fires. */
  wait(id: string, signal: AbortSignal): Promise<PermissionAnswer> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(id) ?? new Set();
      const settle = (answer: PermissionAnswer): void => {
        waiting.delete(settle);
        if (waiting.size === 0) this.#waiting.delete(id);
        signal.removeEventListener("abort", onAbort);
        resolve(answer);
      };
      const onAbort = (): void => settle("deny");
      this.#waiting.set(id, waiting.add(settle));
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  settle(id: string, answer: PermissionAnswer): void {
    for (const settle of this.#waiting.get(id) ?? []) settle(answer);
  }

  has(id: string): boolean {
    return this.#waiting.has(id);
  }

  get ids(): string[] {
    return [...this.#waiting.keys()];
  }
}
