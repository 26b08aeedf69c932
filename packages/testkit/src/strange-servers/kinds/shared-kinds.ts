/** Kinds that every protocol has: names of tools, argument texts, half surrogate pairs, usage. */
import type { Frame, Protocol, ReplyStep } from "../../endpoint/script.ts";
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
} from "../strange-answer.ts";

/** Spellings of the tool `probe` that families of models write. */
const NAMES: Readonly<Record<string, string>> = {
  namespace: "functions.probe",
  numbered: "functions.probe:0",
  gemini: "default_api.probe",
  tools: "tools.probe",
  spaces: " probe ",
  line: "probe\n",
  quotes: '"probe"',
  token: "probe<|channel|>commentary",
  upper: "Probe",
};

export function nameAnswers(protocol: Protocol): StrangeAnswer[] {
  const right = rightOf(REPLIES.call);
  const variants = Object.entries(NAMES).map(([name, written]) => {
    const step: ReplyStep = { toolCalls: [{ ...REPLIES.call.toolCalls[0], name: written }] };
    return streamed(
      name,
      `calls the tool probe as ${JSON.stringify(written)}`,
      plainFrames(protocol, step),
      right,
    );
  });
  return ofKind("name", protocol, variants);
}

const OBJECT = JSON.stringify({ k: "a" });
/** Arguments as text, and the object that they mean. */
const ODD_ARGUMENTS: readonly (readonly [name: string, title: string, text: string, args: Json])[] = [
  ["twice", "encodes them twice", JSON.stringify(OBJECT), { k: "a" }],
  ["null", "writes null", "null", {}],
  ["empty", "writes nothing", "", {}],
  ["space", "writes a space", " ", {}],
  ["repeated", "writes them two times", OBJECT + OBJECT, { k: "a" }],
  ["after-empty", "writes an empty object before them", `{}${OBJECT}`, { k: "a" }],
  ["pretty", "writes them over several lines", JSON.stringify({ k: "a" }, undefined, 2), { k: "a" }],
  ["spaces", "writes spaces around them", `\n ${OBJECT} \n`, { k: "a" }],
];

export function argumentAnswers(protocol: Protocol): StrangeAnswer[] {
  // Google sends objects.
  const texts =
    protocol === "google"
      ? ODD_ARGUMENTS.filter(([name]) => name === "twice" || name === "null")
      : ODD_ARGUMENTS;
  const variants = texts.map(([name, how, text, args]) => {
    const step: ReplyStep = { ...REPLIES.call, rawArguments: text };
    const tool = Object.keys(args).length === 0 ? "nothing" : "probe";
    const named = { ...step, toolCalls: [{ ...REPLIES.call.toolCalls[0], name: tool }] };
    const right = { text: "", calls: [[tool, args] as const] };
    return streamed(name, `makes a call and, as its arguments, ${how}`, plainFrames(protocol, named), right);
  });
  return ofKind("arguments", protocol, variants);
}

/** A text with half of a surrogate pair in its middle, and one whose pair is split over two deltas. */
export function pairAnswers(protocol: Protocol): StrangeAnswer[] {
  const half: ReplyStep = { text: "a\uD83E b", chunkSize: 100 };
  const split: ReplyStep = { text: "ab🦀cd", chunkSize: 3 };
  const thinking: ReplyStep = { thinking: { text: "x\uDD80y" }, text: "done", chunkSize: 100 };
  const inCall: ReplyStep = {
    toolCalls: [{ id: "call_a", name: "probe", arguments: { k: "a\uD83E" } }],
    chunkSize: 100,
  };
  const variants: Variant[] = [
    streamed("text", "sends half of a surrogate pair in its text", plainFrames(protocol, half), {
      text: "a\uFFFD b",
      calls: [],
    }),
    streamed(
      "split",
      "splits a surrogate pair over two deltas",
      plainFrames(protocol, split),
      rightOf(split),
    ),
    streamed("thinking", "sends half of a surrogate pair in its thinking", plainFrames(protocol, thinking), {
      text: "done",
      thinking: "x\uFFFDy",
    }),
    streamed("arguments", "sends half of a surrogate pair in arguments", plainFrames(protocol, inCall), {
      calls: [["probe", { k: "a\uFFFD" }]],
    }),
    streamed(
      "end",
      "ends its text with half of a surrogate pair",
      plainFrames(protocol, { text: "ab\uD83E", chunkSize: 100 }),
      { text: "ab\uFFFD" },
    ),
  ];
  return ofKind("half-pair", protocol, variants);
}

/** Members that hold counts, by protocol. */
const USAGES: readonly string[] = ["usage", "usageMetadata"];

/** `change` applied to each usage, at whatever depth; undefined removes it. */
function withUsage(frames: readonly Frame[], change: (usage: Json) => unknown): Frame[] {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, inner]) => {
        const isUsage = USAGES.includes(key) && typeof inner === "object" && inner !== null;
        const changed = isUsage ? change(inner as Json) : walk(inner);
        return changed === undefined ? [] : [[key, changed]];
      }),
    );
  };
  return edited(frames, (object) => walk(object) as Json);
}

function asText(usage: Json): Json {
  return Object.fromEntries(
    Object.entries(usage).map(([key, value]) => [key, typeof value === "number" ? String(value) : value]),
  );
}

/** The names of the counts of the other family. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  input_tokens: "prompt_tokens",
  output_tokens: "completion_tokens",
  prompt_tokens: "input_tokens",
  completion_tokens: "output_tokens",
};

function renamed(usage: Json): Json {
  return Object.fromEntries(Object.entries(usage).map(([key, value]) => [OTHER_NAMES[key] ?? key, value]));
}

export function usageAnswers(protocol: Protocol): StrangeAnswer[] {
  const frames = plainFrames(protocol, REPLIES.text);
  const right = rightOf(REPLIES.text);
  const counted = { ...right, usage: { input: 10, output: 5 } };
  const variants: Variant[] = [
    streamed("plain", "reports its usage as its protocol says", frames, counted),
    streamed(
      "absent",
      "reports no usage",
      withUsage(frames, () => undefined),
      right,
    ),
    streamed(
      "null",
      "reports null as its usage",
      withUsage(frames, () => null),
      right,
    ),
    streamed(
      "empty",
      "reports an empty usage",
      withUsage(frames, () => ({})),
      right,
    ),
    streamed("text", "reports its usage as text", withUsage(frames, asText), counted),
    streamed(
      "junk",
      "reports a usage of other types",
      withUsage(frames, () => ["x", { a: -1 }]),
      right,
    ),
    streamed(
      "more",
      "reports counts of unknown names",
      withUsage(frames, (usage) => ({ ...usage, cost: { usd: 1 }, tier: "x" })),
      counted,
    ),
  ];
  if (protocol !== "google")
    variants.push(
      streamed(
        "renamed",
        "reports its usage under the names of another protocol",
        withUsage(frames, renamed),
        counted,
      ),
    );
  return ofKind("usage", protocol, variants);
}
