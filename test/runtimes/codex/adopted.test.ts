import assert from "node:assert/strict";
import { test } from "node:test";
import type { HarnessBinding, HarnessTurn, TurnIo } from "../../../packages/contract/src/harness/harness.ts";
import { RpcError } from "../../../packages/core/src/rpc/peer.ts";
import { isAdopted, takeOver } from "../../../packages/runtimes/src/codex/app-server/adopted.ts";
import type { AppServer } from "../../../packages/runtimes/src/codex/app-server/app-server.ts";
import {
  isForeignThread,
  type ThreadIdentity,
  type ThreadSettings,
} from "../../../packages/runtimes/src/codex/codex-thread.ts";
import type { Threads } from "../../../packages/runtimes/src/codex/codex-threads.ts";

const ADOPTED: HarnessBinding = { nativeId: "theirs", state: { adopted: true, anchor: "e9" } };
const IDENTITY: ThreadIdentity = {
  epoch: undefined,
  fingerprint: undefined,
  tools: "tools",
  instructions: "i",
  model: "m",
};

interface Taken {
  binding: HarnessBinding | undefined;
  requests: [string, Record<string, unknown>][];
  degraded: string[];
}

async function taken(options: { governs?: boolean; own?: boolean; refuses?: boolean } = {}): Promise<Taken> {
  const requests: Taken["requests"] = [];
  const degraded: string[] = [];
  const turn: Partial<HarnessTurn> = {
    engine: { id: "e", governs: options.governs === true, ownsCompaction: false },
    model: { ref: "local/m", id: "m" } as HarnessTurn["model"],
    cwd: "/project",
    signal: new AbortController().signal,
    io: { degrade: (_stage, reason) => degraded.push(reason) } as Partial<TurnIo> as TurnIo,
  };
  const settings: ThreadSettings = {
    endpoint: options.own === true ? undefined : { baseUrl: "http://local/v1", headers: {} },
    catalogFile: undefined,
    developerInstructions: "Be kind.",
    sandbox: "workspace-write",
    untrusted: [],
    ephemeral: false,
  };
  const server: Partial<AppServer> = {
    request: <T>(method: string, params: unknown) => {
      requests.push([method, params as Record<string, unknown>]);
      if (options.refuses === true) return Promise.reject(new RpcError("no such thread", -32600));
      return Promise.resolve({ thread: { id: "fork" } } as T);
    },
  };
  const threads: Partial<Threads> = {
    resume: (_server, params) =>
      Promise.resolve(
        options.refuses === true
          ? { lost: "is open in another process", isHeld: true }
          : {
              id: params.threadId,
              rollout: "file.jsonl",
              tokens: undefined,
              sandbox: undefined,
              inUse: true,
            },
      ),
  };
  const binding = await takeOver(ADOPTED, {
    turn: turn as HarnessTurn,
    identity: IDENTITY,
    settings,
    server: server as AppServer,
    threads: threads as Threads,
  });
  return { binding, requests, degraded };
}

test("an adopted thread is continued in a fork of our own, with the turn's identity and its anchor", async () => {
  const { binding, requests } = await taken();
  assert.deepEqual(
    requests.map(([method, { threadId, modelProvider, developerInstructions }]) => [
      method,
      threadId,
      modelProvider,
      developerInstructions,
    ]),
    [["thread/fork", "theirs", "pagurus", "Be kind."]],
  );
  assert.deepEqual(binding, { nativeId: "fork", state: { ...IDENTITY, anchor: "e9" } });
  assert.equal(isForeignThread(binding), false);
  assert.equal(isAdopted(binding), false);
});

test("with Codex's own login the thread itself is continued, and stays the user's", async () => {
  const { binding, requests } = await taken({ own: true });
  assert.deepEqual([binding?.nativeId, requests.length], ["theirs", 0]);
  assert.ok(binding && isForeignThread(binding) && isForeignThread(ADOPTED));
});

test("it is left alone when an engine governs", async () => {
  assert.deepEqual(await taken({ governs: true }), { binding: undefined, requests: [], degraded: [] });
});

test("when Codex cannot continue it the turn reports that and begins a thread of its own", async () => {
  const refused = await taken({ refuses: true });
  assert.equal(refused.binding, undefined);
  assert.match(refused.degraded.join(), /cannot be continued; a new one gets its messages: no such thread/);
  const held = await taken({ refuses: true, own: true });
  assert.equal(held.binding, undefined);
  assert.match(held.degraded.join(), /gets its messages: It is open in another process\./);
});
