/** Anthropic's Messages, as Claude Code speaks them. Source: facts of other runtimes, sections 1 and 5; recorded from 2.1.330. */
import type { Dialect } from "../dialect.ts";
import { encodeMessages } from "./encode.ts";
import { MessagesReader } from "./reader.ts";
import { faultReply, replyWith } from "./reply.ts";
import { readRequest } from "./request.ts";
import { systemRules } from "./rules.ts";
import { StreamWriter, WholeWriter } from "./writer.ts";

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
