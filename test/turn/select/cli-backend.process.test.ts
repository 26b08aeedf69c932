import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { ContextEngine, ContextEngineInfo } from "../../../packages/contract/src/engine/engine.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import { eventsOf } from "../in-process.ts";
import { scriptedCli } from "./scripted-cli.ts";

const REF = "anthropic/claude-opus-4-7";

describe("a CLI backend", () => {
  let root = "";
  let started = { count: 0 };
  let hosts: Pagurus[] = [];
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "pagurus-cli-backend-"));
    started = { count: 0 };
  });
  afterEach(async () => {
    for (const host of hosts) await host.close();
    hosts = [];
    rmSync(root, { recursive: true, force: true });
  });

  async function host(
    models: Record<string, unknown>,
    needs?: ContextEngineInfo["hostRequirements"],
  ): Promise<Pagurus> {
    const engine: ContextEngine = {
      info: { id: "mine", name: "Mine", ...(needs ? { hostRequirements: needs } : {}) },
      ingest: () => Promise.resolve({ ingested: true }),
      assemble: ({ messages }) => Promise.resolve({ messages, estimatedTokens: 0 }),
      compact: () => Promise.resolve({ ok: true, compacted: false }),
    };
    const made = await createPagurus({
      home: join(root, "home"),
      env: { PATH: "", HOME: root, PAGURUS_NO_PROBE: "1" },
      harnesses: [scriptedCli(started)],
      engines: { mine: () => engine },
      config: {
        session: { scope: "main" },
        agents: { defaults: { model: REF, models, permission: { mode: "auto" } } },
        plugins: { slots: { contextEngine: "mine" } },
        logging: { level: "silent" },
      },
    });
    hosts.push(made);
    return made;
  }

  it("executes a model whose ref is unchanged", async () => {
    const pagurus = await host({ [REF]: { agentRuntime: { id: "scripted-cli" } } });
    const last = (await eventsOf(pagurus.run({ prompt: "Say crab", cwd: root }))).at(-1);
    assert.ok(last?.type === "turn.completed", JSON.stringify(last));
    assert.deepEqual([last.runtime, last.model, started.count], ["scripted-cli", REF, 1]);
    const [session] = pagurus.sessions().list();
    const reader = pagurus.sessions().openReader(session?.sessionKey ?? "");
    const shown = JSON.stringify(reader.contextMessages().messages);
    reader.close();
    assert.match(shown, /You said crab/);
  });

  it("is no embedded harness: it claims no model, and no model falls back to it", async () => {
    const pagurus = await host({ [REF]: { agentRuntime: { id: "auto" } } });
    const { runtime, steps, problem } = await pagurus.runtimes.explain();
    assert.equal(runtime, undefined);
    assert.equal(problem?.code, "credential_missing");
    assert.ok(!steps.some(({ source }) => source.includes("scripted-cli")));
    const cli = (await pagurus.runtimes.list()).find(({ id }) => id === "scripted-cli");
    assert.equal(cli?.family, "cli");
  });

  it("is refused before its process starts when the engine has to assemble the prompt", async () => {
    const pagurus = await host(
      { "anthropic/*": { agentRuntime: { id: "scripted-cli" } } },
      {
        "agent-run": {
          requiredCapabilities: ["assemble-before-prompt"],
          unsupportedMessage: "Mine writes the prompt itself.",
        },
      },
    );
    const last = (await eventsOf(pagurus.run({ prompt: "Say crab", cwd: root }))).at(-1);
    assert.ok(last?.type === "turn.failed");
    assert.equal(last.error.code, "host_requirement");
    assert.equal(
      last.error.message,
      'The engine "mine" needs assemble-before-prompt for agent-run, which the runtime "scripted-cli" does not have. ' +
        "Mine writes the prompt itself. " +
        "Runtimes that have all of it for anthropic/claude-opus-4-7: embedded (--runtime, or agentRuntime.id of the model).",
    );
    assert.equal(started.count, 0);
    assert.deepEqual(pagurus.sessions().list(), []);
    const { runtime, problem } = await pagurus.runtimes.explain();
    assert.deepEqual([runtime?.id, problem], ["scripted-cli", last.error]);
  });

  it("is refused for a compaction that the engine needs it for, and runs turns", async () => {
    const pagurus = await host(
      { "anthropic/*": { agentRuntime: { id: "scripted-cli" } } },
      { "manual-compact": { requiredCapabilities: ["compact"] } },
    );
    const last = (await eventsOf(pagurus.run({ prompt: "Say crab", cwd: root }))).at(-1);
    assert.equal(last?.type, "turn.completed");
    await assert.rejects(pagurus.compact({ cwd: root }), {
      code: "host_requirement",
      message: /needs compact for compaction, .* Runtimes that have all of it for /,
    });
  });
});
