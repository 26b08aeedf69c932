/**
 * The default permission mode in the program itself: a day's calls run without a question, and each call that would leave the sandbox
 * asks; as the user of the tests, and as an ordinary user where that is root. Without a working sandbox the default asks before each change.
 */
import assert from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable, Writable } from "node:stream";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import { firstOf } from "../../runner/long-tests.ts";
import { LAUNCHER } from "../../runner/program.ts";
import { startServer, type ModelServer } from "../../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";
import { readBody } from "../../turn/wire-bodies.ts";
import { EVERYDAY, leaving, PROJECT, type DayTurn } from "./everyday-turns.ts";
import { inputOf } from "../../runner/child-input.ts";

const execute = promisify(execFile);
const MCP_SERVER = fileURLToPath(new URL("../../mcp/client/server.child.ts", import.meta.url));
const TOOL = "files__echo";
/** An ordinary user of every Linux. */
const ORDINARY = 65_534;

type User = { uid: number; gid: number } | undefined;

const isRoot = process.getuid?.() === 0;
const USERS: readonly [string, User][] = [
  [isRoot ? "root" : "an ordinary user", undefined],
  ...(isRoot ? [["an ordinary user", { uid: ORDINARY, gid: ORDINARY }] satisfies [string, User]] : []),
];

/** Result of one turn: the questions that it asked, and the text that the model got. */
interface Turn {
  title: string;
  questions: number;
  text: string;
  failed: boolean;
}

class Day {
  readonly setting: Setting;
  readonly turns: readonly DayTurn[];
  readonly #model: ModelServer;
  readonly #user: User;

  private constructor(model: ModelServer, user: User, sandbox: "auto" | "off") {
    this.#model = model;
    this.#user = user;
    const mcp = { servers: { files: { command: process.execPath, args: [MCP_SERVER, "good"] } } };
    const agents = { defaults: { permission: { sandbox } } };
    const config = modelConfig("openai-completions", model.url, {}, { agents, mcp });
    this.setting = makeSetting(config, user ? "/tmp" : undefined);
    this.turns = [...EVERYDAY, ...leaving(join(this.setting.root, "outside"), TOOL)];
    this.#prepare();
  }

  static async begin(user: User, sandbox: "auto" | "off" = "auto"): Promise<Day> {
    let day: Day | undefined;
    const model = await startServer({
      protocol: "openai-completions",
      script: (request) => {
        const { messages } = readBody("openai-completions", request);
        const last = messages.at(-1);
        if (last?.role === "tool") return { text: last.results.map(({ text }) => text).join("\n") };
        const at = messages.findLastIndex(({ role }) => role === "user");
        const [, number = ""] = /turn (\d+)/.exec(messages[at]?.text ?? "") ?? [];
        const turn = day?.turns[Number(number)];
        return turn
          ? { toolCalls: [{ id: `c${number}`, name: turn.name, arguments: turn.arguments }] }
          : { text: "There is no such turn." };
      },
    });
    day = new Day(model, user, sandbox);
    return day;
  }

  #prepare(): void {
    const { root, workspace } = this.setting;
    for (const [path, text] of Object.entries(PROJECT)) this.#file(join(workspace, path), text);
    this.#file(join(root, "outside", "notes.txt"), "notes\n");
    const git = (...args: string[]): unknown => execFileSync("git", args, { cwd: workspace });
    git("init", "-q", "-b", "main");
    git("config", "user.name", "A. User");
    git("config", "user.email", "user@example.com");
    git("add", "-A");
    git("commit", "-q", "-m", "Begin");
    if (this.#user) execFileSync("chown", ["-R", `${this.#user.uid}:${this.#user.gid}`, root]);
  }

  #file(path: string, text: string): void {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  get #options() {
    const { workspace, env } = this.setting;
    // Another user cannot write the compile cache of the tests.
    const { NODE_COMPILE_CACHE: _cache, ...rest } = env;
    return { cwd: workspace, env: this.#user ? rest : env, ...this.#user };
  }

