/** The real Claude Code on models that speak OpenAI's protocols. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { seen } from "../../../packages/testkit/src/endpoint/seen.ts";
import type { Protocol, ReplyStep } from "../../servers/server.ts";
import { TranslateBench } from "./translate-bench.ts";

const bash = (id: string, command: string): NonNullable<ReplyStep["toolCalls"]>[number] => ({
  id,
  name: "Bash",
  arguments: { command, description: "Looks." },
});

describe("Claude Code", () => {
  let bench: TranslateBench;
  afterEach(() => bench.end());

  for (const protocol of ["openai-responses", "openai-completions"] satisfies Protocol[]) {
    it(`works through shell calls, parallel ones too, to its answer on a model that speaks ${protocol}`, async () => {
      const steps: ReplyStep[] = [
        { text: "I make a file.", toolCalls: [bash("call_0", "echo whelk > found.txt")] },
        { toolCalls: [bash("call_1", "cat found.txt; echo first"), bash("call_2", "echo second")] },
        { text: "The whelk is found.", delayMs: 60 },
      ];
      bench = await TranslateBench.start("anthropic-messages", protocol, steps);
      const printed = JSON.parse(await bench.claude("Find the whelk.")) as Record<string, unknown>;
      assert.equal(printed["result"], "The whelk is found.", JSON.stringify(printed));
      assert.equal(printed["is_error"], false);
      assert.equal(readFileSync(join(bench.cwd, "found.txt"), "utf8"), "whelk\n");
      const [first, second, third] = bench.model.requests.map((request) => seen(request));
      assert.ok(first && second && third);
      assert.ok(first.tools.some(({ name }) => name === "Bash"));
      assert.ok(first.items.some(({ role, text }) => role === "user" && text.includes("Find the whelk.")));
      const results = third.items.filter(({ role }) => role === "tool");
      assert.deepEqual(
        results.map(({ callIds }) => callIds),
        [["call_0"], ["call_1"], ["call_2"]],
      );
      assert.match(results[1]?.text ?? "", /whelk\s+first/);
      assert.match(results[2]?.text ?? "", /second/);
    });
  }
});
