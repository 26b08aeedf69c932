/** The exchange before an input, which says what a question that continues it is about. Decision 017. */
import { textOf } from "@pagurus/core/compaction/message-text";
import { inputWords } from "@pagurus/contract/input-data";
import type { LosslessSession } from "../lossless-session.ts";
import { SITTING_PAUSE_MS } from "../store/search/fusion.ts";

/** Characters that are read of each message: of the user's the end, of the answer the beginning. */
const CHARS = 400;

/**
 * The user's last message and the answer to it, where the input follows without a long pause; an input that is only previewed comes now.
 * Undefined without one.
 */
export function exchangeBefore({ view, store, sessionId, liveAnchor }: LosslessSession): string | undefined {
  const input = view.items.findIndex(({ entryId }) => entryId === liveAnchor);
  const before = input < 0 ? view.items : view.items.slice(0, input);
  const at = before.findLastIndex(({ message, isFragment }) => message.role === "user" && !isFragment);
  const [user, ...others] = at < 0 ? [] : before.slice(at);
  if (!user) return undefined;
  const answer = others.findLast(({ message }) => message.role === "assistant");
  const timeOf = (entryId: string | undefined): number | undefined =>
    entryId === undefined ? undefined : store.get(entryId, sessionId)?.time;
  const now = (input < 0 ? undefined : timeOf(liveAnchor)) ?? Date.now();
  if (now - (timeOf(before.at(-1)?.entryId) ?? 0) > SITTING_PAUSE_MS) return undefined;
  const own = user.message.role === "user" ? inputWords(user.message).words : "";
  return `${own.slice(-CHARS)}\n${answer ? textOf(answer.message).slice(0, CHARS) : ""}`;
}
