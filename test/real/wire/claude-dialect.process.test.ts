/** The real Claude Code understands the Messages dialect's answers, and the dialect understands Claude Code's requests. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { ClaudeDialectBench, type BenchOptions, type Reply } from "./claude-dialect-bench.ts";

const SUMMARY = "The harbour <summary>was</summary> looked at. <analysis>Nothing else.</analysis>";

let bench: ClaudeDialectBench;
afterEach(() => bench.end());

async function start(
  answer: (request: WireRequest, index: number) => Reply,
  options?: BenchOptions,
): Promise<void> {
  bench = await ClaudeDialectBench.start(answer, options);
}

function conversation(request: WireRequest | undefined): AgentMessage[] {
  assert.ok(request);
  return request.items.flatMap(({ messages }) => [...messages]);
}

function words(messages: readonly AgentMessage[]): string[] {
  return messages.flatMap(({ role, content }) =>
    (typeof content === "string" ? [{ type: "text" as const, text: content }] : content).flatMap((part) =>
      part.type === "text" ? [`${role}: ${part.text}`] : [],
    ),
  );
}

/** Claude Code continues with the summary, which is not a user's message. */
function checkGoesOn(request: WireRequest | undefined): void {
  assert.ok(request);
  const [first] = request.items;
  const text = request.body.toString("utf8", first?.start, first?.end);
  assert.match(
    text,
    /Summary:\\nThe harbour \[summary\]was\[\/summary\] looked at\. \[analysis\]Nothing else\./,
  );
  assert.ok(request.native.window);
  assert.ok(!words(conversation(request)).some((line) => /looked at|continued from/.test(line)));
}

describe("Claude Code at the Messages dialect", { timeout: 300_000 }, () => {
  for (const model of ["claude-sonnet-4-5", "claude-opus-5-5"])
    it(`shows ${model} a written turn with thinking, text and parallel calls verbatim`, async () => {
      const call = (id: string, file: string) => ({
        type: "toolCall" as const,
        id,
        name: "Read",
        arguments: { file_path: join(bench.cwd, file) },
      });
      await start(
        (_request, index) => {
          if (index > 0) return { text: "Harbour and anchor." };
          return {
            message: [
              { type: "thinking", thinking: "Both are to be read.", signature: "c2lnbmF0dXJl" },
              { type: "text", text: "I read both." },
              call("toolu_1", "notes.txt"),
              call("toolu_2", "more.txt"),
            ],
          };
        },
        { model },
      );
      const result = await bench.ask("Read the two files.");
      assert.equal(result["result"], "Harbour and anchor.");
      await bench.ask("Thank you.");
      assert.deepEqual(
        bench.requests.map(({ kind }) => kind),
        ["main", "main", "main"],
      );
      const [first, loop, last] = bench.requests;
      assert.deepEqual(words(conversation(first)), ["user: Read the two files."]);
      const shown = conversation(loop);
      assert.deepEqual(
        shown.map(({ role }) => role),
        ["user", "assistant", "toolResult", "toolResult"],
      );
      const answer = shown[1]?.content;
      assert.ok(Array.isArray(answer));
      assert.deepEqual(
        answer.filter(({ type }) => type !== "thinking"),
        [{ type: "text", text: "I read both." }, call("toolu_1", "notes.txt"), call("toolu_2", "more.txt")],
      );
      assert.match(words(shown).toSorted().join("\n"), /The other word is anchor[^]*The word is harbour/);
      assert.equal(loop?.liveFrom, 0);
      assert.deepEqual(words(conversation(last)).at(-1), "user: Thank you.");
      const live = last?.items.slice(last.liveFrom).flatMap(({ messages }) => [...messages]);
      assert.deepEqual(words(live ?? []), ["user: Thank you."]);
    });

  it("takes the answer to /compact at once, with the user's focus, and continues with it", async () => {
    await start(({ kind }) => ({ text: kind === "compaction" ? SUMMARY : "Fine." }));
    await bench.ask("Look at the harbour.");
    await bench.ask("/compact keep the harbour\n\nin view");
    await bench.ask("And now?");
    assert.deepEqual(
      bench.requests.map(({ kind }) => kind),
      ["main", "compaction", "main"],
    );
    assert.deepEqual(bench.requests[1]?.compaction, {
      trigger: "manual",
      focus: "keep the harbour\n\nin view",
    });
    assert.deepEqual(words(conversation(bench.requests[1])), [
      "user: Look at the harbour.",
      "assistant: Fine.",
    ]);
    checkGoesOn(bench.requests[2]);
    assert.equal(words(conversation(bench.requests[2])).at(-1), "user: And now?");
  });

  it("compacts itself where the reported usage is near the window, and not where it is small", async () => {
    const full = { input: 99_000, output: 5, totalTokens: 99_005 };
    let isFull = false;
    await start(
      ({ kind }) => {
        if (kind === "compaction") return { text: SUMMARY };
        return { message: [{ type: "text", text: "Fine." }], ...(isFull ? { usage: full } : {}) };
      },
      { env: { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "100000" } },
    );
    await bench.ask("One?");
    await bench.ask("Two?");
    isFull = true;
    await bench.ask("Three?");
    isFull = false;
    await bench.ask("Four?");
    const kinds = bench.requests.map(({ kind }) => kind);
    assert.deepEqual(kinds, ["main", "main", "main", "compaction", "main"]);
    assert.deepEqual(bench.requests[3]?.compaction, { trigger: "auto" });
    checkGoesOn(bench.requests[4]);
  });

  it("detects a context that does not fit by the text of the failure, compacts, and asks again", async () => {
    await start(({ kind }, index) => {
      if (index === 2) return { fault: "context_overflow" };
      return { text: kind === "compaction" ? SUMMARY : "Fine." };
    });
    await bench.ask("One?");
    await bench.ask("Two?");
    const result = await bench.ask("Three?");
    assert.equal(result["result"], "Fine.");
    const kinds = bench.requests.map(({ kind }) => kind);
    assert.deepEqual(kinds, ["main", "main", "main", "compaction", "main"]);
    checkGoesOn(bench.requests[4]);
    assert.equal(words(conversation(bench.requests[4])).at(-1), "user: Three?");
  });
});
