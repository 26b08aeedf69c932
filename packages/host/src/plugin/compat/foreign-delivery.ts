/** OpenClaw's two hooks on an answer before its delivery: on the text (`message_sending`) and on the payload (`reply_payload_sending`). */
import type { HookContext } from "@pagurus/contract/host/hooks";
import { isRecord } from "@pagurus/core/data/record-fields";

type Fields = Record<string, unknown>;

/** `as`: which of the two. */
export function deliveryEvent(
  as: string,
  { channel, to, thread, content }: Fields,
  { sessionKey, turnId }: HookContext,
): Fields {
  if (as === "reply_payload_sending")
    return { payload: { text: content }, kind: "final", channel, sessionKey, runId: turnId };
  return { to, content, ...(thread === undefined ? {} : { threadId: thread }), metadata: { channel } };
}

/** The members of their context that name the place. */
export function deliveryContext({ channel, to }: Fields): Fields {
  return { channelId: channel, conversationId: to };
}

export function deliveryAnswer(answer: Fields): Fields {
  const { content, payload, cancel, cancelReason, reason } = answer;
  const text = isRecord(payload) ? (payload["text"] ?? "") : content;
  const why = cancelReason ?? reason;
  return {
    ...(typeof text === "string" && { content: text }),
    ...(cancel === true && { cancel }),
    ...(typeof why === "string" && { cancelReason: why }),
  };
}