  /** The sandbox of this user's commands, for example `bwrap: …`. */
  async sandbox(): Promise<string> {
    const { stdout } = await execute(process.execPath, [LAUNCHER, "status", "--json"], this.#options);
    return (JSON.parse(stdout) as { sandbox: string }).sandbox;
  }

  /** Plays turns in `pagurus acp`, whose editor answers each question with no. */
  async asEditor(turns: readonly DayTurn[]): Promise<Turn[]> {
    const child = spawn(process.execPath, [LAUNCHER, "acp"], {
      ...this.#options,
      stdio: ["pipe", "pipe", "ignore"],
    });
    let asked = 0;
    let text = "";
    let failed = false;
    const input = Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>;
    const connection = client({ name: "day" })
      .onRequest(methods.client.session.requestPermission, () => {
        asked += 1;
        return { outcome: { outcome: "selected", optionId: "deny" } };
      })
      .onNotification(methods.client.session.update, ({ params: { update } }) => {
        if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text")
          text += update.content.text;
        if (update.sessionUpdate === "tool_call_update" && update.status === "failed") failed = true;
      })
      .connect(ndJsonStream(Writable.toWeb(inputOf(child)), input));
    const results: Turn[] = [];
    try {
      const { agent } = connection;
      await agent.request(methods.agent.initialize, {
        protocolVersion: PROTOCOL_VERSION,
        clientCapabilities: {},
      });
      const { sessionId } = await agent.request(methods.agent.session.new, {
        cwd: this.setting.workspace,
        mcpServers: [],
      });
      for (const turn of turns) {
        [asked, text, failed] = [0, "", false];
        const prompt = [{ type: "text" as const, text: `turn ${this.turns.indexOf(turn)}` }];
        await agent.request(methods.agent.session.prompt, { sessionId, prompt });
        results.push({ title: turn.title, questions: asked, text, failed });
      }
    } finally {
      connection.close();
      child.kill("SIGKILL");
    }
    return results;
  }

  /** Plays a turn in `pagurus run` without a terminal; the text that the model got from its call. */
  async run(turn: DayTurn): Promise<string> {
    const args = [LAUNCHER, "run", "--new", `turn ${this.turns.indexOf(turn)}`];
    const running = execute(process.execPath, args, this.#options);
    inputOf(running.child).end();
    return (await running).stdout;
  }

  async end(): Promise<void> {
    await this.#model.close();
    this.setting.remove();
  }
}

/** Calls of the day that do more than read. */
const CHANGING = EVERYDAY.filter(({ name }) => !["read", "search", "glob"].includes(name)).length;

describe("the default permission mode without a sandbox", () => {
  it("asks before each change, like the mode ask", async () => {
    const day = await Day.begin(undefined, "off");
    try {
      assert.match(await day.sandbox(), /^none:/);
      const turns = await day.asEditor(EVERYDAY);
      assert.equal(
        turns.reduce((sum, { questions }) => sum + questions, 0),
        CHANGING,
      );
    } finally {
      await day.end();
    }
  });
});

for (const [name, user] of firstOf(USERS))
  describe(`the default permission mode for ${name}`, () => {
    let day: Day;
    let works: boolean;
    before(async () => {
      day = await Day.begin(user);
      works = !(await day.sandbox()).startsWith("none:");
    });
    after(() => day.end());

    it("runs 40 everyday turns without one question, and each succeeds", async (t) => {
      const turns = await day.asEditor(EVERYDAY);
      const asked = turns.filter(({ questions }) => questions > 0);
      if (!works) return assert.equal(asked.length, CHANGING, "without a sandbox each change asks");
      const shown = ({ title, text }: Turn): string => `${title}: ${text}`;
      assert.deepEqual(turns.filter(({ failed }) => failed).map(shown), []);
      assert.deepEqual(asked.map(shown), []);
      t.diagnostic(`${turns.length} turns, ${asked.length} questions`);
    });

    it("asks in each of 20 turns that leave the sandbox, and nothing of it is left after a no", async (t) => {
      const leaves = day.turns.slice(EVERYDAY.length);
      const turns = await day.asEditor(leaves);
      assert.deepEqual(
        turns.filter(({ questions }) => questions !== 1).map(({ title, text }) => `${title}: ${text}`),
        [],
      );
      const left = ["AGENTS.md", "CLAUDE.md", ".envrc", ".vscode/settings.json", ".claude/settings.json"];
      const { workspace, root } = day.setting;
      assert.deepEqual(
        left.filter((path) => existsSync(join(workspace, path))),
        [],
      );
      assert.equal(existsSync(join(workspace, "sub", ".git", "hooks", "pre-commit")), false);
      assert.equal(readFileSync(join(root, "outside", "notes.txt"), "utf8"), "notes\n");
      t.diagnostic(`${turns.length} turns, ${turns.filter(({ questions }) => questions > 0).length} asked`);
    });

    it("refuses the same without a terminal, and the model learns that no person was asked", async () => {
      for (const turn of firstOf(day.turns.slice(EVERYDAY.length), 3)) {
        const text = await day.run(turn);
        assert.match(text, /no person can be asked here|held back|was removed/, turn.title);
        assert.doesNotMatch(text, /the user said no/, turn.title);
      }
    });
  });
