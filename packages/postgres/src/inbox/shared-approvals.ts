/** Permission questions in a database that several hosts share: any host takes the answer, and the one that runs the turn gets it. */
import type { PermissionAnswer, PermissionQuestion } from "@pagurus/contract/host/run";
import type { Database } from "../connections.ts";
import {
  answeredEvent,
  OpenQuestions,
  questionId,
  questionNotFound,
  type Approval,
  type Approvals,
} from "@pagurus/inbox/approvals";
import { eventsUpToNow } from "@pagurus/inbox/event-log";
import { AnsweredCall, firstNumber, QuestionNumbers } from "@pagurus/inbox/question-numbers";
import type { Work } from "@pagurus/inbox/work";
import type { SharedEvents } from "./shared-events.ts";
import { placeDigest, type WorkFeed } from "./work-feed.ts";
import { WITH_EVENT } from "./work-rows.ts";
import { approvalOf, type ApprovalRow } from "@pagurus/inbox/rows";

const COLUMNS = "id, work, agent, session, call, question, answer, asked::float8 AS asked";
const ASK = `WITH changed AS (INSERT INTO {s}.approvals (id, work, agent, session, call, question, asked)
   SELECT $5, id, agent, session, $6, $7, $8 FROM {s}.work WHERE tenant = current_user AND id = $9 AND host = $10 AND state <> 'ended'
   ON CONFLICT DO NOTHING RETURNING work, agent, session, $3 AS event_type, $4 AS event_data),
 ${WITH_EVENT}
 SELECT pg_notify($1, $2) FROM changed`;

const ANSWER = `WITH changed AS (UPDATE {s}.approvals SET answer = $5, answered_by = $6, answered = $7
   WHERE tenant = current_user AND id = $8 AND answer IS NULL
   RETURNING work, agent, session, $3 AS event_type, $4 AS event_data),
 ${WITH_EVENT}
 SELECT pg_notify($1, $2) FROM changed`;

export interface SharedApprovalsParts {
  database: Database;
  feed: WorkFeed;
  events: SharedEvents;
  host: string;
  now: () => number;
}

export class SharedApprovals implements Approvals {
  readonly #parts: SharedApprovalsParts;
  readonly #questions = new OpenQuestions();
  readonly #numbers = new QuestionNumbers<Promise<number>>();

  constructor(parts: SharedApprovalsParts) {
    this.#parts = parts;
    parts.events.onAnswers = () => void this.#look().catch(() => undefined);
  }

  async ask(work: Work, { signal, ...question }: PermissionQuestion): Promise<PermissionAnswer> {
    const { database, feed, events, host, now } = this.#parts;
    const id = questionId(work, question, await this.#number(work, question));
    const row = await this.#row(id);
    if (row?.answer) return JSON.parse(row.answer) as PermissionAnswer;
    // What it asks about comes first.
    await events.flush();
    const text = JSON.stringify(question);
    const data = JSON.stringify({ id, ...question });
    const message = feed.message("events", placeDigest(work), work.id);
    const event = [feed.channel, message, "approval.asked", data];
    const values = [...event, id, question.toolCallId ?? null, text, now(), work.id, host];
    await database.rows("store_write_failed", ASK, values);
    events.stored([{ ...work, workId: work.id }]);
    const waiting = this.#questions.wait(id, signal);
    // It may have come before this host waited.
    void this.#look().catch(() => undefined);
    const answer = await waiting;
    // Another try of the turn asks it again.
    if (signal.aborted) this.#numbers.forget(work, question);
    return answer;
  }

  /** Equal questions of parallel calls get their numbers one after another. */
  #number(work: Work, question: Approval["question"]): Promise<number> {
    const last = this.#numbers.last(work, question);
    const number = last?.then((before) => before + 1) ?? this.#firstNumber(work, question);
    this.#numbers.set(work, question, number);
    number.catch(() => this.#numbers.forget(work, question));
    return number;
  }

  async #firstNumber(work: Work, question: Approval["question"]): Promise<number> {
    const known: ApprovalRow[] = [];
    for (let row = await this.#row(questionId(work, question)); row;) {
      known.push(row);
      row = await this.#row(questionId(work, question, known.length));
    }
    const last = known.at(-1);
    const isUsed =
      last !== undefined && last.answer !== null && (await this.#hasEnded(last.id, work, question));
    return firstNumber(known, (id) => this.#questions.has(id), isUsed);
  }

  async #hasEnded(id: string, work: Work, question: Approval["question"]): Promise<boolean> {
    const { events } = this.#parts;
    await events.flush();
    const call = new AnsweredCall(id, work, question);
    for await (const event of eventsUpToNow(events, { workId: work.id })) {
      call.take([event]);
      if (call.hasEnded) break;
    }
    return call.hasEnded;
  }

  /** Answers that other hosts took. */
  async #look(): Promise<void> {
    const { ids } = this.#questions;
    if (ids.length === 0) return;
    const rows = await this.#parts.database.rows<{ id: string; answer: string }>(
      "store_read_failed",
      "SELECT id, answer FROM {s}.approvals WHERE tenant = current_user AND id = ANY($1) AND answer IS NOT NULL",
      [ids],
    );
    for (const { id, answer } of rows) this.#questions.settle(id, JSON.parse(answer) as PermissionAnswer);
  }

  async #row(id: string): Promise<ApprovalRow | undefined> {
    const [row] = await this.#parts.database.rows<ApprovalRow>(
      "store_read_failed",
      `SELECT ${COLUMNS} FROM {s}.approvals WHERE tenant = current_user AND id = $1`,
      [id],
    );
    return row;
  }

  async open(): Promise<Approval[]> {
    const rows = await this.#parts.database.rows<ApprovalRow>(
      "store_read_failed",
      `SELECT ${COLUMNS} FROM {s}.approvals WHERE tenant = current_user AND answer IS NULL
       AND work IN (SELECT id FROM {s}.work WHERE tenant = current_user AND state <> 'ended') ORDER BY approvals.asked, id`,
      [],
    );
    return rows.map(approvalOf);
  }

  async get(id: string): Promise<Approval> {
    const row = await this.#row(id);
    if (row) return approvalOf(row);
    throw questionNotFound(id);
  }

  async answer(
    id: string,
    answer: PermissionAnswer,
    tokenId: string,
    alongside?: () => void,
  ): Promise<boolean> {
    const { database, feed, events, now } = this.#parts;
    const approval = await this.get(id);
    const data = JSON.stringify(answeredEvent(id, answer, tokenId));
    const message = feed.message("answer", placeDigest(approval), approval.workId);
    const stored = [JSON.stringify(answer), tokenId, now(), id];
    const event = [feed.channel, message, "approval.answered", data];
    const changed = await database.rows("store_write_failed", ANSWER, [...event, ...stored]);
    const isFirst = changed.length > 0 || (await this.#isStored(stored));
    alongside?.();
    if (!isFirst) {
      // An answer that came before is the one that counts.
      void this.#look().catch(() => undefined);
      return false;
    }
    events.stored([approval]);
    this.#questions.settle(id, answer);
    return true;
  }

  /** Whether this very answer is there: of a try whose connection was cut. */
  async #isStored(stored: readonly unknown[]): Promise<boolean> {
    const text =
      "SELECT id FROM {s}.approvals WHERE tenant = current_user AND answer = $1 AND answered_by = $2 AND answered = $3 AND id = $4";
    return (await this.#parts.database.rows("store_read_failed", text, stored)).length > 0;
  }
}
