/** The agent of a channel in the configuration. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkConfig } from "../../packages/core/src/config/config-problems.ts";

describe("the agent of a channel", () => {
  it("that is not configured is a warning which names the key", () => {
    const channels = {
      home: { kind: "xmpp", agent: "helper" },
      deck: { kind: "xmpp", agent: "Crew" },
      mail: { kind: "email", agent: "main" },
      irc: { kind: "irc" },
    };
    const { problems, warnings } = checkConfig({ agents: { list: [{ id: "crew" }] }, channels });
    assert.deepEqual(problems, []);
    assert.deepEqual(warnings, [
      "channels.home.agent names an agent that is not in agents.list; each message of the channel fails.",
    ]);
    assert.equal(checkConfig({ channels: { deck: { agent: "crew" } } }).warnings.length, 1);
  });
});
