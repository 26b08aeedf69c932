/** Parts of Responses answers that careless readers lose. */
import {
  ofKind,
  streamed,
  type StrangeAnswer,
  type Variant,
  TEXT,
  ONE,
  TWO,
  THOUGHT,
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
  part,
  fn,
  A,
  B,
  HELLO,
  without,
  reasoning,
} from "./responses-frames.ts";

function lost(): Variant[] {
  return [
    streamed(
      "done-item",
      "sends its text in a done item alone",
      [HEAD, done(0, HELLO), completed([HELLO])],
      TEXT,
    ),
    streamed(
      "done-item-empty",
      "sends its text in a done item alone, and an empty response",
      [HEAD, done(0, HELLO), completed()],
      TEXT,
    ),
    streamed(
      "completed-only",
      "sends its text in the whole response alone",
      [HEAD, completed([HELLO])],
      TEXT,
    ),
    streamed("completed-first", "sends the whole response as its only event", [completed([HELLO])], TEXT),
    streamed(
      "deltas-only",
      "sends its text in deltas alone",
      [HEAD, delta(0, "hel"), delta(0, "lo"), completed()],
      TEXT,
    ),
    streamed(
      "done-shorter",
      "sends a done item without its text",
      [HEAD, added(0, message([])), delta(0, "hello"), done(0, message([])), completed()],
      TEXT,
    ),
    streamed(
      "done-longer",
      "sends the end of its text in the done item alone",
      [HEAD, added(0, message([])), delta(0, "hel"), done(0, HELLO), completed()],
      TEXT,
    ),
  ];
}

function textInOneEvent(): Variant[] {
  return [
    streamed(
      "text-done",
      "sends its text in output_text.done alone",
      [
        HEAD,
        added(0, message([])),
        event("response.output_text.done", {
          item_id: "msg_0",
          output_index: 0,
          content_index: 0,
          text: "hello",
        }),
        completed(),
      ],
      TEXT,
    ),
    streamed(
      "part-done",
      "sends its text in content_part.done alone",
      [
        HEAD,
        added(0, message([])),
        event("response.content_part.done", {
          item_id: "msg_0",
          output_index: 0,
          content_index: 0,
          part: part("hello"),
        }),
        completed(),
      ],
      TEXT,
    ),
    streamed(
      "part-added",
      "begins its text in content_part.added",
      [
        HEAD,
        added(0, message([])),
        event("response.content_part.added", {
          item_id: "msg_0",
          output_index: 0,
          content_index: 0,
          part: part("hel"),
        }),
        delta(0, "lo"),
        completed(),
      ],
      TEXT,
    ),
  ];
}

function callsInOneEvent(): Variant[] {
  return [
    streamed(
      "call-completed",
      "sends a call in the whole response alone",
      [HEAD, completed([fn("a", A)])],
      ONE,
    ),
    streamed(
      "call-deltas",
      "leaves out the done item of a call",
      without("call", "output_item.done", "completed").concat(completed()),
      ONE,
    ),
    streamed(
      "call-args-done",
      "sends arguments in their done event alone",
      [
        HEAD,
        added(0, fn("a", "")),
        event("response.function_call_arguments.done", { item_id: "fc_a", output_index: 0, arguments: A }),
        completed(),
      ],
      ONE,
    ),
    streamed(
      "call-args-shorter",
      "sends a done item without the arguments",
      [
        HEAD,
        added(0, fn("a", "")),
        event("response.function_call_arguments.delta", { item_id: "fc_a", output_index: 0, delta: A }),
        done(0, fn("a", "")),
        completed(),
      ],
      ONE,
    ),
    streamed(
      "same-index",
      "gives two calls one index",
      [
        HEAD,
        added(0, fn("a", "")),
        done(0, fn("a", A)),
        added(0, fn("b", "")),
        done(0, fn("b", B)),
        completed(),
      ],
      TWO,
    ),
    streamed(
      "same-index-deltas",
      "gives two calls with deltas one index",
      [
        HEAD,
        ...[["a", A] as const, ["b", B] as const].flatMap(([id, args]) => [
          added(0, fn(id, "")),
          event("response.function_call_arguments.delta", {
            item_id: `fc_${id}`,
            output_index: 0,
            delta: args,
          }),
          done(0, fn(id, args)),
        ]),
        completed(),
      ],
      TWO,
    ),
    streamed(
      "half-repeated",
      "repeats one of two calls in the whole response",
      [HEAD, done(0, fn("a", A)), completed([fn("a", A), fn("b", B)])],
      TWO,
    ),
  ];
}

function thinkingInOneEvent(): Variant[] {
  return [
    streamed(
      "reasoning-text",
      "sends thinking as the text of its reasoning",
      [
        HEAD,
        added(0, reasoning({})),
        event("response.reasoning_text.delta", {
          item_id: "rs_0",
          output_index: 0,
          content_index: 0,
          delta: "think",
        }),
        done(0, reasoning({ content: [{ type: "reasoning_text", text: "think" }] })),
        done(1, HELLO),
        completed(),
      ],
      THOUGHT,
    ),
    streamed(
      "reasoning-deltas",
      "sends thinking in deltas alone",
      [
        HEAD,
        added(0, reasoning({})),
        event("response.reasoning_text.delta", {
          item_id: "rs_0",
          output_index: 0,
          content_index: 0,
          delta: "think",
        }),
        done(1, HELLO),
        completed(),
      ],
      THOUGHT,
    ),
    streamed(
      "reasoning-item",
      "sends thinking in the done item alone",
      [
        HEAD,
        done(0, reasoning({ summary: [{ type: "summary_text", text: "think" }] })),
        done(1, HELLO),
        completed(),
      ],
      THOUGHT,
    ),
    streamed(
      "reasoning-completed",
      "sends thinking in the whole response alone",
      [HEAD, completed([reasoning({ content: [{ type: "reasoning_text", text: "think" }] }), HELLO])],
      THOUGHT,
    ),
  ];
}

function otherItems(): Variant[] {
  return [
    streamed(
      "unknown-item",
      "sends an item of an unknown type before its text",
      [HEAD, done(0, { type: "vendor_item", id: "v_0", foo: 1 }), done(1, HELLO), completed()],
      TEXT,
    ),
    streamed(
      "two-messages",
      "sends two messages",
      [HEAD, done(0, message([part("hel")])), done(1, message([part("lo")], { id: "msg_1" })), completed()],
      TEXT,
    ),
    streamed(
      "two-parts",
      "sends a message of two parts",
      [HEAD, done(0, message([part("hel"), part("lo")])), completed()],
      TEXT,
    ),
    streamed(
      "output-text",
      "sends its text in the member for all texts alone",
      [HEAD, completed([], { output_text: "hello" })],
      TEXT,
    ),
  ];
}

export function responsesLostAnswers(): StrangeAnswer[] {
  return [
    ...ofKind("lost", P, [
      ...lost(),
      ...textInOneEvent(),
      ...callsInOneEvent(),
      ...thinkingInOneEvent(),
      ...otherItems(),
    ]),
  ];
}
