import assert from "node:assert/strict";
import { test } from "node:test";
import { runCommand, runsAtOnce } from "../../packages/host/src/command/host-command.ts";
import type { CommandContext } from "../../packages/host/src/command/command-types.ts";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import type { ListedThread } from "../../packages/contract/src/harness/native.ts";
import { FakePagurus, record, type Script } from "../cli/fake-pagurus.ts";

const THREAD: ListedThread = {
  nativeId: "019a2d7a-41c4",
  preview: "fix\nit",
  cwd: "/project",
  updatedAt: "2026-01-02T03:04:05.000Z",
};

function context(script: Script = {}, more: Partial<CommandContext> = {}): CommandContext {
  return { sessionKey: "main", agentId: "main", cwd: "/project", ...more, pagurus: new FakePagurus(script) };
}

test("/codex threads lists the folder's threads, or all threads with their folders", async () => {
  const asked: unknown[] = [];
  const threads = (request: object): Promise<ListedThread[]> => {
    asked.push(request);
    return Promise.resolve(asked.length === 3 ? [] : [{ ...THREAD, sessionKey: "work" }]);
  };
  const where = context({ native: { threads } });
  assert.deepEqual((await runCommand("/codex threads", where)).text.split("\n"), [
    "thread         last used            session  began with",
    "019a2d7a-41c4  2026-01-02 03:04:05  work     fix it",
  ]);
  assert.match((await runCommand("/codex threads --all", where)).text, / {2}work +\/project +fix it$/);
  assert.match(
    (await runCommand("/codex threads", where)).text,
    /^There are no threads of \/project; --all /,
  );
  assert.deepEqual(asked.slice(0, 2), [
    { runtime: "codex", agentId: "main", cwd: "/project" },
    { runtime: "codex", agentId: "main" },
  ]);
});

test("/codex bind takes a thread over into this session, or the one it names", async () => {
  const keys: (string | undefined)[] = [];
  const where = context({
    native: {
      bind: ({ nativeId, sessionKey = "" }) => {
        keys.push(`${nativeId} ${sessionKey}`);
        return Promise.resolve({ session: record(sessionKey), goesOn: "thread", told: ["Imported it."] });
      },
    },
  });
  const { text, effects } = await runCommand("/codex bind 019a", where);
  assert.match(text, /^Imported it\.\nThe next turn on codex continues natively: /);
  assert.deepEqual(effects, []);
  await runCommand("/codex bind 019a --session work", where);
  assert.deepEqual(keys, ["019a main", "019a work"]);
  for (const wrong of ["", "a --session", "a --other x", "a b"])
    assert.match((await runCommand(`/codex bind ${wrong}`, where)).text, /^Say \/codex bind <thread>/, wrong);
});

test("/codex resume adopts once, and the chat continues with that session", async () => {
  const bind = (request: { nativeId: string }): Promise<never> =>
    Promise.reject(
      new PagurusError("session_exists", "It is.", {
        details: { nativeId: request.nativeId, sessionKey: "work" },
      }),
    );
  const threads = (): Promise<ListedThread[]> => Promise.resolve([THREAD]);
  const where = context({ native: { bind, threads } });
  const { text, effects } = await runCommand("/codex resume", where);
  assert.equal(text, "This chat continues with the session work.");
  assert.deepEqual(effects, [{ type: "session", sessionKey: "work" }]);
  const none = context({ native: { threads: () => Promise.resolve([]) } });
  await assert.rejects(runCommand("/codex resume", none), { code: "thread_unknown" });
  const other = context({
    native: { bind: () => Promise.reject(new PagurusError("session_exists", "The key is taken.")) },
  });
  await assert.rejects(runCommand("/codex resume 019a", other), /The key is taken/);
});

test("/codex steer and stop reach the turn of this channel, else the one of the session", async () => {
  const received: string[] = [];
  const script: Script = {
    running: {
      steer: ({ text, sessionKey }) => Promise.resolve(void received.push(`${sessionKey}: ${text}`)),
      stop: ({ sessionKey }) => Promise.resolve(void received.push(`${sessionKey} stops`)),
    },
  };
  const turn = {
    steer: (text: string) => received.push(text) > 0,
    abort: () => void received.push("abort"),
  };
  await runCommand("/codex steer look at the tests", context(script, { turn }));
  await runCommand("/codex stop", context(script, { turn }));
  await runCommand("/codex steer and again", context(script));
  await runCommand("/codex stop", context(script));
  assert.deepEqual(received, ["look at the tests", "abort", "main: and again", "main stops"]);
  assert.match(
    (await runCommand("/codex steer", context(script))).text,
    /^Add the text to send to the running turn/,
  );
  assert.deepEqual(
    ["/codex stop", "/codex steer x", "/codex status", "/codex bind x", "/codex resume", "/new"].map(
      runsAtOnce,
    ),
    [true, true, true, false, false, false],
  );
});

test("/codex status shows the program, the login and the thread, or the problem", async () => {
  const program = { program: "/bin/codex", version: "0.169.0", login: "an API key" };
  const base = { runtime: "codex", sessionKey: "main" };
  const status = (report: object) =>
    context({ native: { status: () => Promise.resolve({ ...base, ...report }) } });
  assert.deepEqual((await runCommand("/codex status", status({ program, boundTo: "t1" }))).text.split("\n"), [
    "Program    /bin/codex",
    "Version    0.169.0",
    "Login      an API key",
    "Session    main",
    "Thread     t1",
  ]);
  const broken = await runCommand(
    "/codex status",
    status({ problem: "Codex was not found.", adoptedFrom: "t2" }),
  );
  assert.match(
    broken.text,
    /^Program {4}Codex was not found\.\nSession {4}main\nThread {5}none: .*\nMade from {2}t2$/,
  );
  assert.match((await runCommand("/codex", context())).text, /^Say \/codex threads, bind/);
});
