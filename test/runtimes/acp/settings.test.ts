import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { accessOf, environmentOf, turnAccess } from "../../../packages/runtimes/src/acp/acp-access.ts";
import type { ModelInfo } from "../../../packages/contract/src/model.ts";
import { agentFor, allAgents, findProgram } from "../../../packages/runtimes/src/acp/agents.ts";

const MODEL = { ref: "anthropic/claude-opus-5-5", provider: "anthropic" };

const TRUSTED = { home: "/none", trusts: () => true };

describe("the agent of a turn", () => {
  it("is the policy's, else the configured one, else the only one, else that of the model's provider", () => {
    const two = { agents: { a: { command: "a" }, b: { command: "b" } } };
    assert.equal(agentFor({ ...two, agentId: "a" }, "b", MODEL).id, "b");
    assert.equal(agentFor({ ...two, agentId: "a" }, undefined, MODEL).id, "a");
    assert.equal(agentFor({ agents: { b: { command: "b" } } }, undefined, MODEL).id, "b");
    assert.equal(agentFor(two, undefined, MODEL).id, "claude");
    assert.throws(() => agentFor(two, undefined, { ref: "x/y", provider: "x" }), { code: "config_invalid" });
  });

  it("is found by its aliases", () => {
    assert.equal(agentFor({ agents: {} }, "claude-agent-acp", MODEL).id, "claude");
    assert.equal(agentFor({ agents: {} }, "Codex", MODEL).id, "codex");
  });

  it("that is neither known nor configured is refused with where to configure it", () => {
    assert.throws(() => agentFor({ agents: {} }, "cursor", MODEL), {
      code: "config_invalid",
      message: /agents\.cursor\.command/,
    });
  });

  it("without its program has an error that says how to install it", () => {
    const found = findProgram(agentFor({ agents: {} }, "gemini", MODEL), { PATH: "/nowhere" });
    assert.match(
      "reason" in found ? found.reason : "",
      /`gemini` was not found; install it with `npm install -g @google\/gemini-cli`/,
    );
    const own = findProgram(agentFor({ agents: { mine: { command: "mine" } } }, "mine", MODEL), {
      PATH: "/nowhere",
    });
    assert.match(
      "reason" in own ? own.reason : "",
      /correct plugins\.entries\.acp\.config\.agents\.mine\.command/,
    );
  });

  it("has the arguments that its program needs", () => {
    const settings = { agents: { gemini: { command: process.execPath } } };
    assert.deepEqual(
      findProgram(
        agentFor({ agents: { x: { command: process.execPath, args: ["--acp"] } } }, "x", MODEL),
        {},
      ),
      {
        command: process.execPath,
        args: ["--acp"],
      },
    );
    assert.deepEqual(findProgram(agentFor(settings, "gemini", MODEL), {}), {
      command: process.execPath,
      args: ["--acp"],
    });
    assert.deepEqual(
      allAgents({ agents: { x: { command: "x" } } }).map(({ id }) => id),
      ["x", "claude", "codex", "gemini", "opencode", "copilot", "qwen", "pi", "droid"],
    );
  });
});

/** Claude Agent offers the host's tools at once, and asks its model for no suggestions. */
const OFFERED = {
  ENABLE_TOOL_SEARCH: "false",
  CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: "false",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
};

describe("the environment of an agent", () => {
  const model = { ...MODEL, id: "claude-opus-5-5", api: "anthropic-messages" } as ModelInfo;
  const endpoint = { baseUrl: "http://127.0.0.1:9/v1", headers: { authorization: "Bearer ours" } };
  const env = {
    PATH: "/bin",
    ANTHROPIC_AUTH_TOKEN: "theirs",
    ANTHROPIC_CUSTOM_HEADERS: "x-key: theirs",
    CLAUDE_CODE_OAUTH_TOKEN: "theirs",
    CLAUDE_CODE_USE_BEDROCK: "1",
    CLAUDE_CONFIG_DIR: "/c",
    ANTHROPIC_MODEL: "m",
  };
  const seen = (settings: object, entry: object = {}): Record<string, string | undefined> => {
    const agent = agentFor({ agents: { claude: entry } }, "claude", MODEL);
    const access = accessOf(
      agent,
      { model, cwd: "/work" },
      { env, ...TRUSTED, endpoint: () => endpoint, ...settings },
    );
    return environmentOf(agent, access, { env: { ...env, MISTRAL_API_KEY: "other", GITHUB_TOKEN: "other" } });
  };

  it("has no credential of another endpoint when the host sets one", () => {
    assert.deepEqual(seen({}), {
      PATH: "/bin",
      CLAUDE_CONFIG_DIR: "/c",
      ANTHROPIC_BASE_URL: "http://127.0.0.1:9",
      ANTHROPIC_API_KEY: "ours",
      ANTHROPIC_MODEL: "claude-opus-5-5",
      ...OFFERED,
    });
    assert.equal(seen({}, { model: "opus" })["ANTHROPIC_MODEL"], "opus");
    assert.equal(seen({}, { env: { ANTHROPIC_MODEL: "mine" } })["ANTHROPIC_MODEL"], "mine");
    assert.equal(seen({}, { env: { ANTHROPIC_AUTH_TOKEN: "mine" } })["ANTHROPIC_AUTH_TOKEN"], "mine");
  });

  it("has its own variables when it has its own access to its model, and no other provider's key (finding F10)", () => {
    assert.deepEqual(seen({ endpoint: () => undefined }), env);
    assert.deepEqual(seen({}, { login: "own" }), env);
  });
});

