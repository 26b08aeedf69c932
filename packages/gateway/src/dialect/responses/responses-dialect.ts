/** OpenAI's Responses API as Codex uses it. */
import type { Dialect } from "../wire-dialect.ts";
import { answerFault, answerWithText } from "./responses-answer.ts";
import { encodeMessages } from "./responses-encode.ts";
import { readRequest } from "./responses-read.ts";
import { passingReader } from "./responses-passing.ts";
import { ResponsesWriter } from "./responses-writer.ts";

export const responsesDialect: Dialect = {
  api: "openai-responses",
  read: readRequest,
  encode: encodeMessages,
  reader: (status, headers) => passingReader(status, headers),
  answer: answerWithText,
  writer: (request) => new ResponsesWriter(request),
  fault: answerFault,
};
