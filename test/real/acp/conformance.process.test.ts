/**
 * The conformance suite over a real agent: codex-acp, whose model is served at the suite's endpoint (`providers/set`). Every
 * check passes. Starting the agent takes most of the time, so that several run in parallel.
 */
import { describe, it } from "node:test";
import { harnessChecks, testHarness } from "../../../packages/testkit/src/index.ts";
import { realProgram } from "../programs.ts";
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
