/** The same commands with a server of the home and without one: equal output, equal exit codes. */
import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { ServeProcess } from "../../server/serve-setting.ts";
import { startServer, type ModelServer, type ReplyStep } from "../../servers/server.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";
import { readBody } from "../../turn/wire-bodies.ts";
import { longSuite } from "../../runner/long-tests.ts";

interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

interface Side {
  model: ModelServer;
  setting: Setting;
}

async function side(): Promise<Side> {
  const model = await startServer({
    protocol: "openai-completions",
    script: (request): ReplyStep => {
      const { messages } = readBody("openai-completions", request);
      const text = messages.findLast(({ role }) => role === "user")?.text ?? "";
      const results = messages.filter(({ role }) => role === "tool").length;
      if (text.includes("use a tool") && results === 0)
        return {
          text: "I run it.",
          toolCalls: [{ id: "c1", name: "shell", arguments: { command: "echo made" } }],
        };
      if (text.includes("fail")) return { status: 400, error: { message: "No." } } as unknown as ReplyStep;
      return { text: `Answer ${messages.length} about quartz.` };
    },
  });
  const permission = { mode: "auto", sandbox: "off" };
  const more = { session: { scope: "folder" }, agents: { defaults: { permission } } };
  return { model, setting: makeSetting(modelConfig("openai-completions", model.url, {}, more)) };
}

/** What differs between two homes: ids, times, paths, ports. */
function plain(text: string, { setting, model }: Side): string {
  return (
    text
      .replaceAll(setting.root, "ROOT")
      .replaceAll(model.url, "MODEL")
      .replaceAll(/\b0m[0-9a-z]{14}\b/g, "ID")
      // A turn of the inbox records which tool calls have begun, for a crash.
      .replaceAll(/^.*"pagurus\.tool_run".*\n/gm, "")
      // An estimate, which a process corrects by the usage that it has seen.
      .replaceAll(/("context": ?\{\s*"tokens": ?)\d+/g, "$1N")
      .replaceAll(/"entryCount": \d+|\b\d+ entries/g, "ENTRIES")
      .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?Z?)?/g, "TIME")
      .replaceAll(/"(timestamp|startedAt|at|ms|durationMs|firstTokenMs|bytes|hash|crc32)":\s*\d+/g, '"$1":0')
      .replaceAll(/\b\d+(\.\d+)? ?(?:B|kB|KB|KiB)\b/g, "SIZE")
      .replaceAll(/\bjust now|\d+ (?:second|minute)s? ago/g, "AGO")
      // The column is as wide as its longest cell.
      .replaceAll(/\b(USED|AGO) +/g, "$1 ")
      // The server itself, and who may use it.
      .replaceAll(/^Open: .*\n(?: {13}\d+ (?:valid token|browser login)s?\n)*/gm, "")
      .replaceAll(/,\s*"open": \{[^}]*\}/g, "")
      // Where the machine is busy.
      .replaceAll(/^waiting for the model \(\d+ s\)…\n/gm, "")
  );
}

/** Deltas of one text may arrive joined. */
function joined(stdout: string): string {
  return stdout.replaceAll(/(?:^\{"type":"(?:text|thinking)\.delta".*\n)+/gm, (lines) => {
    const deltas = lines
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { delta: string }).delta);
    return `delta ${deltas.join("")}\n`;
  });
}

const SCRIPT: readonly string[][] = [
  ["run", "first question"],
  ["run", "--json", "second question"],
  ["run", "--session", "work", "please use a tool"],
  ["run", "--json", "--session", "work", "again please use a tool"],
  ["run", "--new", "another thing"],
  ["run", "--continue", "no-such-key", "hello"],
  ["run", "--model", "nowhere/none", "hello"],
  ["run", "--session", "bad\u0007key", "hello"],
  ["run", "--session", "failing", "please fail"],
  ["sessions", "list"],
  ["sessions", "list", "--json", "--all"],
  ["sessions", "search", "quartz"],
  ["sessions", "search", "--json", "question"],
  ["sessions", "show", "work"],
  ["sessions", "show", "work", "--json"],
  ["sessions", "show", "missing"],
  ["sessions", "export", "work", "--format", "markdown"],
  ["sessions", "fork", "work", "copy"],
  ["sessions", "fork", "work", "copy"],
  ["sessions", "rewind", "copy", "undo"],
  ["sessions", "show", "copy"],
  ["sessions", "delete", "copy", "--yes"],
  ["sessions", "delete", "copy", "--yes"],
  ["status"],
  ["status", "--json", "--session", "work"],
  ["context", "show", "--session", "work"],
  ["context", "preview", "--session", "work", "--prompt", "hello"],
  ["context", "diff", "--session", "work"],
  ["compact", "--session", "work"],
  ["compact", "--session", "missing"],
  ["chat", "--session", "talk"],
];

const CHAT = "hello quartz\n/status\nplease use a tool\n/undo\n/context\n/compact\n/new\nonce more\n/exit\n";

longSuite("the same script of commands", () => {
  let place: Side;
  let server: ServeProcess;
  let requests: string[];
  const alone = new Map<readonly string[], Outcome>();

  async function outcomeOf(args: readonly string[]): Promise<Outcome> {
    const { code, stdout, stderr } = await finish(place.setting, args, args[0] === "chat" ? CHAT : undefined);
    return { code, stdout: plain(joined(stdout), place), stderr: plain(stderr, place) };
  }

  before(async () => {
    place = await side();
    for (const args of SCRIPT) alone.set(args, await outcomeOf(args));
    requests = place.model.requests.splice(0).map(({ text }) => text);
    // The same folder again: a model's context names it.
    const { home } = place.setting;
    for (const name of readdirSync(home))
      if (name !== "pagurus.json") rmSync(join(home, name), { recursive: true });
    server = await ServeProcess.start(place.setting);
  });
  after(async () => {
    await server.kill();
    await place.model.close();
    place.setting.remove();
  });

  for (const args of SCRIPT)
    it(`has equal output with a server and without: pagurus ${args.join(" ")}`, async () => {
      assert.deepEqual(await outcomeOf(args), alone.get(args));
    });

  it("sends the model the same requests", () => {
    assert.deepEqual(
      place.model.requests.map(({ text }) => text),
      requests,
    );
    assert.ok(requests.length > 5);
  });

  it("was run by the server", async () => {
    const { body } = await server.call("GET", "/api/v1/sessions/work/work");
    assert.deepEqual(
      (body["work"] as { kind: string }[]).map(({ kind }) => kind),
      ["compaction", "turn", "turn"],
    );
  });
});
