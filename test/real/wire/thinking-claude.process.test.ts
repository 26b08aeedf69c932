/**
 * Signed thinking of the real Claude Code under a wrap, through compactions: the provider refuses it after other messages than those that it
 * was made after.
 */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { CompactionBench, type Claude } from "./compactions-bench.ts";
import type { Answering } from "./compactions-engine.ts";
import { isClaudeCompaction, MODEL_SUMMARY } from "./compactions-words.ts";

type Block = Record<string, unknown>;
interface Message {
  role: string;
  content: string | Block[];
}

const WINDOW = { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "100000" };
const FULL = { input: 99_000, output: 10 };
const SMALL = { input: 900, output: 10 };

function messagesOf({ body }: RecordedRequest): Message[] {
  return body["messages"] as Message[];
}

/** Cache marks do not count, and a text is the same alone and in a list. */
function textOf(messages: readonly Message[]): string {
  const plain = messages.map(({ role, content }) => ({
    role,
    content: typeof content === "string" ? [{ type: "text", text: content }] : content,
  }));
  return JSON.stringify(plain, (key, value: unknown) => (key === "cache_control" ? undefined : value));
}

function signatureOf({ role, content }: Message): string | undefined {
  if (role !== "assistant" || typeof content === "string") return undefined;
  const thinking = content.find(({ type }) => type === "thinking");
  return thinking && String(thinking["signature"]);
}

/** Its thinking is bound to the messages before it in a running tool loop, too; in one of other models it has to stay. */
const STRICT = "claude-opus-5-5";

/** The provider: signs its thinking, and notes thinking that comes back after other messages. */
class Provider {
  readonly broken: string[] = [];
  /** Signed answers in the newest request. */
  kept = 0;
  readonly #made = new Map<string, string>();

  signed(request: RecordedRequest, step: ReplyStep): ReplyStep {
    this.#check(request);
    const number = this.#made.size + 1;
    const signature = `c2lnbmVk${number}`;
    this.#made.set(signature, textOf(messagesOf(request)));
    return { ...step, thinking: { text: `Thought ${number}.`, signature } };
  }

  #check(request: RecordedRequest): void {
    const messages = messagesOf(request);
    this.kept = 0;
    for (const [index, message] of messages.entries()) {
      const signature = signatureOf(message);
      if (signature === undefined) continue;
      this.kept += 1;
      if (this.#made.get(signature) !== textOf(messages.slice(0, index)))
        this.broken.push(`${signature} as message ${index} of ${messages.length}`);
    }
  }
}

const call = (id: string, word: string) => ({
  id,
  name: "Bash",
  arguments: { command: `echo ${word}`, description: word },
});

describe("signed thinking of Claude Code under a wrap", { timeout: 240_000 }, () => {
  let bench: Claude;
  afterEach(() => bench.end());

  async function open(how: Answering, step: (nth: number) => ReplyStep): Promise<Provider> {
    const provider = new Provider();
    let nth = 0;
    bench = await CompactionBench.claude({
      env: WINDOW,
      model: STRICT,
      how,
      script: (request) => {
        if (isClaudeCompaction(request)) return { text: `<summary>${MODEL_SUMMARY}</summary>` };
        nth += 1;
        return provider.signed(request, step(nth));
      },
    });
    return provider;
  }

  /** The second turn reads twice, and its second result fills the window. */
  const loop = (nth: number): ReplyStep => {
    if (nth === 2) return { toolCalls: [call("toolu_a", "one")], usage: SMALL };
    if (nth === 3) return { toolCalls: [call("toolu_b", "two")], usage: FULL };
    return { text: `Answer ${nth}.`, usage: SMALL };
  };

  for (const [how, ending] of [
    ["handled", "the engine answers it and keeps the messages"],
    ["remembers", "the engine answers it and shows its summary"],
    ["declines", "the model answers it"],
  ] as const)
    it(`never comes after other messages, before and after a compaction in a tool loop: ${ending}`, async () => {
      const provider = await open(how, loop);
      for (const words of ["First?", "Second?", "Third?", "Fourth?"]) await bench.ask(words);
      assert.deepEqual(bench.boundaries, ["auto"]);
      assert.deepEqual(provider.broken, []);
      assert.ok(provider.kept > 0, "answers after the compaction keep their thinking");
    });

  it("comes with usage in which the provider's own compactions are counted", async () => {
    const usage = { ...SMALL, compaction: { input: 3_000, output: 400 } };
    await open("handled", () => ({ text: "Answered.", usage }));
    await bench.ask("First?");
    await bench.finish();
    const receipts = await bench.run.look((host) => host.context.receipts({ sessionKey: "wrapped" }));
    assert.deepEqual(
      receipts.flatMap(({ usage: counted }) => counted?.totalTokens ?? []),
      [900 + 10 + 3_000 + 400],
    );
  });
});
