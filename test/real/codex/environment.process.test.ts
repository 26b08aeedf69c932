/** What Codex's commands see of the host's environment. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { CodexBench, conversation } from "./codex-bench.ts";

describe("a command of Codex", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  it("sees no key of another provider and no token of the user's, but the configured variables (finding F10)", async () => {
    bench = await CodexBench.with((_request, index) =>
      index === 0
        ? { toolCalls: [{ id: "call", name: "exec_command", arguments: { cmd: "env" } }] }
        : { text: "Done." },
    );
    const config = bench.config() as { agents: { defaults: { permission: object } } };
    Object.assign(config.agents.defaults.permission, { shellEnv: ["MY_*"] });
    const env = {
      ...bench.env,
      ANTHROPIC_API_KEY: "hidden-1",
      GITHUB_TOKEN: "hidden-2",
      AWS_SECRET_ACCESS_KEY: "hidden-3",
      DATABASE_URL: "hidden-4",
      MY_ONE: "shown-1",
      HTTPS_PROXY: "http://127.0.0.1:1",
    };
    const pagurus = await bench.host({ more: { env, config } });
    await bench.ask(pagurus, "Begin.");
    const result = conversation(bench.request(-1)).find((line) => line.startsWith("result")) ?? "";
    assert.match(result, /MY_ONE=shown-1/);
    assert.match(result, new RegExp(`HOME=${bench.root}`));
    assert.doesNotMatch(result, /hidden/);
  });
});
