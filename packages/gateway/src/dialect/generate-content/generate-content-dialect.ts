/** Google's generateContent API, as Gemini CLI and clients of Google's libraries use it. */
import { arrayElements, objectMembers, wholeValue } from "../../json/scan.ts";
import { spanOf } from "./generate-content-fields.ts";
import type { Dialect, Rules, WireRequest } from "../wire-dialect.ts";
import { encodeMessages } from "./generate-content-encode.ts";
import { passingReader } from "./generate-content-reader.ts";
import { faultReply, replyWith } from "./generate-content-reply.ts";
import { readRequest } from "./generate-content-request.ts";
import { GenerateContentWriter } from "./generate-content-writer.ts";

const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;

/** Inserts text of an engine as a part of the system instruction, after the harness's own. Undefined without an instruction: not every model accepts one, and none next to cached content, which has its own. */
function systemRules({ body }: WireRequest, addition: string): Rules | undefined {
  const system = spanOf(objectMembers(body, wholeValue(body)), "systemInstruction");
  if (!system || body[system.start] !== OPEN_OBJECT) return undefined;
  const parts = objectMembers(body, system).get("parts");
  if (!parts || body[parts.start] !== OPEN_ARRAY) return undefined;
  const part = JSON.stringify({ text: addition });
  // Before the closing bracket.
  return { at: parts.end - 1, bytes: Buffer.from(arrayElements(body, parts).length > 0 ? `,${part}` : part) };
}

export const generateContentDialect: Dialect = {
  api: "google-generative-ai",
  read: readRequest,
  encode: encodeMessages,
  rules: systemRules,
  reader: (status, headers, request) => passingReader(status, headers, request),
  answer: replyWith,
  writer: (request) => new GenerateContentWriter(request),
  fault: faultReply,
};
