/** Native threads of a runtime: listed, adopted as sessions, and their status. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import type { AgentHarness } from "../../packages/contract/src/harness/harness.ts";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { NativeThread } from "../../packages/contract/src/harness/native.ts";
import { readBinding } from "../../packages/host/src/stores/files/bindings.ts";
import { Bench } from "./in-process.ts";

const THREAD: NativeThread = {
  nativeId: "thread-1",
  preview: "go",
  cwd: "/project",
  updatedAt: "2026-01-01T00:00:00.000Z",
};
const MESSAGES: AgentMessage[] = [
  { role: "user", content: "<tab>open</tab>", fragment: { key: "tab", kind: "application" } },
  { role: "user", content: "Where is the whelk?" },
  { role: "assistant", content: [{ type: "text", text: "Near the pier." }] },
];

function harness(changes: Partial<AgentHarness> = {}): AgentHarness {
  return {
    id: "shell",
    label: "Shell",
    contract: "pagurus.harness/2",
    execution: { kind: "external" },
    seam: "thread",
    capabilities: [],
    supports: () => ({ supported: true }),
    start: () => {
      throw new PagurusError("internal", "The test runs no turn.");
    },
    threads: () => Promise.resolve([THREAD]),
    adopt: (nativeId) =>
      "thread-1".startsWith(nativeId)
        ? Promise.resolve({ ...THREAD, history: { messages: MESSAGES } })
        : Promise.reject(new PagurusError("thread_unknown", `There is no thread ${nativeId}.`)),
    program: () => Promise.resolve({ program: "/bin/shell", version: "1", login: "not logged in" }),
    ...changes,
  };
}

describe("native threads", () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await Bench.with(() => ({ text: "By the pier." }));
  });
  afterEach(() => bench.end());

  const open = (changes: Partial<AgentHarness> = {}): Promise<Pagurus> =>
    bench.host({ more: { harnesses: [harness(changes)] } });

  it("become sessions once, which the next turn sees whole, without the program's own context", async () => {
    const pagurus = await open();
    const report = await pagurus.native.bind({ runtime: "shell", nativeId: "thread", sessionKey: "main" });
    assert.equal(report.session.sessionKey, "main");
    assert.match(report.told[0] ?? "", /^Imported the shell thread thread-1 as session "main": 2 messages/);
    await bench.ask(pagurus, "And the crab?");
    const [request] = bench.server.requests;
    const shown = request?.text ?? "";
    for (const words of ["Where is the whelk?", "Near the pier.", "And the crab?", "<tab>open</tab>"])
      assert.equal(shown.split(words).length - 1, 1, words);
    assert.deepEqual(await pagurus.native.threads({ runtime: "shell" }), [{ ...THREAD, sessionKey: "main" }]);
    const again = { runtime: "shell", nativeId: "thread-1" };
    await assert.rejects(pagurus.native.bind(again), {
      code: "session_exists",
      message: /^The thread thread-1 is the session main already; /,
      details: { nativeId: "thread-1", sessionKey: "main", sessionId: "shell-thread-1" },
    });
    await assert.rejects(pagurus.native.bind({ ...again, sessionKey: "main" }), {
      code: "session_exists",
      message: /^The session main has a conversation already /,
    });
  });

  it("are continued in the thread itself when no engine governs, through the newest message", async () => {
    const pagurus = await open();
    const { goesOn, session } = await pagurus.native.bind({ runtime: "shell", nativeId: "thread-1" });
    assert.deepEqual([goesOn, session.sessionKey], ["thread", "shell:thread-1"]);
    const reader = pagurus.sessions().openReader(session.sessionKey);
    const anchor = reader.contextMessages().messages.at(-1)?.entryId;
    reader.close();
    assert.ok(anchor);
    assert.deepEqual(readBinding(session, "shell"), {
      nativeId: "thread-1",
      state: { adopted: true, anchor },
    });
    const status = await pagurus.native.status({ runtime: "shell", sessionKey: session.sessionKey });
    assert.deepEqual(status, {
      runtime: "shell",
      sessionKey: "shell:thread-1",
      boundTo: "thread-1",
      adoptedFrom: "thread-1",
      program: { program: "/bin/shell", version: "1", login: "not logged in" },
    });
  });

  it("are replaced by the context of an engine that governs", async () => {
    const home = await bench.host({
      more: {
        harnesses: [harness()],
        config: { plugins: { slots: { contextEngine: "lossless" } }, logging: { level: "silent" } },
      },
    });
    const { goesOn, session } = await home.native.bind({ runtime: "shell", nativeId: "thread-1" });
    assert.equal(goesOn, "context");
    assert.equal(readBinding(session, "shell"), undefined);
  });

  it("are left by their runtime when the session is deleted, whether or not the runtime fails", async () => {
    const left: string[] = [];
    const pagurus = await bench.host({
      more: {
        harnesses: [
          harness({
            reset: async ({ nativeId }) => {
              left.push(nativeId);
              throw new Error("It does not like that.");
            },
          }),
        ],
      },
    });
    const bound = await pagurus.native.bind({ runtime: "shell", nativeId: "thread-1", sessionKey: "main" });
    await pagurus.deleteSession({ sessionKey: "main" });
    assert.deepEqual(left, ["thread-1"]);
    assert.equal(readBinding(bound.session, "shell"), undefined);
    await assert.rejects(pagurus.deleteSession({ sessionKey: "main" }), { code: "session_not_found" });
    assert.deepEqual(left, ["thread-1"], "and no session is left that is not there");
  });

  it("are refused with one sentence when there is nothing of the kind", async () => {
    const pagurus = await open({
      id: "bare",
      threads: undefined as never,
      adopt: undefined as never,
      program: () => Promise.reject(new PagurusError("runtime_failed", "It is not installed.")),
    });
    await assert.rejects(pagurus.native.threads({ runtime: "bare" }), { code: "runtime_unsupported" });
    const unknown = { runtime: "bare", nativeId: "x" };
    await assert.rejects(pagurus.native.bind(unknown), { code: "runtime_unsupported" });
    await assert.rejects(pagurus.native.bind({ ...unknown, runtime: "none" }), { code: "runtime_unknown" });
    const status = await pagurus.native.status({ runtime: "bare" });
    assert.deepEqual(status, { runtime: "bare", sessionKey: "main", problem: "It is not installed." });
    const embedded = await pagurus.native.status({ runtime: "embedded" });
    assert.deepEqual(embedded, { runtime: "embedded", sessionKey: "main" });
  });
});
