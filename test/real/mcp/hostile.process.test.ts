/** Servers that misbehave, under the real Codex: the turn continues, and the model reads a sentence. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import type { McpServerConfig } from "../../../packages/core/src/config/config-types.ts";
import { child } from "../../mcp/client/hosted.ts";
import type { ReplyScript } from "../../servers/server.ts";
import { CodexBench, conversation } from "../codex/codex-bench.ts";
import { texts } from "./outcomes.ts";

function calls(...names: string[]): Awaited<ReturnType<Exclude<ReplyScript, readonly unknown[]>>> {
  return { toolCalls: names.map((name, index) => ({ id: `call_${index}`, name, arguments: {} })) };
}

describe("MCP servers that misbehave, in turns of the real Codex", () => {
  let bench: CodexBench | undefined;
  afterEach(() => bench?.end());

  async function hostWith(made: CodexBench, servers: Record<string, McpServerConfig>) {
    return await made.host({ more: { config: { ...made.config(), mcp: { servers } } } });
  }

  it("a hang, a crash and a flood are sentences in the next request", async () => {
    bench = await CodexBench.with((_request, index) =>
      index === 0
        ? calls("s__hang")
        : index === 1
          ? calls("s__crash")
          : index === 2
            ? calls("t__big")
            : { text: "Done." },
    );
    const pagurus = await hostWith(bench, {
      s: child("good", { timeoutMs: 500 }),
      t: child("good"),
      dead: child("dead"),
    });
    const events = await bench.ask(pagurus, "Use them.");
    assert.ok(
      events.some((event) => event.type === "context.degraded" && event.stage === "tools"),
      "what is missing is reported",
    );
    const [hung, crashed, flooded] = texts(events);
    assert.match(hung ?? "", /The MCP server "s" did not answer in time\./);
    assert.match(crashed ?? "", /The MCP server "s" ended with code 3; its last output was: out of cheese\./);
    assert.match(flooded ?? "", /characters left out/);
    const sent = JSON.stringify(bench.request(3).body["input"]);
    // Codex cuts a long output once more, in its own way.
    for (const words of ["did not answer in time", "out of cheese", "headxxx"])
      assert.ok(sent.includes(words), words);
  });

  it("changed tools are offered from the next turn on, with the whole conversation", async () => {
    bench = await CodexBench.with((_request, index) =>
      index === 0 ? calls("s__change") : index === 2 ? calls("s__fresh") : { text: `Answer ${index}.` },
    );
    const pagurus = await hostWith(bench, { s: child("good") });
    assert.deepEqual(texts(await bench.ask(pagurus, "First?")), ["changed"]);
    await wait(500);
    assert.deepEqual(texts(await bench.ask(pagurus, "Second?")), ["fresh"]);
    const offered = bench.server.requests.map(({ body }) => JSON.stringify(body["tools"]));
    assert.equal(offered[1], offered[0]);
    assert.match(offered[2] ?? "", /s__fresh/);
    assert.doesNotMatch(offered[2] ?? "", /s__crash/);
    const shown = conversation(bench.request(2)).filter((line) => line.startsWith("user: "));
    assert.deepEqual(shown, ["user: First?", "user: Second?"]);
  });
});
