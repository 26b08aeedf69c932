/** Fragments as engines, harnesses, views and failing turns handle them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { Fragment } from "../../../packages/contract/src/fragment.ts";
import type { AgentHarness } from "../../../packages/contract/src/harness/harness.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { HARNESS_CONTRACT } from "../../../packages/contract/src/version.ts";
import { contextOverflowReply } from "../../servers/server.ts";
import { rotator } from "../lanes/rotating.ts";
import { Bench, eventsOf, words } from "../in-process.ts";
import { Calls, engineOf } from "../members/members-bench.ts";
import { context } from "./fragment-bench.ts";
import { startWith } from "../start-with.ts";

const A = context({ a: ["application", "quokka"] });
const TAG = "<a>quokka</a>";

describe("fragments and the host", () => {
  let bench: Bench;
  afterEach(() => bench.end());

  const texts = (index: number): string[] => bench.body(index).messages.map(({ text }) => text);

  it("no engine receives them, and one that returns plain copies keeps them in the context", async () => {
    bench = await Bench.with(() => ({ text: "Done." }));
    const calls = new Calls();
    const copies = async ({ messages }: { messages: AgentMessage[] }) => ({
      messages: messages.map(({ entryId: _entryId, ...message }) => message as AgentMessage),
      estimatedTokens: 0,
    });
    const pagurus = await bench.host({ engine: engineOf(calls, { assemble: copies }) });
    await bench.ask(pagurus, "1", { additionalContext: A });
    await bench.ask(pagurus, "2", { additionalContext: A });
    await bench.ask(pagurus, "3", { additionalContext: A });
    const given = calls.all().map(({ params }) => {
      const { runtimeContext: _context, ...rest } = params as Record<string, unknown>;
      return JSON.stringify(rest);
    });
    assert.ok(given.length > 3 && given.every((text) => !text.includes("quokka")));
    assert.deepEqual(texts(2), ["1", "Done.", "2", "Done.", `${TAG}\n\n3`]);
  });

  it("an input that is taken back takes its fragments along", async () => {
    bench = await Bench.with((_request, index) => (index === 0 ? { status: 400 } : { text: "Done." }));
    const pagurus = await bench.host();
    const failed = (await eventsOf(pagurus.run({ prompt: "1", cwd: bench.root, additionalContext: A }))).at(
      -1,
    );
    assert.equal(failed?.type, "turn.failed");
    await bench.ask(pagurus, "2", { additionalContext: A });
    assert.deepEqual(texts(1), [`${TAG}\n\n2`]);
  });

  it("a rotation inside a turn keeps them in the context", async () => {
    let step = 0;
    bench = await Bench.with(() => {
      step += 1;
      return step === 3 ? contextOverflowReply("openai-completions") : { text: `answer ${step}` };
    });
    const engine: ContextEngine = {
      info: { id: "moving", name: "Moving" },
      ingest: async () => ({ ingested: true }),
      assemble: async ({ messages }) => ({ messages, estimatedTokens: 0 }),
      compact: rotator(join(bench.root, "made")),
    };
    const pagurus = await bench.host({ engine });
    await bench.ask(pagurus, "1", { additionalContext: A });
    await bench.ask(pagurus, "2", { additionalContext: A });
    const events = await bench.ask(pagurus, "3", { additionalContext: A });
    assert.ok(events.some((event) => event.type === "notice" && event.kind === "session_rotated"));
    assert.equal(texts(-1).at(-1), `${TAG}\n\n3`);
    await bench.ask(pagurus, "4", { additionalContext: A });
    assert.equal(texts(-1).filter((text) => text.includes(TAG)).length, 1);
    assert.equal(texts(-1).at(-1), "4");
  });

  it("a preview shows them in their place", async () => {
    bench = await Bench.with(() => ({ text: "Done." }));
    const pagurus = await bench.host();
    await bench.ask(pagurus, "1", { additionalContext: A });
    const { messages, receipt } = await pagurus.context.preview({ prompt: "2", cwd: bench.root });
    assert.deepEqual(messages.map(words), [TAG, "1", "Done.", "2"]);
    assert.deepEqual(
      receipt.parts.flatMap(({ source }) => (source === "fragment" ? [source] : [])),
      ["fragment"],
    );
  });

  it("a harness receives the turn's fragments, and those of a steering text", async () => {
    bench = await Bench.with(() => ({ text: "unused" }));
    const seen: { fragments: Fragment[][]; contexts: unknown[]; sent: string[]; input: unknown } = {
      fragments: [],
      contexts: [],
      sent: [],
      input: undefined,
    };
    const more = context({ b: ["untrusted", "tab"] });
    const harness: AgentHarness = {
      id: "native",
      label: "Native",
      contract: HARNESS_CONTRACT,
      execution: { kind: "in-process" },
      seam: "thread",
      capabilities: ["assemble-before-prompt"],
      supports: () => ({ supported: true }),
      start: startWith(async (turn) => {
        seen.contexts.push(turn.context.additionalContext);
        seen.fragments.push([...turn.context.fragments]);
        run.steer("more", { additionalContext: more });
        const [steering] = await turn.io.takeInputs();
        seen.contexts.push(steering?.additionalContext);
        seen.fragments.push([...turn.context.fragments]);
        const assembled = await turn.context.assemble();
        seen.sent = assembled.messages.map(words);
        seen.input = assembled.messages[assembled.historyCount];
        const content = [{ type: "text" as const, text: "Done." }];
        await turn.io.emit({ type: "message", message: { role: "assistant", content } });
        return { stopReason: "stop", usage: { input: 0, output: 0, totalTokens: 0 } };
      }),
    };
    const pagurus = await bench.host({ more: { harnesses: [harness] } });
    const run = pagurus.run({ prompt: "1", cwd: bench.root, runtime: "native", additionalContext: A });
    const end = (await eventsOf(run)).at(-1);
    assert.equal(end?.type, "turn.completed", JSON.stringify(end));
    assert.deepEqual(seen.contexts, [A, more]);
    const brief = seen.fragments.map((list) =>
      list.map((one) => [one.role, one.text, one.key, one.kind, one.with]),
    );
    const first = ["developer", TAG, "a", "application", "input"];
    const second = ["user", "<external_b>tab</external_b>", "b", "untrusted", "steering"];
    assert.deepEqual(brief, [[first], [first, second]]);
    assert.deepEqual(seen.sent, [TAG, "1", "<external_b>tab</external_b>", "more"]);
    assert.equal(words(seen.input as AgentMessage), "1");
  });
});
