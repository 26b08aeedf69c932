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
  readonly #id: string;
  readonly #toolCallId: string | undefined;
  /** Messages of a subagent are no events of the work. */
  readonly #hasMessages: boolean;
  #isAnswered = false;
  hasEnded = false;

  constructor(id: string, { sessionKey }: Work, question: Approval["question"]) {
    this.#id = id;
    this.#toolCallId = question.toolCallId;
    this.#hasMessages = (question.sessionKey ?? sessionKey) === sessionKey;
  }

  /** Takes one page. */
  take(events: readonly StoredEvent[]): void {
    for (const { type, data } of events) {
      const { id, toolCallId, message } = data as EventData;
      if (type === "approval.answered" && id === this.#id) this.#isAnswered = true;
      if (!this.#isAnswered) continue;
      if (type === "tool.completed" && toolCallId === this.#toolCallId) this.hasEnded = true;
      // A call that a crash cut off has no end; the model answers when each call has a result.
      if (type === "message" && this.#hasMessages && message?.role === "assistant") this.hasEnded = true;
    }
  }
}

interface EventData {
  id?: unknown;
  toolCallId?: unknown;
  message?: { role?: unknown };
}
