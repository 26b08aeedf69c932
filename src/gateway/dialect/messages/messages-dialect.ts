/** Anthropic's Messages API as Claude Code uses it. Source: facts of other runtimes, sections 1 and 5; recorded from 2.1.330. */
import type { Dialect } from "../wire-dialect.ts";
import { encodeMessages } from "./messages-encode.ts";
import { MessagesReader } from "./messages-reader.ts";
import { faultReply, replyWith } from "./messages-reply.ts";
import { readRequest } from "./messages-request.ts";
import { systemRules } from "./messages-rules.ts";
import { StreamWriter, WholeWriter } from "./messages-writer.ts";

export const messagesDialect: Dialect = {
  api: "anthropic-messages",
  read: readRequest,
  encode: encodeMessages,
  rules: systemRules,
  reader: (status, headers) => new MessagesReader(status, headers),
  answer: replyWith,
  writer: (request) => (request.stream ? new StreamWriter(request) : new WholeWriter(request)),
  fault: faultReply,
};
