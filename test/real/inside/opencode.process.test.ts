/** The engine inside the real OpenCode: `pagurus install opencode`, the engine's summary in the place of a model's, large results. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { finish } from "../../turn/setting.ts";
import type { RecordedRequest } from "../../servers/server.ts";
import { filesOf, InsideRun, numbered } from "./inside-run.ts";
import { inputOf } from "../../runner/child-input.ts";

const PLACE = ".config/opencode/plugins/pagurus/place.json";
/** Usage at which OpenCode compacts. */
const FULL = 198_000;
const LARGE = Array.from({ length: 900 }, (_, at) => `row ${at} of the ledger 🦀`).join("\n");

describe("the engine inside the real OpenCode", { timeout: 560_000 }, () => {
  let run: InsideRun;
  before(async () => {
    run = await InsideRun.of("opencode");
  });
  after(() => run.end());

  async function turn(prompt: string, isNext: boolean): Promise<string> {
    const { program, env, setting } = run;
    const running = promisify(execFile)(program.program(), program.argv(prompt, isNext), {
      cwd: setting.workspace,
      env,
      timeout: 180_000,
    });
    inputOf(running.child).end();
    return (await running).stdout;
  }

  it("has the engine's summary stored and sent, from a request of a few words, and every word kept once", async () => {
    const before = filesOf(join(run.setting.root, ".config"));
    await run.install("opencode", PLACE);
    const mains: RecordedRequest[] = [];
    const compacting: RecordedRequest[] = [];
    let isFull = false;
    run.script = (request) => {
      if (request.text.includes("Answer with the one word: kept")) {
        compacting.push(request);
        return { text: "kept" };
      }
      if (!run.program.isMain(request)) return { text: "A title." };
      mains.push(request);
      const usage = { input: isFull ? FULL : 5_000, output: 20 };
      isFull = false;
      return { text: `${numbered(`a${mains.length}x`, 900)}.`, usage };
    };
    for (const nth of [1, 2, 3]) {
      isFull = nth === 3;
      await turn(`Question ${nth} about the harbour: ${numbered(`q${nth}x`, 300)}?`, nth > 1);
    }
    await turn(`After the compaction: ${numbered("r1x", 50)}?`, true);
    assert.equal(compacting.length, 1);
    const [asked] = compacting;
    assert.ok(!asked?.text.includes("q1x299"), "the history is not sent to be summarized");
    const last = mains.at(-1)?.text ?? "";
    assert.match(last, /<conversation_summary/);
    assert.ok(!last.includes("a1x899"), "the first answer is out of sight");
    assert.match(last, /a3x899/);
    const { messages } = await run.kept("opencode");
    for (const word of ["q1x299", "a1x899", "q3x299", "a3x899", "r1x49"])
      assert.equal(messages.filter((line) => line.includes(word)).length, 1, `${word} is kept once`);
    const removed = await finish(run.setting, ["uninstall", "opencode", "--yes"]);
    assert.equal(removed.code, 0, removed.stderr);
    const after = filesOf(join(run.setting.root, ".config"));
    // OpenCode itself adds the address of a schema at its start.
    const settings = (text = "{}"): object => ({ ...(JSON.parse(text) as object), $schema: undefined });
    for (const [path, content] of before)
      assert.deepEqual(settings(after.get(path)), settings(content), path);
    assert.deepEqual(
      [...after.keys()].filter((path) => path.includes("/opencode/plugins/")),
      [],
    );
  });

  it("keeps a large result, whose exact text the tools of the MCP server bring back", async () => {
    await run.install("opencode", PLACE);
    const file = join(run.setting.workspace, "ledger.txt");
    writeFileSync(file, LARGE);
    const mains: RecordedRequest[] = [];
    run.script = (request) => {
      if (!run.program.isMain(request)) return { text: "A title." };
      mains.push(request);
      if (mains.length === 1) return { toolCalls: [{ id: "call_1", ...run.program.call(`cat ${file}`) }] };
      const [, id, session] = /with the id (\w+) of the session (\S+) gives/.exec(request.text) ?? [];
      if (mains.length > 4 || id === undefined || session === undefined) return { text: "Read." };
      const [, offset] =
        /expand with offset (\d+)/.exec(request.text.slice(request.text.lastIndexOf("[More"))) ?? [];
      const from = offset === undefined ? {} : { offset: Number(offset) };
      const call = { name: "pagurus_expand", arguments: { session, id, max_tokens: 8_000, ...from } };
      return { toolCalls: [{ id: `call_${mains.length}`, ...call }] };
    };
    await turn("Read the ledger.", false);
    const [, second, third] = mains.map(({ text }) => text);
    assert.ok(second !== undefined && third !== undefined);
    assert.ok(!second.includes("row 450 of"), "the middle is not sent");
    assert.match(second, /row 0 of/);
    assert.ok(
      mains.some(({ text }) => text.includes("row 450 of")),
      mains.at(-1)?.text.slice(-3_000),
    );
  });
});
