/**
 * The conformance suite over real agents: codex-acp, whose model is served at the suite's endpoint (`providers/set`), and claude-agent-acp, which
 * is pointed there by its environment. Every check passes. Starting the agents takes most of the time, so that several run in parallel.
 */
import { describe, it } from "node:test";
import { createPagurus } from "../../../packages/app/src/app.ts";
import { TRIED } from "../../../packages/core/src/data/tried-programs.ts";
import { harnessChecks, testHarness } from "../../../packages/testkit/src/index.ts";
import { FULL } from "../../runner/short-form.ts";
import { pinnedProgram, realProgram } from "../programs.ts";
import { openTranslated } from "./suite-endpoint.ts";

const codex = {
  command: realProgram("@agentclientprotocol/codex-acp", "codex-acp"),
  mode: "agent-full-access",
};

function suite(only: readonly string[]): void {
  const options = {
    open: openTranslated,
    runtime: "acp",
    api: "openai-responses" as const,
    plugins: { entries: { acp: { config: { agentId: "codex", agents: { codex } } } } },
    // The start of an agent on a busy machine is most of a check's waiting time.
    deadlineMs: 60_000,
    only,
  };
  testHarness("acp", options, (name, run) => void it(name, run));
}

const ids = harnessChecks().map(({ id }) => id);
/** These check all processes that this one has started. */
const isAlone = (id: string): boolean => id.startsWith("end.");

describe("the runtime acp on a real agent", { concurrency: 3 }, () =>
  suite(ids.filter((id) => !isAlone(id))),
);
describe("the end of the runtime acp on a real agent", () => suite(ids.filter(isAlone)));

/** Checks at which the agent's Claude Code differs from the one that the runtime `claude-cli` starts. */
const OWN_WAYS = ["turn.same-bytes", "maintain.not-after-failure", "compact.overflow", "usage.not-invented"];

describe("the runtime acp on claude-agent-acp", { concurrency: 3 }, () => {
  const { api, beside } = TRIED["claude-agent-acp"];
  // Claude Code requires the variable when it runs as root.
  const claude = { command: pinnedProgram("claude-agent-acp"), env: { IS_SANDBOX: "1" } };
  const options = {
    open: createPagurus,
    runtime: "acp",
    api,
    beside: new RegExp(beside),
    plugins: { entries: { acp: { config: { agentId: "claude", agents: { claude } } } } },
    deadlineMs: 120_000,
    only: FULL ? ids.filter((id) => !isAlone(id)) : OWN_WAYS,
  };
  testHarness("claude-agent-acp", options, (name, run) => void it(name, run));
});
