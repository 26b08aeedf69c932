/**
 * Receives messages: decides who may speak, and posts them to the inbox in the same transaction that moves the channel's cursor, so a
 * crash neither loses nor doubles one.
 */
import { HOUR_MS } from "@pagurus/core/data/interval";
import { channelWork } from "@pagurus/core/authority/doors";
import type { IncomingMessage } from "@pagurus/contract/channel/channel";
import { isPagurusError } from "@pagurus/contract/errors";
import type { Approvals } from "@pagurus/inbox/approvals";
import type { Alongside, Inbox } from "@pagurus/inbox/inbox";
import type { NewWork, TurnWork, WorkPlace } from "@pagurus/inbox/work";
import type { Dispatcher } from "@pagurus/inbox/dispatcher";
import type { Logger } from "@pagurus/core/platform/log";
import { addressKey } from "./address-key.ts";
import type { ChannelSettings } from "./channel-settings.ts";
import { replyId, type ChannelStore, type Place } from "./channel-store.ts";
import { commandIn, runCommand, type CommandParts } from "./chat-commands.ts";
import { groupInput, senderOf } from "./group-input.ts";
import type { GroupLines } from "./group-lines.ts";
import { HANDING_OVER } from "./handed-files.ts";
import { linesOf, messageOrigin, placeOf, sessionOf, type GroupMessage } from "./incoming-place.ts";
import { isWordless, messagePrompt, seen, textWithFiles } from "./incoming-words.ts";
import { QuestionAnswers, type Answering } from "./question-answers.ts";
import { receivedFiles } from "./received-files.ts";
import { shownName } from "@pagurus/core/data/plain-text";
import type { WaitingLimits } from "./waiting-messages.ts";

/** Longest message that becomes a turn, characters. */
const MOST_CHARS = 200_000;
/** All threads of a person together may have this many times the answers of one. */
const PERSON_LIMIT = 2;

export interface IncomingParts {
  store: ChannelStore;
  lines: GroupLines;
  inbox: Inbox;
  dispatcher: Dispatcher;
  approvals: Approvals;
  pagurus: CommandParts["pagurus"];
  logger: Logger;
  /** Whether the channel can send files. */
  sendsFiles: boolean;
  /** Called when a message to send was queued. */
  queued(channel: string): void;
  /** Called in the transaction that refuses a message, with the reason for the channel's log. */
  refused(why: string): void;
  /** Called when the channel's record of work was added late, after a crash: the work may have asked or ended before. */
  addedLate(): void;
}

/** A message of someone who gets an answer. */
interface Asked {
  message: IncomingMessage;
  place: Place;
  cursor: string | undefined;
  where: WorkPlace;
}

/** What the person or group gets whose message is not accepted. */
function tooManyWait(whose: keyof WaitingLimits, most: number): string {
  const which = whose === "person" ? " of yours" : "";
  return `I did not take your last message: ${most} messages${which} wait here for an answer already, which is the most. Please write it again when some are answered.`;
}

export class Incoming {
  readonly #parts: IncomingParts;
  readonly #settings: ChannelSettings;
  readonly #answers: QuestionAnswers;

