/** The conformance suite over the real Codex with seam `wire`. */
import { createPagurus } from "../../../packages/app/src/app.ts";
import { testHarness } from "../../../packages/testkit/src/index.ts";
import { codexBinary } from "../codex-binary.ts";

const config = { command: codexBinary(), sandbox: "danger-full-access", context: "wire" };

testHarness("codex", {
  open: createPagurus,
  runtime: "codex",
  api: "openai-responses",
  plugins: { entries: { codex: { config } } },
});
