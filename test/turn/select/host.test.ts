/** How a host reports its choice of runtime: in the result of a turn, in `status`, in `runtimes`. */
import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createPagurus } from "../../../packages/app/src/app.ts";
import { statusText } from "../../../packages/host/src/command/status-text.ts";
import type { Pagurus, PagurusOptions } from "../../../packages/contract/src/host/host.ts";
import { startServer } from "../../servers/server.ts";
import { Bench, eventsOf } from "../in-process.ts";

const REF = "openai/gpt-5.5";

describe("a model of openai", () => {
  let bench: Bench;
  let hosts: Pagurus[] = [];
  beforeEach(async () => {
    bench = new Bench(await startServer({ protocol: "openai-responses", script: () => ({ text: "Done." }) }));
  });
  afterEach(async () => {
    for (const each of hosts) await each.close();
    hosts = [];
    await bench.end();
  });

  async function host(
    codex: Record<string, unknown>,
    more: {
      defaults?: Record<string, unknown>;
      plugins?: Record<string, unknown>;
      key?: boolean;
      env?: PagurusOptions["env"];
    } = {},
  ): Promise<Pagurus> {
    const made = await createPagurus({
      home: join(bench.root, "home"),
      env: { PATH: "", HOME: bench.root, PAGURUS_NO_PROBE: "1", ...more.env },
      config: {
        session: { scope: "main" },
        models: {
          providers: {
            openai: { baseUrl: bench.server.url, ...(more.key === false ? {} : { apiKey: "test-key" }) },
          },
        },
        agents: { defaults: { model: REF, permission: { mode: "auto" }, ...more.defaults } },
        plugins: { ...more.plugins, slots: { contextEngine: "legacy" }, entries: { codex } },
        logging: { level: "silent" },
      },
    });
    hosts.push(made);
    return made;
  }

  function program(): string {
    const file = join(bench.root, "codex");
    writeFileSync(file, "#!/bin/sh\nexit 70\n");
    chmodSync(file, 0o755);
    return file;
  }

  it("runs in embedded when Codex is missing: the result, status and the explanation have the reason", async () => {
    const pagurus = await host({ config: { command: join(bench.root, "none") } });
    const events = await eventsOf(pagurus.run({ prompt: "Hello.", cwd: bench.root }));
    const last = events.at(-1);
    assert.ok(last?.type === "turn.completed", JSON.stringify(last));
    assert.equal(last.runtime, "embedded");
    const why = last.runtimeReason?.why ?? "";
    assert.match(why, /The configured Codex program `.*` is not there/);
    assert.deepEqual(last.runtimeReason, { rule: "compatibility", source: "compatibility runtime", why });

    const report = await pagurus.status({ cwd: bench.root });
    assert.deepEqual(report.Runtime, { id: "embedded", rule: "compatibility runtime", why });
    assert.ok(statusText(report).includes(`${why.slice(0, 60)}`));

    const explained = await pagurus.runtimes.explain();
    assert.deepEqual(
      [explained.runtime?.id, explained.runtime?.rule, explained.runtime?.why],
      ["embedded", "compatibility", why],
    );
    assert.deepEqual(
      explained.steps.filter(({ outcome }) => outcome === "declined").map(({ detail }) => detail),
      [why],
    );
    const [codex] = (await pagurus.runtimes.list()).filter(({ id }) => id === "codex");
    assert.deepEqual(codex?.runs, { model: REF, supported: false, reason: why });
  });

  it("is claimed by Codex when its program exists, without starting it", async () => {
    const pagurus = await host({ config: { command: program() } });
    assert.deepEqual((await pagurus.status({ cwd: bench.root })).Runtime, {
      id: "codex",
      rule: "claimed by codex",
    });
    const { runtime } = await pagurus.runtimes.explain({ runtime: "openclaw" });
    assert.deepEqual([runtime?.id, runtime?.rule], ["embedded", "run"]);
    assert.equal((await pagurus.runtimes.explain({ model: "codex/gpt-5.5" })).runtime?.rule, "ref");
    assert.equal(bench.server.requests.length, 0);
  });

  it("never leaves Codex for another runtime when it was named, and nothing is stored", async () => {
    const pagurus = await host({ config: { command: join(bench.root, "none") } });
    const [failed] = (
      await eventsOf(pagurus.run({ prompt: "Hello.", cwd: bench.root, runtime: "codex" }))
    ).slice(-1);
    assert.ok(failed?.type === "turn.failed");
    assert.equal(failed.error.code, "runtime_unsupported");
    assert.deepEqual(pagurus.sessions().list(), []);
    assert.equal(bench.server.requests.length, 0);
    // Named by one run; the next is selected again.
    const next = (await eventsOf(pagurus.run({ prompt: "Hello.", cwd: bench.root }))).at(-1);
    assert.ok(next?.type === "turn.completed" && next.runtime === "embedded");
  });

  for (const [how, off, left] of [
    ["is off", { enabled: false }, ["embedded", "claude-cli", "acp"]],
    ["is denied", { plugins: { deny: ["codex"] } }, ["embedded", "claude-cli", "acp"]],
    ["is not among those that are allowed", { plugins: { allow: ["another"] } }, ["embedded"]],
  ] as const) {
    it(`runs in embedded when the plugin codex ${how}`, async () => {
      const { plugins, ...entry } = { plugins: {}, ...off };
      const pagurus = await host({ ...entry, config: { command: program() } }, { plugins });
      const { Runtime } = await pagurus.status({ cwd: bench.root });
      assert.equal(Runtime.id, "embedded");
      assert.match(Runtime.why ?? "", /turned off/);
      assert.deepEqual(
        (await pagurus.runtimes.list()).map(({ id }) => id),
        left,
      );
    });
  }

  it("is Codex's when its plugin is among those that are allowed", async () => {
    const pagurus = await host({ config: { command: program() } }, { plugins: { allow: ["codex"] } });
    assert.equal((await pagurus.status({ cwd: bench.root })).Runtime.id, "codex");
  });

  it("is refused with one sentence when only Codex has a login and embedded was named", async () => {
    const pagurus = await host({}, { key: false, env: { OPENAI_BASE_URL: "" } });
    const explained = await pagurus.runtimes.explain({ model: "openai-codex/gpt-5.5", runtime: "embedded" });
    assert.equal(explained.runtime, undefined);
    assert.equal(explained.problem?.code, "runtime_unsupported");
    assert.match(explained.problem?.message ?? "", /^The login of openai-codex\/gpt-5\.5 belongs to Codex, /);
    assert.doesNotMatch(explained.problem?.message ?? "", /\. /);
    assert.deepEqual([explained.model, explained.writtenAs], [REF, "openai-codex/gpt-5.5"]);
  });

  it("ignores pins of whole agents and of the environment, and names them", async () => {
    const pagurus = await host(
      { config: { command: join(bench.root, "none") } },
      {
        defaults: { agentRuntime: { id: "codex" }, embeddedHarness: { runtime: "codex" } },
        env: { OPENCLAW_AGENT_RUNTIME: "codex" },
      },
    );
    const { runtime, ignored } = await pagurus.runtimes.explain();
    assert.equal(runtime?.id, "embedded");
    assert.deepEqual(
      ignored.map((sentence) => /^(?:The environment variable )?(\S+)/.exec(sentence)?.[1]),
      ["agents.defaults.agentRuntime", "agents.defaults.embeddedHarness", "OPENCLAW_AGENT_RUNTIME"],
    );
  });
});
