import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { turnFailure } from "../../../packages/runtimes/src/codex/codex-failure.ts";

const PAGE =
  "unexpected status 502 Bad Gateway: <html><head><style>b { color: red }</style></head><body><h1>Gone</h1>\n<b>away</b></body></html>, url: http://localhost/";

describe("an error of Codex", () => {
  it("has the endpoint's message when Codex passes on the whole body", () => {
    const body = JSON.stringify({ error: { message: "No such tool type.", code: null } });
    const { code, message } = turnFailure({ message: body, codexErrorInfo: "other" });
    assert.equal(code, "model_bad_request");
    assert.match(message, /\(other\): No such tool type\. The conversation is kept; /);
  });

  it("is one line without markup when a proxy answered", () => {
    const info = { httpConnectionFailed: { httpStatusCode: 502 } };
    const { code, message, details } = turnFailure({ message: PAGE, codexErrorInfo: info });
    assert.equal(code, "model_unavailable");
    assert.match(message, /: unexpected status 502 Bad Gateway: Gone away , url: http/);
    assert.deepEqual(details, { codexError: "httpConnectionFailed", status: 502 });
  });

  it("is cut when it is endless", () => {
    const { message } = turnFailure({ message: "x".repeat(10_000), codexErrorInfo: "other" });
    assert.ok(message.length < 600);
  });

  it("has a fallback text when Codex gives no message", () => {
    const { code, message } = turnFailure(null);
    assert.equal(code, "runtime_failed");
    assert.match(message, /it gave no reason\. /);
  });

  for (const [info, code, advice] of [
    [{ httpConnectionFailed: { httpStatusCode: 401 } }, "model_auth", /log in with `codex login`/],
    ["unauthorized", "model_auth", /check the key/],
    [{ responseTooManyFailedAttempts: { httpStatusCode: 429 } }, "model_rate_limited", /wait a while/],
    ["usageLimitExceeded", "model_rate_limited", /choose another model/],
    ["internalServerError", "model_unavailable", /check the network/],
    ["contextWindowExceeded", "context_overflow", /send the request again/],
    ["somethingNew", "runtime_failed", /send the request again/],
  ] as const)
    it(`${JSON.stringify(info)} is ${code}, with a remedy`, () => {
      const failure = turnFailure({ message: "It failed.", codexErrorInfo: info });
      assert.equal(failure.code, code);
      assert.match(failure.message, advice);
    });
});
