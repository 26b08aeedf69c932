/** Compactions that go upstream, as requested by real harnesses: with the engine's context, and the same compaction prompt. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import { spliceCompaction, withoutAsking } from "../../packages/gateway/src/request/compacting.ts";
import type { Dialect, WireHeaders, WireRequest } from "../../packages/gateway/src/dialect/wire-dialect.ts";
import { messagesDialect } from "../../packages/gateway/src/dialect/messages/messages-dialect.ts";
import { responsesDialect } from "../../packages/gateway/src/dialect/responses/responses-dialect.ts";
import type { Governed } from "../../packages/gateway/src/governor/governor.ts";
import { NAMES, recorded as recordedClaude } from "./dialect/messages-recorded.ts";
import { RECORDED, recorded as recordedCodex } from "./dialect/responses-recorded.ts";
import { user } from "./exchange-bench.ts";
import { byLength } from "../runner/short-form.ts";

interface Sample {
  name: string;
  dialect: Dialect;
  request: WireRequest;
  again(body: Buffer): WireRequest;
}

function sample(
  name: string,
  dialect: Dialect,
  { path, headers, body }: { path: string; headers: WireHeaders; body: Buffer },
): Sample {
  const again = (bytes: Buffer): WireRequest => dialect.read(path, headers, bytes);
  return { name, dialect, request: again(body), again };
}

const SAMPLES = [
  ...RECORDED.map((name) => sample(`codex ${name}`, responsesDialect, recordedCodex(name))),
  ...NAMES.map((name) => sample(`claude ${name}`, messagesDialect, recordedClaude(name))),
].filter(({ request }) => request.kind === "compaction");

function messagesOf({ items }: Pick<WireRequest, "items">): AgentMessage[] {
  const joined: AgentMessage[] = [];
  for (const message of items.flatMap(({ messages }) => messages)) {
    const last = joined.at(-1);
    if (message.role === "assistant" && last?.role === "assistant")
      joined[joined.length - 1] = { ...last, content: [...last.content, ...message.content] };
    else joined.push(message);
  }
  return joined;
}

function bytesOf({ body }: WireRequest, item: { start: number; end: number } | undefined): string {
  return item ? body.toString("utf8", item.start, item.end) : "";
}

function governed(messages: AgentMessage[], historyCount = messages.length): Governed {
  return { context: { messages, historyCount }, isOriginal: () => true };
}

/** Text, calls and results, one line each; without thinking, and regardless of the division into elements. */
function linesOf(messages: readonly AgentMessage[]): string[] {
  return messages.flatMap((message) => {
    if (message.role === "toolResult") return [`result ${message.toolCallId}`];
    const parts = typeof message.content === "string" ? [message.content] : message.content;
    return parts.flatMap((part) => {
      if (typeof part === "string") return [`${message.role}: ${part}`];
      if (part.type === "text") return [`${message.role}: ${part.text}`];
      if (part.type === "toolCall") return [`call ${part.id}`];
      return part.type === "image" ? ["image"] : [];
    });
  });
}

/** Messages of the live turn that are not in the request: input about to begin, or messages that the harness keeps in any compaction. */
const MORE: AgentMessage[][] = [
  [],
  [user("Of a turn that is about to begin.")],
  [
    {
      role: "assistant",
      content: [
        { type: "text", text: "Loop 1" },
        { type: "toolCall", id: "call_of_now", name: "Bash", arguments: {} },
      ],
    },
  ],
];

const SUMMARY = "All that was, in a few words.";

describe("a compaction that goes upstream", () => {
  it("is recorded in sufficient numbers", () => assert.ok(SAMPLES.length >= 10, `${SAMPLES.length}`));

  for (const { name, request, dialect, again } of SAMPLES) {
    const history = messagesOf(request);
    const last = request.items.at(-1);

    it(`shows the engine's context, with the unchanged compaction prompt: ${name}`, () => {
      fc.assert(
        fc.property(fc.nat(history.length), fc.constantFrom(...MORE), (from, more) => {
          // A call and its result are not separated.
          const kept = history.slice(from);
          while (kept[0]?.role === "toolResult") kept.shift();
          const messages = [user(SUMMARY), ...kept, ...more];
          const historyCount = messages.length - more.length;
          const spliced = spliceCompaction(request, governed(messages, historyCount), dialect);
          const lastLines = linesOf(messagesOf({ items: last ? [last] : [] }));
          const expected = linesOf([user(SUMMARY), ...kept]);
          // Text in the same element as the compaction prompt stays, unless it is a result without its call.
          const stays = lastLines.filter((line) => !expected.includes(line));
          if (stays.some((line) => line.startsWith("result "))) return assert.equal(spliced, undefined);
          assert.ok(spliced);
          const read = again(Buffer.concat(spliced.body));
          assert.equal(read.kind, "compaction");
          assert.equal(bytesOf(read, read.items.at(-1)), bytesOf(request, last));
          const shown = linesOf(messagesOf(read));
          assert.deepEqual(shown, [...expected, ...stays]);
          for (const item of read.items.slice(0, read.prefixCount))
            assert.ok(request.body.includes(bytesOf(read, item)));
        }),
        { numRuns: byLength(500, 60, 20) },
      );
    });

    it(`reaches the engine without the compaction prompt: ${name}`, () => {
      const remaining = withoutAsking(request);
      assert.equal(remaining.items.length, request.items.length - 1);
      assert.equal(remaining.liveFrom, remaining.items.length);
      assert.ok(remaining.prefixCount <= remaining.items.length);
    });

    it(`keeps the bytes of messages that the engine leaves unchanged: ${name}`, () => {
      const spliced = spliceCompaction(request, governed(history), dialect);
      assert.ok(spliced);
      const read = again(Buffer.concat(spliced.body));
      const own = new Set(request.items.map((item) => bytesOf(request, item)));
      for (const item of read.items) assert.ok(own.has(bytesOf(read, item)));
      assert.equal(spliced.encodedMessages, 0);
    });
  }

  it("passes if there is nothing to show, or if the compaction prompt would not stay last", () => {
    const inLoop = SAMPLES.find(({ name }) => name.includes("auto-compact-in-loop")) ?? assert.fail();
    const { request, dialect } = inLoop;
    assert.equal(spliceCompaction(request, governed([]), dialect), undefined);
    assert.equal(spliceCompaction({ ...request, items: [] }, governed([user("x")]), dialect), undefined);
    // A message follows the result, which would be repeated.
    const more = [...messagesOf(request), user("Behind it.")];
    assert.equal(spliceCompaction(request, governed(more), dialect), undefined);
    // The engine has shortened the result in the element of the compaction prompt.
    const history = messagesOf(request);
    const cut = history.map((message, index) =>
      message.role === "toolResult" && index === history.length - 1
        ? { ...message, content: [{ type: "text" as const, text: "[cut]" }] }
        : message,
    );
    const isOriginal = (message: AgentMessage): boolean => message !== cut.at(-1);
    const context = { messages: cut, historyCount: 0 };
    assert.equal(spliceCompaction(request, { context, isOriginal }, dialect), undefined);
  });
});
