/** The start of a chat: the newest messages of its conversation, and the facts beside the input. */
import type { StatusReport } from "@pagurus/contract/host/status";
import type { AgentMessage } from "@pagurus/contract/message";
import type { SessionStore } from "@pagurus/contract/session/store";
import type { ViewFacts } from "./chat-view.ts";
import type { TurnChoices } from "./turn-choices.ts";

/** Messages of a continued conversation that are shown. */
const PAST_MESSAGES = 40;

/** The newest messages of a conversation, the oldest first; none for a new one. */
export async function pastOf(store: SessionStore, sessionKey: string): Promise<AgentMessage[]> {
  if (!store.find(sessionKey)) return [];
  const reader = store.openReader(sessionKey);
  const messages: AgentMessage[] = [];
  try {
    for await (const entry of reader.cursor.backward()) {
      if (entry.type === "message") messages.push(entry.message);
      if (messages.length >= PAST_MESSAGES) break;
    }
  } finally {
    reader.close();
  }
  return messages.toReversed();
}

/** Facts of the next turn: what was chosen in the chat goes before the configuration. */
export function factsOf(report: StatusReport, { options, shownMode }: TurnChoices): ViewFacts {
  const { runtime = report.Runtime.id, thinking } = options;
  const { model, context, cost } = report;
  const facts = { model: model.ref, runtime, permission: shownMode, thinking, context };
  return cost === undefined ? facts : { ...facts, cost };
}
