/** The conformance suite over the real Codex: each check in its own host and home. */
import { createPagurus } from "../../../packages/app/src/app.ts";
import { testHarness } from "../../../packages/testkit/src/index.ts";
import { codexBinary } from "../codex-binary.ts";

const config = { command: codexBinary(), sandbox: "danger-full-access" };

testHarness("codex", {
  open: createPagurus,
  runtime: "codex",
  api: "openai-responses",
  plugins: { entries: { codex: { config } } },
});
