/** The hook `message_sending`, as a channel's delivery calls it. */
import assert from "node:assert/strict";
import { afterEach, it } from "node:test";
import type { HookHandler } from "../../../packages/contract/src/host/hooks.ts";
import { MembersBench } from "./members-bench.ts";

let bench: MembersBench | undefined;
afterEach(async () => {
  await bench?.end();
  bench = undefined;
});

const ANSWER = { channel: "home", to: "ann", thread: "t", content: "the key is 42" };
const TURN = { sessionKey: "main", agentId: "main", turnId: "t1" };

async function delivered(...handlers: HookHandler<"message_sending">[]): Promise<unknown> {
  bench = await MembersBench.open();
  const pagurus = await bench.start({
    plugin: (api) => {
      for (const handler of handlers) api.on("message_sending", handler);
    },
  });
  assert.equal(pagurus.plugins.isDeliveryWatched(), handlers.length > 0);
  return pagurus.plugins.deliver(ANSWER, TURN);
}

it("message_sending gets the whole answer, each handler that of the one before, and the last one is delivered", async () => {
  const seen: unknown[] = [];
  const result = await delivered(
    (answer, context) => {
      seen.push(answer, [context.sessionKey, context.turnId]);
      return { content: answer.content.replace("42", "[secret]") };
    },
    ({ content }) => void seen.push(content),
    ({ content }) => ({ content: `${content}.` }),
  );
  assert.deepEqual(seen, [ANSWER, ["main", "t1"], "the key is [secret]"]);
  assert.deepEqual(result, { content: "the key is [secret]." });
});

it("message_sending holds an answer back, with its reason", async () => {
  assert.deepEqual(await delivered(() => ({ cancel: true, cancelReason: "not today" })), {
    cancelled: "The plugin hooks cancelled it: not today.",
  });
});

it("without a handler of message_sending an answer is delivered as it is", async () => {
  assert.deepEqual(await delivered(), { content: ANSWER.content });
});
