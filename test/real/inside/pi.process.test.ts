/** The engine inside the real pi: `pagurus install pi`, compactions by the host, large results, and pi alone where no host answers. */
import assert from "node:assert/strict";
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, it } from "node:test";
import { finish } from "../../turn/setting.ts";
import { until } from "../../runner/until.ts";
import { filesOf, InsideRun, numbered as words } from "./inside-run.ts";
import { inputOf } from "../../runner/child-input.ts";

const PLACE = ".pi/agent/extensions/pagurus/place.json";
const BUILT_IN = /context summarization assistant|structured summary|summariz/i;
const LARGE = Array.from({ length: 900 }, (_, at) => `row ${at} of the ledger 🦀`).join("\n");

interface PiLine {
  type: string;
  command?: string;
  success?: boolean;
  data?: { summary: string };
}

let run: InsideRun;

/** pi in its mode for other programs: one JSON line a command. */
class RpcPi {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly lines: PiLine[] = [];

  constructor() {
    this.#child = spawn(run.program.program(), ["--mode", "rpc", "--continue"], {
      cwd: run.setting.workspace,
      env: run.env,
    });
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      this.lines.push(JSON.parse(line) as PiLine);
    });
    this.#child.stderr.resume();
  }

  /** Sends a command and waits for a line after it. */
  async ask(command: object, isEnd: (line: PiLine) => boolean): Promise<PiLine> {
    const from = this.lines.length;
    inputOf(this.#child).write(`${JSON.stringify(command)}\n`);
    await until(() => this.lines.slice(from).some(isEnd));
    return this.lines.slice(from).find(isEnd) ?? assert.fail();
  }

  prompt(message: string): Promise<PiLine> {
    return this.ask({ type: "prompt", message }, ({ type }) => type === "agent_settled");
  }

  compact(): Promise<PiLine> {
    return this.ask({ type: "compact" }, ({ type, command }) => type === "response" && command === "compact");
  }

  async end(): Promise<void> {
    inputOf(this.#child).end();
    const isOver = (): boolean => this.#child.exitCode !== null || this.#child.signalCode !== null;
    await until(isOver);
  }
}

beforeEach(async () => {
  run = await InsideRun.of("pi");
  const settings = join(run.setting.root, ".pi/agent/settings.json");
  const more = { compaction: { keepRecentTokens: 500 } };
  writeFileSync(
    settings,
    JSON.stringify({ ...(JSON.parse(readFileSync(settings, "utf8")) as object), ...more }),
  );
});
afterEach(() => run.end());

describe("the engine inside the real pi", { timeout: 300_000 }, () => {
  it("answers compactions without a model request, also the next time, and a new process sends no old history", async () => {
    await run.install("pi", PLACE);
    let pi = new RpcPi();
    run.script = ({ text }) => ({ text: `${words("a", 900)} ${text.length}` });
    for (const turn of [1, 2, 3, 4])
      await pi.prompt(`Question ${turn}: the harbour master of ${words(`q${turn}x`, 300)}?`);
    for (const round of [1, 2]) {
      const before = run.model.requests.length;
      const compacted = await pi.compact();
      assert.equal(compacted.success, true, JSON.stringify(compacted));
      assert.match(compacted.data?.summary ?? "", /conversation_summary/);
      assert.equal(run.model.requests.length, before, "a compaction needs no model request");
      await pi.prompt(`After the compaction ${round}, ${words(`r${round}x`, 300)}?`);
      await pi.prompt(`Again after ${round}, ${words(`s${round}x`, 300)}?`);
    }
    await pi.end();
    pi = new RpcPi();
    await pi.prompt("In a new process?");
    await pi.end();
    const last = run.model.requests.at(-1)?.text ?? "";
    assert.ok(!run.model.requests.some(({ text }) => BUILT_IN.test(text.slice(0, 3_000))));
    assert.equal(last.split("<conversation_summary").length - 1, 1);
    assert.ok(!last.includes("q1x299"), "the words of the first question are out of sight");
    assert.match(last, /s2x299/);
    const { messages } = await run.kept("pi");
    for (const word of ["q1x299", "q4x299", "r1x299", "s2x299", "In a new process?"])
      assert.equal(messages.filter((line) => line.includes(word)).length, 1, `${word} is kept once`);
  });

  it("keeps a large result, whose exact text one call brings back", async () => {
    await run.install("pi", PLACE);
    const file = join(run.setting.workspace, "ledger.txt");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, LARGE);
    let step = 0;
    run.script = ({ text }) => {
      step += 1;
      if (step === 1) return { toolCalls: [{ id: "call_1", ...run.program.call(`cat ${file}`) }] };
      const [, id] = /pagurus_open with the id (\w+)/.exec(text) ?? [];
      if (step === 2 && id !== undefined)
        return { toolCalls: [{ id: "call_2", name: "pagurus_open", arguments: { id } }] };
      return { text: "Read." };
    };
    const pi = new RpcPi();
    await pi.prompt("Read the ledger.");
    await pi.end();
    const [, second = "", third = ""] = run.model.requests.map(({ text }) => text);
    assert.ok(!second.includes("row 450 of"), "the middle is not sent");
    assert.match(second, /row 0 of/);
    assert.ok(third.includes(JSON.stringify(LARGE).slice(1, -1)), "the exact text comes back");
  });

  it("works as without the extension where no host answers, and pagurus uninstall leaves its files as they were", async () => {
    const before = filesOf(join(run.setting.root, ".pi"));
    const installed = await finish(run.setting, ["install", "pi", "--yes"]);
    assert.equal(installed.code, 0, installed.stderr);
    const place = join(run.setting.root, PLACE);
    const there = JSON.parse(readFileSync(place, "utf8")) as object;
    const text = readFileSync(place, "utf8");
    writeFileSync(place, JSON.stringify({ ...there, wake: [] }));
    run.script = ({ text: body }) => ({
      text: BUILT_IN.test(body.slice(0, 4_000)) ? "A summary." : words("b", 900),
    });
    const pi = new RpcPi();
    for (const turn of [1, 2, 3]) await pi.prompt(`Question ${turn} of ${words(`q${turn}x`, 300)}?`);
    const asked = run.model.requests.length;
    assert.equal((await pi.compact()).success, true);
    assert.ok(run.model.requests.length > asked, "pi's own compaction ran");
    await pi.end();
    writeFileSync(place, text);
    const removed = await finish(run.setting, ["uninstall", "pi", "--yes"]);
    assert.equal(removed.code, 0, removed.stderr);
    const after = filesOf(join(run.setting.root, ".pi"));
    for (const [path, content] of before) assert.equal(after.get(path), content, path);
    assert.deepEqual(
      [...after.keys()].filter((path) => path.includes("extensions")),
      [],
    );
  });
});
