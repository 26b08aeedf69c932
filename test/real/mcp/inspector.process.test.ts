/** `pagurus mcp serve` as a server of MCP's own inspector, over standard input: its calls find a passage and read exact words. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { LAUNCHER } from "../../runner/program.ts";
import { packageFile } from "../programs.ts";
import { openStore, sayTurn } from "../../stores/files/fixtures.ts";

const HIDDEN = "The vault opens with seven turns.";
/** Longer than the passage of a search. */
const INSPECTOR = "clients/launcher/build/index.js";
const WORDS = `The lighthouse keeper's log: ${Array.from({ length: 300 }, (_, at) => `lamp ${at} 🦀`).join(", ")}.`;
/** Time in which the server starts, ms: other programs use this machine too. */
const CONNECT_MS = 300_000;

interface Answer {
  content: { type: string; text: string }[];
  isError?: boolean;
}

function fillHome(home: string, folder: string, other: string): void {
  mkdirSync(join(home, "agents"), { recursive: true });
  const store = openStore(join(home, "agents", "main"));
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

describe("pagurus mcp serve in MCP's inspector", { timeout: 900_000 }, () => {
  it("lists its tools, finds a passage, reads the exact words, and nothing of another folder", async (t) => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "pg-inspector-")));
    t.after(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
    const [home, work, other, kept] = ["home", "work", "other", "kept"].map((name) => join(root, name));
    assert.ok(home && work && other && kept);
    for (const folder of [home, work, other]) mkdirSync(folder);
    fillHome(kept, work, other);
    const outputs: string[] = [];

    /** One call by the inspector, which starts a server for it. */
    async function inspect(...method: string[]): Promise<unknown> {
      const server = [process.execPath, LAUNCHER, "mcp", "serve", "--folder", work ?? ""];
      const variables = ["-e", `PAGURUS_HOME=${kept}`, "-e", "PAGURUS_NO_PROBE=1"];
      const wait = ["--connect-timeout", String(CONNECT_MS)];
      const args = [
        packageFile("@modelcontextprotocol/inspector", INSPECTOR),
        "--cli",
        ...wait,
        ...variables,
        ...server,
        "--method",
        ...method,
      ];
      const env = { PATH: process.env["PATH"], HOME: home };
      const child = spawn(process.execPath, args, { cwd: work, env, stdio: ["ignore", "pipe", "pipe"] });
      let output = "";
      let errors = "";
      child.stdout.on("data", (chunk: Buffer) => void (output += chunk.toString()));
      child.stderr.on("data", (chunk: Buffer) => void (errors += chunk.toString()));
      const code = await new Promise((resolve) => child.once("close", resolve));
      assert.equal(code, 0, `${output}${errors}`);
      outputs.push(output);
      return JSON.parse(output) as unknown;
    }

    const { tools } = (await inspect("tools/list")) as { tools: { name: string }[] };
    const names = tools.map(({ name }) => name);
    for (const name of ["sessions", "search", "read", "expand"]) assert.ok(names.includes(name), name);
    const call = (name: string, ...args: string[]): Promise<Answer> =>
      inspect(
        "tools/call",
        "--tool-name",
        name,
        ...args.flatMap((arg) => ["--tool-arg", arg]),
      ) as Promise<Answer>;
    const found = await call("search", "query=lighthouse keeper");
    const [, session = "", id = ""] = /(\S+) (\S+) \(user, /.exec(found.content[0]?.text ?? "") ?? [];
    assert.notEqual(id, "", JSON.stringify(found));
    const opened = await call("expand", `session=${session}`, `id=${id}`);
    assert.ok(JSON.stringify(opened).includes(JSON.stringify(WORDS).slice(1, -1)), JSON.stringify(opened));
    const hidden = await call("search", "query=vault seven turns");
    assert.ok(hidden.content.length > 0);
    for (const output of outputs) assert.ok(!output.includes("vault opens with"), output);
  });
});
