/**
 * Which of the equal questions of a piece of work a call asks. A model may number its calls from 0 in each answer, so one work can ask
 * the same words for several calls; each of them is a question of its own.
 */
import type { Approval } from "./approvals.ts";
import { questionId } from "./approvals.ts";
import type { StoredEvent } from "./event-log.ts";
import type { Work } from "./work.ts";

/** Numbers that this host gave since the work began here; a number may still be looked up. */
export class QuestionNumbers<Numbered extends number | Promise<number>> {
  readonly #last = new WeakMap<Work, Map<string, Numbered>>();

  last(work: Work, question: Approval["question"]): Numbered | undefined {
    return this.#last.get(work)?.get(questionId(work, question));
  }

  set(work: Work, question: Approval["question"], number: Numbered): void {
    const numbers = this.#last.get(work) ?? new Map<string, Numbered>();
    this.#last.set(work, numbers.set(questionId(work, question), number));
  }

  /** The next equal question looks again at what is stored. */
  forget(work: Work, question: Approval["question"]): void {
    this.#last.get(work)?.delete(questionId(work, question));
  }
}

/** Equal questions that are stored, in order. */
interface Known {
  id: string;
  answer: string | null;
}

/**
 * Number of the first of the equal questions since the work began here: one that an earlier process left open, or whose answer it did
 * not use; else a further one.
 */
export function firstNumber(
  known: readonly Known[],
  isWaiting: (id: string) => boolean,
  isLastUsed: boolean,
): number {
  const open = known.findIndex(({ id, answer }) => answer === null && !isWaiting(id));
  if (open >= 0) return open;
  const last = known.at(-1);
  const isUnused = last !== undefined && last.answer !== null && !isLastUsed;
  return isUnused ? known.length - 1 : known.length;
}

/** Finds in the events of a piece of work whether a call ended after its question was answered. */
export class AnsweredCall {
  readonly #question: Approval["question"];
  readonly #id: string;
  #isAnswered = false;
  hasEnded = false;

  constructor(id: string, question: Approval["question"]) {
    this.#id = id;
    this.#question = question;
  }

  /** Takes one page. */
  take(events: readonly StoredEvent[]): void {
    for (const { type, data } of events) {
      const { id, toolCallId } = data as { id?: unknown; toolCallId?: unknown };
      if (type === "approval.answered" && id === this.#id) this.#isAnswered = true;
      if (type === "tool.completed" && this.#isAnswered && toolCallId === this.#question.toolCallId)
        this.hasEnded = true;
    }
  }
}
