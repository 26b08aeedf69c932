/** The skill `choose-runtime`: the turns that it costs tokens, and whether each of its rules is true of this host. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { codexCommand } from "../../packages/host/src/command/codex-command.ts";
import type { AgentHarness } from "../../packages/contract/src/harness/harness.ts";
import type { TurnEvent } from "../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import { checkConfig } from "../../packages/core/src/config/config-problems.ts";
import { parseKeyPath } from "../../packages/core/src/config/key-path.ts";
import { repairText } from "../../packages/importers/src/old-keys/legacy-repair.ts";
import { KNOWN_IDS } from "../../packages/runtimes/src/acp/agents/known-agents.ts";
import { BUNDLED_SKILLS, isAboutSkills } from "../../packages/host/src/skill/bundled-skills.ts";
import { HARNESS_CONTRACT } from "../../packages/contract/src/version.ts";
import { Bench } from "../turn/in-process.ts";
import { modelConfig } from "../turn/setting.ts";
import { startWith } from "../turn/start-with.ts";

const FILE = join(BUNDLED_SKILLS, "choose-runtime/SKILL.md");
const TEXT = readFileSync(FILE, "utf8");
const SHOWN = /<skill_choose_runtime>The skill choose-runtime: .*SKILL\.md\)<\/skill_choose_runtime>/;

let bench: Bench;
let reads = false;
/** Hooks of the suite that calls it: at the top level they would run around the tests of other files, too. */
function usesBench(): void {
  beforeEach(async () => {
    reads = false;
    bench = await Bench.with(() => {
      const now = reads;
      reads = false;
      return now ? { toolCalls: [{ id: "c1", name: "read", arguments: { path: FILE } }] } : { text: "Done." };
    });
  });
  afterEach(() => bench.end());
}

function sent(index = -1): string {
  return JSON.stringify(bench.body(index));
}

function resultOf(events: readonly TurnEvent[]): string {
  const found = events.find((event) => event.type === "message" && event.message.role === "toolResult");
  return JSON.stringify(found);
}

describe("the skill choose-runtime", () => {
  usesBench();

  it("costs a turn that is not about it nothing: no byte of its request names it", async () => {
    const host = await bench.host();
    for (const prompt of [
      "Fix the failing test",
      "Move the cursor to the end of src/runtimes/codex/a.ts",
      "Encode it",
    ]) {
      await bench.ask(host, prompt);
      assert.doesNotMatch(sent(), /choose-runtime/, prompt);
    }
    assert.equal((await host.skills()).tokens, 0);
  });

  it("is named once by a turn that is about it, beside its message, and leaves the instructions as they are", async () => {
    const host = await bench.host();
    await bench.ask(host, "Hello");
    const { system } = bench.body(-1);
    await bench.ask(host, "Run the next one with Codex");
    assert.match(sent(), SHOWN);
    assert.equal(bench.body(-1).system, system);
    await bench.ask(host, "And use Claude Code for that");
    assert.equal(sent().split("<skill_choose_runtime>").length, 2, "once, not for each message");
  });

  it("reaches a runtime that passes additional context on by itself", async () => {
    const sets: unknown[] = [];
    const runtime: AgentHarness = {
      id: "other",
      label: "Other",
      contract: HARNESS_CONTRACT,
      execution: { kind: "in-process" },
      seam: "thread",
      capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain", "compact"],
      supports: () => ({ supported: true }),
      start: startWith(async (turn) => {
        await turn.context.assemble();
        sets.push(turn.context.additionalContext);
        return { stopReason: "stop", usage: { input: 1, output: 1, totalTokens: 2 } };
      }),
    };
    const host = await bench.host({ more: { harnesses: [runtime] } });
    const tab = { tab: { value: "CI", kind: "untrusted" as const } };
    await bench.ask(host, "Hello", { runtime: "other" });
    await bench.ask(host, "Use Codex", { runtime: "other", additionalContext: tab });
    assert.equal(sets[0], null);
    assert.deepEqual(Object.keys(sets[1] ?? {}), ["tab", "skill_choose_runtime"]);
  });

  it("can be read without a permission", async () => {
    const host = await bench.host({ defaults: { permission: { mode: "deny" } } });
    reads = true;
    const result = resultOf(await bench.ask(host, "Which runtime is this?"));
    assert.match(result, /Take the first rule that matches the request/);
  });

  it("is not named where its entry is off, where a skill of the user has its name, and to other people", async () => {
    const off = { skills: { entries: { "choose-runtime": { enabled: false } } } };
    const config = modelConfig("openai-completions", bench.server.url, {}, off);
    await bench.ask(await bench.host({ more: { config } }), "Run it with Codex");
    assert.doesNotMatch(sent(), /choose-runtime/);

    const host = await bench.host();
    await bench.ask(host, "Run it with Codex", { audience: "group", sessionKey: "group" });
    assert.doesNotMatch(sent(), /choose-runtime/);

    const own = join(bench.root, "home/skills/choose-runtime");
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, "SKILL.md"), "---\nname: choose-runtime\ndescription: Mine.\n---\n");
    await bench.ask(host, "Run it with Codex", { sessionKey: "own" });
    assert.doesNotMatch(sent(), SHOWN);
    assert.match(bench.body(-1).system, /choose-runtime: Mine\./);
  });

  it("is listed as on demand", async () => {
    const { skills } = await (await bench.host()).skills();
    assert.deepEqual(
      skills.map(({ name, state, path }) => [name, state, path]),
      [["choose-runtime", "on-demand", FILE]],
    );
  });
});

