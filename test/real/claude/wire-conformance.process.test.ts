/** The conformance suite over the real Claude Code, whose contexts go through the model gateway. */
import { createPagurus } from "../../../packages/app/src/app.ts";
import { testHarness } from "../../../packages/testkit/src/index.ts";
import { claudeBinary } from "../programs.ts";

const config = { command: claudeBinary(), context: "wire" };

testHarness("claude-cli at the model gateway", {
  open: createPagurus,
  runtime: "claude-cli",
  api: "anthropic-messages",
  plugins: { entries: { "claude-cli": { config } } },
});
