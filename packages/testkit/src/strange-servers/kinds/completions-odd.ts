/** Content, values of other types, ends and refusals of the Chat Completions API. */
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
  TEXT,
  THOUGHT,
} from "../strange-answer.ts";
import { P, DONE_FRAME, chunk, ended, reply, A, fn } from "./completions-frames.ts";
import { defined } from "@pagurus/core/data/defined";

function parts(): Variant[] {
  return [
    streamed(
      "reasoning",
      "sends thinking as `reasoning`",
      reply({ reasoning: "think" }, { content: "hello" }),
      THOUGHT,
    ),
    streamed(
      "reasoning-text",
      "sends thinking as `reasoning_text`",
      reply({ reasoning_text: "think" }, { content: "hello" }),
      THOUGHT,
    ),
    streamed(
      "details",
      "sends thinking as details of its reasoning",
      reply(
        { reasoning_details: [{ type: "reasoning.text", text: "think", index: 0 }] },
        { content: "hello" },
      ),
      THOUGHT,
    ),
    streamed(
      "details-summary",
      "sends a summary as details of its reasoning",
      reply({ reasoning_details: [{ type: "reasoning.summary", summary: "think" }] }, { content: "hello" }),
      THOUGHT,
    ),
    streamed(
      "details-both",
      "sends thinking in two members",
      reply(
        { reasoning: "think", reasoning_details: [{ type: "reasoning.text", text: "think" }] },
        { content: "hello" },
      ),
      THOUGHT,
    ),
  ];
}

function contentForms(): Variant[] {
  return [
    streamed(
      "content-parts",
      "sends content as parts",
      reply({ content: [{ type: "text", text: "hel" }] }, { content: [{ type: "text", text: "lo" }] }),
      TEXT,
    ),
    streamed(
      "thinking-parts",
      "sends thinking among the parts of its content",
      reply(
        { content: [{ type: "thinking", thinking: [{ type: "text", text: "think" }] }] },
        { content: [{ type: "text", text: "hello" }] },
      ),
      THOUGHT,
    ),
    streamed(
      "content-null",
      "sends null as content",
      reply({ role: "assistant", content: null }, { content: "hello" }, { content: null }),
      TEXT,
    ),
    streamed(
      "message",
      "repeats the whole message at the end",
      ended([
        chunk({ content: "hel" }),
        chunk({ content: "lo" }),
        chunk(undefined, { message: { role: "assistant", content: "hello" } }),
      ]),
      TEXT,
    ),
    streamed(
      "message-only",
      "sends messages in place of deltas",
      ended([chunk(undefined, { message: { role: "assistant", content: "hello" } })]),
      TEXT,
    ),
    streamed(
      "message-rest",
      "sends the end of its text in a whole message alone",
      ended([
        chunk({ content: "hel" }),
        chunk(undefined, { message: { role: "assistant", content: "hello" } }),
      ]),
      TEXT,
    ),
    streamed(
      "text",
      "sends text as the older completions",
      ended([chunk(undefined, { text: "hello" })]),
      TEXT,
    ),
    streamed(
      "text-and-call",
      "sends text and a call in one delta",
      ended(
        [chunk({ content: "hello", tool_calls: [{ index: 0, id: "a", ...fn("probe", A) }] })],
        "tool_calls",
      ),
      { ...ONE, text: "hello" },
    ),
  ];
}

function odd(): Variant[] {
  const text = plainFrames(P, REPLIES.text);
  const right = rightOf(REPLIES.text);
  return [
    streamed(
      "created-text",
      "writes a time as text",
      edited(text, (object) => ({ ...object, created: "1700000000" })),
      right,
    ),
    streamed(
      "id-number",
      "numbers its chunks",
      edited(text, (object) => ({ ...object, id: 5 })),
      right,
    ),
    streamed(
      "bare",
      "sends chunks with choices alone",
      edited(text, ({ choices, usage }) => ({ choices, ...defined({ usage }) })),
      right,
    ),
    streamed(
      "choices-null",
      "sends null as choices at first and with its usage",
      [
        { data: '{"id":"c1","choices":null}' },
        ...text.slice(0, -2),
        { data: '{"choices":null,"usage":{"prompt_tokens":10,"completion_tokens":5}}' },
        DONE_FRAME,
      ],
      { ...right, usage: { input: 10, output: 5 } },
    ),
    streamed(
      "choices-absent",
      "sends its usage without choices",
      [...text.slice(0, -2), { data: '{"usage":{"prompt_tokens":10,"completion_tokens":5}}' }, DONE_FRAME],
      { ...right, usage: { input: 10, output: 5 } },
    ),
  ];
}

