import assert from "node:assert/strict";
import { test } from "node:test";
import type { HookHandler, HookMap } from "../../packages/contract/src/host/hooks.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { endIdleSessions } from "../../packages/host/src/turn/admit/idle-sessions.ts";
import type { TurnInput } from "../../packages/host/src/turn/agent/turn-mailbox.ts";
import type { HookSource } from "../../packages/host/src/turn/guard/turn-hooks.ts";

test("sessions that were not used for the longest time end as idle in the background, but for those with a running turn", async () => {
  const ended: [string, string][] = [];
  const slow = Promise.withResolvers<void>();
  const handler: HookHandler<"session_end"> = async (
    { reason }: HookMap["session_end"]["payload"],
    { sessionKey },
  ) => {
    await slow.promise;
    ended.push([sessionKey, reason]);
  };
  const work: Promise<void>[] = [];
  const names = Array.from({ length: 1_002 }, (_, at) => String(at));
  const started = new Map(names.map((name) => [`id-${name}`, name]));
  const slot = { bootstrapped: new Set(started.keys()) };
  const host = {
    agentId: "main",
    background: (_kind: string, run: (signal: AbortSignal) => Promise<void>) =>
      void work.push(run(new AbortController().signal)),
    hooks: { hooks: (name) => (name === "session_end" ? [{ pluginId: "p", handler }] : []) } as HookSource,
    live: new Map([["1", {} as TurnInput]]),
    logger: silentLogger,
    slot,
    started,
  };
  endIdleSessions(host);
  assert.deepEqual(ended, []);
  slow.resolve();
  await Promise.all(work);
  assert.deepEqual(ended, [
    ["0", "idle"],
    ["2", "idle"],
  ]);
  assert.equal(started.size, 1_000);
  assert.deepEqual(
    ["id-0", "id-1", "id-2", "id-3"].filter((id) => slot.bootstrapped.has(id)),
    ["id-1", "id-3"],
  );
});
