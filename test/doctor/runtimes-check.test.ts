import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RuntimeFact } from "../../packages/contract/src/harness/runtimes.ts";
import { checkPrograms } from "../../packages/doctor/src/programs-check.ts";
import { checkRuntimes } from "../../packages/doctor/src/runtimes-check.ts";
import { NativeThreads } from "../../packages/runtimes/src/codex/codex-native-threads.ts";
import { untriedNote } from "../../packages/core/src/data/tried-programs.ts";
import { CODEX_VERSION } from "../../packages/runtimes/src/codex/codex-version.ts";

function fact(id: string, program?: RuntimeFact["program"]): RuntimeFact {
  return {
    id,
    label: id,
    aliases: id === "embedded" ? ["pi"] : [],
    family: "embedded",
    execution: "in-process",
    seam: "embedded",
    capabilities: [],
    runs: { model: "openai/m", supported: true },
    ...(program ? { program } : {}),
  };
}

describe("the doctor on runtimes", () => {
  it("reports program, version and login, or why there is none", () => {
    const [ok, missing] = checkRuntimes({
      facts: [
        fact("embedded"),
        fact("codex", { program: "/bin/codex", version: "1.2.3", login: "not logged in" }),
        fact("other", { problem: "It is not installed." }),
      ],
      config: {},
    });
    assert.deepEqual([ok?.level, ok?.detail], ["ok", "codex: version 1.2.3 (/bin/codex), not logged in."]);
    assert.deepEqual(
      [missing?.level, missing?.detail],
      ["info", "other cannot be used: It is not installed."],
    );
  });

  it("names a version that the runtime was not made for, with a remedy", () => {
    const drift = untriedNote("codex", "0.1.2");
    assert.ok(drift);
    const [finding] = checkRuntimes({
      facts: [fact("codex", { program: "/bin/codex", version: "0.1.2", login: "not logged in", drift })],
      config: {},
    });
    assert.deepEqual(finding, {
      level: "warn",
      check: "runtimes",
      detail: "codex: version 0.1.2 (/bin/codex), not logged in.",
      fix: "Codex 0.1.2 runs, and Pagurus was tried with 0.169.0 to 0.171.0; pagurus runtimes test codex tries it.",
    });
    assert.equal(untriedNote("codex", CODEX_VERSION), undefined);
  });

  it("reports the version of the running program, from the runtime's own answer", async () => {
    const version = "0.1.2";
    const server = { version, request: () => Promise.resolve({ account: null }) };
    const servers = {
      find: () => ({ command: "/bin/codex", args: [] }),
      get: () => Promise.resolve(server),
    } as unknown as ConstructorParameters<typeof NativeThreads>[0];
    const program = await new NativeThreads(servers, "").program();
    const [finding] = checkRuntimes({ facts: [fact("codex", program)], config: {} });
    assert.equal(finding?.level, "warn");
    assert.match(finding?.fix ?? "", /^Codex 0\.1\.2 runs, and Pagurus was tried with /);
  });

  it("reports a program once: its runtime's answer is not queried again", async () => {
    const findings = await checkPrograms({ PATH: "" }, 100, ["codex", "claude-cli"]);
    assert.deepEqual(
      findings.filter(({ detail }) => /^(?:codex|claude) /.test(detail)),
      [],
    );
  });

  it("reports why the model of a run is in an unexpected runtime", () => {
    const [only] = checkRuntimes({ facts: [fact("embedded")], config: {}, why: "Codex was found nowhere." });
    assert.deepEqual(
      [only?.level, only?.detail],
      ["info", "The model of a run is executed by embedded: Codex was found nowhere."],
    );
    assert.deepEqual(checkRuntimes(undefined), []);
  });

  it("reports policies of unregistered runtimes at any place", () => {
    const use = (id: string): object => ({ agentRuntime: { id } });
    const findings = checkRuntimes({
      facts: [fact("embedded"), fact("codex")],
      config: {
        agents: {
          defaults: { models: { "openai/*": use("auto"), "vllm/*": use("PI") } },
          list: [{ id: "a", models: { "anthropic/*": use("claude-cli") } }],
        },
        models: { providers: { openai: { ...use("codex"), models: [{ id: "m", ...use("gone") }] } } },
      },
    });
    assert.deepEqual(
      findings.map(({ level, detail }) => [level, detail.split(", which")[0]]),
      [
        ["warn", 'agents.list[0].models["anthropic/*"].agentRuntime.id is "claude-cli"'],
        ["warn", 'models.providers.openai.models[0].agentRuntime.id is "gone"'],
      ],
    );
  });
});
