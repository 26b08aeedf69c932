/** Turns of two sessions in parallel on one process of a real agent; images, keys, and what remains after an abort. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { ReplyStep } from "../../servers/server.ts";
import { AcpBench, count, lines, NOTE, userTexts, type AgentName } from "./acp-bench.ts";
import { until } from "../../runner/until.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

interface Found {
  pid: number;
  line: string;
  environment: string;
}

/** Processes with the bench's folder in their environment. */
function processesOf(root: string): Found[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
    try {
      const [environment = "", line = ""] = ["environ", "cmdline"].map((file) =>
        readFileSync(join("/proc", name, file), "utf8").replaceAll("\0", " "),
      );
      return environment.includes(root) ? [{ pid: Number(name), line, environment }] : [];
    } catch {
      // It has ended, or belongs to another user.
      return [];
    }
  });
}

function longCommand(agent: AgentName, file: string): ReplyStep {
  const command = `echo begun > ${file}; sleep 61; echo ended > ${file}`;
  return {
    toolCalls: [
      agent === "claude"
        ? { id: "long", name: "Bash", arguments: { command, description: "Waits." } }
        : { id: "long", name: "exec_command", arguments: { cmd: command, yield_time_ms: 30_000 } },
    ],
  };
}

for (const agent of ["claude", "codex"] as const) {
  describe(`the agent ${agent}, apart`, () => {
    let bench: AcpBench;
    const answers = new Map<string, ReplyStep[]>();
    before(async () => {
      bench = await AcpBench.with(agent, (request) => {
        const words = userTexts(request).join("\n");
        const latest = [...answers.keys()].toSorted((a, b) => words.lastIndexOf(b) - words.lastIndexOf(a))[0];
        return answers.get(latest ?? "")?.shift() ?? { text: "Nothing more." };
      });
    });
    after(() => bench.end());

    it("runs two sessions at once, each with two parallel calls of a tool, and every result reaches its own call", async () => {
      const pagurus = await bench.host();
      const names = ["north", "south"] as const;
      for (const name of names)
        answers.set(`Look ${name}.`, [
          { toolCalls: [1, 2].map((at) => bench.noteCall(`${name}_${at}`, `${name}-${at}`)) },
          { text: `It is ${name}.` },
        ]);
      await Promise.all(
        names.map((name) => bench.ask(pagurus, `Look ${name}.`, { sessionKey: `agent:main:${name}` })),
      );
      const heads = processesOf(bench.root).filter(({ line }) => /(claude-agent|codex)-acp/.test(line));
      assert.equal(new Set(heads.map(({ line }) => line)).size, heads.length, "one process of the agent");
      for (const name of names) {
        const reader = pagurus.sessions().openReader(`agent:main:${name}`);
        const { messages } = reader.contextMessages();
        reader.close();
        const [one, two] = [1, 2].map((at) => `call ${NOTE} {"word":"${name}-${at}"}`);
        const [first, second] = [1, 2].map((at) => `toolResult: noted ${name}-${at}`);
        const calls =
          agent === "claude"
            ? [`assistant: ${one} | ${two}`, first, second]
            : // Codex reports the second once the first has its result.
              [`assistant: ${one}`, first, `assistant: ${two}`, second];
        assert.deepEqual(lines(messages), [`user: Look ${name}.`, ...calls, `assistant: It is ${name}.`]);
        const ids = (messages as AgentMessage[]).flatMap((each) =>
          each.role === "toolResult" ? [each.toolCallId] : [],
        );
        assert.equal(new Set(ids).size, 2);
      }
      await pagurus.close();
    });

    it("passes an image on, and shows the key on no command line and in no log", async () => {
      const pagurus = await bench.host();
      const parts = [{ type: "image" as const, data: PIXEL, mimeType: "image/png" }];
      await bench.ask(pagurus, "What is a pelican?", { parts });
      assert.equal(count(bench.main(-1), "What is a pelican?"), 1);
      assert.match(bench.main(-1).text, /"(?:input_image|image)"/);
      const seen = processesOf(bench.root);
      assert.ok(seen.length > 0);
      for (const { line } of seen) assert.doesNotMatch(line, /test-key/);
      await pagurus.close();
      const logs = join(bench.root, "home", "logs");
      const log = readdirSync(logs)
        .map((name) => readFileSync(join(logs, name), "utf8"))
        .join("\n");
      assert.notEqual(log, "");
      assert.doesNotMatch(log, /test-key|pelican/);
      assert.deepEqual(processesOf(bench.root), []);
    });

    it("ends a running command when the turn is aborted, and leaves no process", async () => {
      const file = join(bench.cwd, "long.txt");
      answers.set("Take long.", [longCommand(agent, file)]);
      const pagurus = await bench.host();
      const run = pagurus.run({ prompt: "Take long.", cwd: bench.cwd });
      const going = (async () => {
        let last;
        for await (const event of run) last = event;
        return last;
      })();
      while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 50));
      run.abort();
      const last = await going;
      assert.equal(last?.type === "turn.completed" && last.stopReason, "aborted");
      const sleeps = (): Found[] => processesOf(bench.root).filter(({ line }) => line.startsWith("sleep 61"));
      await until(
        () => sleeps().length === 0,
        () => JSON.stringify(sleeps()),
      );
      await pagurus.close();
      await until(
        () => processesOf(bench.root).length === 0,
        () => JSON.stringify(processesOf(bench.root)),
      );
    });
  });
}
