/** Results of strange answers by the readers themselves. */
import { meantTool } from "../../../packages/core/src/data/tool-names.ts";
import type { ReadAnswer } from "../../../packages/core/src/protocols/answer-reader.ts";
import type { WireAnswer } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { readerOf } from "../../../packages/core/src/protocols/reader-of.ts";
import type { StrangeAnswer } from "../../../packages/testkit/src/strange-servers/strange-answer.ts";
import type { StrangeResult } from "../../../packages/testkit/src/strange-servers/strange-suite.ts";
import type { Protocol } from "../../../packages/testkit/src/endpoint/script.ts";
import type { WireApi } from "../../../packages/contract/src/harness/wire.ts";

export function apiOf(protocol: Protocol): WireApi {
  return protocol === "google" ? "google-generative-ai" : protocol;
}

export function resultOf({
  content,
  usage,
  error,
  refusal,
  isComplete,
  unreadable,
}: ReadAnswer): StrangeResult {
  const of = (type: "text" | "thinking"): string =>
    content
      .map((part) => (part.type !== type ? "" : part.type === "text" ? part.text : part.thinking))
      .join("");
  const calls = content.flatMap((part) => {
    if (part.type !== "toolCall") return [];
    const name = meantTool(part.name, ["probe", "nothing"]) ?? part.name;
    return [{ name, arguments: part.unparsed === undefined ? part.arguments : { unparsed: part.unparsed } }];
  });
  const failure = error?.message ?? unreadable ?? (isComplete ? undefined : "The answer is cut.");
  return {
    text: of("text") || (refusal ?? ""),
    thinking: of("thinking"),
    calls,
    ...(usage ? { usage: { input: usage.input, output: usage.output } } : {}),
    ...(failure === undefined ? {} : { error: failure }),
  };
}

/** `size`: bytes of a chunk. */
export async function readStrange(answer: StrangeAnswer, size: number): Promise<ReadAnswer> {
  const reader = await readerOf(apiOf(answer.protocol), answer);
  const bytes = Buffer.from(answer.body);
  for (let at = 0; at < bytes.length; at += size) reader.take(bytes.subarray(at, at + size));
  return reader.end();
}

/** The result as `wire` records it. */
export function wireResultOf({ message, usage, error, isComplete }: WireAnswer): StrangeResult {
  const { content, errorMessage } = message;
  const failure = error?.message ?? errorMessage ?? (isComplete ? undefined : "The answer is cut.");
  return {
    text: content.map((part) => (part.type === "text" ? part.text : "")).join(""),
    thinking: content.map((part) => (part.type === "thinking" ? part.thinking : "")).join(""),
    calls: content.flatMap((part) =>
      part.type === "toolCall"
        ? [
            {
              // Responses of the gateway have names that every provider accepts.
              name: meantTool(part.name, ["probe", "nothing"]) ?? part.name,
              arguments: part.arguments,
            },
          ]
        : [],
    ),
    ...(usage ? { usage: { input: usage.input, output: usage.output } } : {}),
    ...(failure === undefined ? {} : { error: failure }),
  };
}

/** Names of the Responses API are written without the characters that it does not have. */
export function isComparable({ id }: StrangeAnswer): boolean {
  return !/^name\..*\.openai-responses$/.test(id);
}
