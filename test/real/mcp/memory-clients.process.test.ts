/** `pagurus mcp serve` as a server of the real Claude Code, Codex and OpenCode: their models search, and read exact words again. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { LAUNCHER } from "../../runner/program.ts";
import { startServer, type RecordedRequest, type ReplyStep } from "../../servers/server.ts";
import { openStore, sayTurn } from "../../stores/files/fixtures.ts";
import { PROGRAM_CASES, type ProgramCase } from "../wire/programs-table.ts";
import { inputOf } from "../../runner/child-input.ts";

const DEADLINE_MS = 180_000;
const HIDDEN = "The vault opens with seven turns.";
/** Longer than the passage of a search. */
const WORDS = `The lighthouse keeper's log: ${Array.from({ length: 300 }, (_, at) => `lamp ${at} 🦀`).join(", ")}.`;

interface Server {
  command: string;
  args: string[];
  env: Record<string, string>;
}

interface MemoryClient {
  id: ProgramCase["id"];
  /** Adds the server to the settings of the program; returns further arguments. */
  add(home: string, server: Server): string[];
  /** A call of a tool of the server. */
  call(tool: string): { name: string; namespace?: string };
}

const CLIENTS: readonly MemoryClient[] = [
  {
    id: "claude",
    add: (home, server) => {
      const file = join(home, "servers.json");
      writeFileSync(file, JSON.stringify({ mcpServers: { memory: server } }));
      return ["--mcp-config", file, "--allowedTools", "mcp__memory"];
    },
    call: (tool) => ({ name: `mcp__memory__${tool}` }),
  },
  {
    id: "codex",
    add: (home, { command, args, env }) => {
      const file = join(home, ".codex/config.toml");
      const variables = Object.entries(env).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
      const server = `[mcp_servers.memory]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\nenv = { ${variables.join(", ")} }\nstartup_timeout_sec = 60\nrequired = true\n`;
      writeFileSync(file, `${readFileSync(file, "utf8")}\n${server}`);
      return [];
    },
    call: (tool) => ({ name: tool, namespace: "mcp__memory" }),
  },
  {
    id: "opencode",
    add: (home, { command, args, env }) => {
      const file = join(home, ".config/opencode/opencode.json");
      const settings = JSON.parse(readFileSync(file, "utf8")) as object;
      const memory = { type: "local", command: [command, ...args], environment: env, enabled: true };
      writeFileSync(file, JSON.stringify({ ...settings, mcp: { memory } }));
      return [];
    },
    call: (tool) => ({ name: `memory_${tool}` }),
  },
];

/** A home of Pagurus with a conversation of the folder, and one of another. */
function fillHome(pagurusHome: string, folder: string, other: string): void {
  mkdirSync(join(pagurusHome, "agents"), { recursive: true });
  const store = openStore(join(pagurusHome, "agents", "main"));
  for (const [cwd, words] of [
    [folder, WORDS],
    [other, `The lighthouse keeper's other log. ${HIDDEN}`],
  ] as const) {
    const begun = store.begin(cwd);
    const writer = store.openWriter(begun.sessionKey, { cwd });
    sayTurn(writer, "t1", words);
    writer.close();
    begun.release();
  }
  store.close();
}

/** Characters as JSON has them in a text of JSON, at most two levels deep. */
function holds(body: string, words: string): boolean {
  const once = JSON.stringify(words).slice(1, -1);
  return body.includes(once) || body.includes(JSON.stringify(once).slice(1, -1));
}

for (const client of CLIENTS)
  describe(`pagurus mcp serve in ${client.id}`, { timeout: DEADLINE_MS + 30_000 }, () => {
    it("lets its model find a passage and read the exact words, and nothing of another folder", async (t) => {
      const program = PROGRAM_CASES.find(({ id }) => id === client.id);
      assert.ok(program);
      const root = realpathSync(mkdtempSync(join(tmpdir(), "pagurus-memory-")));
      t.after(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
      const [home, work, other, kept] = ["home", "work", "other", "kept"].map((name) => join(root, name));
      assert.ok(home && work && other && kept);
      for (const folder of [home, work, other]) mkdirSync(folder);
      fillHome(kept, work, other);
      const mains: RecordedRequest[] = [];
      const model = await startServer({
        protocol: program.protocol,
        script: (request): ReplyStep => {
          if (!program.isMain(request)) return { text: "A title." };
          mains.push(request);
          if (mains.length === 1)
            return {
              toolCalls: [
                { id: "call_1", ...client.call("search"), arguments: { query: "lighthouse keeper" } },
              ],
            };
          const [, session, id] =
            /(\S+) (\S+) \(user, /.exec(request.text.replaceAll("\\n", "\n").replaceAll('"', " ")) ?? [];
          if (mains.length === 2 && session !== undefined)
            return { toolCalls: [{ id: "call_2", ...client.call("expand"), arguments: { session, id } }] };
          return { text: "Read." };
        },
      });
      t.after(() => model.close());
      const path = [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
      const env = { HOME: home, PATH: path, ...program.setUp({ home, url: model.url }) };
      const server: Server = {
        command: process.execPath,
        args: [LAUNCHER, "mcp", "serve", "--folder", work],
        env: { PAGURUS_HOME: kept, PAGURUS_NO_PROBE: "1" },
      };
      const args = [
        ...program.argv("What does the log of the lighthouse say?", false),
        ...client.add(home, server),
      ];
      const running = promisify(execFile)(program.program(), args, { cwd: work, env, timeout: DEADLINE_MS });
      inputOf(running.child).end();
      const { stdout } = await running;
      assert.match(stdout, /Read\./);
      assert.equal(mains.length, 3, JSON.stringify(program.lines(mains.at(-1) ?? assert.fail())));
      const last = mains.at(-1)?.text ?? "";
      assert.ok(holds(last, WORDS), last.slice(-3_000));
      for (const { text } of mains) assert.ok(!text.includes("seven turns"));
    });
  });
