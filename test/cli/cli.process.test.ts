import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import type { StatusReport } from "../../packages/contract/src/host/status.ts";
import { Launcher } from "./launch.ts";
import { firstOf, longTest } from "../runner/long-tests.ts";
import { inputOf } from "../runner/child-input.ts";

const user = new Launcher();
after(() => user.remove());

const lastEvent = (out: string): Record<string, unknown> =>
  JSON.parse(out.trimEnd().split("\n").at(-1) ?? "") as Record<string, unknown>;

test("with nothing configured a prompt is answered, and a second run sees the first", async () => {
  const first = await user.run(["run", "The hermit crab Ludwig lives in a whelk shell near the pier."]);
  assert.deepEqual([first.code, first.err.includes("pagurus:")], [0, false], first.err);
  assert.notEqual(first.out.trim(), "");
  const second = await user.run(["run", "Where does the hermit crab Ludwig live?", "--json"]);
  assert.equal(second.code, 0, second.err);
  const end = lastEvent(second.out);
  assert.equal(end["type"], "turn.completed");
  assert.match(second.out, /whelk shell/);
  const shown = await user.run(["sessions", "show", "main"]);
  assert.equal(shown.out.match(/^You /gm)?.length, 2);
});

test("a refused run ends its event stream with turn.failed", async () => {
  const { code, out } = await user.run(["run", "hi", "--json", "--model", "nobody/nothing"]);
  assert.equal(code, 2);
  const end = lastEvent(out);
  assert.equal(end["type"], "turn.failed");
  assert.equal((end["error"] as { code: string }).code, "model_unknown");
});

test("a chat reads a pipe line by line, in one conversation", async () => {
  const lines = [
    "My boat is called Seagull.",
    "/status",
    "What is my boat called?",
    "/undo",
    "/exit",
    "unread",
  ];
  const { code, out, err } = await user.run(["chat", "--session", "boat"], `${lines.join("\n")}\n`);
  assert.equal(code, 0, err);
  assert.match(out, /^Runtime: {5}embedded/m);
  assert.match(out, /Seagull/);
  assert.match(out, /Undone: "What is my boat called\?"/);
  const { out: shown } = await user.run(["sessions", "show", "boat"]);
  assert.match(shown, /You .*\(rewound\)\nWhat is my boat called\?/);
});

test("status, receipts, preview, search, export, fork and delete work on a conversation", async () => {
  const report = JSON.parse((await user.run(["status", "--json"])).out) as StatusReport;
  assert.equal(report.model.ref, "offline/extract");
  assert.equal(report.Runtime.id, "embedded");
  assert.match((await user.run(["context", "show"])).out, /^Request 0 of turn /);
  assert.match((await user.run(["context", "diff"])).out, /= same prefix:/);
  const argv = ["context", "preview", "--session", "main", "--prompt", "And now?", "--json"];
  const preview = JSON.parse((await user.run(argv)).out) as { messages: unknown[] };
  assert.ok(JSON.stringify(preview.messages).includes("Ludwig"));
  assert.match((await user.run(["sessions", "search", "Ludwig"])).out, /^main /);

  const copy = join(user.root, "copy.jsonl");
  assert.equal((await user.run(["sessions", "export", "main", "-o", copy])).code, 0);
  assert.equal((await user.run(["sessions", "delete", "main", "--yes"])).code, 0);
  const gone = await user.run(["sessions", "show", "main"]);
  assert.equal(gone.code, 1);
  assert.match(gone.err, /\[session_not_found\]\n$/);
  const imported = await user.run(["sessions", "import", copy, "--session", "main"]);
  assert.equal(imported.code, 0, imported.err);
  assert.equal((await user.run(["sessions", "export", "main"])).out, readFileSync(copy, "utf8"));
  assert.equal((await user.run(["sessions", "fork", "main", "branch"])).code, 0);
  const keys = (JSON.parse((await user.run(["sessions", "list", "--json"])).out) as { sessionKey: string }[])
    .map((one) => one.sessionKey)
    .toSorted();
  assert.deepEqual(keys, ["boat", "branch", "main"]);
});

test("--version and --help need no home and create none", async () => {
  const other = new Launcher();
  try {
    const version = await other.run(["--version"]);
    assert.match(version.out, /^\d+\.\d+\.\d+\n$/);
    assert.equal((await other.run(["--help"])).code, 0);
    assert.equal((await other.run(["doctor"])).code, 0);
    assert.equal(existsSync(other.env.PAGURUS_HOME), false);
  } finally {
    other.remove();
  }
});

