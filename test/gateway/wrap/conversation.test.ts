import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { Conversation } from "../../../packages/gateway/src/wrap/wrap-conversation.ts";
import type { LiveTurn } from "../../../packages/gateway/src/wrap/wrap-live-turn.ts";
import { answer, lineOf, result, user } from "./bench.ts";
import { until } from "../../runner/until.ts";

test("a compaction between turns is not shown again what one inside the turn had removed", async () => {
  const messages: AgentMessage[] = [user("Do it."), answer("The old step.", "a"), result("a")].map(
    (message, index) => ({ ...message, entryId: `e${index}` }),
  );
  const shown: AgentMessage[] = [
    user("Do it."),
    user("In short: the old step."),
    answer("The new step.", "b"),
  ];
  const turn = {
    messages,
    governs: true,
    isOver: false,
    assemble: async () => {
      messages.push({ ...answer("The new step.", "b"), entryId: "e3" });
      return { messages: shown, historyCount: 0 };
    },
    noteOriginals: () => undefined,
  };
  const conversation = new Conversation(turn as unknown as LiveTurn, new Map());
  conversation.decides();
  await conversation.governed(undefined);
  messages.push({ ...result("b"), entryId: "e4" }, { ...answer("All is done."), entryId: "e5" });
  turn.isOver = true;
  const governed = await conversation.toCompact(undefined);
  assert.deepEqual(governed?.context.messages.map(lineOf), [
    ...shown.map(lineOf),
    lineOf(result("b")),
    lineOf(answer("All is done.")),
  ]);
});

test("a conversation is busy from the decision on a request until its end, and no longer if it is never sent", async () => {
  const turn = {
    messages: [],
    governs: true,
    assemble: async () => ({ messages: [], historyCount: 0 }),
    noteOriginals: () => undefined,
    sent: () => undefined,
  };
  const conversation = new Conversation(turn as unknown as LiveTurn, new Map());
  assert.equal(conversation.isIdle, true);
  conversation.decides();
  await conversation.governed(undefined);
  assert.equal(conversation.isIdle, false);
  conversation.sent({} as WireRequest);
  conversation.answered();
  assert.equal(conversation.isIdle, true);
  conversation.decides();
  await conversation.governed(undefined);
  await until(() => conversation.isIdle);
});
