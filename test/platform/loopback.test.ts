/** Which hosts count as this machine: passwords go there without encryption. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createWebhookChannel } from "../../packages/channels/src/webhook/webhook-channel.ts";
import { ircSettings } from "../../packages/channels/src/irc/irc-settings.ts";
import { isLoopback } from "../../packages/core/src/platform/loopback.ts";

const OTHERS = [
  "127.evil.example",
  "127.0.0.1.evil.example",
  "127.0.0",
  "127.0.0.1:80",
  "localhost.evil.example",
];

describe("this machine", () => {
  it("is the loopback, by its name or an address", () => {
    for (const host of ["localhost", "127.0.0.1", "127.255.0.9", "::1", "[::1]"])
      assert.equal(isLoopback(host), true, host);
    for (const host of [...OTHERS, "128.0.0.1", "::", "[::2]", "0.0.0.0", ""])
      assert.equal(isLoopback(host), false, host);
  });

  it("is no name that begins like it: no password or answer is sent there without encryption", () => {
    const irc = { kind: "irc", service: "irc://127.evil.example", nick: "crab", serverPassword: "x" };
    assert.throws(() => ircSettings("harbour", irc, {}), { code: "config_invalid" });
    const hook = { kind: "webhook", secret: "0123456789abcdef", url: "http://127.evil.example/x" };
    assert.throws(() => createWebhookChannel("ci", hook, {}), { code: "config_invalid" });
  });
});
