/** Twenty and more kinds of conversations of Claude Code that cannot continue, from public reports; `damage` makes one of a sound session. */
export type Line = Record<string, unknown>;

export interface Stuck {
  kind: string;
  /** Changes the lines of a session that is sound; `add` appends a message. */
  damage: (lines: Line[], add: (role: "user" | "assistant", content: unknown, more?: Line) => Line) => void;
  /** Of the finding. */
  finding: RegExp;
}

const text = (words: string): Line => ({ type: "text", text: words });
const call = (id: string, more: Line = {}): Line => ({
  type: "tool_use",
  id,
  name: "Bash",
  input: { command: "true" },
  ...more,
});
const result = (id: string, more: Line = {}): Line => ({
  type: "tool_result",
  tool_use_id: id,
  content: "done",
  ...more,
});

function image(media: string, data: string): Line {
  return { type: "image", source: { type: "base64", media_type: media, data } };
}

/** The beginning of a PNG with this width. */
export function png(width: number, bytes = 64): string {
  const data = Buffer.alloc(bytes);
  Buffer.from("89504e470d0a1a0a0000000d49484452", "hex").copy(data);
  data.writeUInt32BE(width, 16);
  data.writeUInt32BE(16, 20);
  return data.toString("base64");
}

const user = (kind: string, finding: RegExp, ...content: unknown[]): Stuck => ({
  kind,
  finding,
  damage: (_lines, add) => void add("user", [text("A question beside it."), ...content]),
});

/** A call in an answer, and its result. */
const tool = (kind: string, finding: RegExp, calls: Line[], results: Line[]): Stuck => ({
  kind,
  finding,
  damage: (_lines, add) => {
    add("assistant", calls);
    if (results.length > 0) add("user", results);
  },
});

export const STUCK_CLAUDE: readonly Stuck[] = [
  user("large image", /image of 6\.0 MB/, image("image/png", png(16, 6 * 1024 * 1024))),
  user(
    "unreadable image",
    /no data that the provider can read/,
    image("image/png", Buffer.from("<html>").toString("base64")),
  ),
  user("wrong type of image", /is named image\/jpeg and is image\/png/, image("image/jpeg", png(16))),
  user("image of many pixels", /9000 pixels on a side/, image("image/png", png(9_000))),
  user("many images", /101 images/, ...Array.from({ length: 101 }, () => image("image/png", png(16)))),
  user("empty text", /text is empty/, text("")),
  user("half a character", /half a character/, text("the end \ud83d")),
  user("long text", /fills the window/, text("word ".repeat(200_000))),
  user("block of a wrong kind", /of the kind "quote"/, { type: "quote", quote: "from another version" }),
  user("result without a call", /belongs to no call/, result("toolu_missing")),
  {
    kind: "marks for the cache",
    finding: /mark for the cache/,
    damage: (_lines, add) =>
      void add(
        "user",
        Array.from({ length: 5 }, (_, at) => ({
          ...text(`Part ${at}.`),
          cache_control: { type: "ephemeral" },
        })),
      ),
  },
  {
    kind: "empty message",
    finding: /no content/,
    damage: (_lines, add) => {
      add("user", "");
      add("assistant", []);
    },
  },
  {
    kind: "wrong role",
    finding: /has the role "system"/,
    damage: (_lines, add) =>
      void Object.assign(add("user", [text("From a hook.")])["message"] as Line, { role: "system" }),
  },
  {
    kind: "thinking without signature",
    finding: /no signature/,
    damage: (_lines, add) =>
      void add("assistant", [
        { type: "thinking", thinking: "Hm.", signature: "" },
        text("An answer beside it."),
      ]),
  },
  {
    kind: "redacted thinking without data",
    finding: /no data, which the provider refuses/,
    damage: (_lines, add) =>
      void add("assistant", [{ type: "redacted_thinking", data: "" }, text("An answer beside it.")]),
  },
  {
    kind: "answer that is only thinking",
    finding: /ends with thinking/,
    damage: (_lines, add) =>
      void add("assistant", [text("An answer."), { type: "thinking", thinking: "Hm.", signature: "c2ln" }]),
  },
  tool("call without a result", /has no result/, [call("toolu_a")], []),
  tool(
    "two calls with one id",
    /Two calls have one id/,
    [call("toolu_a"), call("toolu_a")],
    [result("toolu_a"), result("toolu_a")],
  ),
  tool("two results of one call", /second result/, [call("toolu_a")], [result("toolu_a"), result("toolu_a")]),
  tool(
    "id of a call",
    /The id "functions\.Bash:0"/,
    [call("functions.Bash:0")],
    [result("functions.Bash:0")],
  ),
  tool(
    "name of a tool",
    /tool name "Bash\(now\)"/,
    [call("toolu_a", { name: "Bash(now)" })],
    [result("toolu_a")],
  ),
  tool(
    "arguments of a call",
    /arguments of a call/,
    [call("toolu_a", { input: "true" })],
    [result("toolu_a")],
  ),
  tool(
    "failed result with an image",
    /failed has more than text/,
    [call("toolu_a")],
    [result("toolu_a", { is_error: true, content: [text("no"), image("image/png", png(16))] })],
  ),
  {
    kind: "result before its call",
    finding: /before its call/,
    damage: (_lines, add) => {
      add("user", [result("toolu_a")]);
      add("assistant", [call("toolu_a")]);
    },
  },
  {
    kind: "missing parent",
    finding: /parent is missing/,
    damage: (_lines, add) =>
      void Object.assign(add("user", [text("A question.")]), {
        parentUuid: "00000000-0000-4000-8000-00000000dead",
      }),
  },
  {
    kind: "circle of parents",
    finding: /below itself/,
    damage: (_lines, add) => {
      const one = add("user", [text("A question.")]);
      one["parentUuid"] = add("assistant", [text("An answer.")])["uuid"];
    },
  },
  {
    kind: "two lines with one id",
    finding: /Two lines have one id/,
    damage: (lines, add) => {
      const last = lines.findLast(({ type }) => type === "assistant");
      Object.assign(add("user", [text("A question.")]), { uuid: last?.["uuid"] });
    },
  },
  {
    kind: "poisoned summary",
    finding: /summary of a compaction/,
    damage: (lines, add) => {
      const last = lines.findLast(({ type }) => type === "assistant");
      const boundary: Line = {
        ...last,
        type: "system",
        subtype: "compact_boundary",
        content: "Conversation compacted",
        message: undefined,
        level: "info",
        compactMetadata: { trigger: "auto", preTokens: 190_000 },
        uuid: "00000000-0000-4000-8000-0000000b0b0b",
        parentUuid: null,
        logicalParentUuid: last?.["uuid"],
      };
      lines.push(boundary);
      const summary = add("user", "API Error: 400 invalid_request_error", {
        isCompactSummary: true,
        isVisibleInTranscriptOnly: true,
      });
      summary["parentUuid"] = boundary["uuid"];
    },
  },
];

/** What this version of the program leaves out by itself, or after the refusal; earlier versions did not. */
export const HEALED_BY_CLAUDE: ReadonlySet<string> = new Set([
  "unreadable image",
  "image of many pixels",
  "many images",
  "empty text",
  "half a character",
  "result without a call",
  "wrong role",
  "thinking without signature",
  "redacted thinking without data",
  "call without a result",
  "two calls with one id",
  "two results of one call",
  "failed result with an image",
  "result before its call",
]);
