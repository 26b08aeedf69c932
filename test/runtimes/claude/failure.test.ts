import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { turnFailure } from "../../../packages/runtimes/src/claude/claude-failure.ts";

const CASES: [Record<string, unknown>, string][] = [
  [{ api_error_status: 400, result: "API Error: 400 bad" }, "model_bad_request"],
  [{ api_error_status: 401 }, "model_auth"],
  [{ api_error_status: 404 }, "model_unknown"],
  [{ api_error_status: 429, result: "API Error: Request rejected (429)" }, "model_rate_limited"],
  [{ api_error_status: 529 }, "model_unavailable"],
  [{ api_error: "connection_failed", result: "API Error: Connection refused" }, "model_unavailable"],
  [{ terminal_reason: "prompt_too_long", api_error_status: 400 }, "context_overflow"],
  [{ terminal_reason: "blocking_limit", result: "Prompt is too long" }, "context_overflow"],
  [{ stop_reason: "refusal", terminal_reason: "api_error" }, "model_refused"],
  [{ terminal_reason: "api_error", result: "API Error: Server error mid-response." }, "model_stream_cut"],
  [{ terminal_reason: "something_new" }, "runtime_failed"],
];

describe("An error of Claude Code", () => {
  for (const [result, code] of CASES)
    it(`${JSON.stringify(result)} is ${code}, in one sentence with a remedy`, () => {
      const error = turnFailure({ terminal_reason: "api_error", ...result });
      assert.equal(error.code, code);
      assert.match(
        error.message,
        /^Claude Code ended the turn with an error \(.+\): .+ The conversation is kept; .+\.$/,
      );
      assert.ok(!error.message.includes("API Error:"));
    });

  it("is a cut stream when a part of the answer had arrived", () => {
    assert.equal(turnFailure({ api_error: "connection_failed" }, true).code, "model_stream_cut");
  });
});
