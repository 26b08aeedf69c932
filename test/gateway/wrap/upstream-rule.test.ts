import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { WireApi } from "../../../packages/contract/src/harness/wire.ts";
import type { WrappedProgram, WrapProvider } from "../../../packages/contract/src/harness/wrap.ts";
import { checkUpstream, type UpstreamQuestion } from "../../../packages/gateway/src/wrap/upstream-rule.ts";

function check(
  provider: Partial<WrapProvider>,
  { more, ...rest }: Partial<UpstreamQuestion> & { more?: Partial<WrappedProgram> } = {},
): () => void {
  const program: WrappedProgram = {
    provider: { id: "anthropic", baseUrl: "https://api.anthropic.com/v1", ...provider },
    cwd: "/",
    models: [],
    launch: () => Promise.reject(new Error("not started")),
    ...more,
  };
  const api: WireApi = "anthropic-messages";
  return () => checkUpstream({ program, api, label: "Claude Code", folderTrusted: false, ...rest });
}

const LOGIN = { refusal: { kind: "login", reason: "", login: "anthropic" } } as const;
const ELSEWHERE = { baseUrl: "http://127.0.0.1:18777/v1" };
const REFUSED = { code: "runtime_unsupported", message: /127\.0\.0\.1:18777/ };

describe("the address of a wrapped program's requests", () => {
  it("is the user's own choice where its settings, its environment or its arguments name it", () => {
    for (const from of ["user", "environment", "arguments", "built-in"] as const)
      assert.doesNotThrow(check({ ...ELSEWHERE, from }));
  });

  it("is no choice of a folder until that is trusted, by the program or else by the user", () => {
    const project = { ...ELSEWHERE, from: "project" } as const;
    assert.throws(check(project), REFUSED);
    assert.doesNotThrow(check(project, { folderTrusted: true }));
    assert.doesNotThrow(check(project, { more: { folderTrusted: true } }));
    assert.throws(check(project, { folderTrusted: true, more: { folderTrusted: false } }), REFUSED);
  });

  it("is refused where a plugin's wrap does not say who set it, unless it is the provider's own", () => {
    assert.throws(check(ELSEWHERE), { ...REFUSED, message: /does not say where that was set/ });
    assert.doesNotThrow(check({}));
    assert.throws(check({ baseUrl: "http://api.anthropic.com/v1" }), { code: "runtime_unsupported" });
    assert.throws(check({ baseUrl: "https://api.anthropic.com.example.org/v1" }), {
      code: "runtime_unsupported",
    });
    assert.throws(check({ baseUrl: "nowhere" }), { code: "runtime_unsupported", message: /"nowhere"/ });
  });

  it("gets a login at its maker's hosts alone, whoever set another (findings 2.2)", () => {
    assert.doesNotThrow(check({}, { more: LOGIN }));
    for (const from of ["user", "environment", "arguments", "project"] as const)
      assert.throws(check({ ...ELSEWHERE, from }, { more: LOGIN, folderTrusted: true }), REFUSED);
    assert.throws(check({ baseUrl: "http://api.anthropic.com/v1" }, { more: LOGIN }), {
      code: "runtime_unsupported",
    });
    assert.throws(check({ baseUrl: "https://api.openai.com/v1" }, { more: LOGIN }), {
      code: "runtime_unsupported",
      message: /api\.openai\.com, which is no host of that login/,
    });
    const openai = { refusal: { ...LOGIN.refusal, login: "openai" } };
    assert.doesNotThrow(check({ baseUrl: "https://chatgpt.com/backend-api/codex" }, { more: openai }));
    const unknown = { refusal: { ...LOGIN.refusal, login: "constructor" } };
    assert.throws(check({}, { more: unknown }), { code: "runtime_unsupported" });
  });

  it("gets a login where the user names the host for logins", () => {
    const loginHosts = ["127.0.0.1:18777"];
    assert.doesNotThrow(check({ ...ELSEWHERE, from: "user" }, { more: LOGIN, loginHosts }));
    assert.throws(check({ baseUrl: "http://127.0.0.1:1/v1", from: "user" }, { more: LOGIN, loginHosts }), {
      code: "runtime_unsupported",
    });
  });
});
