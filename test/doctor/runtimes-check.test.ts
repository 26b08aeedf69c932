import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RuntimeFact } from "../../src/contract/runtimes.ts";
import { checkRuntimes } from "../../src/doctor/runtimes-check.ts";

function fact(id: string, program?: RuntimeFact["program"]): RuntimeFact {
  return {
    id,
    label: id,
    aliases: id === "embedded" ? ["pi"] : [],
    family: "embedded",
    execution: "in-process",
    seam: "native",
    capabilities: [],
    runs: { model: "openai/m", supported: true },
    ...(program ? { program } : {}),
  };
}

describe("the doctor on runtimes", () => {
  it("tells program, version and login, or why there is none", () => {
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

  it("tells why the model of a run is not where one may think", () => {
    const [only] = checkRuntimes({ facts: [fact("embedded")], config: {}, why: "Codex was found nowhere." });
    assert.deepEqual(
      [only?.level, only?.detail],
      ["info", "The model of a run is executed by embedded: Codex was found nowhere."],
    );
    assert.deepEqual(checkRuntimes(undefined), []);
  });

  it("names policies of runtimes that nobody has, wherever they stand", () => {
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
