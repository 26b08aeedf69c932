import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { authMethodsOf, methodFor } from "../../../packages/runtimes/src/acp/agents/auth-methods.ts";
import { agentFor } from "../../../packages/runtimes/src/acp/agents.ts";

const env = { GEMINI_API_KEY: "g", OPENAI_API_KEY: "o", MY_TOKEN: "m", EMPTY_KEY: "" };

function chosen(agent: string, ...methods: object[]): string | undefined {
  const { known } = agentFor({ agents: { mine: { command: "x" } } }, agent, { ref: "a/b", provider: "a" });
  return methodFor(authMethodsOf(methods), env, known?.keys)?.id;
}

describe("the way to log in to an agent", () => {
  it("is the one whose variables the environment has, in each form of an agent", () => {
    const google = { id: "oauth-personal", name: "Log in with Google" };
    const key = {
      id: "gemini-api-key",
      name: "Gemini API key",
      _meta: { "api-key": { provider: "google" } },
    };
    assert.equal(chosen("gemini", google, key), "gemini-api-key");
    const described = "Requires setting the `OPENAI_API_KEY` environment variable";
    assert.equal(
      chosen("qwen", { id: "openai", name: "Use OpenAI API key", description: described }),
      "openai",
    );
    const listed = {
      id: "env",
      type: "env_var",
      vars: [{ name: "MY_TOKEN" }, { name: "X", optional: true }],
    };
    assert.equal(chosen("mine", google, listed), "env");
    assert.equal(chosen("mine", { id: "env", type: "env_var", varName: "MY_TOKEN" }), "env");
  });

  it("is none that needs a terminal, a browser, or a variable that is missing or empty", () => {
    const terminal = { id: "t", type: "terminal", description: "Sets MY_TOKEN." };
    assert.equal(chosen("mine", terminal), undefined);
    assert.equal(chosen("mine", { id: "sso", name: "Single sign-on" }), undefined);
    for (const name of ["OTHER_KEY", "EMPTY_KEY"])
      assert.equal(chosen("mine", { id: "env", vars: [{ name: "MY_TOKEN" }, { name }] }), undefined, name);
  });
});
