/**
 * Yes and no to permission questions. An answer is taken for the question that its writer saw: the one that it replies to, else the one whose
 * number it has, else the only one that was shown there since that person's last answer. Any other yes or no allows nothing.
 */
import type { IncomingMessage } from "@pagurus/contract/channel/channel";
import { isPagurusError } from "@pagurus/contract/errors";
import type { PermissionAnswer } from "@pagurus/contract/host/run";
import type { Approval, Approvals } from "@pagurus/inbox/approvals";
import type { WorkPlace } from "@pagurus/inbox/work";
import {
  questionDigest,
  isSameAddress,
  isSamePlace,
  questionOfMessage,
  type AskedQuestion,
} from "./asked-questions.ts";
import { replyId, type ChannelStore, type Place } from "./channel-store.ts";
import { givenWords, NOT_TAKEN, type GivenWords } from "./permission-words.ts";
import type { MessageOrigin } from "./waiting-messages.ts";

/** Largest difference between the clocks of the service and the host, ms. */
const CLOCKS_MS = 5_000;

/** A message of a person who may speak. */
export interface Answering {
  message: IncomingMessage;
  place: Place;
  origin: MessageOrigin;
  /** Session of a message in a thread. */
  sessionOf(thread: string | undefined): WorkPlace;
  cursor: string | undefined;
}

export interface AnswerParts {
  channel: string;
  store: ChannelStore;
  approvals: Approvals;
  /** Queues a sentence for the writer and stores the cursor. */
  tell(answering: Answering, sentence: string): void;
}

interface OpenQuestion {
  approval: Approval;
  asked: AskedQuestion;
}

/** The question that is meant, why none is, or undefined for a message as any other. */
type Meant = { question: string } | { why: keyof typeof NOT_TAKEN } | undefined;

export class QuestionAnswers {
  readonly #parts: AnswerParts;

  constructor(parts: AnswerParts) {
    this.#parts = parts;
  }

  /** Takes a yes or no; false for a message that is to be handled as any other. A message that is delivered again answers no other question. */
  async take(answering: Answering): Promise<boolean> {
    const { store } = this.#parts;
    const { message, origin, cursor } = answering;
    const given = givenWords(message.text);
    if (!given || store.waiting.isTaken(origin)) return false;
    if (store.answers.has(origin) || store.isQueued(replyId(origin.channel, origin.message))) {
      store.transaction(() => store.setCursor(origin.channel, cursor));
      return true;
    }
    const begun = store.answers.begun(origin);
    const meant = begun === undefined ? await this.#meant(answering, given) : { question: begun };
    if (!meant) return false;
    if ("why" in meant) {
      this.#parts.tell(answering, NOT_TAKEN[meant.why]);
      return true;
    }
    const { question } = meant;
    store.transaction(() => store.answers.begin(origin, question));
    await this.#answer(question, given.isYes ? "once" : "deny", () => {
      store.answers.add(origin);
      store.questions.answered(question, message.from);
      store.setCursor(origin.channel, cursor);
    });
    return true;
  }

  async #meant(answering: Answering, given: GivenWords): Promise<Meant> {
    const { message, place } = answering;
    const { replyTo, form } = message;
    const { questions } = this.#parts.store;
    const open = await this.#openFor(answering);
    // In a group people say yes to each other, too.
    const isForHost = !place.isGroup || message.isMention === true;
    const isRelevant = isForHost && open.some(({ asked }) => isSamePlace(asked.place, place));
    if (form !== undefined) return isRelevant ? { why: form } : undefined;
    if (replyTo !== undefined) {
      const id = questionOfMessage(replyTo);
      const asked = id === undefined ? undefined : questions.find(id);
      if (!asked || !isSameAddress(asked.place, place)) return isRelevant ? { why: "other" } : undefined;
      if (given.code !== undefined && given.code !== asked.code) return { why: "mixed" };
      return this.#ifOpen(open, asked, given);
    }
    if (given.code !== undefined) {
      const asked = questions.byCode(place, given.code);
      if (asked) return this.#ifOpen(open, asked, given);
      return isRelevant ? { why: "unknown" } : undefined;
    }
    return this.#plain(open, answering, given);
  }

  /** A yes or no with neither a reply nor a number. */
  #plain(all: readonly OpenQuestion[], { message, place }: Answering, given: GivenWords): Meant {
    const { questions } = this.#parts.store;
    const open = all.filter(({ asked }) => isSamePlace(asked.place, place) && asked.isSent);
    const [only, ...more] = open;
    if (!only) return undefined;
    const { writtenAt = Infinity } = message;
    const isBefore = writtenAt < only.asked.sentAt - CLOCKS_MS;
    if (more.length > 0 || isBefore || questions.isAmbiguous(only.asked, message.from))
      return { why: "several" };
    return this.#ifOpen(open, only.asked, given);
  }

  #ifOpen(open: readonly OpenQuestion[], asked: AskedQuestion, { isYes }: GivenWords): Meant {
    const { id, digest, isSent, isWhole } = asked;
    const found = open.find(({ approval }) => approval.id === id);
    const isSame = questionDigest(found?.approval.question.summary ?? "") === digest;
    if (!found || !isSent || !isSame) return { why: "closed" };
    return isYes && isWhole === false ? { why: "cut" } : { question: id };
  }

  /** Open questions that the writer may answer: of the session that the person has where they were asked. */
  async #openFor({ place, sessionOf }: Answering): Promise<OpenQuestion[]> {
    const { approvals, store } = this.#parts;
    const open: OpenQuestion[] = [];
    for (const approval of await approvals.open()) {
      const asked = store.questions.find(approval.id);
      if (!asked || !isSameAddress(asked.place, place)) continue;
      const { agentId, sessionKey } = sessionOf(asked.place.thread);
      if (approval.agentId === agentId && approval.sessionKey === sessionKey) open.push({ approval, asked });
    }
    return open;
  }

  /** A question that was removed with its work needs no answer, only the record of it. */
  async #answer(question: string, answer: PermissionAnswer, record: () => void): Promise<void> {
    const { approvals, store, channel } = this.#parts;
    const accepted = (): void => store.transaction(record);
    try {
      await approvals.answer(question, answer, `channel:${channel}`, accepted);
    } catch (error) {
      if (!isPagurusError(error) || error.code !== "work_not_found") throw error;
      accepted();
    }
  }
}
