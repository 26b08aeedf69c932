/** The conformance suite over the real Claude Code: each check in its own host and home. */
import { createPagurus } from "../../../packages/app/src/app.ts";
import { testHarness } from "../../../packages/testkit/src/index.ts";
import { claudeBinary } from "../programs.ts";

const config = { command: claudeBinary() };

testHarness("claude-cli", {
  open: createPagurus,
  runtime: "claude-cli",
  api: "anthropic-messages",
  plugins: { entries: { "claude-cli": { config } } },
});