test("a broken configuration is one sentence and exit 2 for every command that needs it", async () => {
  const other = new Launcher();
  try {
    await other.run(["config", "set", "agents.defaults.maxSteps", "5"]);
    writeFileSync(join(other.env.PAGURUS_HOME, "pagurus.json"), "{ agents: {");
    for (const argv of [["run", "hi"], ["compact"], ["config", "validate"], ["chat"]]) {
      const { code, err } = await other.run(argv);
      assert.equal(code, 2, argv.join(" "));
      assert.match(err, /^pagurus: [^\n]+ \[config_invalid\]\n$/, argv.join(" "));
    }
    const doctor = await other.run(["doctor", "--json"]);
    assert.equal(doctor.code, 1);
    assert.ok((JSON.parse(doctor.out) as { level: string }[]).some((finding) => finding.level === "error"));
  } finally {
    other.remove();
  }
});

/** A model endpoint that starts an answer and never ends it; resolves `asked` at the first request. */
async function silentEndpoint(): Promise<{
  server: Server;
  url: string;
  asked: Promise<void>;
  left: Promise<void>;
}> {
  let onAsked = (): void => undefined;
  let onLeft = (): void => undefined;
  const asked = new Promise<void>((resolve) => (onAsked = resolve));
  const left = new Promise<void>((resolve) => (onLeft = resolve));
  const server = createServer((request, response) => {
    request.resume();
    response.once("close", onLeft);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const chunk = {
      id: "1",
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta: { content: "Well" } }],
    };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    onAsked();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://127.0.0.1:${port}/v1`, asked, left };
}

for (const [name, args, input] of firstOf([
  ["run", ["run", "hi", "--json"], undefined],
  ["chat", ["chat"], "hi\n"],
] as const)) {
  test(`SIGINT aborts a turn of ${name} and the model call with it; run exits 130`, async () => {
    const other = new Launcher();
    const { server, url, asked, left } = await silentEndpoint();
    try {
      const provider = JSON.stringify({
        api: "openai-completions",
        baseUrl: url,
        apiKey: "k",
        models: [{ id: "m" }],
      });
      await other.run(["config", "set", "models.providers.local", provider]);
      const { child, ended } = other.start([...args, "--model", "local/m"]);
      if (input === undefined) inputOf(child).end();
      else inputOf(child).write(input);
      const aborted = new Promise<void>((resolve) => {
        child.stderr?.on("data", (text: string) => {
          if (text.includes("aborted")) resolve();
        });
      });
      await asked;
      child.kill("SIGINT");
      await left;
      if (name === "run") {
        const result = await ended;
        assert.equal(result.code, 130, result.err);
        assert.ok(["turn.completed", "turn.failed"].includes(String(lastEvent(result.out)["type"])));
      } else {
        // The chat continues after the abort; the next interrupt, with nothing running, ends it.
        await aborted;
        child.kill("SIGINT");
        assert.equal((await ended).code, 130);
      }
      const report = JSON.parse((await other.run(["status", "--json"])).out) as StatusReport;
      assert.equal(report.lastTurn?.outcome, "aborted");
      assert.deepEqual(report.interruptedTurns, []);
    } finally {
      server.closeAllConnections();
      server.close();
      other.remove();
    }
  });
}

longTest("a reader that disconnects during a turn aborts it", async () => {
  const other = new Launcher();
  const { server, url } = await silentEndpoint();
  try {
    const provider = JSON.stringify({
      api: "openai-completions",
      baseUrl: url,
      apiKey: "k",
      models: [{ id: "m" }],
    });
    await other.run(["config", "set", "models.providers.local", provider]);
    const { child, ended } = other.start(["run", "hi", "--json", "--model", "local/m"]);
    inputOf(child).end();
    child.stdout?.destroy();
    // The endpoint never ends its answer: only an abort ends the program.
    assert.equal((await ended).code, 130);
  } finally {
    server.closeAllConnections();
    server.close();
    other.remove();
  }
});

longTest("a reader that disconnects ends the program silently", async () => {
  const { child, ended } = user.start(["sessions", "show", "main", "--raw"]);
  inputOf(child).end();
  child.stdout?.destroy();
  const { code, err } = await ended;
  assert.deepEqual([code, err], [0, ""]);
});
