import assert from "node:assert/strict";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { agentSettings } from "../../packages/core/src/config/agent-settings.ts";
import {
  agentDir,
  configFile,
  expandPath,
  resolveHome,
} from "../../packages/core/src/config/config-paths.ts";
import type { PagurusConfig } from "../../packages/core/src/config/config-types.ts";

describe("the settings of an agent", () => {
  it("are the built-in ones where nothing is configured", () => {
    assert.deepEqual(agentSettings({}, "main"), {
      fallbacks: [],
      models: {},
      surfaces: {},
      permission: { mode: "sandbox" },
      maxSteps: 200,
      timeoutSeconds: 3600,
    });
  });

  it("are its own entry over the defaults, permission rules and model settings joined", () => {
    const config: PagurusConfig = {
      agents: {
        defaults: {
          workspace: "/w",
          model: { primary: "a/b", fallbacks: ["e/f", "fast"] },
          models: { "a/b": { thinking: "low", agentRuntime: { id: "embedded" } }, "c/d": {} },
          surfaces: { images: "a/paints", speech: "a/speaks" },
          permission: { mode: "ask", allow: [{ tool: "shell", match: "ls" }], sandbox: "auto" },
          maxSteps: 5,
        },
        list: [
          {
            id: "Work",
            model: "c/d",
            thinking: "high",
            models: { "a/b": { thinking: "off" } },
            surfaces: { speech: "c/speaks" },
            permission: { mode: "auto", allow: [{ tool: "read" }], deny: [{ tool: "web_fetch" }] },
            timeoutSeconds: 60,
          },
        ],
      },
    };
    assert.deepEqual(agentSettings(config, "work"), {
      workspace: "/w",
      model: "c/d",
      fallbacks: [],
      thinking: "high",
      models: { "a/b": { thinking: "off", agentRuntime: { id: "embedded" } }, "c/d": {} },
      surfaces: { images: "a/paints", speech: "c/speaks" },
      permission: {
        mode: "auto",
        allow: [{ tool: "shell", match: "ls" }, { tool: "read" }],
        deny: [{ tool: "web_fetch" }],
        sandbox: "auto",
      },
      maxSteps: 5,
      timeoutSeconds: 60,
    });
    assert.equal(agentSettings(config, "main").model, "a/b");
    assert.deepEqual(agentSettings(config, "main").fallbacks, ["e/f", "fast"]);
  });

  it("do not exist for an agent without an entry", () => {
    assert.throws(() => agentSettings({ agents: { list: [{ id: "work" }] } }, "home"), {
      code: "config_invalid",
      message: /No agent "home" is configured \(there are: main, work\)/,
    });
  });
});

describe("paths", () => {
  it("follow PAGURUS_HOME, else the user's home folder", () => {
    assert.equal(resolveHome({}), join(homedir(), ".pagurus"));
    assert.equal(resolveHome({ PAGURUS_HOME: "" }), join(homedir(), ".pagurus"));
    assert.equal(resolveHome({ PAGURUS_HOME: "/a/../b" }), "/b");
    assert.equal(resolveHome({ PAGURUS_HOME: "~/p" }), join(homedir(), "p"));
    assert.equal(configFile("/b"), "/b/pagurus.json");
    assert.equal(expandPath("x", "/base"), "/base/x");
  });

  it("of agents stay inside the home folder", () => {
    assert.equal(agentDir("/h", "Main"), "/h/agents/main");
    for (const id of ["", ".", "..", "a/b", "-a", "a b", "é", "x".repeat(65)]) {
      assert.throws(() => agentDir("/h", id), { code: "usage_invalid" }, id);
    }
  });
});
