/** Invalid input of library callers, and the errors for it. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { createPagurus } from "../../packages/app/src/create.ts";
import type { PluginTool } from "../../packages/contract/src/host/plugin.ts";
import type { RunRequest } from "../../packages/contract/src/host/run.ts";
import { Bench, eventsOf } from "./in-process.ts";

describe("a caller of the library", () => {
  let bench: Bench;
  afterEach(() => bench.end());

  it("is refused a key that a request or createPagurus() does not know, with the nearest one (finding D13)", async () => {
    bench = await Bench.with([]);
    const pagurus = await bench.host();
    const request = { prompt: "Hi", cwd: bench.root, sesionKey: "a" } as RunRequest;
    const last = (await eventsOf(pagurus.run(request))).at(-1);
    assert.ok(last?.type === "turn.failed");
    assert.equal(last.error.code, "usage_invalid");
    assert.match(last.error.message, /no key "sesionKey"; did you mean "sessionKey"\?/);
    assert.equal(bench.server.requests.length, 0);
    const options = { hom: bench.root } as object;
    await assert.rejects(createPagurus(options), { code: "usage_invalid", message: /did you mean "home"\?/ });
  });

  it("gets the reason why a named runtime is missing (finding D13)", async () => {
    bench = await Bench.with([]);
    for (const runtime of ["codex", "claude-cli", "acp"]) {
      const config = { plugins: { entries: { [runtime]: { enabled: false } } } };
      const pagurus = await bench.host({ more: { home: `${bench.root}/${runtime}`, config } });
      const last = (await eventsOf(pagurus.run({ prompt: "Hi", cwd: bench.root, runtime }))).at(-1);
      assert.ok(last?.type === "turn.failed");
      assert.equal(last.error.code, "runtime_unknown");
      assert.ok(
        last.error.message.includes(`plugins.entries.${runtime}.enabled is false`),
        last.error.message,
      );
    }
  });

  it("may declare a tool of its plugin read-only, which then needs no permission (finding D13)", async () => {
    const clock: PluginTool = {
      name: "clock",
      description: "The time.",
      parameters: { type: "object", properties: {} },
      readOnly: true,
      execute: () => Promise.resolve({ content: [{ type: "text", text: "noon" }], isError: false }),
    };
    bench = await Bench.with([{ toolCalls: [{ id: "c", name: "clock", arguments: {} }] }, { text: "Noon." }]);
    const pagurus = await bench.host({ plugin: (api) => api.registerTool(clock) });
    await bench.ask(pagurus, "Time?", { permission: "deny" });
    assert.equal(bench.body(1).messages.flatMap((message) => message.results)[0]?.text, "noon");
  });
});