describe("the words that make a turn one about runtimes", () => {
  for (const words of [
    "bind my Codex thread",
    "use acpx for this",
    "with Claude Code, please",
    "does gemini cli work?",
    "try OpenCode",
    "let Cursor do it",
    "ask Droid",
    "Which runtimes are there?",
    "an agent harness",
  ])
    it(`include those of "${words}"`, () => assert.ok(isAboutSkills(words)));

  for (const words of ["src/codex/index.ts", "codex.md", "a cursor", "my-codex-fork", "runtimeError", ""])
    it(`leave out those of "${words}"`, () => assert.ok(!isAboutSkills(words)));
});

describe("each rule of the skill", () => {
  usesBench();

  const hosts: Pagurus[] = [];
  afterEach(async () => {
    for (const host of hosts.splice(0)) await host.close();
  });

  /** Id of the runtime that runs a model of OpenAI where Codex is installed. */
  async function runtimeOf(
    model: string,
    defaults: Record<string, unknown> = {},
  ): Promise<string | undefined> {
    const command = join(bench.root, "codex");
    writeFileSync(command, "#!/bin/sh\nexit 70\n");
    chmodSync(command, 0o755);
    const agents = { hermit: { command: process.execPath } };
    const config = {
      models: { providers: { openai: { baseUrl: bench.server.url, apiKey: "k" } } },
      agents: { defaults: { model, ...defaults } },
      plugins: {
        slots: { contextEngine: "legacy" },
        entries: { codex: { config: { command } }, acp: { config: { agents } } },
      },
      logging: { level: "silent" },
    };
    const host = await bench.host({ more: { config } });
    return (await host.runtimes.explain({ model })).runtime?.id;
  }

  it("1: /codex has every subcommand that it names", () => {
    const named = [...TEXT.matchAll(/`\/codex ([a-z]+)/g)].map(([, name = ""]) => name);
    assert.deepEqual(named, ["threads", "bind", "resume", "steer", "stop"]);
    const known = codexCommand.usage.split("|");
    for (const name of named) assert.ok(known.includes(name), name);
  });

  it("2: Codex runs a model of OpenAI where it is installed", async () => {
    assert.equal(await runtimeOf("openai/gpt-5.5"), "codex");
  });

  it("3: the policy that it names keeps the model and takes the built-in loop", async () => {
    const [, key = ""] = /pagurus config set '([^']+)' embedded/.exec(TEXT) ?? [];
    const path = parseKeyPath(key.replace("<model>", "gpt-5.5"));
    assert.deepEqual(path, ["agents", "defaults", "models", "openai/gpt-5.5", "agentRuntime", "id"]);
    const models = { "openai/gpt-5.5": { agentRuntime: { id: "embedded" } } };
    assert.equal(await runtimeOf("openai/gpt-5.5", { models }), "embedded");
  });

  it("4: doctor repairs each old ref that it names", () => {
    const [line = ""] = /\*\*Old refs.*\)/.exec(TEXT) ?? [];
    const refs = [...line.matchAll(/`([a-z-]+)\/\*`/g)].map(([, provider = ""]) => `${provider}/some-model`);
    assert.equal(refs.length, 4);
    for (const model of refs) {
      const { after } = repairText(JSON.stringify({ agents: { defaults: { model } } }), "pagurus.json");
      const repaired = (JSON.parse(after) as { agents: { defaults: { model: string } } }).agents.defaults
        .model;
      assert.match(repaired, /^(?:openai|anthropic)\/some-model$/, model);
    }
  });

  it("5: the policy for ACP is valid, and its agent is known", () => {
    const [, id, agentId = ""] = /agentRuntime: \{ id: "(acp)", agentId: "(\w+)" \}/.exec(TEXT) ?? [];
    const models = { "openai/gpt-5.5": { agentRuntime: { id, agentId } } };
    assert.deepEqual(checkConfig({ agents: { defaults: { models } } }).problems, []);
    assert.ok(KNOWN_IDS.includes(agentId));
  });

  it("6: the external programs that it names are known to ACP, and another is taken by its command", () => {
    const [, listed = ""] = /`agentId` of that program \(([^;]+);/s.exec(TEXT) ?? [];
    const ids = [...listed.matchAll(/`(\w+)`/g)].map(([, id = ""]) => id);
    assert.deepEqual(ids, ["claude", "gemini", "opencode", "droid"]);
    for (const id of ids) assert.ok(KNOWN_IDS.includes(id), id);
    const entries = { acp: { config: { agents: { cursor: { command: "cursor-agent", args: ["acp"] } } } } };
    assert.deepEqual(checkConfig({ plugins: { entries } }).problems, []);
  });
});
