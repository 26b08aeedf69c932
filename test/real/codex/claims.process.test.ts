/** Models of openai without a policy, where the real Codex is installed: with a key of the host, and with Codex's own access. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import { codexBinary } from "../codex-binary.ts";
import { CodexBench, conversation } from "./codex-bench.ts";

const REF = "openai/gpt-5.5";

describe("openai on the real Codex", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  function host(provider: Record<string, unknown>): Promise<Pagurus> {
    return bench.host({
      more: {
        config: {
          models: { providers: { openai: provider } },
          agents: { defaults: { model: REF, permission: { mode: "auto" } } },
          plugins: {
            slots: { contextEngine: "lossless" },
            entries: { codex: { config: { command: codexBinary(), sandbox: "danger-full-access" } } },
          },
          logging: { level: "silent" },
        },
      },
    });
  }

  it("is claimed where the host has a key, with the reason", async () => {
    bench = await CodexBench.with(() => ({ text: "Claimed." }));
    const pagurus = await host({ baseUrl: bench.server.url, apiKey: "test-key" });
    const last = (await bench.ask(pagurus, "Who runs this?")).at(-1);
    assert.ok(last?.type === "turn.completed");
    assert.deepEqual([last.runtime, last.model], ["codex", REF]);
    assert.deepEqual(last.runtimeReason, { rule: "claim", source: "claimed by codex" });
    assert.equal(bench.request(0).headers["authorization"], "Bearer test-key");
    const explicit = (await bench.ask(pagurus, "And now?", { runtime: "openclaw" })).at(-1);
    assert.ok(explicit?.type === "turn.completed" && explicit.runtime === "embedded");
    const next = (await bench.ask(pagurus, "And again?")).at(-1);
    assert.ok(next?.type === "turn.completed" && next.runtime === "codex");
  });

  it("is claimed without a key of the host where Codex has its own access", async () => {
    bench = await CodexBench.with(() => ({ text: "By itself." }));
    mkdirSync(join(bench.root, "codex"), { recursive: true });
    writeFileSync(
      join(bench.root, "codex", "config.toml"),
      [
        'model_provider = "own"',
        "[model_providers.own]",
        'name = "own"',
        `base_url = "${bench.server.url}"`,
        'wire_api = "responses"',
        'http_headers = { authorization = "Bearer codex-own" }',
        "",
      ].join("\n"),
    );
    const pagurus = await host({});
    const events = await bench.ask(pagurus, "Who pays?");
    const last = events.at(-1);
    assert.ok(last?.type === "turn.completed" && last.runtime === "codex");
    assert.equal(bench.request(0).headers["authorization"], "Bearer codex-own");
    assert.equal(bench.request(0).body["model"], "gpt-5.5");
    assert.deepEqual(conversation(bench.request(0)), ["user: Who pays?"]);
    const refused = await pagurus.runtimes.explain({ runtime: "embedded" });
    assert.match(refused.problem?.message ?? "", /belongs to Codex/);
  });

  it("reports program, version and login", async () => {
    bench = await CodexBench.with(() => ({ text: "Done." }));
    const pagurus = await host({ baseUrl: bench.server.url, apiKey: "test-key" });
    const [codex] = (await pagurus.runtimes.list({ programs: true })).filter(({ id }) => id === "codex");
    assert.ok(codex?.program && "version" in codex.program, JSON.stringify(codex));
    assert.match(codex.program.version, /^\d+\.\d+\.\d+/);
    assert.notEqual(codex.program.login, "");
    assert.equal(codex.runs.supported, true);
  });
});
