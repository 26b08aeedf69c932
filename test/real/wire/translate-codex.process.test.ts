/** The real Codex on models that speak only Chat Completions or Messages. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { seen } from "../../../packages/testkit/src/endpoint/seen.ts";
import type { Protocol, ReplyStep } from "../../servers/server.ts";
import { TranslateBench } from "./translate-bench.ts";

const command = (id: string, cmd: string): NonNullable<ReplyStep["toolCalls"]>[number] => ({
  id,
  name: "exec_command",
  arguments: { cmd },
});

describe("Codex", () => {
  let bench: TranslateBench;
  afterEach(() => bench.end());

  for (const protocol of ["openai-completions", "anthropic-messages"] satisfies Protocol[]) {
    it(`works through shell calls, parallel ones too, to its answer on a model that speaks ${protocol}`, async () => {
      const steps: ReplyStep[] = [
        {
          thinking: { text: "First a file." },
          text: "I make a file.",
          toolCalls: [command("call_0", "echo whelk > found.txt")],
        },
        { toolCalls: [command("call_0", "cat found.txt; echo first"), command("call_1", "echo second")] },
        { text: "The whelk is found.", delayMs: 60 },
      ];
      bench = await TranslateBench.start("openai-responses", protocol, steps);
      const printed = await bench.codex("Find the whelk.");
      const events = printed
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as { type: string });
      assert.equal(events.at(-1)?.type, "turn.completed", printed);
      assert.match(printed, /The whelk is found\./);
      assert.equal(readFileSync(join(bench.cwd, "found.txt"), "utf8"), "whelk\n");
      assert.deepEqual(bench.kinds, ["main", "main", "main"]);
      assert.equal(bench.model.requests.length, 3);
      const [first, second, third] = bench.model.requests.map((request) => seen(request));
      assert.ok(first && second && third);
      assert.ok(first.tools.some(({ name }) => name === "exec_command"));
      assert.equal(first.items[0]?.role, "system");
      assert.ok(first.items.some(({ role, text }) => role === "user" && text.includes("Find the whelk.")));
      // Each request is a prefix of the next one, so that a provider's cache hits.
      assert.deepEqual(third.items.slice(0, second.items.length), second.items);
      const results = third.items.filter(({ role }) => role === "tool");
      assert.equal(results.length, 3);
      assert.match(results[1]?.text ?? "", /whelk\s+first/);
      assert.match(results[2]?.text ?? "", /second/);
      const calls = third.items.filter(({ role }) => role === "assistant").flatMap(({ callIds }) => callIds);
      assert.deepEqual(
        calls,
        results.flatMap(({ callIds }) => callIds),
      );
      assert.equal(new Set(calls).size, 3, "ids that the server used twice");
    });
  }

  // Codex asks a provider of this name for the compaction itself, and any other for a text.
  for (const name of ["OpenAI", "gateway"]) {
    it(`continues after a compaction that the model made for it, with a provider named ${name}`, async () => {
      const summary = "The whelk is behind the pier.";
      bench = await TranslateBench.start("openai-responses", "openai-completions", ({ text }, index) => {
        if (index === 0)
          return { toolCalls: [command("call_0", "echo first")], usage: { input: 50_000, output: 9 } };
        return { text: text.includes(summary) ? "It goes on." : summary };
      });
      const settings = "model_auto_compact_token_limit = 20000";
      const printed = await bench.codex("Find the whelk.", { name, settings });
      assert.match(printed, /It goes on\./);
      assert.deepEqual(bench.kinds, ["main", "compaction", "main"]);
      const prompt =
        name === "OpenAI" ? /Summarize the conversation so far/ : /CONTEXT CHECKPOINT COMPACTION/;
      assert.match(bench.model.requests[1]?.text ?? "", prompt);
    });
  }

  it("edits a file with its patch tool, where it is offered", async () => {
    const patch = "*** Begin Patch\n*** Add File: crab.txt\n+sideways\n*** End Patch";
    bench = await TranslateBench.start("openai-responses", "openai-completions", (request, index) => {
      const hasPatch = seen(request).tools.some(({ name }) => name === "apply_patch");
      if (index > 0) return { text: "Done." };
      const shell = command("call_0", `apply_patch <<'EOF'\n${patch}\nEOF`);
      return {
        toolCalls: [hasPatch ? { id: "call_0", name: "apply_patch", arguments: { input: patch } } : shell],
      };
    });
    const printed = await bench.codex("Write about the crab.");
    assert.ok(existsSync(join(bench.cwd, "crab.txt")), printed);
  });

  it("reports in its own words that the model refuses the key", async () => {
    bench = await TranslateBench.start("openai-responses", "openai-completions", [{ status: 401 }]);
    await assert.rejects(bench.codex("Find the whelk."), /refused the credentials/);
  });
});
