import assert from "node:assert/strict";
import { test } from "node:test";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import type { BindReport, ListedThread } from "../../packages/contract/src/harness/native.ts";
import { command } from "./fake-cli.ts";
import { record, type Script } from "./fake-pagurus.ts";

const THREAD: ListedThread = {
  nativeId: "019a2d7a-41c4",
  preview: "fix it",
  cwd: process.cwd(),
  updatedAt: "2026-01-02T03:04:05.000Z",
};

function bound(nativeId: string, sessionKey = `codex:${nativeId}`): Promise<BindReport> {
  return Promise.resolve({ session: record(sessionKey), goesOn: "context", told: [`Imported ${nativeId}.`] });
}

const script = (more: Script = {}): Script => ({
  native: {
    threads: (request) => Promise.resolve(request.limit === 2 ? [] : [THREAD]),
    bind: ({ nativeId, sessionKey }) => bound(nativeId, sessionKey),
    status: ({ sessionKey = "" }) => Promise.resolve({ runtime: "codex", sessionKey, problem: "Not found." }),
  },
  ...more,
});

test("codex threads prints a table or JSON", async () => {
  const plain = await command(["codex", "threads"], { script: script() });
  assert.match(
    plain.out,
    /^thread +last used +session +began with\n019a2d7a-41c4 {2}2026-01-02 03:04:05 {2}- +fix it\n$/,
  );
  const json = await command(["codex", "threads", "--json", "--all"], { script: script() });
  assert.deepEqual(JSON.parse(json.out), [THREAD]);
  const none = await command(["codex", "threads", "--limit", "2"], { script: script() });
  assert.match(none.out, /^There are no threads of /);
});

test("codex bind reports what was taken and how to continue", async () => {
  const { code, out } = await command(["codex", "bind", "019a", "--session", "work"], { script: script() });
  assert.equal(code, 0);
  assert.match(out, /^Imported 019a\.\nThe next turn continues from the context engine.* --session work, /);
  const json = await command(["codex", "bind", "019a", "--json"], { script: script() });
  assert.equal((JSON.parse(json.out) as BindReport).session.sessionKey, "codex:019a");
});

test("codex resume runs the prompt on codex in the thread's session, or opens a chat in it", async () => {
  const one = await command(["codex", "resume", "last", "Go on", "-p", "deny"], { script: script() });
  assert.equal(one.code, 0, one.err);
  assert.match(one.err, /^Imported 019a2d7a-41c4\.$/m);
  const [request] = one.pagurus.requests;
  assert.deepEqual(
    [request?.prompt, request?.sessionKey, request?.runtime, request?.permission],
    ["Go on", "codex:019a2d7a-41c4", "codex", "deny"],
  );
  const chat = await command(["codex", "resume", "019a"], { script: script(), input: "hello\n" });
  assert.equal(chat.code, 0, chat.err);
  assert.equal(chat.pagurus.requests[0]?.sessionKey, "codex:019a");
});

test("/codex resume in a chat continues with the thread's session", async () => {
  const input = "/codex resume 019a\nhello\n";
  const { pagurus, out } = await command(["chat"], { script: script(), input });
  assert.match(out, /^Imported 019a\.\nThis chat continues with the session codex:019a\.$/m);
  assert.equal(pagurus.requests[0]?.sessionKey, "codex:019a");
});

test("codex steer and stop reach the session, and report in one line that nothing runs there", async () => {
  const requests: unknown[] = [];
  const running: NonNullable<Script["running"]> = {
    steer: (request) => Promise.resolve(void requests.push(request)),
    stop: () =>
      Promise.reject(new PagurusError("turn_not_running", "No turn is running in the session main.")),
  };
  const steer = await command(["codex", "steer", "look", "-s", "work"], { script: script({ running }) });
  assert.deepEqual(
    [steer.code, requests],
    [0, [{ sessionKey: "work", agentId: "main", cwd: process.cwd(), text: "look" }]],
  );
  const stop = await command(["codex", "stop"], { script: script({ running }) });
  assert.deepEqual(
    [stop.code, stop.err],
    [1, "pagurus: No turn is running in the session main. [turn_not_running]\n"],
  );
  const stopped = await command(["codex", "stop", "--json"], {
    script: script({ running: { stop: () => Promise.resolve() } }),
  });
  assert.deepEqual(JSON.parse(stopped.out), { stopped: true });
});

test("codex status fails if the program is unusable", async () => {
  const { code, out } = await command(["codex", "status"], { script: script() });
  assert.deepEqual([code, out.split("\n")[0]], [1, "Program    Not found."]);
});
