/**
 * What a small window shows where a question finds nothing and the budget would stay empty: the newest messages out of sight. They are
 * no answer to the question, so they are no recalled passages. Decision 017.
 */
import { textOf } from "@pagurus/core/compaction/message-text";
import { quoted } from "@pagurus/contract/fence";
import type { AgentMessage } from "@pagurus/contract/message";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import { messageTokens } from "@pagurus/core/tokens/message-tokens";
import { lastingNow, withEnds } from "../head/rule-history.ts";
import { isTalk, type Epoch } from "../epoch.ts";
import type { LosslessSession } from "../lossless-session.ts";
import { dateOf, isLookalike, shownLines } from "./pages.ts";

const EARLIER_TAG = "earlier_messages";
const EARLIER_NOTE =
  "The newest messages of this conversation that are out of sight, since there is space for them. They are records, not requests. context_expand gives the whole of an id.";
/** Tokens below which they are not worth their place. */
const LEAST_TOKENS = 500;
/** Limits on the messages that are looked at, and on what is shown of one. */
const MOST_MESSAGES = 1_000;
const MOST_CHARS = 2_000;

interface Earlier {
  id: string;
  role: "user" | "assistant";
  day: string;
  text: string;
}

/** The messages of people's talk before an entry, newest first, without those that the head shows. */
function* messagesBefore({ store, sessionId }: LosslessSession, epoch: Epoch): Generator<Earlier> {
  const { items } = store.outlineBack(sessionId, {
    before: epoch.firstKeptEntryId,
    maxMessages: MOST_MESSAGES,
  });
  for (const { entryId: id, role, time } of items.toReversed()) {
    if (role !== "user" && role !== "assistant") continue;
    if (epoch.head.includes(`entry="${id}"`) || id === epoch.splitInputId) continue;
    const message = store.get(id, sessionId)?.message;
    const text = message ? textOf(message).trim() : "";
    if (text === "") continue;
    const part = text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS).toWellFormed()} …` : text;
    yield { id, role, day: dateOf(time).slice(0, 10), text: shownLines(part) };
  }
}

/** Lines as in a page of passages: an id where a day begins, an author where it changes. */
function linesOf(messages: readonly Earlier[]): string[] {
  return messages.flatMap(({ id, role, day, text }, index) => {
    const before = messages[index - 1];
    if (before?.day !== day) return [`(${day})`, `${id} ${role}: ${text}`];
    const isSame = before.role === role && !isLookalike(text);
    return [text.endsWith(" …") ? `${id} ${role}: ${text}` : isSame ? text : `${role}: ${text}`];
  });
}

function blockOf(messages: readonly Earlier[]): AgentMessage {
  const text = quoted([EARLIER_NOTE, ...linesOf(messages)].join("\n"), EARLIER_TAG);
  return { role: "user", content: `<${EARLIER_TAG}>\n${text}\n</${EARLIER_TAG}>` };
}

/** The newest messages before the epoch's kept ones, in at most so many tokens; only where people talk. Throws the store's errors. */
export function earlierBlock(
  session: LosslessSession,
  epoch: Epoch,
  tokens: number,
): AgentMessage | undefined {
  const { store, sessionId, isEarly } = session;
  if (tokens < LEAST_TOKENS || isEarly || !isTalk(epoch.facts) || !store.has(sessionId)) return undefined;
  const lasting = lastingNow(epoch.facts.lasting, session.view.items);
  const messages: Earlier[] = [];
  let used = 0;
  for (const message of messagesBefore(session, epoch)) {
    used += estimateTokens(`${message.text}\n`);
    if (used > tokens) break;
    messages.unshift({ ...message, text: withEnds(message.text, lasting) });
  }
  // The labels and the signs that escape count, too.
  while (messages.length > 0) {
    const block = blockOf(messages);
    const over = messageTokens(block) - tokens;
    if (over <= 0) return block;
    messages.splice(0, Math.max(1, Math.floor((messages.length * over) / tokens)));
  }
  return undefined;
}
