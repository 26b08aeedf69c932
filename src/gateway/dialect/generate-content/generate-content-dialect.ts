/** Google's generateContent API, as Gemini CLI and clients of Google's libraries use it. */
import type { Dialect } from "../wire-dialect.ts";
import { encodeMessages } from "./generate-content-encode.ts";
import { GenerateContentReader } from "./generate-content-reader.ts";
import { faultReply, replyWith } from "./generate-content-reply.ts";
import { readRequest } from "./generate-content-request.ts";
import { systemRules } from "./generate-content-rules.ts";
import { GenerateContentWriter } from "./generate-content-writer.ts";

export const generateContentDialect: Dialect = {
  api: "google-generative-ai",
  read: readRequest,
  encode: encodeMessages,
  rules: systemRules,
  reader: (status, headers, request) => new GenerateContentReader(status, headers, request),
  answer: replyWith,
  writer: (request) => new GenerateContentWriter(request),
  fault: faultReply,
};
