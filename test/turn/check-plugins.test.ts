import assert from "node:assert/strict";
import { it } from "node:test";
import { checkPlugins } from "../../src/turn/admit.ts";
import type { AgentHost } from "../../src/turn/scope.ts";

const hostWith = (...pluginFailures: AgentHost["pluginFailures"]): AgentHost =>
  ({ pluginFailures }) as AgentHost;

it("a run that is refused for a plugin names the key that switches it off", () => {
  checkPlugins(hostWith());
  const eng = { pluginId: "eng2", path: "/x/eng2", reason: "It is broken." };
  assert.throws(() => checkPlugins(hostWith(eng)), {
    code: "plugin_failed",
    message: "The plugin eng2 failed: It is broken. Mend it, or set plugins.entries.eng2.enabled to false.",
  });
  const scoped = { ...eng, pluginId: "@acme/eng.in" };
  assert.throws(() => checkPlugins(hostWith(scoped, eng)), {
    message:
      /broken \(and 1 more\)\. Mend it, or set plugins\.entries\["@acme\/eng\.in"\]\.enabled to false\.$/,
  });
  // What a caller handed over has no key.
  const { path: _, ...own } = eng;
  assert.throws(() => checkPlugins(hostWith(own)), {
    message: "The plugin eng2 failed: It is broken. Mend it.",
  });
});
