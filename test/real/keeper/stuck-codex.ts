/** Kinds of rollouts of Codex that cannot continue, from public reports; `damage` makes one of a sound rollout. */
import type { Line } from "./stuck-claude.ts";

export interface StuckRollout {
  kind: string;
  /** `items` follow the head of the rollout; `add` appends one. */
  damage: (items: Line[], add: (payload: Line) => void) => void;
  finding: RegExp;
}

const item = (payload: Line): Line => ({
  timestamp: "2026-06-01T08:00:00.000Z",
  type: "response_item",
  payload,
});
const message = (role: string, ...content: Line[]): Line => ({ type: "message", role, content });
const input = (text: string): Line => ({ type: "input_text", text });
const call = (more: Line = {}): Line => ({
  type: "function_call",
  name: "survey",
  call_id: "call_stuck",
  arguments: "{}",
  ...more,
});
const output = (more: Line = {}): Line => ({
  type: "function_call_output",
  call_id: "call_stuck",
  output: "done",
  ...more,
});

function added(kind: string, finding: RegExp, ...payloads: Line[]): StuckRollout {
  return { kind, finding, damage: (_items, add) => payloads.forEach(add) };
}

export const STUCK_CODEX: readonly StuckRollout[] = [
  {
    kind: "many items",
    finding: /20\d\d\d items/,
    damage: (items) =>
      void items.unshift(
        ...Array.from({ length: 10_000 }, (_, at) => [
          item(message("user", input(`old ${at}`))),
          item(message("assistant", { type: "output_text", text: `older ${at}` })),
        ]).flat(),
      ),
  },
  added(
    "large image",
    /An image of/,
    message("user", input("Look."), {
      type: "input_image",
      image_url: `data:image/png;base64,${"iVBORw0KGgo".padEnd(21 * 1024 * 1024, "A")}`,
    }),
  ),
  added(
    "unreadable image",
    /no data that the provider can read/,
    message("user", input("Look."), {
      type: "input_image",
      image_url: "data:image/svg+xml;base64,PHN2Zz4=",
    }),
  ),
  added("long text", /fills the window/, message("user", input("word ".repeat(2_200_000)))),
  added("long result", /fills the window/, call(), output({ output: "word ".repeat(2_200_000) })),
  added("result without a call", /belongs to no call/, output()),
  added("call without a result", /has no result/, call()),
  added("two calls with one id", /Two calls have one id/, call(), output(), call(), output()),
  added("two results of one call", /second result/, call(), output(), output()),
  added("name of a tool", /tool name "mcp\.survey"/, call({ name: "mcp.survey" }), output()),
  added("arguments of a call", /arguments of a call are no text/, call({ arguments: { a: 1 } }), output()),
  added(
    "kind of a text",
    /has the kind output_text/,
    message("user", { type: "output_text", text: "From another program." }),
  ),
  added("sealed thinking", /sealed content/, {
    type: "reasoning",
    id: "rs_1",
    summary: [],
    encrypted_content: "stale",
  }),
  added("half a character", /half a character/, message("user", input("the end \ud83d"))),
  {
    kind: "poisoned summary",
    finding: /compaction has no summary/,
    damage: (items) =>
      void items.push({
        timestamp: "2026-06-01T08:00:00.000Z",
        type: "compacted",
        payload: { message: "", replacement_history: [] },
      }),
  },
];

/** As for Claude Code. */
export const HEALED_BY_CODEX: ReadonlySet<string> = new Set([
  "large image",
  "unreadable image",
  "long result",
  "result without a call",
  "call without a result",
  "arguments of a call",
  "half a character",
]);
