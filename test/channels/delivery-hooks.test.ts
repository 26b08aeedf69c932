/** Hooks that change or hold an answer before a channel delivers it, in our form and in OpenClaw's. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { HookContext, HookHandler } from "../../packages/contract/src/host/hooks.ts";
import type { PluginApi } from "../../packages/contract/src/host/plugin.ts";
import { hostHook } from "../../packages/host/src/plugin/compat/foreign-hooks.ts";
import { loadFrom, openClawPlugin } from "../plugin/compat/load-plugins.ts";
import { MemoryHost } from "./memory-host.ts";

const CONTEXT: HookContext = { sessionKey: "main", sessionId: "", agentId: "main", turnId: "t1" };
const SILENT = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

describe("an answer of a channel", () => {
  let host: MemoryHost | undefined;
  afterEach(async () => host?.end());

  /** The texts that the service got for one message. */
  async function sentWith(handler: HookHandler<"message_sending">): Promise<string[]> {
    host = await MemoryHost.start({ filter: (api: PluginApi) => api.on("message_sending", handler) });
    await host.configure({ home: { kind: "memory", allow: ["ann"], permission: "deny" } });
    await host.receive("home", { id: "m1", from: "ann", text: "word-1-1" });
    await host.settle(async () => undefined);
    return host.sent.map(({ text }) => text);
  }

  it("is delivered as message_sending changed it, and nothing of it before", async () => {
    const seen: unknown[] = [];
    const sent = await sentWith((answer) => {
      seen.push([answer.channel, answer.to, answer.content, host?.sent.length]);
      return { content: answer.content.replace("word-1-1", "[redacted]") };
    });
    assert.deepEqual(seen, [["home", "ann", "word-1-1", 0]]);
    assert.deepEqual(sent, ["[redacted]"]);
  });

  it("is not delivered where message_sending cancels it or fails", async () => {
    assert.deepEqual(await sentWith(() => ({ cancel: true, cancelReason: "not today" })), []);
    await host?.end();
    const failing: HookHandler<"message_sending"> = () => {
      throw new Error("the filter is gone");
    };
    assert.deepEqual(await sentWith(failing), []);
  });
});

describe("the delivery hooks of OpenClaw's plugins", () => {
  it("get its events, and their answers are taken over", async () => {
    const events: unknown[] = [];
    const answer = { channel: "home", to: "ann", thread: "t", content: "Words" };
    const text = hostHook(
      "message_sending",
      (event, context) => {
        events.push(event, (context as HookContext & { channelId?: string }).channelId);
        return { content: "Other words" };
      },
      SILENT,
    );
    assert.deepEqual(await text(answer, CONTEXT), { content: "Other words" });
    const payload = hostHook(
      "message_sending",
      (event) => {
        events.push(event);
        return { payload: { text: "Third words" }, cancel: true, reason: "private" };
      },
      SILENT,
      { as: "reply_payload_sending", config: undefined },
    );
    assert.deepEqual(await payload(answer, CONTEXT), {
      content: "Third words",
      cancel: true,
      cancelReason: "private",
    });
    assert.deepEqual(events, [
      { to: "ann", content: "Words", threadId: "t", metadata: { channel: "home" } },
      "home",
      { payload: { text: "Words" }, kind: "final", channel: "home", sessionKey: "main", runId: "t1" },
    ]);
  });

  it("are registered as gates that run here", async () => {
    const registry = await loadFrom(
      openClawPlugin(
        'api.on("message_sending", () => undefined); api.on("reply_payload_sending", () => undefined);',
      ),
    );
    assert.equal(registry.hooks("message_sending").length, 2);
    assert.deepEqual(registry.facts, []);
  });
});
