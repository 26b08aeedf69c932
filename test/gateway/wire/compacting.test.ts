/** Compactions that go upstream, as harnesses have really asked for them: the engine's context, and the same words that ask. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { AgentMessage } from "../../../src/contract/message.ts";
import { spliceCompaction, withoutAsking } from "../../../src/gateway/wire/compacting.ts";
import type { Dialect, WireHeaders, WireRequest } from "../../../src/gateway/wire/dialect/dialect.ts";
import { messagesDialect } from "../../../src/gateway/wire/dialect/messages/dialect.ts";
import { responsesDialect } from "../../../src/gateway/wire/dialect/responses/dialect.ts";
import type { Governed } from "../../../src/gateway/wire/governor.ts";
import { NAMES, recorded as recordedClaude } from "./dialect/messages-recorded.ts";
import { RECORDED, recorded as recordedCodex } from "./dialect/responses-recorded.ts";
import { user } from "./exchange-bench.ts";

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

function saidOf({ items }: Pick<WireRequest, "items">): AgentMessage[] {
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

/** Words, calls and results, a line each; thinking and the division into elements aside. */
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

/** Of the live turn, and not in the request: what is about to begin, or stays with the harness whatever it compacts. */
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
  it("is there in numbers", () => assert.ok(SAMPLES.length >= 10, `${SAMPLES.length}`));

  for (const { name, request, dialect, again } of SAMPLES) {
    const said = saidOf(request);
    const last = request.items.at(-1);

    it(`shows the engine's context, with the asking as it was: ${name}`, () => {
      fc.assert(
        fc.property(fc.nat(said.length), fc.constantFrom(...MORE), (from, more) => {
          // A call and its result are not parted.
          const kept = said.slice(from);
          while (kept[0]?.role === "toolResult") kept.shift();
          const messages = [user(SUMMARY), ...kept, ...more];
          const historyCount = messages.length - more.length;
          const spliced = spliceCompaction(request, governed(messages, historyCount), dialect);
          const lastSaid = linesOf(saidOf({ items: last ? [last] : [] }));
          const expected = linesOf([user(SUMMARY), ...kept]);
          // What stands in one element with the asking stays, unless it is a result without its call.
          const stays = lastSaid.filter((line) => !expected.includes(line));
          if (stays.some((line) => line.startsWith("result "))) return assert.equal(spliced, undefined);
          assert.ok(spliced);
          const read = again(Buffer.concat(spliced.body));
          assert.equal(read.kind, "compaction");
          assert.equal(bytesOf(read, read.items.at(-1)), bytesOf(request, last));
          const shown = linesOf(saidOf(read));
          assert.deepEqual(shown, [...expected, ...stays]);
          for (const item of read.items.slice(0, read.prefixCount))
            assert.ok(request.body.includes(bytesOf(read, item)));
        }),
        { numRuns: 60 },
      );
    });

    it(`is told to the engine without what asks: ${name}`, () => {
      const told = withoutAsking(request);
      assert.equal(told.items.length, request.items.length - 1);
      assert.equal(told.liveFrom, told.items.length);
      assert.ok(told.prefixCount <= told.items.length);
    });

    it(`keeps the bytes of what the engine leaves as it is: ${name}`, () => {
      const spliced = spliceCompaction(request, governed(said), dialect);
      assert.ok(spliced);
      const read = again(Buffer.concat(spliced.body));
      const own = new Set(request.items.map((item) => bytesOf(request, item)));
      for (const item of read.items) assert.ok(own.has(bytesOf(read, item)));
      assert.equal(spliced.encodedMessages, 0);
    });
  }

  it("passes where there is nothing to show, and where what asks would not stay", () => {
    const inLoop = SAMPLES.find(({ name }) => name.includes("auto-compact-in-loop")) ?? assert.fail();
    const { request, dialect } = inLoop;
    assert.equal(spliceCompaction(request, governed([]), dialect), undefined);
    assert.equal(spliceCompaction({ ...request, items: [] }, governed([user("x")]), dialect), undefined);
    // Something stands behind the result, which would be said twice.
    const more = [...saidOf(request), user("Behind it.")];
    assert.equal(spliceCompaction(request, governed(more), dialect), undefined);
    // The engine has cut the result that stands in one element with the asking.
    const said = saidOf(request);
    const cut = said.map((message, index) =>
      message.role === "toolResult" && index === said.length - 1
        ? { ...message, content: [{ type: "text" as const, text: "[cut]" }] }
        : message,
    );
    const isOriginal = (message: AgentMessage): boolean => message !== cut.at(-1);
    const context = { messages: cut, historyCount: 0 };
    assert.equal(spliceCompaction(request, { context, isOriginal }, dialect), undefined);
  });
});
