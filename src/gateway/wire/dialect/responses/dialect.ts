/** OpenAI's Responses API as Codex speaks it. */
import type { Dialect } from "../dialect.ts";
import { answerFault, answerRequest } from "./answer.ts";
import { encodeMessages } from "./encode.ts";
import { readRequest } from "./read.ts";
import { ResponsesReader } from "./reader.ts";
import { ResponsesWriter } from "./writer.ts";

export const responsesDialect: Dialect = {
  api: "openai-responses",
  read: readRequest,
  encode: encodeMessages,
  reader: (status, headers) => new ResponsesReader(status, headers),
  answer: answerRequest,
  writer: (request) => new ResponsesWriter(request),
  fault: answerFault,
};
