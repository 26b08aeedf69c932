/** Answers that servers of the generateContent API alone make strange. */
import type { Frame } from "../../endpoint/script.ts";
import {
  edited,
  JSON_BODY,
  ofKind,
  plainFrames,
  rightOf,
  REPLIES,
  STREAM,
  streamed,
  type Json,
  type StrangeAnswer,
  type Variant,
  TEXT,
  ONE,
  TWO,
  THOUGHT,
} from "../strange-answer.ts";
import { P, chunk, googleReply, functionCall } from "./google-frames.ts";

function odd(): Variant[] {
  return [
    streamed("id-number", "numbers its calls", googleReply(functionCall({ k: "a" }, { id: 7 })), ONE),
    streamed(
      "ids-absent",
      "gives its calls no ids",
      googleReply(functionCall({ k: "a" }), functionCall({ k: "b" })),
      TWO,
    ),
    streamed(
      "ids-equal",
      "gives two calls one id",
      googleReply(functionCall({ k: "a" }, { id: "x" }), functionCall({ k: "b" }, { id: "x" })),
      TWO,
    ),
    streamed("args-text", "sends arguments as JSON text", googleReply(functionCall('{"k":"a"}')), ONE),
    streamed(
      "args-absent",
      "makes a call without arguments",
      googleReply({ functionCall: { name: "nothing" } }),
      {
        calls: [["nothing", {}]],
      },
    ),
    streamed(
      "underscores",
      "writes members with underscores",
      [
        {
          data: JSON.stringify({
            candidates: [
              {
                content: { parts: [{ function_call: { name: "probe", args: { k: "a" } } }] },
                finish_reason: "STOP",
              },
            ],
            usage_metadata: { promptTokenCount: 10, candidatesTokenCount: 5 },
          }),
        },
      ],
      { ...ONE, usage: { input: 10, output: 5 } },
    ),
  ];
}

function oddChunks(): Variant[] {
  const plain = plainFrames(P, REPLIES.text);
  return [
    streamed(
      "one-part",
      "sends a part that is in no list",
      [chunk({ text: "hello" }), chunk([], { finishReason: "STOP" })],
      TEXT,
    ),
    streamed(
      "one-candidate",
      "sends a candidate that is in no list",
      [
        {
          data: JSON.stringify({
            candidates: { content: { parts: [{ text: "hello" }] }, finishReason: "STOP" },
          }),
        },
      ],
      TEXT,
    ),
    streamed(
      "wrapped",
      "wraps each chunk",
      plain.map(({ data }) => ({
        data: JSON.stringify({ response: JSON.parse(data) as unknown, traceId: "x" }),
      })),
      rightOf(REPLIES.text),
    ),
    streamed(
      "index-absent",
      "leaves out the index of its candidate",
      edited(plain, (object) => ({
        ...object,
        candidates: (object["candidates"] as Json[]).map(({ index: _index, ...rest }) => rest),
      })),
      rightOf(REPLIES.text),
    ),
    streamed(
      "role-absent",
      "leaves out the role",
      edited(plain, (object) => ({
        ...object,
        candidates: (object["candidates"] as Json[]).map((each) => ({
          ...each,
          content: { parts: (each["content"] as Json)["parts"] },
        })),
      })),
      rightOf(REPLIES.text),
    ),
    streamed(
      "content-absent",
      "leaves out the content at its end",
      [...plain.slice(0, -1), { data: JSON.stringify({ candidates: [{ finishReason: "STOP", index: 0 }] }) }],
      rightOf(REPLIES.text),
    ),
    streamed(
      "usage-first",
      "sends its usage first and again",
      [{ data: '{"usageMetadata":{"promptTokenCount":10}}' }, ...plain],
      { ...rightOf(REPLIES.text), usage: { input: 10, output: 5 } },
    ),
  ];
}

