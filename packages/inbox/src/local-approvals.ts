/** Permission questions in the server's own database. */
import type { PermissionAnswer, PermissionQuestion } from "@pagurus/contract/host/run";
import type { Database } from "@pagurus/core/data/sqlite";
import {
  answeredEvent,
  OpenQuestions,
  questionId,
  questionNotFound,
  type Approval,
  type Approvals,
} from "./approvals.ts";
import type { LocalEvents } from "./local-events.ts";
import { AnsweredCall, firstNumber, QuestionNumbers } from "./question-numbers.ts";
import type { Work } from "./work.ts";
import { approvalOf, type ApprovalRow } from "./rows.ts";

export class LocalApprovals implements Approvals {
  readonly #db: Database;
  readonly #events: LocalEvents;
  readonly #questions = new OpenQuestions();
  readonly #numbers = new QuestionNumbers<number>();

  constructor(db: Database, events: LocalEvents) {
    this.#db = db;
    this.#events = events;
  }

  async ask(work: Work, { signal, ...question }: PermissionQuestion): Promise<PermissionAnswer> {
    const last = this.#numbers.last(work, question);
    const number = last === undefined ? this.#firstNumber(work, question) : last + 1;
    this.#numbers.set(work, question, number);
    const id = questionId(work, question, number);
    const known = this.#row(id);
    if (known?.answer) return JSON.parse(known.answer) as PermissionAnswer;
    if (!known) this.#asked(work, id, question);
    const answer = await this.#questions.wait(id, signal);
    // Another try of the turn asks it again.
    if (signal.aborted) this.#numbers.forget(work, question);
    return answer;
  }

  #firstNumber(work: Work, question: Approval["question"]): number {
    const known: ApprovalRow[] = [];
    for (let row = this.#row(questionId(work, question)); row;) {
      known.push(row);
      row = this.#row(questionId(work, question, known.length));
    }
    const last = known.at(-1);
    const isUsed = last !== undefined && last.answer !== null && this.#hasEnded(last.id, work, question);
    return firstNumber(known, (id) => this.#questions.has(id), isUsed);
  }

  #hasEnded(id: string, work: Work, question: Approval["question"]): boolean {
    this.#events.flush();
    const call = new AnsweredCall(id, work, question);
    for (let seq = 0; ;) {
      const page = this.#events.after(seq, { workId: work.id });
      call.take(page);
      const last = page.at(-1);
      if (!last || call.hasEnded) return call.hasEnded;
      seq = last.seq;
    }
  }

  #asked(work: Work, id: string, question: Approval["question"]): void {
    const { agentId, sessionKey } = work;
    const ask = (): void => {
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
    };
    this.#events.storing(() => this.#db.transaction(ask));
  }

  #row(id: string): ApprovalRow | undefined {
    return this.#db.get<ApprovalRow>("SELECT * FROM approvals WHERE id = ?", id);
  }

  open(): Approval[] {
    return this.#db
      .all<ApprovalRow>(
        `SELECT * FROM approvals WHERE answer IS NULL
         AND work IN (SELECT id FROM work WHERE state <> 'ended') ORDER BY asked, id`,
      )
      .map(approvalOf);
  }

  get(id: string): Approval {
    const row = this.#row(id);
    if (row) return approvalOf(row);
    throw questionNotFound(id);
  }

  answer(id: string, answer: PermissionAnswer, tokenId: string, alongside?: () => void): boolean {
    const { workId, agentId, sessionKey } = this.get(id);
    const store = (): boolean => {
      const changed = this.#db.run(
        "UPDATE approvals SET answer = ?, answered_by = ?, answered = ? WHERE id = ? AND answer IS NULL",
        JSON.stringify(answer),
        tokenId,
        Date.now(),
        id,
      );
      alongside?.();
      if (changed > 0)
        this.#events.insert({
          workId,
          agentId,
          sessionKey,
          type: "approval.answered",
          data: answeredEvent(id, answer, tokenId),
        });
      return changed > 0;
    };
    const isFirst = this.#events.storing(() => this.#db.transaction(store));
    if (!isFirst) return false;
    this.#questions.settle(id, answer);
    return true;
  }
}
