/** Events, members and lines that the protocol does not have. */
import type { Frame, Protocol } from "../../endpoint/script.ts";
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
} from "../strange-answer.ts";

const UNKNOWN: readonly (readonly [name: string, title: string, frame: Frame])[] = [
  [
    "named",
    "an event of an unknown name",
    { event: "vendor_event", data: '{"type":"vendor_event","foo":1}' },
  ],
  ["ping", "pings as data", { data: '{"type":"ping"}' }],
  ["billing", "a summary of its bill", { data: '{"object":"billing.summary","billing":{"cost":1}}' }],
  ["text", "data that is no JSON", { data: "PROCESSING" }],
  ["null", "null as data", { data: "null" }],
  ["list", "a list as data", { data: "[]" }],
  ["object", "an empty object as data", { data: "{}" }],
  ["number", "a number as data", { event: "progress", data: "42" }],
];
const SOME_REPLIES: readonly ReplyName[] = ["text", "call"];

/** The frame before each of the stream's own. `[DONE]` stays the last one. */
function between(frames: readonly Frame[], frame: Frame): Frame[] {
  return frames.flatMap((own) => [frame, own]);
}

/** An unknown member in every object of an event, however deep. */
function withMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withMembers);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([key, inner]) => [
    key,
    isOpaque(key) ? inner : withMembers(inner),
  ]);
  return { ...Object.fromEntries(members), x_vendor: { nested: [1, null, "x"] } };
}

/** Members whose content is the model's own. */
function isOpaque(key: string): boolean {
  return key === "input" || key === "args" || key === "arguments";
}

export function unknownAnswers(protocol: Protocol): StrangeAnswer[] {
  return SOME_REPLIES.flatMap((reply) => {
    const frames = plainFrames(protocol, REPLIES[reply]);
    const right = rightOf(REPLIES[reply]);
    const variants: Variant[] = UNKNOWN.flatMap(([name, what, frame]) => [
      streamed(`${name}-first-${reply}`, `begins with ${what}`, [frame, ...frames], right),
      streamed(`${name}-between-${reply}`, `sends ${what} between its events`, between(frames, frame), right),
    ]);
    const full = edited(frames, (object) => withMembers(object) as Json);
    variants.push(streamed(`members-${reply}`, "has unknown members in every object", full, right));
    return ofKind("unknown", protocol, variants);
  });
}
