/**
 * Permission questions of turns that the inbox runs: each is a row and an event until someone answers it. A question that a crash left
 * open keeps its id: the continued turn asks it again, and gets an answer that came meanwhile.
 */
import { createHash } from "node:crypto";
import type { PermissionAnswer, PermissionQuestion } from "../contract/host/run.ts";
import { PagurusError } from "../contract/errors.ts";
import type { Database } from "../data/sqlite.ts";
import type { EventLog } from "./event-log.ts";
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

interface ApprovalRow {
  id: string;
  work: string;
  agent: string;
  session: string;
  call: string | null;
  question: string;
  answer: string | null;
  asked: number;
}

function approvalOf(row: ApprovalRow): Approval {
  return {
    id: row.id,
    workId: row.work,
    agentId: row.agent,
    sessionKey: row.session,
    ...(row.call === null ? {} : { toolCallId: row.call }),
    question: JSON.parse(row.question) as Approval["question"],
    askedAt: row.asked,
  };
}

export class Approvals {
  readonly #db: Database;
  readonly #events: EventLog;
  readonly #waiting = new Map<string, (answer: PermissionAnswer) => void>();

  constructor(db: Database, events: EventLog) {
    this.#db = db;
    this.#events = events;
  }

  /** Resolves with the answer, or with `deny` when the turn ends. */
  async ask(work: Work, { signal, ...question }: PermissionQuestion): Promise<PermissionAnswer> {
    const { toolName, summary, toolCallId } = question;
    const digest = createHash("sha256").update(JSON.stringify([work.id, toolCallId, toolName, summary]));
    const id = digest.digest("base64url").slice(0, 22);
    const known = this.#row(id);
    if (known?.answer) return JSON.parse(known.answer) as PermissionAnswer;
    if (!known) this.#asked(work, id, question);
    return new Promise((resolve) => {
      const settle = (answer: PermissionAnswer): void => {
        this.#waiting.delete(id);
        signal.removeEventListener("abort", onAbort);
        resolve(answer);
      };
      const onAbort = (): void => settle("deny");
      this.#waiting.set(id, settle);
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  #asked(work: Work, id: string, question: Approval["question"]): void {
    const { agentId, sessionKey } = work;
    this.#db.transaction(() => {
      this.#db.run(
        "INSERT INTO approvals (id, work, agent, session, call, question, asked) VALUES (?, ?, ?, ?, ?, ?, ?)",
        id,
        work.id,
        agentId,
        sessionKey,
        question.toolCallId ?? null,
        JSON.stringify(question),
        Date.now(),
      );
      this.#events.insert({
        workId: work.id,
        agentId,
        sessionKey,
        type: "approval.asked",
        data: { id, ...question },
      });
    });
    this.#events.written();
  }

  #row(id: string): ApprovalRow | undefined {
    return this.#db.get<ApprovalRow>("SELECT * FROM approvals WHERE id = ?", id);
  }

  /** Questions of work that has not ended, oldest first. */
  open(): Approval[] {
    return this.#db
      .all<ApprovalRow>(
        `SELECT * FROM approvals WHERE answer IS NULL
         AND work IN (SELECT id FROM work WHERE state <> 'ended') ORDER BY asked, id`,
      )
      .map(approvalOf);
  }

  /** Throws `work_not_found`. */
  get(id: string): Approval {
    const row = this.#row(id);
    if (row) return approvalOf(row);
    throw new PagurusError("work_not_found", `There is no permission question ${id}; check the id.`, {
      details: { id },
    });
  }

  /** False where it is answered already: the first answer counts. Throws `work_not_found`. */
  answer(id: string, answer: PermissionAnswer, tokenId: string): boolean {
    const { workId, agentId, sessionKey } = this.get(id);
    const isFirst = this.#db.transaction(() => {
      const changed = this.#db.run(
        "UPDATE approvals SET answer = ?, answered_by = ?, answered = ? WHERE id = ? AND answer IS NULL",
        JSON.stringify(answer),
        tokenId,
        Date.now(),
        id,
      );
      const allowed = answer !== "deny" && typeof answer === "string";
      if (changed > 0)
        this.#events.insert({
          workId,
          agentId,
          sessionKey,
          type: "approval.answered",
          data: { id, allowed, answer: typeof answer === "string" ? answer : "deny", by: tokenId },
        });
      return changed > 0;
    });
    if (!isFirst) return false;
    this.#events.written();
    this.#waiting.get(id)?.(answer);
    return true;
  }
}
