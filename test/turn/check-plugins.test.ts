import assert from "node:assert/strict";
import { it } from "node:test";
import { checkPlugins } from "../../packages/host/src/turn/admit/admit-turn.ts";
import type { AgentHost } from "../../packages/host/src/turn/agent/agent-host.ts";

const hostWith = (...pluginFailures: AgentHost["pluginFailures"]): AgentHost =>
  ({ pluginFailures }) as AgentHost;

const needed = "is a gate (before_tool_call)";
const eng = { pluginId: "eng2", path: "/x/eng2", reason: "It is broken.", needed };

it("a run that is refused for a plugin names why it is needed and the command that disables it (finding C8)", () => {
  checkPlugins(hostWith());
  assert.throws(() => checkPlugins(hostWith(eng)), {
    code: "plugin_failed",
    message:
      "The plugin eng2 failed: It is broken. No run starts without it, since it is a gate (before_tool_call). Repair it, or disable it: pagurus plugins disable eng2.",
  });
  const scoped = { ...eng, pluginId: "@acme/eng.in" };
  assert.throws(() => checkPlugins(hostWith(scoped, eng)), {
    message: /broken \(and 1 more\)\. .* Repair it, or disable it: pagurus plugins disable @acme\/eng\.in\.$/,
  });
  // A plugin that a caller passed has no config key.
  const { path: _, ...own } = eng;
  assert.throws(() => checkPlugins(hostWith(own)), { message: /Repair it\.$/ });
});

it("a failed plugin that is no gate refuses no run (finding C8)", () => {
  const { needed: _, ...idle } = eng;
  checkPlugins(hostWith(idle));
});

it("the advice for a plugin with the id of a bundled part does not switch that part off (finding A7)", () => {
  assert.throws(() => checkPlugins(hostWith({ ...eng, pluginId: "acp", path: "/x/acp" })), {
    message: /Remove it with pagurus plugins uninstall \/x\/acp\.$/,
  });
});
