/** Values of other types, ends and refusals of the Responses API. */
import type { Frame } from "../../endpoint/script.ts";
import {
  edited,
  ofKind,
  plainFrames,
  rightOf,
  REPLIES,
  streamed,
  type Json,
  type ReplyName,
  type StrangeAnswer,
  type Variant,
  TEXT,
  ONE,
  TWO,
} from "../strange-answer.ts";
import {
  P,
  event,
  HEAD,
  added,
  done,
  delta,
  completed,
  message,
  fn,
  A,
  HELLO,
  without,
} from "./responses-frames.ts";

function odd(): Variant[] {
  const changing = (reply: ReplyName): Frame[] =>
    edited(plainFrames(P, REPLIES[reply]), (object, index) => {
      const item = object["item"] as Json | undefined;
      return {
        ...object,
        ...(object["item_id"] === undefined ? {} : { item_id: `other_${index}` }),
        ...(item === undefined ? {} : { item: { ...item, id: `other_${index}` } }),
      };
    }).map((frame) => frame);
  return [
    streamed(
      "no-id",
      "leaves out the ids of its items",
      edited(plainFrames(P, REPLIES.call), (object) => {
        const { item_id: _id, ...rest } = object;
        const { id: _own, ...item } = (object["item"] ?? {}) as Json;
        return { ...rest, ...(object["item"] === undefined ? {} : { item }) };
      }),
      ONE,
    ),
    streamed(
      "changing-ids",
      "gives its items another id in every event",
      changing("text"),
      rightOf(REPLIES.text),
    ),
    streamed("changing-ids-call", "gives its calls another id in every event", changing("calls"), TWO),
    streamed(
      "no-index",
      "leaves out the indexes of its items",
      edited(plainFrames(P, REPLIES.calls), ({ output_index: _index, ...rest }) => rest),
      TWO,
    ),
    streamed(
      "index-text",
      "writes indexes as text",
      edited(plainFrames(P, REPLIES.calls), (object) =>
        object["output_index"] === undefined
          ? object
          : { ...object, output_index: JSON.stringify(object["output_index"]) },
      ),
      TWO,
    ),
    streamed("id-number", "numbers its calls", [HEAD, done(0, fn("a", A, { call_id: 7 })), completed()], ONE),
    streamed(
      "args-object",
      "sends arguments as an object",
      [HEAD, done(0, fn("a", { k: "a" })), completed()],
      ONE,
    ),
    streamed(
      "args-null",
      "sends null as arguments",
      [HEAD, done(0, fn("a", null, { name: "nothing" })), completed()],
      { calls: [["nothing", {}]] },
    ),
  ];
}

function oddEvents(): Variant[] {
  return [
    streamed(
      "created-bare",
      "begins its response without its members",
      [event("response.created", { response: { id: "resp_0" } }), ...without("text", "created")],
      rightOf(REPLIES.text),
    ),
    streamed(
      "model-null",
      "sends null as its model",
      edited(plainFrames(P, REPLIES.text), (object) =>
        object["response"] === undefined
          ? object
          : { ...object, response: { ...(object["response"] as Json), model: null } },
      ),
      rightOf(REPLIES.text),
    ),
    streamed(
      "no-created",
      "leaves out the beginning of its response",
      without("calls", "created", "in_progress"),
      TWO,
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
      "created-at-text",
      "writes a time as text",
      edited(plainFrames(P, REPLIES.text), (object) =>
        object["response"] === undefined
          ? object
          : { ...object, response: { ...(object["response"] as Json), created_at: "1760000000" } },
      ),
      rightOf(REPLIES.text),
    ),
    streamed(
      "delta-object",
      "sends text deltas as objects",
      [HEAD, added(0, message([])), delta(0, { text: "hel" }), delta(0, { text: "lo" }), completed()],
      TEXT,
    ),
    streamed(
      "content-text",
      "sends the content of a message as text",
      [HEAD, done(0, { ...HELLO, content: "hello" }), completed()],
      TEXT,
    ),
  ];
}

function ends(): Variant[] {
  return (["text", "calls"] as const).flatMap((reply): Variant[] => {
    const frames = plainFrames(P, REPLIES[reply]);
    const right = rightOf(REPLIES[reply]);
    const last = (edit: (response: Json) => Json, type = "response.completed"): Frame[] => [
      ...frames.slice(0, -1),
      ...frames.slice(-1).map(({ data }) => {
        const object = JSON.parse(data) as Json;
        return event(type, { response: edit(object["response"] as Json) });
      }),
    ];
    return [
      streamed(
        `no-output-${reply}`,
        "leaves out the output at its end",
        last(({ output: _output, ...rest }) => rest),
        right,
      ),
      streamed(
        `bare-${reply}`,
        "ends with an empty response",
        last(() => ({})),
        right,
      ),
      streamed(
        `no-status-${reply}`,
        "leaves out its status",
        last(({ status: _status, ...rest }) => rest),
        right,
      ),
      streamed(
        `response-done-${reply}`,
        "ends with response.done",
        last((response) => response, "response.done"),
        right,
      ),
      streamed(`done-${reply}`, "ends its stream with [DONE]", [...frames, { data: "[DONE]" }], right),
      streamed(
        `only-done-${reply}`,
        "ends with [DONE] alone",
        [...frames.slice(0, -1), { data: "[DONE]" }],
        right,
      ),
    ];
  });
}

function refusals(): Variant[] {
  const words = "I can't do that.";
  const right = { refusal: words };
  const refused = message([{ type: "refusal", refusal: words }]);
  return [
    streamed("item", "refuses in a done item", [HEAD, done(0, refused), completed([refused])], right),
    streamed(
      "delta",
      "refuses in deltas alone",
      [
        HEAD,
        added(0, message([])),
        event("response.refusal.delta", {
          item_id: "msg_0",
          output_index: 0,
          content_index: 0,
          delta: words,
        }),
        completed(),
      ],
      right,
    ),
    streamed("completed", "refuses in the whole response alone", [HEAD, completed([refused])], right),
    streamed(
      "all",
      "refuses in every event",
      [
        HEAD,
        added(0, message([])),
        event("response.refusal.delta", {
          item_id: "msg_0",
          output_index: 0,
          content_index: 0,
          delta: words,
        }),
        event("response.refusal.done", {
          item_id: "msg_0",
          output_index: 0,
          content_index: 0,
          refusal: words,
        }),
        done(0, refused),
        completed([refused]),
      ],
      right,
    ),
  ];
}

export function responsesOddAnswers(): StrangeAnswer[] {
  return [
    ...ofKind("odd", P, [...odd(), ...oddEvents()]),
    ...ofKind("end", P, [...ends()]),
    ...ofKind("refusal", P, [...refusals()]),
  ];
}
