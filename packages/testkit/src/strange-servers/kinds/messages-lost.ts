/** Parts of Messages answers that careless readers lose. */
import {
  edited,
  ofKind,
  rightOf,
  REPLIES,
  streamed,
  type Json,
  type StrangeAnswer,
  type Variant,
  TEXT,
  ONE,
  TWO,
} from "../strange-answer.ts";
import {
  P,
  start,
  delta,
  stopBlock,
  json,
  word,
  around,
  CALL,
  OTHER,
  ARGS_A,
  ARGS_B,
  without,
} from "./messages-frames.ts";

function withoutEnds(): Variant[] {
  return [
    streamed(
      "no-stop-call",
      "leaves out the end of a call",
      without(REPLIES.call, "content_block_stop"),
      ONE,
    ),
    streamed(
      "no-stop-calls",
      "leaves out the ends of two calls",
      without(REPLIES.calls, "content_block_stop"),
      TWO,
    ),
    streamed(
      "no-stop-text",
      "leaves out the end of its text",
      without(REPLIES.text, "content_block_stop"),
      rightOf(REPLIES.text),
    ),
  ];
}

function contentInStart(): Variant[] {
  return [
    streamed(
      "text-in-start",
      "begins its text in the beginning of the block",
      around([start(0, { type: "text", text: "hel" }), word(0, "lo"), stopBlock(0)]),
      TEXT,
    ),
    streamed(
      "text-all-in-start",
      "sends all of its text in the beginning of the block",
      around([start(0, { type: "text", text: "hello" }), stopBlock(0)]),
      TEXT,
    ),
    streamed(
      "thinking-in-start",
      "begins its thinking in the beginning of the block",
      around([
        start(0, { type: "thinking", thinking: "a" }),
        delta(0, { type: "thinking_delta", thinking: "b" }),
        stopBlock(0),
        start(1, { type: "text", text: "" }),
        word(1, "hello"),
        stopBlock(1),
      ]),
      { ...TEXT, thinking: "ab" },
    ),
    streamed(
      "input-in-start",
      "sends the arguments in the beginning of the block",
      around([start(0, { ...CALL, input: { k: "a" } }), stopBlock(0)], "tool_use"),
      ONE,
    ),
    streamed(
      "input-both",
      "sends the arguments in the beginning and in deltas",
      around([start(0, { ...CALL, input: { k: "a" } }), json(0, ARGS_A), stopBlock(0)], "tool_use"),
      ONE,
    ),
  ];
}

function sharedIndexes(): Variant[] {
  return [
    streamed(
      "same-index",
      "gives two calls one index",
      around(
        [start(0, CALL), json(0, ARGS_A), stopBlock(0), start(0, OTHER), json(0, ARGS_B), stopBlock(0)],
        "tool_use",
      ),
      TWO,
    ),
    streamed(
      "same-index-open",
      "gives two calls one index and ends neither",
      around([start(0, CALL), json(0, ARGS_A), start(0, OTHER), json(0, ARGS_B)], "tool_use"),
      TWO,
    ),
    streamed(
      "same-index-mixed",
      "gives text and a call one index",
      around(
        [
          start(0, { type: "text", text: "" }),
          word(0, "hello"),
          stopBlock(0),
          start(0, CALL),
          json(0, ARGS_A),
          stopBlock(0),
        ],
        "tool_use",
      ),
      { ...ONE, text: "hello" },
    ),
    streamed(
      "no-start",
      "sends text without the beginning of a block",
      around([word(0, "hel"), word(0, "lo")]),
      TEXT,
    ),
    streamed(
      "kind-changes",
      "goes from thinking to text within a block",
      around([
        start(0, { type: "thinking", thinking: "" }),
        delta(0, { type: "thinking_delta", thinking: "ab" }),
        word(0, "hello"),
        stopBlock(0),
      ]),
      { ...TEXT, thinking: "ab" },
    ),
    streamed(
      "start-twice",
      "sends the beginning of a call twice",
      around([start(0, CALL), start(0, CALL), json(0, ARGS_A), stopBlock(0)], "tool_use"),
      ONE,
    ),
    streamed(
      "interleaved",
      "sends two calls at once",
      around(
        [
          start(0, CALL),
          start(1, OTHER),
          json(0, '{"k":'),
          json(1, '{"k":'),
          json(0, '"a"}'),
          json(1, '"b"}'),
          stopBlock(1),
          stopBlock(0),
        ],
        "tool_use",
      ),
      TWO,
    ),
  ];
}

function unknownBlocks(): Variant[] {
  return [
    streamed(
      "head-content",
      "sends the text in the beginning of the message, and again",
      edited(around([start(0, { type: "text", text: "" }), word(0, "hello"), stopBlock(0)]), (object) =>
        object["type"] === "message_start"
          ? {
              ...object,
              message: { ...(object["message"] as Json), content: [{ type: "text", text: "hello" }] },
            }
          : object,
      ),
      TEXT,
    ),
    streamed(
      "unknown-block",
      "sends a block of an unknown type before its text",
      around([
        start(0, { type: "vendor_block", foo: 1 }),
        stopBlock(0),
        start(1, { type: "text", text: "" }),
        word(1, "hello"),
        stopBlock(1),
      ]),
      TEXT,
    ),
    streamed(
      "unknown-delta",
      "sends a delta of an unknown type",
      around([
        start(0, { type: "text", text: "" }),
        delta(0, { type: "vendor_delta", foo: 1 }),
        word(0, "hello"),
        stopBlock(0),
      ]),
      TEXT,
    ),
    streamed(
      "citations",
      "cites sources of its text",
      around([
        start(0, { type: "text", text: "" }),
        word(0, "hello"),
        delta(0, { type: "citations_delta", citation: { type: "x" } }),
        stopBlock(0),
      ]),
      TEXT,
    ),
    streamed(
      "empty-blocks",
      "sends blocks without content around its text",
      around([
        start(0, { type: "text", text: "" }),
        stopBlock(0),
        start(1, { type: "text", text: "" }),
        word(1, "hello"),
        stopBlock(1),
        start(2, { type: "thinking", thinking: "" }),
        stopBlock(2),
      ]),
      TEXT,
    ),
  ];
}

export function messagesLostAnswers(): StrangeAnswer[] {
  return [
    ...ofKind("lost", P, [...withoutEnds(), ...contentInStart(), ...sharedIndexes(), ...unknownBlocks()]),
  ];
}
