import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import { CODEX_VERSION } from "../../../packages/runtimes/src/codex/codex-version.ts";
import { processIsAlive } from "../../../packages/core/src/platform/process-group.ts";
import {
  AppServers,
  type AppServersOptions,
} from "../../../packages/runtimes/src/codex/app-server/app-server.ts";
import { longTest } from "../../runner/long-tests.ts";
import { until } from "../../runner/until.ts";

const FOLDER = mkdtempSync(join(tmpdir(), "pagurus-app-server-"));
after(() => rmSync(FOLDER, { recursive: true, force: true }));

/** A program that plays Codex in the mode of its name. */
function program(mode: string, folder = FOLDER, name = mode): string {
  const path = join(folder, name);
  const script = join(import.meta.dirname, "app-server.child.ts");
  writeFileSync(path, `#!/bin/sh\nexec "${process.execPath}" "${script}" ${mode} "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}

function servers(t: TestContext, mode: string, options: Partial<AppServersOptions> = {}): AppServers {
  const made = new AppServers({
    env: { PATH: "/nowhere" },
    command: program(mode),
    clientVersion: "0.0.0",
    from: FOLDER,
    ...options,
  });
  t.after(() => made.dispose());
  return made;
}

interface Seen {
  notes: [string, unknown][];
  closed: PagurusError[];
}

function listener(seen: Seen, request: () => Promise<unknown> = () => Promise.resolve({})) {
  return {
    notification: (method: string, params: unknown) => void seen.notes.push([method, params]),
    request,
    closed: (error: PagurusError) => void seen.closed.push(error),
  };
}

const empty = (): Seen => ({ notes: [], closed: [] });
const note = (method: string, threadId?: string): string => JSON.stringify({ method, params: { threadId } });
const soon = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test("The child gets the arguments that keep Codex off the network, and nothing else.", async (t) => {
  const server = await servers(t, "plain").get();
  assert.equal(
    server.codexHome,
    "app-server -c features.plugins=false -c features.apps=false -c analytics.enabled=false" +
      " -c check_for_update_on_startup=false",
  );
});

longTest("Another version is reported with both versions, and runs.", async (t) => {
  const warnings: [string, unknown][] = [];
  const warn = (sentence: string, details?: unknown): void => void warnings.push([sentence, details]);
  const server = await servers(t, "other", { warn }).get();
  assert.equal(server.version, "9.9.9");
  assert.equal(warnings.length, 1);
  assert.deepEqual(warnings[0]?.[1], { running: "9.9.9", expected: CODEX_VERSION });
});

longTest(
  "A program that ends at its start is reported with its code and last output, and the next get tries again.",
  async (t) => {
    const all = servers(t, "refuses");
    for (let tries = 0; tries < 2; tries += 1) {
      await assert.rejects(all.get(), (error: unknown) => {
        assert.ok(error instanceof PagurusError && error.code === "runtime_failed");
        assert.match(error.message, /ended with code 3; .*error: the configuration is wrong\.$/);
        assert.ok(error.message.length < 700);
        return true;
      });
    }
  },
);

test("A program that cannot be executed is reported as such.", async (t) => {
  const path = join(FOLDER, "no-program");
  writeFileSync(path, "#!/nowhere/interpreter\n", { mode: 0o755 });
  const all = servers(t, "plain", { command: path });
  await assert.rejects(all.get(), /Codex could not be started: spawn/);
});

longTest("A caller may stop waiting for a child; the start continues for the others.", async (t) => {
  const all = servers(t, "plain");
  const controller = new AbortController();
  const aborted = assert.rejects(all.get(controller.signal), { code: "turn_aborted" });
  const other = all.get();
  controller.abort();
  await aborted;
  assert.ok((await other).isAlive);
});

longTest(
  "A child that ignores the end of its input and SIGTERM is killed within the deadlines.",
  async (t) => {
    const all = servers(t, "stubborn");
    const { pid } = await all.get();
    await all.dispose();
    assert.equal(processIsAlive(pid), false);
  },
);

longTest("Disposing ends a child that has not answered yet.", async (t) => {
  const all = servers(t, "silent");
  const starting = assert.rejects(all.get(), { code: "runtime_failed" });
  await soon(200);
  await all.dispose();
  await starting;
});

longTest(
  "Torn lines are skipped, threads receive only their own messages, in order, until they stop listening.",
  async (t) => {
    const warnings: string[] = [];
    const server = await servers(t, "torn", { warn: (sentence) => void warnings.push(sentence) }).get();
    const [one, two] = [empty(), empty()];
    const stop = server.listen("one", listener(one));
    server.listen("two", listener(two));
    const lines = [
      note("a", "one"),
      "no json",
      note("b", "two"),
      note("c"),
      note("d", "one"),
      note("e", "three"),
    ];
    await server.request("test/say", { lines });
    stop();
    await server.request("test/say", { lines });
    assert.deepEqual(
      one.notes.map(([method]) => method),
      ["a", "d"],
    );
    assert.deepEqual(
      two.notes.map(([method]) => method),
      ["b", "b"],
    );
    assert.deepEqual(warnings, ["Codex wrote a line that is not a message; such lines are skipped."]);
  },
);

test("Warnings of Codex without a thread are passed on, cut to a length.", async (t) => {
  const warnings: [string, unknown][] = [];
  const warn = (sentence: string, details?: unknown): void => void warnings.push([sentence, details]);
  const server = await servers(t, "plain", { warn }).get();
  const params = { summary: "Invalid configuration; using defaults.", details: "x".repeat(5_000), range: {} };
  const thread = { method: "warning", params: { threadId: "t", message: "of a thread" } };
  const lines = [JSON.stringify({ method: "configWarning", params }), JSON.stringify(thread)];
  await server.request("test/say", { lines });
  const details = { summary: params.summary, details: "x".repeat(500) };
  assert.deepEqual(warnings, [["Codex warns about its configuration.", details]]);
});

test("Every request of Codex is answered: by the thread's listener, by us, or with an error.", async (t) => {
  const server = await servers(t, "plain").get();
  const seen = empty();
  server.listen(
    "t",
    listener(seen, () => Promise.resolve({ decision: "accept" })),
  );
  const ask = (id: number | string, method: string, params: unknown): string =>
    JSON.stringify({ id, method, params });
  const lines = [
    ask(0, "item/commandExecution/requestApproval", { threadId: "t" }),
    ask("one", "execCommandApproval", { conversationId: "t" }),
    ask(2, "item/tool/call", { threadId: "unknown" }),
    ask(3, "attestation/generate", {}),
    ask(4, "account/chatgptAuthTokens/refresh", null),
    ask(5, "currentTime/read", { threadId: "unknown" }),
  ];
  await server.request("test/say", { lines });
  await until(() => seen.notes.length >= lines.length);
  const answers = new Map(
    seen.notes.map(([, params]) => {
      const { id, result, error } = params as { id: unknown; result: unknown; error?: { code: number } };
      return [id, result ?? error?.code];
    }),
  );
  assert.deepEqual(answers.get(0), { decision: "accept" });
  assert.deepEqual(answers.get("one"), { decision: "accept" });
  for (const id of [2, 3, 4]) assert.equal(answers.get(id), -32601);
  const { currentTimeAt } = answers.get(5) as { currentTimeAt: number };
  assert.ok(Math.abs(currentTimeAt - Date.now() / 1000) < 10);
});

test("The end of the child reaches every listener once, with its code and last output.", async (t) => {
  const all = servers(t, "plain");
  const server = await all.get();
  const seen = empty();
  server.listen("t", listener(seen));
  const stop = server.listen("u", listener(seen));
  stop();
  await assert.rejects(
    server.request("test/exit", {}),
    /^PagurusError: Codex ended with code 101; .*a defect\. What was done .* the next turn starts Codex again\.$/,
  );
  await until(() => seen.closed.length > 0);
  assert.equal(seen.closed.length, 1);
  server.listen("t", listener(seen));
  await until(() => seen.closed.length > 1);
  assert.equal(seen.closed.length, 2);
  assert.notEqual((await all.get()).pid, server.pid);
});

longTest("All messages of the child reach the listeners before its end does.", async (t) => {
  const server = await servers(t, "plain").get();
  const seen = empty();
  const after: number[] = [];
  server.listen("t", { ...listener(seen), closed: () => void after.push(seen.notes.length) });
  const lines = Array.from({ length: 300 }, () => note("a", "t"));
  // The answers between the lines make the reader pause.
  const answers = Array.from({ length: 20 }, () => server.request("test/say", { lines }));
  answers.push(server.request("test/exit", {}));
  const outcomes = await Promise.allSettled(answers);
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 20);
  await until(() => after.length > 0);
  assert.deepEqual(after, [6_000]);
});

longTest("A child that closes its output without exiting is ended.", async (t) => {
  const all = servers(t, "plain");
  const server = await all.get();
  await assert.rejects(
    server.request("test/close-output", {}),
    /closed the connection without ending itself/,
  );
  assert.equal(server.isAlive, false);
  await all.dispose();
  assert.equal(processIsAlive(server.pid), false);
});

longTest("A listener that throws is logged and does not stop the others.", async (t) => {
  const warnings: string[] = [];
  const server = await servers(t, "plain", { warn: (sentence) => void warnings.push(sentence) }).get();
  const seen = empty();
  server.listen("t", {
    ...listener(seen),
    notification() {
      throw new Error("a defect");
    },
  });
  server.listen("t", listener(seen));
  await server.request("test/say", { lines: [note("a", "t")] });
  assert.equal(seen.notes.length, 1);
  assert.deepEqual(warnings, ["A listener of a Codex thread failed."]);
});

test("The program is searched as configured, then on PATH, then in the package.", (t) => {
  const folder = mkdtempSync(join(FOLDER, "find-"));
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const find = (options: Partial<AppServersOptions>) =>
    servers(t, "plain", { from: folder, ...options }).find();
  const onPath = program("plain", bin, "codex");
  const named = program("plain", bin, "codex-next");
  const env = { PATH: `/nowhere:${bin}` };
  assert.deepEqual(find({ env, command: undefined }), { command: onPath, args: [] });
  assert.deepEqual(find({ env, command: "codex-next" }), { command: named, args: [] });
  assert.deepEqual(find({ env, command: named }), { command: named, args: [] });
  for (const command of ["codex-old", join(bin, "absent"), bin]) {
    const found = find({ env, command });
    assert.ok("reason" in found);
    assert.ok(
      found.reason.includes(`\`${command}\``) && found.reason.includes("npm install -g @openai/codex"),
    );
  }
  const place = join(folder, "node_modules/@openai/codex");
  mkdirSync(place, { recursive: true });
  writeFileSync(
    join(place, "package.json"),
    JSON.stringify({ version: "1.0.0", bin: { codex: "bin/codex.js" } }),
  );
  assert.deepEqual(find({ env: {}, command: undefined }), {
    command: process.execPath,
    args: [join(place, "bin/codex.js")],
  });
});
