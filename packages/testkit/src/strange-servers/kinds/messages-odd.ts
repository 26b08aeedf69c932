/** Values of other types, ends and refusals of the Messages API. */
import type { Frame } from "../../endpoint/script.ts";
import {
  edited,
  ofKind,
  plainFrames,
  rightOf,
  REPLIES,
  streamed,
  type Json,
  type StrangeAnswer,
  type Variant,
  ONE,
  TWO,
} from "../strange-answer.ts";
import {
  P,
  start,
  stopBlock,
  json,
  word,
  around,
  CALL,
  ARGS_A,
  ARGS_B,
  calls,
  without,
} from "./messages-frames.ts";

function odd(): Variant[] {
  return [
    streamed(
      "id-number",
      "numbers its calls",
      around([start(0, { ...CALL, id: 7 }), json(0, ARGS_A), stopBlock(0)], "tool_use"),
      ONE,
    ),
    streamed(
      "id-empty",
      "gives a call an empty id",
      around([start(0, { ...CALL, id: "" }), json(0, ARGS_A), stopBlock(0)], "tool_use"),
      ONE,
    ),
    streamed(
      "id-absent",
      "gives a call no id",
      around(
        [start(0, { type: "tool_use", name: "probe", input: {} }), json(0, ARGS_A), stopBlock(0)],
        "tool_use",
      ),
      ONE,
    ),
    streamed(
      "ids-equal",
      "gives two calls one id",
      around(
        [start(0, CALL), json(0, ARGS_A), stopBlock(0), start(1, CALL), json(1, ARGS_B), stopBlock(1)],
        "tool_use",
      ),
      TWO,
    ),
    streamed(
      "index-text",
      "writes indexes as text",
      around([start("0", CALL), json("0", ARGS_A), stopBlock("0")], "tool_use"),
      ONE,
    ),
    streamed(
      "index-absent",
      "leaves out indexes",
      around([start(undefined, CALL), json(undefined, ARGS_A), stopBlock(undefined)], "tool_use"),
      ONE,
    ),
  ];
}

function oddInputs(): Variant[] {
  const nothing = { type: "tool_use", id: "call_a", name: "nothing" };
  const none = calls(["nothing", {}]);
  return [
    streamed(
      "input-null",
      "sends null as the input of a call",
      around([start(0, { ...nothing, input: null }), stopBlock(0)], "tool_use"),
      none,
    ),
    streamed(
      "input-text",
      "sends an empty text as the input of a call",
      around([start(0, { ...nothing, input: "" }), stopBlock(0)], "tool_use"),
      none,
    ),
    streamed(
      "input-json",
      "sends the input of a call as JSON text",
      around([start(0, { ...CALL, input: ARGS_A }), stopBlock(0)], "tool_use"),
      ONE,
    ),
    streamed(
      "input-absent",
      "leaves out the input of a call",
      around([start(0, nothing), stopBlock(0)], "tool_use"),
      none,
    ),
    streamed(
      "json-object",
      "sends arguments as an object in a delta",
      around([start(0, CALL), json(0, { k: "a" }), stopBlock(0)], "tool_use"),
      ONE,
    ),
  ];
}

function oddEvents(): Variant[] {
  return [
    streamed(
      "delta-untyped",
      "leaves out the types of its deltas",
      edited(plainFrames(P, REPLIES.text), (object) => {
        const { type: _type, ...rest } = (object["delta"] ?? {}) as Json;
        return object["type"] === "content_block_delta" ? { ...object, delta: rest } : object;
      }),
      rightOf(REPLIES.text),
    ),
    streamed(
      "types-absent",
      "names its events in the stream alone",
      edited(plainFrames(P, REPLIES.call), ({ type: _type, ...rest }) => rest),
      ONE,
    ),
    streamed(
      "names-absent",
      "names its events in their objects alone",
      plainFrames(P, REPLIES.call).map(({ data }) => ({ data })),
      ONE,
    ),
    streamed(
      "model-null",
      "sends null as its model and its id",
      edited(plainFrames(P, REPLIES.text), (object) =>
        object["type"] === "message_start"
          ? { ...object, message: { ...(object["message"] as Json), model: null, id: null } }
          : object,
      ),
      rightOf(REPLIES.text),
    ),
    streamed(
      "head-bare",
      "begins a message without its members",
      edited(plainFrames(P, REPLIES.call), (object) =>
        object["type"] === "message_start" ? { type: "message_start", message: {} } : object,
      ),
      ONE,
    ),
    streamed(
      "no-head",
      "leaves out the beginning of the message",
      without(REPLIES.call, "message_start"),
      ONE,
    ),
  ];
}

function ends(): Variant[] {
  const both = (["text", "call"] as const).flatMap((reply): Variant[] => {
    const right = rightOf(REPLIES[reply]);
    const frames = plainFrames(P, REPLIES[reply]);
    return [
      streamed(
        `no-message-stop-${reply}`,
        "leaves out message_stop",
        without(REPLIES[reply], "message_stop"),
        right,
      ),
      streamed(
        `no-message-delta-${reply}`,
        "leaves out message_delta",
        without(REPLIES[reply], "message_delta"),
        right,
      ),
      streamed(
        `reason-null-${reply}`,
        "sends null as the reason of its end",
        edited(frames, (object) =>
          object["type"] === "message_delta" ? { ...object, delta: { stop_reason: null } } : object,
        ),
        right,
      ),
      streamed(
        `reason-unknown-${reply}`,
        "ends for an unknown reason",
        edited(frames, (object) =>
          object["type"] === "message_delta"
            ? { ...object, delta: { stop_reason: "vendor_reason" } }
            : object,
        ),
        right,
      ),
      streamed(
        `reason-object-${reply}`,
        "sends an object as the reason of its end",
        edited(frames, (object) =>
          object["type"] === "message_delta"
            ? { ...object, delta: { stop_reason: { type: "end_turn" } } }
            : object,
        ),
        right,
      ),
      streamed(
        `reason-wrong-${reply}`,
        "ends for another reason than its content",
        edited(frames, (object) =>
          object["type"] === "message_delta"
            ? { ...object, delta: { stop_reason: reply === "text" ? "tool_use" : "end_turn" } }
            : object,
        ),
        right,
      ),
      streamed(`done-${reply}`, "ends its stream with [DONE]", [...frames, { data: "[DONE]" }], right),
    ];
  });
  return both;
}

function refusals(): Variant[] {
  const words = "I can't help with that.";
  const frames = (more: Json, text = words): Frame[] =>
    edited(
      around(
        [start(0, { type: "text", text: "" }), ...(text === "" ? [] : [word(0, text)]), stopBlock(0)],
        "refusal",
      ),
      (object) =>
        object["type"] === "message_delta"
          ? { ...object, delta: { stop_reason: "refusal", ...more } }
          : object,
    );
  return [
    streamed("text", "refuses in its text", frames({}), { refusal: words }),
    streamed(
      "details",
      "refuses in the details of its end",
      frames({ stop_details: { type: "refusal", explanation: words } }, ""),
      { refusal: words },
    ),
  ];
}

export function messagesOddAnswers(): StrangeAnswer[] {
  return [
    ...ofKind("odd", P, [...odd(), ...oddInputs(), ...oddEvents()]),
    ...ofKind("end", P, [...ends()]),
    ...ofKind("refusal", P, [...refusals()]),
  ];
}