function lost(): Variant[] {
  const thought = { text: "think", thought: true };
  return [
    streamed(
      "thought-signed",
      "signs a thought",
      googleReply({ ...thought, thoughtSignature: "c2ln" }, { text: "hello" }),
      THOUGHT,
    ),
    streamed(
      "signature-alone",
      "sends a signature in an empty part",
      googleReply(thought, { text: "hello" }, { text: "", thoughtSignature: "c2ln" }),
      THOUGHT,
    ),
    streamed(
      "around-thought",
      "thinks within its text",
      googleReply({ text: "hel" }, thought, { text: "lo" }),
      THOUGHT,
    ),
    streamed(
      "many-parts",
      "sends many parts in one chunk",
      [chunk([thought, { text: "hel" }, { text: "lo" }, functionCall({ k: "a" })], { finishReason: "STOP" })],
      { text: "hello", thinking: "think", calls: ONE.calls ?? [] },
    ),
    streamed(
      "unknown-part",
      "sends a part of an unknown kind",
      googleReply({ vendorPart: { a: 1 } }, { text: "hello" }),
      TEXT,
    ),
    streamed("empty-parts", "sends empty parts", googleReply({}, { text: "" }, { text: "hello" }), TEXT),
    streamed(
      "end-with-call",
      "ends with a call in its last chunk",
      [chunk([functionCall({ k: "a" })], { finishReason: "STOP" })],
      ONE,
    ),
  ];
}

function ends(): Variant[] {
  return (["text", "call"] as const).flatMap((kind): Variant[] => {
    const frames = plainFrames(P, REPLIES[kind]);
    const right = rightOf(REPLIES[kind]);
    const finish = (reason: unknown): Frame[] =>
      edited(frames, (object) => ({
        ...object,
        candidates: (object["candidates"] as Json[]).map((each) =>
          each["finishReason"] === undefined ? each : { ...each, finishReason: reason },
        ),
      }));
    return [
      streamed(`reason-other-${kind}`, "stops for another reason", finish("OTHER"), right),
      streamed(`reason-unknown-${kind}`, "stops for an unknown reason", finish("A_NEW_REASON"), right),
      streamed(`done-${kind}`, "ends its stream with [DONE]", [...frames, { data: "[DONE]" }], right),
      streamed(
        `only-done-${kind}`,
        "ends with [DONE] alone",
        [...frames.slice(0, -1), { data: "[DONE]" }],
        right,
      ),
    ];
  });
}

function lists(): Variant[] {
  return (["text", "calls", "thinking"] as const).flatMap((kind): Variant[] => {
    const objects = plainFrames(P, REPLIES[kind]).map(({ data }) => JSON.parse(data) as unknown);
    const right = rightOf(REPLIES[kind]);
    const variant = (
      name: string,
      title: string,
      headers: Record<string, string>,
      body: string,
    ): Variant => ({ name: `${name}-${kind}`, title, headers, body, right });
    return [
      variant("compact", "answers with a list of chunks", JSON_BODY, JSON.stringify(objects)),
      variant(
        "pretty",
        "answers with a list of chunks over several lines",
        JSON_BODY,
        `[${objects.map((each) => JSON.stringify(each, undefined, 2)).join("\n,\r\n")}\n]\n`,
      ),
      variant(
        "stream",
        "answers with a list of chunks that it declares as a stream",
        STREAM,
        JSON.stringify(objects),
      ),
      variant(
        "lines",
        "answers with a chunk a line",
        JSON_BODY,
        objects.map((each) => `${JSON.stringify(each)}\n`).join(""),
      ),
    ];
  });
}

function refusals(): Variant[] {
  const words = "The prompt asks for a poison.";
  return [
    streamed(
      "blocked",
      "blocks the prompt with a sentence",
      [{ data: JSON.stringify({ promptFeedback: { blockReason: "OTHER", blockReasonMessage: words } }) }],
      { refusal: words },
    ),
    streamed(
      "finish",
      "ends for its filter with a sentence",
      [chunk([], { finishReason: "SAFETY", finishMessage: words })],
      { refusal: words },
    ),
  ];
}

export function googleOddAnswers(): StrangeAnswer[] {
  return [
    ...ofKind("odd", P, [...odd(), ...oddChunks()]),
    ...ofKind("lost", P, [...lost()]),
    ...ofKind("end", P, [...ends()]),
    ...ofKind("list", P, [...lists()]),
    ...ofKind("refusal", P, [...refusals()]),
  ];
}
