/**
 * Records Claude Code's requests to a model server: `node test/real/wire/record-claude-dialect.ts FOLDER [SCENE…]` writes
 * each request to the folder, without machine-specific parts and with Claude Code's own long texts cut in their middle. The
 * fixtures in `test/gateway/recorded` are some of these; the side calls among them came from claude-agent-acp and a
 * terminal.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AssistantMessage } from "../../../packages/contract/src/message.ts";
import { messagesDialect } from "../../../packages/gateway/src/dialect/messages/messages-dialect.ts";
import type { WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { ClaudeDialectBench, type BenchOptions, type Reply } from "./claude-dialect-bench.ts";

interface Scene extends BenchOptions {
  answer(request: WireRequest, index: number, bench: ClaudeDialectBench): Reply;
  play(bench: ClaudeDialectBench): Promise<unknown>;
}

const LONGEST = 240;
const SUMMARY: Reply = { text: "The summary that was given." };
const FULL = { input: 99_000, output: 5, totalTokens: 99_005 };

function calls(...content: AssistantMessage["content"]): Reply {
  return { message: content };
}

function call(id: string, name: string, given: Record<string, unknown>): AssistantMessage["content"][number] {
  return { type: "toolCall", id, name, arguments: given };
}

const slow = call("toolu_s1", "Bash", { command: "sleep 2; echo one", description: "wait" });
const isCompaction = ({ kind }: WireRequest): boolean => kind === "compaction";
const has = ({ body }: WireRequest, words: string): boolean => body.includes(words);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function interruptedBy(bench: ClaudeDialectBench, line: object): Promise<void> {
  const turn = bench.ask("Run slowly");
  await pause(2_000);
  bench.send(line);
  await turn;
  await bench.ask("Second prompt");
}

const SCENES: Readonly<Record<string, Scene>> = {
  turns: {
    answer: (request, index, { cwd }) => {
      if (isCompaction(request)) return SUMMARY;
      if (index !== 1) return { text: "Done." };
      const files = ["notes.txt", "more.txt"].map((name) => join(cwd, name));
      const read = files.map((file_path, at) => call(`toolu_0${at}`, "Read", { file_path }));
      return calls({ type: "thinking", thinking: "Let me read.", signature: "c2lnbmF0dXJl" }, ...read);
    },
    play: async (bench) => {
      await bench.ask("Hello there");
      await bench.ask("Read both files");
      await bench.ask("/compact keep the harbour in view");
      await bench.ask("What was the word?");
    },
  },
  steer: {
    answer: (_request, index) => (index === 0 ? calls(slow) : { text: "All done." }),
    play: (bench) =>
      interruptedBy(bench, {
        type: "user",
        priority: "now",
        message: { role: "user", content: "Be brief." },
      }),
  },
  interrupt: {
    answer: (_request, index) => (index === 0 ? calls(slow) : { text: "All done." }),
    play: (bench) =>
      interruptedBy(bench, {
        type: "control_request",
        request_id: "r1",
        request: { subtype: "interrupt" },
      }),
  },
  auto: {
    env: { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "100000" },
    answer: (request, index) =>
      isCompaction(request) ? SUMMARY : { text: "Fine.", ...(index === 1 ? { usage: FULL } : {}) },
    play: async (bench) => {
      for (const words of ["One", "Two", "Three"]) await bench.ask(words);
    },
  },
  subagent: {
    answer: (request) => {
      if (request.native.agentId !== undefined || has(request, "tool_result")) return { text: "Done." };
      const prompt = "Look around and report.";
      return calls(
        call("toolu_t1", "Agent", { description: "look", prompt, subagent_type: "general-purpose" }),
      );
    },
    play: (bench) => bench.ask("Use an agent"),
  },
};

function shorter(key: string, value: unknown): unknown {
  const isOwn =
    typeof value === "string" && (key === "description" || /^<system-reminder>|^\n?You are/.test(value));
  if (!isOwn || value.length <= LONGEST) return value;
  return `${value.slice(0, LONGEST - 30)} […] ${value.slice(-25)}`;
}

function neutral(text: string, root: string): string {
  return text
    .replaceAll(join(root, "work"), "/home/user/project")
    .replaceAll(join(root, "config"), "/home/user/.claude")
    .replaceAll(root, "/home/user")
    .replaceAll(join(root, "work").replaceAll(/[^a-zA-Z0-9]/g, "-"), "-home-user-project")
    .replaceAll(/Linux \d+\.[\w.-]+/g, "Linux 6.1.0")
    .replaceAll(/(device_id\\*":\\*")[0-9a-f]+/g, `$1${"0".repeat(64)}`)
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:8080");
}

async function record(name: string, folder: string): Promise<void> {
  const scene = SCENES[name];
  if (!scene) throw new Error(`No scene "${name}": there are ${Object.keys(SCENES).join(", ")}.`);
  const bench = await ClaudeDialectBench.start((request, index) => scene.answer(request, index, bench), {
    ...scene,
    tools: ["Read", "Bash", "Agent"],
  });
  try {
    await scene.play(bench);
    for (const [index, { path, headers, request }] of bench.asked.entries()) {
      const thread = request.native.threadId ?? "";
      const clean = (text: string): string =>
        neutral(text, bench.root).replaceAll(
          thread === "" ? "\0" : thread,
          "11111111-2222-4333-8444-555555555555",
        );
      const body = clean(JSON.stringify(JSON.parse(request.body.toString("utf8")), shorter));
      const lines = Object.entries({ ...headers, "content-length": String(Buffer.byteLength(body)) });
      const head = [
        `POST /v1${path} HTTP/1.1`,
        ...lines.map(([key, value]) => `${key}: ${clean(String(value))}`),
      ];
      writeFileSync(join(folder, `${name}-${index}.http`), `${head.join("\r\n")}\r\n\r\n${body}`);
      console.log(name, index, messagesDialect.read(path, headers, request.body).kind);
    }
  } finally {
    await bench.end();
  }
}

const [folder, ...asked] = process.argv.slice(2);
if (folder === undefined) throw new Error("Name the folder that the requests are written to.");
mkdirSync(folder, { recursive: true });
for (const name of asked.length > 0 ? asked : Object.keys(SCENES)) await record(name, folder);
