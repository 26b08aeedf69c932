/** Anthropic's Messages API as Claude Code uses it. Source: facts of other runtimes, sections 1 and 5; recorded from 2.1.330. */
import { arrayElements, objectMembers, wholeValue } from "../../json/scan.ts";
import { messagesReader } from "@pagurus/core/protocols/messages/messages-reader";
import { PassingReader } from "../passing-reader.ts";
import type { Dialect, Rules, WireRequest } from "../wire-dialect.ts";
import { encodeMessages } from "./messages-encode.ts";
import { faultReply, replyWith } from "./messages-reply.ts";
import { readRequest } from "./messages-request.ts";
import { StreamWriter, WholeWriter } from "./messages-writer.ts";

const OPEN_ARRAY = 0x5b;
const QUOTE = 0x22;

/** Inserts text of an engine as a block of the system prompt, after the harness's own. */
function systemRules({ body }: WireRequest, addition: string): Rules | undefined {
  const span = objectMembers(body, wholeValue(body)).get("system");
  if (!span) return undefined;
  // Before the closing bracket or quotation mark.
  const at = span.end - 1;
  if (body[span.start] === QUOTE)
    return { at, bytes: Buffer.from(JSON.stringify(`\n\n${addition}`).slice(1, -1)) };
  if (body[span.start] !== OPEN_ARRAY) return undefined;
  const block = JSON.stringify({ type: "text", text: addition });
  return { at, bytes: Buffer.from(arrayElements(body, span).length > 0 ? `,${block}` : block) };
}

export const messagesDialect: Dialect = {
  api: "anthropic-messages",
  read: readRequest,
  encode: encodeMessages,
  rules: systemRules,
  reader: (status, headers) =>
    new PassingReader(messagesReader({ status, headers }), { status, limitsBodies: true }),
  answer: replyWith,
  writer: (request) => (request.stream ? new StreamWriter(request) : new WholeWriter(request)),
  fault: faultReply,
};
