/** Turns of the command line that a server runs: queued, aborted, over a lost connection, by address and token. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { after, before, describe, it } from "node:test";
import { RemotePagurus } from "../../../packages/cli/src/server/remote-pagurus.ts";
import { createClient } from "../../../packages/client/src/index.ts";
import type { AskPermission } from "../../../packages/contract/src/host/run.ts";
import { CuttingProxy } from "../../client/cutting-proxy.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import { startServer, type ModelServer, type ReplyStep } from "../../servers/server.ts";
import { finish, makeSetting, modelConfig, start, type Setting } from "../../turn/setting.ts";
import { readBody } from "../../turn/wire-bodies.ts";
import { longTest } from "../../runner/long-tests.ts";

/** A gate of the model: what waits at it, and how to open it. */
class Gates {
  readonly #open = new Map<string, () => void>();
  readonly #arrived = new Map<string, () => void>();

  async pass(name: string): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#open.set(name, resolve);
      this.#arrived.get(name)?.();
    });
  }
  arrived(name: string): Promise<void> {
    if (this.#open.has(name)) return Promise.resolve();
    return new Promise((resolve) => void this.#arrived.set(name, resolve));
  }
  open(name: string): void {
    this.#open.get(name)?.();
  }
}

describe("a turn of the command line that a server runs", () => {
  const gates = new Gates();
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;

  before(async () => {
    model = await startServer({
      protocol: "openai-completions",
      script: async (request): Promise<ReplyStep> => {
        const { messages } = readBody("openai-completions", request);
        const text = messages.findLast(({ role }) => role === "user")?.text ?? "";
        const [, name] = /wait (\w+)$/.exec(text) ?? [];
        if (name !== undefined) await gates.pass(name);
        if (text.includes("tool") && !messages.some(({ role }) => role === "tool"))
          return { toolCalls: [{ id: "c1", name: "shell", arguments: { command: "echo made" } }] };
        return { text: `Answer to ${text}` };
      },
    });
    const defaults = { permission: { mode: "ask", sandbox: "off" } };
    setting = makeSetting(modelConfig("openai-completions", model.url, {}, { agents: { defaults } }));
    server = await ServeProcess.start(setting);
  });
  after(async () => {
    await server.kill();
    await model.close();
    setting.remove();
  });

  longTest("waits for the session's turn before it, and says so", async () => {
    const first = start(setting, ["run", "--session", "queue", "wait first"]);
    await gates.arrived("first");
    const second = start(setting, ["run", "--json", "--session", "queue", "second"]);
    const notice = await second.seen("notice");
    assert.equal(notice.type === "notice" && notice.detail, "the session has 1 turn before this one");
    gates.open("first");
    assert.match((await first.finished).stdout, /Answer to wait first/);
    const { code, last } = await second.finished;
    assert.deepEqual([code, last?.type], [0, "turn.completed"]);
  });

  it("is aborted by Ctrl-C with exit code 130, and the server takes the next one", async () => {
    const running = start(setting, ["run", "--json", "--session", "abort", "wait abort"]);
    await gates.arrived("abort");
    running.child.kill("SIGINT");
    const { code, last } = await running.finished;
    assert.equal(code, 130);
    assert.match(last?.type ?? "", /^turn\.(completed|failed)$/);
    const next = await finish(setting, ["run", "--session", "abort", "next"]);
    assert.equal(next.code, 0);
    // The aborted prompt has no answer, and is sent with the next one.
    assert.match(next.stdout, /^Answer to [^]*next\n$/);
  });

  it("denies a permission question where no terminal can be asked, as without a server", async () => {
    const { code, stdout } = await finish(setting, ["run", "--session", "asked", "use a tool"]);
    assert.deepEqual([code, stdout], [0, "Answer to use a tool\n"]);
    assert.match(model.requests.at(-1)?.text ?? "", /Permission denied: no person can be asked here/);
  });

  /** Details of the notices of a turn whose questions `ask` answers. */
  async function noticesOf(sessionKey: string, ask: AskPermission): Promise<string[]> {
    const remote = new RemotePagurus(
      { url: server.url, secret: { home: setting.home }, isHere: true },
      { askPermission: ask },
    );
    const notices: string[] = [];
    for await (const event of remote.run({ sessionKey, prompt: "use a tool" }))
      if (event.type === "notice") notices.push(event.detail);
    await remote.close();
    return notices;
  }

  it("reports the answer of another client that was first, and closes its own question", async () => {
    const client = createClient({ url: server.url, token: server.key });
    const closed: unknown[] = [];
    const ask: AskPermission = async ({ signal }) => {
      const [question] = await client.approvals();
      const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      assert.equal(await client.answer(question?.id ?? "", "once"), true);
      closed.push(await aborted);
      return "deny";
    };
    assert.deepEqual(await noticesOf("other-first", ask), ["another client allowed shell"]);
    assert.equal(closed.length, 1);
    assert.doesNotMatch(model.requests.at(-1)?.text ?? "Permission denied", /Permission denied/);
  });

  it("reports nothing about its own answer", async () => {
    assert.deepEqual(await noticesOf("own", () => Promise.resolve("once")), []);
    assert.doesNotMatch(model.requests.at(-1)?.text ?? "Permission denied", /Permission denied/);
  });

  longTest("answers a question after a restart of the server, where it is still open", async () => {
    const ask: AskPermission = async () => {
      await server.kill();
      await server.begin();
      return "once";
    };
    const notices = await noticesOf("asked-before", ask);
    assert.equal(notices[0], "the server has restarted, and continues the turn");
    assert.ok(!notices.some((detail) => detail.startsWith("another client")), notices.join("\n"));
    assert.doesNotMatch(model.requests.at(-1)?.text ?? "Permission denied", /Permission denied/);
  });

  longTest("continues through a restart of the server, whose local key is another one then", async () => {
    const running = start(setting, ["run", "--json", "--session", "restart", "wait restart"]);
    await gates.arrived("restart");
    await server.kill();
    await server.begin();
    // The continued turn asks the model again.
    while (model.requests.filter(({ text }) => text.includes("wait restart")).length < 2) await pause(10);
    gates.open("restart");
    const { code, stdout, last } = await running.finished;
    assert.deepEqual([code, last?.type], [0, "turn.completed"], stdout);
    assert.match(stdout, /the server has restarted, and continues the turn/);
  });

  longTest("has each event once over an address whose connections are cut", async () => {
    const proxy = await CuttingProxy.start(server.port, [1_300, 350, 450, 560, 700]);
    const file = join(setting.root, "token");
    writeFileSync(file, server.key);
    try {
      const args = [
        "--server",
        proxy.url,
        "--token-file",
        file,
        "run",
        "--json",
        "--session",
        "far",
        "hello",
      ];
      const { code, events, stderr } = await start(setting, args).finished;
      assert.deepEqual([code, stderr], [0, ""]);
      assert.ok(proxy.connections > 2, `${proxy.connections} connections`);
      const client = createClient({ url: server.url, token: server.key });
      const [work] = await client.listWork("far");
      const stored: unknown[] = [];
      for await (const { event } of client.followWork(work?.id ?? ""))
        if (!event.type.startsWith("work.")) stored.push(event);
      assert.deepEqual(events, stored);
    } finally {
      proxy.close();
    }
  });

  longTest(
    "runs beside the server with --no-server, and is refused a session that the server works in",
    async () => {
      const busy = start(setting, ["run", "--session", "mine", "wait mine"]);
      await gates.arrived("mine");
      const refused = await finish(setting, ["--no-server", "run", "--session", "mine", "hello"]);
      assert.match(refused.stderr, /\[session_locked\]/);
      gates.open("mine");
      await busy.finished;
      const { stdout } = await finish(setting, ["--no-server", "run", "--session", "mine", "hello"]);
      assert.equal(stdout, "Answer to hello\n");
    },
  );

  it("is one plain error for a server without a token, one that is gone, and a command of this machine", async () => {
    const { PAGURUS_TOKEN: _, ...env } = setting.env as Record<string, string>;
    const far = { ...setting, env };
    const elsewhere = server.url.replace("127.0.0.1", "localhost");
    const refused = await finish(far, ["--server", elsewhere, "run", "hello"]);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /needs a token: set PAGURUS_TOKEN or --token-file/);
    const closed = await finish(far, ["--server", "http://127.0.0.1:9", "run", "hello"]);
    assert.match(closed.stderr, /The server at http:\/\/127\.0\.0\.1:9 does not answer/);
    const named = { ...far, env: { ...env, PAGURUS_TOKEN: "pgt_x" } };
    const gone = await finish(named, ["--server", "http://127.0.0.1:9", "run", "hello"]);
    assert.match(
      gone.stderr,
      /^pagurus: The server at http:\/\/127\.0\.0\.1:9 does not answer.*\[server_failed\]$/m,
    );
    const wrong = await finish(named, ["--server", server.url, "status"]);
    assert.match(wrong.stderr, /\[token_invalid\]/);
    const local = await finish(named, ["--server", server.url, "doctor"]);
    assert.match(local.stderr, /pagurus doctor works on this machine alone/);
  });
});
