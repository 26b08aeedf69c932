/** A client's call whose reply names the fields of the request that no one read. */
import type { WireCall } from "@pagurus/gateway/server/gateway-call";

const HEADER = "x-pagurus-ignored-fields";
/** Fields that are named; a header has a limited length. */
const MOST_NAMED_FIELDS = 30;
/** Characters that a header may not have, or that would end the name in a list. */
const ODD = /[^\w.-]/g;

export function namingUnread(call: WireCall, unread: readonly string[]): WireCall {
  if (unread.length === 0) return call;
  const names = unread.slice(0, MOST_NAMED_FIELDS).map((name) => name.replaceAll(ODD, "?").slice(0, 60));
  const value = names.join(", ");
  return {
    ...call,
    reply: (reply) => call.reply({ ...reply, headers: { ...reply.headers, [HEADER]: value } }),
    pass: (answer, tap) =>
      call.pass(
        {
          ...answer,
          headers: { ...answer.headers, [HEADER]: value },
          rawHeaders: [...answer.rawHeaders, HEADER, value],
        },
        tap,
      ),
  };
}