function oddUsage(): Variant[] {
  const text = plainFrames(P, REPLIES.text);
  const right = rightOf(REPLIES.text);
  return [
    streamed(
      "usage-everywhere",
      "sends its usage with every chunk",
      edited(text, (object) => ({ ...object, usage: { prompt_tokens: 10, completion_tokens: 5 } })),
      { ...right, usage: { input: 10, output: 5 } },
    ),
    streamed(
      "usage-in-choice",
      "sends its usage in a choice",
      ended([chunk({ content: "hello" }, { usage: { prompt_tokens: 10, completion_tokens: 5 } })]),
      { ...TEXT, usage: { input: 10, output: 5 } },
    ),
    streamed(
      "filter-first",
      "begins with the results of a filter",
      [{ data: '{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}' }, ...text],
      right,
    ),
    streamed(
      "index-absent",
      "leaves out the index of its choice",
      edited(text, (object) => ({
        ...object,
        choices: (object["choices"] as Json[]).map(({ index: _index, ...rest }) => rest),
      })),
      right,
    ),
    streamed(
      "index-one",
      "counts its only choice as one",
      edited(text, (object) => ({
        ...object,
        choices: (object["choices"] as Json[]).map((choice) => ({ ...choice, index: 1 })),
      })),
      right,
    ),
    streamed("delta-null", "sends null as a delta", [chunk(null), ...text], right),
    streamed(
      "not-a-list",
      "sends a choice that is in no list",
      edited(text, (object) => {
        const [only] = object["choices"] as Json[];
        return only ? { ...object, choices: only } : object;
      }),
      right,
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
        choices: (object["choices"] as Json[]).map((choice) =>
          choice["finish_reason"] === null ? choice : { ...choice, finish_reason: reason },
        ),
      }));
    return [
      streamed(`no-done-${kind}`, "leaves out [DONE]", frames.slice(0, -1), right),
      streamed(`no-usage-${kind}`, "ends with its reason to stop", frames.slice(0, -2), right),
      streamed(`reason-null-${kind}`, "sends null as its reason to stop", finish(null), right),
      streamed(`reason-empty-${kind}`, "sends an empty reason to stop", finish(""), right),
      streamed(
        `reason-object-${kind}`,
        "sends an object as its reason to stop",
        finish({ reason: "stop" }),
        right,
      ),
      streamed(`reason-unknown-${kind}`, "stops for an unknown reason", finish("vendor_reason"), right),
      streamed(
        `reason-other-${kind}`,
        "stops for another reason than its content",
        finish(kind === "text" ? "tool_calls" : "stop"),
        right,
      ),
      streamed(`done-twice-${kind}`, "sends [DONE] twice", [...frames, DONE_FRAME], right),
      streamed(
        `after-done-${kind}`,
        "sends its bill after [DONE]",
        [...frames, { data: '{"object":"billing.summary"}' }],
        right,
      ),
    ];
  });
}

function refusals(): Variant[] {
  const words = "I can't help with that.";
  const right = { refusal: words };
  return [
    streamed(
      "delta",
      "refuses in the member for that",
      reply({ refusal: "I can't " }, { refusal: "help with that." }),
      right,
    ),
    streamed(
      "filtered",
      "refuses, and ends for its filter",
      ended([chunk({ refusal: words })], "content_filter"),
      right,
    ),
    streamed(
      "parts",
      "refuses in a part of its content",
      reply({ content: [{ type: "refusal", refusal: words }] }),
      right,
    ),
    streamed(
      "message",
      "refuses in a whole message",
      ended([chunk(undefined, { message: { role: "assistant", content: null, refusal: words } })]),
      right,
    ),
  ];
}

export function completionsOddAnswers(): StrangeAnswer[] {
  return [
    ...ofKind("lost", P, [...parts(), ...contentForms()]),
    ...ofKind("odd", P, [...odd(), ...oddUsage()]),
    ...ofKind("end", P, [...ends()]),
    ...ofKind("refusal", P, [...refusals()]),
  ];
}