  constructor(parts: IncomingParts, settings: ChannelSettings) {
    this.#parts = parts;
    this.#settings = settings;
    const { store, approvals } = parts;
    this.#answers = new QuestionAnswers({
      channel: settings.id,
      store,
      approvals,
      tell: ({ message, place, cursor }, sentence) => {
        const text = place.isGroup ? `${senderOf(message)}: ${sentence}` : sentence;
        this.#reply(message, place, text, cursor);
      },
    });
  }

  /** Resolves when the message is on disk, with the cursor. Throws `store_write_failed`. */
  async receive(received: IncomingMessage | undefined, cursor: string | undefined): Promise<void> {
    const message = received && seen(received);
    if (!message || isWordless(message)) this.#moveOn(cursor);
    else if (message.group !== undefined)
      await this.#receiveInGroup({ ...message, group: message.group }, cursor);
    else await this.#receiveOfPerson(message, cursor);
  }

  async #receiveOfPerson(message: IncomingMessage, cursor: string | undefined): Promise<void> {
    const place = placeOf(this.#settings.id, message);
    const loop = this.#loop(place);
    if (loop) this.#skip(loop, cursor);
    else if (!this.#mayTalk(message)) this.#pair(message, place, cursor);
    else if (message.unreadable !== undefined) this.#refuse(message, message.unreadable, place, cursor);
    else await this.#accept({ message, place, cursor, where: sessionOf(this.#settings, message) });
  }

  /** A group is answered where it speaks to the host; the rest is context of that. */
  async #receiveInGroup(message: GroupMessage, cursor: string | undefined): Promise<void> {
    const settings = this.#settings.groups.get(addressKey(message.group));
    // Of an unknown group and of a message that cannot be read nothing is kept.
    if (!settings || message.unreadable !== undefined) return this.#moveOn(cursor);
    const isKnown = this.#mayTalk(message);
    if (!isKnown && settings.from !== "all") return this.#keepLine(message, cursor);
    const place = placeOf(this.#settings.id, message);
    const where = sessionOf(this.#settings, message);
    const asked = await this.#whole({ message, place, cursor, where });
    if (!asked) return;
    if (message.isMention === true || settings.answer === "always")
      return isKnown ? this.#accept(asked) : this.#postTurn(asked, false);
    // While a question is open there, a plain yes or no of who may speak is for the host.
    if (isKnown && (await this.#answers.take(this.#answering(asked)))) return;
    this.#keepLine(message, cursor);
  }

  #keepLine(message: GroupMessage, cursor: string | undefined): void {
    const { store, lines } = this.#parts;
    const { id: channel } = this.#settings;
    store.unsynced(() => {
      lines.add(channel, linesOf(message), { sender: senderOf(message), text: textWithFiles(message) });
      store.setCursor(channel, cursor);
    });
  }

  #answering({ message, place, cursor, where }: Asked): Answering {
    return {
      message,
      place,
      cursor,
      origin: messageOrigin(this.#settings.id, message, where),
      sessionOf: (thread) => {
        const { thread: _own, ...rest } = message;
        return sessionOf(this.#settings, thread === undefined ? rest : { ...rest, thread });
      },
    };
  }

  #mayTalk({ from }: IncomingMessage): boolean {
    const { id, allow } = this.#settings;
    return allow.has(addressKey(from)) || this.#parts.store.people.find(id, from)?.state === "approved";
  }

  /** Whose answers within an hour are more than a person reads: programs may be answering each other. A robot may begin a thread with each mail. */
  #loop(place: Place): { whose: string; most: number } | undefined {
    const { answersPerHour } = this.#settings;
    if (place.thread === undefined) return undefined;
    const { store } = this.#parts;
    const since = Date.now() - HOUR_MS;
    if (store.queuedSince(place, since) >= answersPerHour) return { whose: "A thread", most: answersPerHour };
    const most = answersPerHour * PERSON_LIMIT;
    if (place.isGroup || store.queuedToSince(place, since) < most) return undefined;
    return { whose: shownName(place.address), most };
  }

  #skip({ whose, most }: { whose: string; most: number }, cursor: string | undefined): void {
    const { store, logger, refused } = this.#parts;
    const { id: channel } = this.#settings;
    logger.warn("message of a channel not answered: too many answers within an hour", { channel });
    const sentence = `${whose} had ${most} answers within an hour; what came after them was not answered.`;
    store.transaction(() => {
      store.setMissed(channel, sentence);
      refused(sentence);
      store.setCursor(channel, cursor);
    });
  }

  /** Queues an answer that needs no work; of more than can be sent it is left out. */
  #reply({ id }: IncomingMessage, place: Place, text: string, cursor: string | undefined): void {
    const { store, queued, refused } = this.#parts;
    const most = this.#settings.waiting.person;
    const isTooMuch = store.waiting.unsent(place) >= most;
    store.transaction(() => {
      if (isTooMuch) refused(`a command of ${shownName(place.address)} has no answer: ${most} messages wait`);
      else store.queue(replyId(place.channel, id), place, text);
      store.setCursor(place.channel, cursor);
    });
    queued(place.channel);
  }

  /** A stranger gets a code that the owner confirms, once; the text goes nowhere. */
  #pair({ id, from, name }: IncomingMessage, place: Place, cursor: string | undefined): void {
    const { store, queued, refused } = this.#parts;
    const { id: channel } = this.#settings;
    if (store.people.isWaiting(channel, from)) return this.#moveOn(cursor);
    store.transaction(() => {
      const { code, problem } = store.people.codeFor(channel, from, name);
      if (problem !== undefined) {
        store.setMissed(channel, problem);
        refused(problem);
      }
      if (code !== undefined)
        store.queue(
          replyId(channel, id),
          place,
          `This assistant does not know you yet. Its owner can let you in with: pagurus channels approve ${code}`,
        );
      store.setCursor(channel, cursor);
    });
    queued(channel);
  }

  /** Stores the cursor alone, without fsync: a flood of a stranger does not keep the disk busy. */
  #moveOn(cursor: string | undefined): void {
    const { store } = this.#parts;
    store.unsynced(() => store.setCursor(this.#settings.id, cursor));
  }

  /** A sentence about what cannot be read, once for each person. */
  #refuse({ from }: IncomingMessage, sentence: string, place: Place, cursor: string | undefined): void {
    const { store, queued } = this.#parts;
    const { id: channel } = this.#settings;
    store.transaction(() => {
      store.queue(replyId(channel, `unreadable ${from} ${sentence}`), place, sentence);
      store.setCursor(channel, cursor);
    });
    queued(channel);
  }

  /** The message with its content, of a sender whose words are taken; undefined where there is none. */
  async #whole({ message, ...rest }: Asked): Promise<Asked | undefined> {
    const { fetchContent, ...head } = message;
    if (!fetchContent) return { message, ...rest };
    const whole = seen({ ...head, ...(await fetchContent()) });
    if (!isWordless(whole)) return { message: whole, ...rest };
    this.#moveOn(rest.cursor);
    return undefined;
  }

  /** A message of a person who may speak: an answer to a question, a command, or a turn. */
  async #accept(head: Asked): Promise<void> {
    const asked = await this.#whole(head);
    if (!asked) return;
    const { message, place, cursor, where } = asked;
    const { id: channel, cwd } = this.#settings;
    if (await this.#answers.take(this.#answering(asked))) return;
    const command = commandIn(message.text);
    if (!command) {
      await this.#postTurn(asked, true);
      return;
    }
    const { store } = this.#parts;
    if (store.isQueued(replyId(channel, message.id))) {
      store.transaction(() => store.setCursor(channel, cursor));
      return;
    }
    const answer = await runCommand(this.#parts, { ...where, cwd }, command);
    if ("work" in answer) {
      if (!this.#isTooMuch(asked)) await this.#post({ ...where, ...answer.work }, asked);
      return;
    }
    this.#reply(message, place, answer.text, cursor);
  }

  /** Refuses a message where too many wait: its sender, or the group, gets one message about it until the queue was empty. */
  #isTooMuch({ message, place, cursor, where }: Asked): boolean {
    const { store, queued, refused } = this.#parts;
    const { id: channel, waiting } = this.#settings;
    const origin = messageOrigin(channel, message, where);
    const whose = store.waiting.full(origin, waiting);
    if (whose === undefined) return false;
    const sentence = tooManyWait(whose, waiting[whose]);
    const text = place.isGroup ? `${senderOf(message)}: ${sentence}` : sentence;
    store.unsynced(() => {
      if (store.waiting.refuse(whose, origin))
        store.queue(replyId(channel, `too many ${message.id}`), place, text);
      const which = whose === "person" ? "of this person" : "in this session";
      const why = `${waiting[whose]} messages ${which} wait`;
      refused(`a message of ${shownName(message.from)} was not accepted: ${why}`);
      store.setCursor(channel, cursor);
    });
    queued(channel);
    return true;
  }

  /** `isKnown`: the person may speak; the words of others are data, and their turns ask for nothing and hand over no files. */
  async #postTurn(asked: Asked, isKnown: boolean): Promise<void> {
    const { sendsFiles, lines } = this.#parts;
    const { id: channel, cwd, permission } = this.#settings;
    const { where } = asked;
    if (this.#isTooMuch(asked)) return;
    const { fetchAttachments, ...plain } = asked.message;
    const message = { ...plain, text: plain.text.slice(0, MOST_CHARS) };
    const files = await receivedFiles(
      isKnown && fetchAttachments ? { ...message, fetchAttachments } : message,
    );
    const { group } = message;
    const context = group === undefined ? undefined : linesOf({ ...message, group });
    const before = context === undefined ? [] : lines.of(channel, context);
    const input =
      group === undefined
        ? { prompt: messagePrompt(message), parts: [] }
        : groupInput({ ...message, group }, isKnown, before);
    const parts = [...input.parts, ...files];
    const request: TurnWork = {
      prompt: input.prompt,
      cwd,
      permission: isKnown || permission === "read-only" ? permission : "deny",
      ...(isKnown ? (group === undefined ? {} : { audience: "group" }) : { audience: "strangers" }),
      ...(parts.length === 0 ? {} : { parts }),
      ...(sendsFiles && isKnown ? { additionalContext: HANDING_OVER } : {}),
    };
    await this.#post({ ...where, kind: "turn", request }, asked, () => {
      const last = before.at(-1);
      if (last && context !== undefined) lines.remove(channel, context, last.seq);
    });
  }

  /** `alongside`: writes of the transaction that accepts the work. */
  async #post(
    work: Pick<NewWork, "agentId" | "sessionKey" | "kind" | "request">,
    { message, place, cursor, where }: Asked,
    alongside?: () => void,
  ): Promise<void> {
    const { store, dispatcher, logger, addedLate } = this.#parts;
    const { id: channel } = this.#settings;
    const origin = `channel:${channel}`;
    let isLate = false;
    const accepted: Alongside = ({ workId, isNew }) =>
      store.transaction(() => {
        isLate = store.addWork(workId, place, messageOrigin(channel, message, where)) && !isNew;
        if (isNew) alongside?.();
        store.setCursor(channel, cursor);
      });
    try {
      await dispatcher.post(
        {
          ...work,
          policy: "queue",
          origin,
          authority: channelWork(channel),
          idempotencyKey: message.id,
        },
        accepted,
      );
    } catch (error) {
      if (!isPagurusError(error) || error.code !== "idempotency_conflict") throw error;
      // The service changed a message that has its turn already; or a crash came before the record of that turn.
      logger.warn("changed message of a channel not taken again", { channel });
      const { id } = error.details ?? {};
      if (typeof id === "string") accepted({ workId: id, isNew: false });
      else store.transaction(() => store.setCursor(channel, cursor));
    }
    if (isLate) addedLate();
  }
}