describe("an agent that takes the host's endpoint by its environment", () => {
  const endpoint = {
    baseUrl: "http://127.0.0.1:9/v1",
    headers: { authorization: "Bearer ours", "x-route": "r" },
  };
  const env = {
    PATH: "/bin",
    OPENAI_API_KEY: "theirs",
    COPILOT_PROVIDER_HEADERS: "x: y",
    FACTORY_API_KEY: "f",
  };
  const seen = (id: string, api: ModelInfo["api"], entry: object = {}): Record<string, string> => {
    const agent = agentFor({ agents: { [id]: entry } }, id, MODEL);
    const model = { ref: "local/m1", provider: "local", id: "m1", api } as ModelInfo;
    return environmentOf(
      agent,
      accessOf(agent, { model, cwd: "/work" }, { env, ...TRUSTED, endpoint: () => endpoint }),
      { env },
    );
  };

  it("copilot: a provider of its own in either protocol, with the model, and offline", () => {
    assert.deepEqual(seen("copilot", "openai-completions"), {
      PATH: "/bin",
      COPILOT_PROVIDER_TYPE: "openai",
      COPILOT_PROVIDER_BASE_URL: "http://127.0.0.1:9/v1",
      COPILOT_PROVIDER_API_KEY: "ours",
      COPILOT_PROVIDER_HEADERS: "x-route: r",
      COPILOT_MODEL: "m1",
      COPILOT_OFFLINE: "true",
    });
    const { COPILOT_PROVIDER_TYPE: type, COPILOT_PROVIDER_BASE_URL: url } = seen(
      "copilot",
      "anthropic-messages",
    );
    assert.deepEqual([type, url], ["anthropic", "http://127.0.0.1:9"]);
    assert.equal(seen("copilot", "google-generative-ai")["COPILOT_PROVIDER_BASE_URL"], undefined);
  });

  it("qwen: OpenAI's variables, and no key of another endpoint", () => {
    assert.deepEqual(seen("qwen", "openai-completions"), {
      PATH: "/bin",
      OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
      OPENAI_API_KEY: "ours",
      OPENAI_MODEL: "m1",
    });
    assert.deepEqual(seen("qwen", "anthropic-messages"), { PATH: "/bin", OPENAI_API_KEY: "theirs" });
  });

  it("pi and droid: none, they have their own variables only", () => {
    assert.deepEqual(seen("pi", "openai-completions"), { PATH: "/bin" });
    assert.deepEqual(seen("droid", "openai-completions"), { PATH: "/bin", FACTORY_API_KEY: "f" });
  });

  it("opencode: asks in each permission mode that needs it, in a process of its own; the user's setting stays", () => {
    const seenIn = (permissionMode: "ask" | "auto", entry: object = {}): [string | undefined, string] => {
      const agent = agentFor({ agents: { opencode: entry } }, "opencode", MODEL);
      const model = { ref: "local/m1", provider: "local", id: "m1", api: "openai-completions" } as ModelInfo;
      const access = turnAccess(
        agent,
        accessOf(agent, { model, cwd: "/work" }, { env, ...TRUSTED, endpoint: () => undefined }),
        {
          permissionMode,
          sessionKey: "s",
        },
      );
      return [environmentOf(agent, access, { env })["OPENCODE_PERMISSION"], access.key];
    };
    assert.deepEqual(seenIn("auto"), [undefined, ""]);
    const [permission = "", key] = seenIn("ask");
    assert.equal((JSON.parse(permission) as Record<string, string>)["*"], "ask");
    assert.notEqual(key, "");
    assert.deepEqual(seenIn("ask", { env: { OPENCODE_PERMISSION: "{}" } }), ["{}", ""]);
  });
});
