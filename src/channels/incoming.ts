/**
 * Receives messages: decides who may speak, and posts them to the inbox in the same transaction that moves the channel's cursor, so a
 * crash neither loses nor doubles one.
 */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "../contract/channel/channel.ts";
import { isPagurusError } from "../contract/errors.ts";
import type { Approvals } from "../inbox/approvals.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { NewWork, WorkPlace } from "../inbox/work.ts";
import type { Dispatcher } from "../inbox/dispatcher.ts";
import type { Logger } from "../platform/log.ts";
import type { ChannelSettings } from "./channel-settings.ts";
import type { ChannelStore, Place } from "./channel-store.ts";
import { commandIn, runCommand, type CommandParts } from "./chat-commands.ts";

/** Longest message that becomes a turn, characters. */
const MOST_CHARS = 200_000;
const YES = /^(?:yes|y|ok|allow)[.!]?$/i;
const NO = /^(?:no|n|deny)[.!]?$/i;

export interface IncomingParts {
  store: ChannelStore;
  inbox: Inbox;
  dispatcher: Dispatcher;
  approvals: Approvals;
  pagurus: CommandParts["pagurus"];
  logger: Logger;
  /** Called when a message to send was queued. */
  queued(channel: string): void;
}

/** Id of a reply to a message that is no work: the same at each delivery of the message. */
function replyId(channel: string, messageId: string): string {
  return createHash("sha256")
    .update(JSON.stringify([channel, messageId]))
    .digest("hex")
    .slice(0, 32);
}

/** The session of a person; characters that no key has are replaced, and a digest keeps such keys apart. */
function sessionKeyOf(channel: string, address: string): string {
  const plain = `${channel}:${address}`;
  const key = plain.replaceAll(/[^\p{L}\p{N}\p{M}._:@+/#=~-]/gu, "-").slice(0, 160);
  if (key === plain) return key;
  return `${key}#${createHash("sha256").update(plain).digest("hex").slice(0, 16)}`;
}

export class Incoming {
  readonly #parts: IncomingParts;
  readonly #settings: ChannelSettings;

  constructor(parts: IncomingParts, settings: ChannelSettings) {
    this.#parts = parts;
    this.#settings = settings;
  }

  /** Resolves when the message is on disk, with the cursor. Throws `store_write_failed`. */
  async receive(message: IncomingMessage | undefined, cursor: string | undefined): Promise<void> {
    const { store } = this.#parts;
    const { id: channel } = this.#settings;
    // Groups are not served so far.
    if (!message || message.group !== undefined || message.text.trim() === "") {
      store.transaction(() => store.setCursor(channel, cursor));
      return;
    }
    const place = { channel, address: message.from, isGroup: false };
    if (!this.#mayTalk(message)) this.#pair(message, place, cursor);
    else await this.#accept(message, place, cursor);
  }

  #mayTalk({ from }: IncomingMessage): boolean {
    const { id, allow } = this.#settings;
    return allow.has(from.toLowerCase()) || this.#parts.store.peer(id, from)?.state === "approved";
  }

  /** A stranger gets a code that the owner confirms, once; the text goes nowhere. */
  #pair({ id, from, name }: IncomingMessage, place: Place, cursor: string | undefined): void {
    const { store, queued } = this.#parts;
    const { id: channel } = this.#settings;
    store.transaction(() => {
      const code = store.codeFor(channel, from, name);
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

  async #accept(message: IncomingMessage, place: Place, cursor: string | undefined): Promise<void> {
    const { id: channel, agentId, session, cwd, permission } = this.#settings;
    const where = { agentId, sessionKey: session ?? sessionKeyOf(channel, message.from) };
    if (this.#answersQuestion(message, where, cursor)) return;
    const text = message.text.slice(0, MOST_CHARS);
    const command = commandIn(text);
    if (!command) {
      await this.#post({ ...where, kind: "turn", request: { prompt: text, cwd, permission } }, message, {
        place,
        cursor,
      });
      return;
    }
    const { store, queued } = this.#parts;
    if (store.isQueued(replyId(channel, message.id))) {
      store.transaction(() => store.setCursor(channel, cursor));
      return;
    }
    const answer = await runCommand(this.#parts, { ...where, cwd }, command);
    if ("work" in answer) {
      await this.#post({ ...where, ...answer.work }, message, { place, cursor });
      return;
    }
    store.transaction(() => {
      store.queue(replyId(channel, message.id), place, answer.text);
      store.setCursor(channel, cursor);
    });
    queued(channel);
  }

  /** Yes or no to the oldest permission question of the session. */
  #answersQuestion({ text }: IncomingMessage, where: WorkPlace, cursor: string | undefined): boolean {
    const { approvals, store } = this.#parts;
    const isYes = YES.test(text.trim());
    if (!isYes && !NO.test(text.trim())) return false;
    const question = approvals
      .open()
      .find(({ agentId, sessionKey }) => agentId === where.agentId && sessionKey === where.sessionKey);
    if (!question) return false;
    store.transaction(() => {
      approvals.answer(question.id, isYes ? "once" : "deny", `channel:${this.#settings.id}`);
      store.setCursor(this.#settings.id, cursor);
    });
    return true;
  }

  async #post(
    work: Pick<NewWork, "agentId" | "sessionKey" | "kind" | "request">,
    { id }: IncomingMessage,
    { place, cursor }: { place: Place; cursor: string | undefined },
  ): Promise<void> {
    const { store, dispatcher, logger } = this.#parts;
    const { id: channel } = this.#settings;
    const origin = `channel:${channel}`;
    try {
      await dispatcher.post(
        { ...work, policy: "queue", origin, tokenId: origin, idempotencyKey: id },
        ({ workId, isNew }) => {
          if (isNew) store.addWork(workId, place);
          store.setCursor(channel, cursor);
        },
      );
    } catch (error) {
      if (!isPagurusError(error) || error.code !== "idempotency_conflict") throw error;
      // The service changed a message that has its turn already.
      logger.warn("changed message of a channel not taken again", { channel });
      store.transaction(() => store.setCursor(channel, cursor));
    }
  }
}
