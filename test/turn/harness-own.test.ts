/** A harness with a system prompt of its own: what the host then leaves out, and what it counts. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type {
  AgentHarness,
  AssembledContext,
  HarnessTurn,
} from "../../packages/contract/src/harness/harness.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import { recordingEngine } from "./lanes/setting.ts";
import { Bench } from "./in-process.ts";
import { startWith } from "./start-with.ts";

interface Seen {
  turn: HarnessTurn;
  context: AssembledContext;
}

describe("a harness with instructions of its own", () => {
  let bench: Bench;
  let seen: Seen[];
  beforeEach(async () => {
    seen = [];
    bench = await Bench.with(() => ({ text: "unasked" }));
    writeFileSync(join(bench.root, "AGENTS.md"), "Write in verse.\n");
  });
  afterEach(() => bench.end());

  const open = (more: Partial<AgentHarness>, addition?: string): Promise<Pagurus> => {
    const harness: AgentHarness = {
      id: "shell",
      label: "Shell",
      contract: "pagurus.harness/2",
      execution: { kind: "external" },
      seam: "wire",
      capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain", "compact"],
      supports: () => ({ supported: true }),
      start: startWith(async (turn) => {
        seen.push({ turn, context: await turn.context.assemble() });
        return { stopReason: "stop", usage: { input: 1, output: 1, totalTokens: 2 } };
      }),
      ...more,
    };
    const { engine } = recordingEngine({
      assemble: ({ messages }) => ({
        messages,
        estimatedTokens: 0,
        ...(addition === undefined ? {} : { systemPromptAddition: addition }),
      }),
    });
    const models = { "test/model": { agentRuntime: { id: "shell" } } };
    return bench.host({ engine, defaults: { models }, more: { harnesses: [harness] } });
  };

  it("receives no instructions and no tools of the host, only the engine's text", async () => {
    const pagurus = await open({ ownsInstructions: true }, "Ask for what was said.");
    await bench.ask(pagurus, "Go.");
    const [{ turn, context } = assert.fail()] = seen;
    assert.equal(turn.instructions, "");
    assert.deepEqual(turn.tools.specs, []);
    assert.equal(context.system, "Ask for what was said.");
    assert.equal(context.systemPromptAddition, "Ask for what was said.");
    const preview = await pagurus.context.preview({ prompt: "Go.", cwd: bench.root });
    assert.equal(preview.system, context.system);
  });

  it("is offered the tools that it takes, and no others", async () => {
    const pagurus = await open({ ownsInstructions: true, takesTools: ["read", "nothing"] });
    await bench.ask(pagurus, "Go.");
    const [{ turn } = assert.fail()] = seen;
    assert.deepEqual(
      turn.tools.specs.map(({ name }) => name),
      ["read"],
    );
    const asked = { type: "toolCall" as const, id: "1", name: "write", arguments: {} };
    const refused = await turn.tools.call(asked, turn.signal);
    assert.equal(refused.isError, true);
  });

  it("is offered the engine's own tools when it takes those, and none when the engine has none", async () => {
    const more = { ownsInstructions: true, takesTools: "engine" } as const;
    const pagurus = await open(more);
    await bench.ask(pagurus, "Go.");
    assert.deepEqual(seen[0]?.turn.tools.specs, []);
    const about = { runtime: "shell", cwd: bench.root };
    assert.deepEqual((await pagurus.native.tools(about)).specs, []);
    await assert.rejects(pagurus.native.tools({ ...about, runtime: "nobody" }), { code: "runtime_unknown" });
  });

  it("leaves more of the window to the conversation than one that gets the host's prompt", async () => {
    const plain = await open({});
    await bench.ask(plain, "Go.");
    const owns = await open({ ownsInstructions: true });
    await bench.ask(owns, "Go.");
    const [first = assert.fail(), second = assert.fail()] = seen.map(({ turn }) => turn);
    assert.match(first.instructions, /Write in verse/);
    assert.ok(first.tools.specs.length > 5);
    assert.ok(second.tokenBudget > first.tokenBudget + 1_000, `${second.tokenBudget} ${first.tokenBudget}`);
    assert.equal("systemPromptAddition" in (seen[0]?.context ?? {}), false);
  });

  it("counts its reported prompt tokens, in turns and between them", async () => {
    const asked: string[] = [];
    let known: number | undefined;
    const fixedTokens = (sessionKey: string): number | undefined => (asked.push(sessionKey), known);
    const pagurus = await open({ ownsInstructions: true, fixedTokens });
    await bench.ask(pagurus, "Go.");
    known = 20_000;
    await bench.ask(pagurus, "Go on.");
    const [first = assert.fail(), second = assert.fail()] = seen.map(({ turn }) => turn.tokenBudget);
    assert.ok(Math.abs(first - second - 20_000) < 100, `${first} ${second}`);
    assert.deepEqual(asked, ["main", "main"]);
    const preview = await pagurus.context.preview({ prompt: "Go.", cwd: bench.root });
    assert.equal(preview.receipt.tokenBudget, second);
  });
});
