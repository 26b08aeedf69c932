/** Requests of Gemini CLI 0.61.0, as recorded: what they are for, and what of their text is the user's. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { generateContentDialect as dialect } from "../../../packages/gateway/src/dialect/generate-content/generate-content-dialect.ts";
import type { WireItem, WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { passing, splice } from "../../../packages/gateway/src/splice/splice-request.ts";
import { NAMES, readRecorded, recorded } from "./generate-content-recorded.ts";
import { linesOf } from "./messages-recorded.ts";

type Json = Record<string, unknown>;

function linesIn(items: readonly WireItem[]): string[] {
  return items.flatMap((item) => linesOf(item).map((line) => line.replaceAll(/call_[0-9a-f]{24}/g, "id")));
}

function liveOf(name: string): string[] {
  const { items, liveFrom } = readRecorded(name);
  return linesIn(items.slice(liveFrom));
}

function readChanged(name: string, change: (body: Json) => void, headers: Json = {}): WireRequest {
  const made = recorded(name);
  const body = JSON.parse(made.body.toString("utf8")) as Json;
  change(body);
  return dialect.read(
    made.path,
    { ...made.headers, ...headers } as Record<string, string>,
    Buffer.from(JSON.stringify(body)),
  );
}

const KINDS: Readonly<Record<string, string>> = {
  "first-turn": "main",
  "tool-results": "main",
  "flash-tool-results": "main",
  "resumed-turn": "main",
  "after-compact": "main",
  "asked-again": "main",
  "asked-again-results": "main",
  loop: "main",
  image: "main",
  hook: "main",
  vscode: "main",
  editor: "main",
  "editor-changes": "main",
  subagent: "subagent",
  "subagent-results": "subagent",
  compact: "compaction",
  "compact-check": "side",
  route: "side",
  search: "side",
  "session-summary": "side",
  count: "count",
};

describe("a recorded request of Gemini CLI", () => {
  it("has a test of its kind", () => assert.deepEqual([...NAMES].toSorted(), Object.keys(KINDS).toSorted()));

  for (const name of NAMES)
    it(`"${name}" is of the kind ${KINDS[name]}, and passes byte for byte`, () => {
      const request = readRecorded(name);
      assert.equal(request.kind, KINDS[name]);
      assert.ok(Buffer.concat(passing(request)).equals(recorded(name).body));
      assert.match(request.model, /^gemini-\d/);
      assert.deepEqual(request.native.threadId, undefined);
    });

  it("is no turn if anything of it is unusual", () => {
    const kindOf = (change: (body: Json) => void, name = "first-turn"): string =>
      readChanged(name, change).kind;
    const noTools = (body: Json): void => void delete body["tools"];
    assert.equal(kindOf(noTools), "unknown");
    const contents = [{ parts: [{ text: "Summarize this tool output." }], role: "user" }];
    assert.equal(
      kindOf((body) => (body["contents"] = contents)),
      "unknown",
    );
    const system = { parts: [{ text: "You are another component." }] };
    assert.equal(
      kindOf((body) => (body["systemInstruction"] = system), "compact"),
      "unknown",
    );
    assert.equal(
      kindOf((body) => (body["systemInstruction"] = system), "compact-check"),
      "unknown",
    );
    const other = { "user-agent": "another-client/1" };
    assert.equal(readChanged("first-turn", noTools, other).kind, "main");
    assert.equal(readChanged("vscode", noTools).kind, "unknown");
  });
});

describe("the live turn of Gemini CLI", () => {
  it("is the user's text without surroundings, and what followed it", () => {
    assert.deepEqual(liveOf("first-turn"), ["user: LOOK at the quay"]);
    assert.deepEqual(liveOf("tool-results"), [
      "user: LOOK at the quay",
      "assistant: I look around.",
      "call list_directory id",
      "call read_file id",
      "call read_file id",
      "result list_directory id: Directory listing for /home/user/project:\npier.png (70 bytes)\nquay.txt (40 bytes)",
      "result read_file id: The third and the ninth berth are free.\n",
      "result read_file id: The third and the ninth berth are free.\n",
    ]);
    assert.deepEqual(liveOf("flash-tool-results"), liveOf("tool-results"));
    assert.deepEqual(liveOf("hook"), ["user: Which berth is free?"]);
    assert.deepEqual(liveOf("editor"), ["user: Which one is free"]);
    assert.deepEqual(liveOf("editor-changes"), ["user: And this one"]);
  });

  it("begins with the user's newest text, and results that are repeated count once", () => {
    const { items, liveFrom } = readRecorded("resumed-turn");
    assert.equal(liveFrom, 4);
    assert.deepEqual(liveOf("resumed-turn"), ["user: Which one takes a ship of forty metres?"]);
    assert.deepEqual(linesIn(items.slice(0, 3)), liveOf("tool-results"));
    assert.equal(recorded("resumed-turn").body.toString().split('"functionResponse"').length - 1, 6);
  });

  it("continues where an answer is asked for again, or a loop is reported", () => {
    assert.deepEqual(liveOf("asked-again"), ["user: EMPTY one"]);
    const results = liveOf("asked-again-results");
    assert.deepEqual(
      results.map((line) => line.split(" ")[0]),
      ["user:", "call", "result"],
    );
    const { items } = readRecorded("asked-again-results");
    assert.deepEqual(
      items.slice(3).map(({ kind, isPassing }) => [kind, isPassing]),
      [
        ["setting", true],
        ["setting", true],
      ],
    );
    const loop = liveOf("loop");
    assert.deepEqual([loop[0], loop.length], ["user: LOOP now", 9]);
  });

  it("has an image with the result that it belongs to", () => {
    assert.deepEqual(liveOf("image"), [
      "user: PICTURE please",
      "call read_file id",
      "result read_file id: Binary content provided (1 item(s)).",
      "result read_file id image",
    ]);
  });

  it("has calls with the same ids as their answer, which had none, although the program adds its own", () => {
    const call = (name: string, args: object): Json => ({ functionCall: { name, args } });
    const parts = [
      { text: "I look around." },
      call("list_directory", { dir_path: "." }),
      call("read_file", { file_path: "quay.txt" }),
      call("read_file", { file_path: "quay.txt" }),
    ];
    const chunk = { candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }] };
    const reader = dialect.reader(200, { "content-type": "text/event-stream" }, readRecorded("first-turn"));
    reader.take(Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`));
    const idsOf = (message: AgentMessage | undefined): string[] =>
      message?.role === "assistant"
        ? message.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []))
        : [];
    const ids = idsOf(reader.end().message);
    assert.equal(new Set(ids).size, 3);
    for (const name of ["tool-results", "flash-tool-results", "resumed-turn", "compact"]) {
      const { items } = readRecorded(name);
      assert.deepEqual(idsOf(items[1]?.messages[0]), ids, name);
      const results = items[2]?.messages.map(
        (message) => message.role === "toolResult" && message.toolCallId,
      );
      assert.deepEqual(results, ids, name);
    }
    assert.match(recorded("tool-results").body.toString(), /"id":"read_file_\d{13}_1"/);
    assert.match(recorded("compact").body.toString(), /"id":"read_file__read_file_\d{13}_1"/);
  });

  it("keeps the ids of a server, with the name before them or without", () => {
    const named = readChanged("tool-results", (body) => {
      const [, answer] = body["contents"] as { parts: { functionCall?: Json }[] }[];
      const [, one, other] = answer?.parts ?? [];
      Object.assign(one?.functionCall ?? {}, { id: "list_directory__abc" });
      Object.assign(other?.functionCall ?? {}, { id: "def" });
    });
    const ids = named.items[1]?.messages.flatMap(({ content }) =>
      typeof content === "string"
        ? []
        : content.flatMap((part) => (part.type === "toolCall" ? [part.id] : [])),
    );
    assert.deepEqual(ids?.slice(0, 2), ["abc", "def"]);
  });
});

describe("a compaction of Gemini CLI", () => {
  it("asks for a summary in tags, and then to check it", () => {
    const request = readRecorded("compact");
    assert.deepEqual(request.compaction, { trigger: "auto" });
    const usage = { input: 1, output: 1, totalTokens: 2 };
    const reply = dialect.answer(request, "All </state_snapshot> of it.", usage).body.toString();
    assert.match(reply, /<state_snapshot>\\nAll \[\/state_snapshot\] of it\.\\n<\/state_snapshot>/);
    assert.match(
      readRecorded("compact-check").checked ?? "",
      /^<scratchpad>Hm\.<\/scratchpad>\n<state_snapshot>/,
    );
    for (const name of NAMES)
      if (name !== "compact-check") assert.equal(readRecorded(name).checked, undefined);
  });

  it("leaves its summary and an answer that it makes up, which an engine's context replaces", () => {
    const request = readRecorded("after-compact");
    const { items, prefixCount, liveFrom, native } = request;
    assert.deepEqual([prefixCount, liveFrom], [0, 4]);
    assert.match(native.window ?? "", /^[0-9a-f]{16}$/);
    assert.deepEqual(
      items.slice(0, 3).map(({ kind, isPassing }) => [kind, isPassing]),
      [
        ["setting", true],
        ["setting", true],
        ["message", false],
      ],
    );
    const messages = items.flatMap((item) => item.messages);
    const historyCount = items.slice(0, liveFrom).flatMap((item) => item.messages).length;
    const summary: AgentMessage = { role: "user", content: [{ type: "text", text: "Earlier: much." }] };
    const context = { messages: [summary, ...messages.slice(historyCount)], historyCount: 1 };
    const body = Buffer.concat(splice(request, { context, isOriginal: () => true }, dialect).body);
    const { contents } = JSON.parse(body.toString()) as { contents: { parts: { text?: string }[] }[] };
    const texts = contents.map(({ parts }) => parts[0]?.text?.slice(0, 17));
    assert.deepEqual(texts.slice(0, 3), ["Earlier: much.", "<session_context>", "LOOK HUGE again"]);
    assert.ok(!body.includes("Look after the quay"), "the summary of the program is gone");
    const live = request.body.subarray(items[liveFrom]?.start, items.at(-1)?.end);
    assert.ok(body.includes(live));
  });

  it("of the surroundings and the prompt keeps the surroundings", () => {
    const request = readRecorded("resumed-turn");
    const live = request.items.slice(request.liveFrom).flatMap((item) => item.messages);
    const summary: AgentMessage = { role: "user", content: [{ type: "text", text: "Earlier: much." }] };
    const context = { messages: [summary, ...live], historyCount: 1 };
    const body = Buffer.concat(splice(request, { context, isOriginal: () => true }, dialect).body);
    const { contents } = JSON.parse(body.toString()) as { contents: { parts: Json[] }[] };
    assert.equal(contents.length, 3);
    assert.match(String(contents[1]?.parts[0]?.["text"]), /^<session_context>/);
    assert.equal(contents[1]?.parts.length, 1);
  });
});
