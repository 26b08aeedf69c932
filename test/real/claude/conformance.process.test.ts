/** The conformance suite over the real Claude Code: each check in its own host and home. */
import { createPagurus } from "../../../src/app.ts";
import { testHarness } from "../../../src/testkit/index.ts";
import { claudeBinary } from "../programs.ts";

const config = { command: claudeBinary() };

testHarness("claude-cli", {
  open: createPagurus,
  runtime: "claude-cli",
  api: "anthropic-messages",
  plugins: { entries: { "claude-cli": { config } } },
});
