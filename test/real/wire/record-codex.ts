/**
 * Records Codex's requests to a model server: `node test/real/wire/record-codex.ts FOLDER [SCENE…]` writes each request to
 * the folder, as `neutral.ts` leaves it. The fixtures in `test/gateway/recorded` are some of these.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ReplyStep } from "../../servers/script.ts";
import { codexBinary } from "../codex-binary.ts";
import { CodexWire, scripted, type Answer, type CodexSettings, type Reply } from "./codex-wire-bench.ts";
import { neutralRequest } from "./neutral.ts";

interface Scene extends CodexSettings {
  answer: Answer;
  /** `codex exec` instead of an app-server. */
  exec?: string;
  play?(codex: CodexWire): Promise<unknown>;
}

const run = (id: string, cmd: string) => ({ id, name: "exec_command", arguments: { cmd } });
const delegate = (id: string, name: string, given: Record<string, unknown>) => ({
  id,
  namespace: "multi_agent_v1",
  name,
  arguments: given,
});
const steps =
  (list: ReplyStep[]): Answer =>
  (_, index) =>
    scripted(list[index] ?? { text: `Done ${index}.` }, index);

const LOOKS: ReplyStep[] = [
  {
    thinking: { text: "Two looks.", signature: "ENCRYPTED" },
    toolCalls: [run("call_a", "echo one"), run("call_b", "echo two")],
  },
  { text: "One and two." },
  { text: "Second." },
];

const SMALL_WINDOW = { top: ["model_auto_compact_token_limit = 5000"] };
const FULL = { usage: { input: 9000, output: 10 } };

function compactionItem(index: number): Reply {
  const item = { type: "compaction", id: `cmp_${index}`, encrypted_content: "OPAQUE" };
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const response = { id: `resp_${index}`, status: "completed", output: [item], usage };
  const events = [
    { type: "response.created", response: { id: `resp_${index}` } },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response },
  ];
  return {
    headers: { "content-type": "text/event-stream" },
    body: events.map((event) => Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)),
  };
}

async function steered(codex: CodexWire): Promise<void> {
  const threadId = await codex.thread();
  const begin = async (text: string): Promise<string> => {
    const started = codex.notification("item/agentMessage/delta");
    const input = [{ type: "text", text, text_elements: [] }];
    const { turn } = await codex.request("turn/start", { threadId, input });
    await started;
    return (turn as { id: string }).id;
  };
  const first = codex.notification("turn/completed");
  const expectedTurnId = await begin("Begin.");
  const input = [{ type: "text", text: "And this.", text_elements: [] }];
  await codex.request("turn/steer", { threadId, expectedTurnId, input });
  await first;
  const second = codex.notification("turn/completed");
  const turnId = await begin("Stop soon.");
  await codex.request("turn/interrupt", { threadId, turnId });
  await second;
  await codex.turn(threadId, "Go on.");
}

async function delegated(codex: CodexWire): Promise<void> {
  const thread = await codex.thread({ config: { features: { multi_agent: true } } });
  await codex.turn(thread, "Delegate.");
  await codex.turn(thread, "What came of it?");
}

const SCENES: Record<string, Scene> = {
  exec: { exec: "Look twice.", answer: steps(LOOKS) },
  loop: {
    answer: steps(LOOKS),
    play: async (codex) => {
      const thread = await codex.thread({ developerInstructions: "DEVELOPER WORDS" });
      await codex.turn(thread, "Look twice.");
      await codex.turn(thread, "Again.", {
        cwd: join(codex.root, "codex"),
        additionalContext: {
          rules: { kind: "application", value: "RULE" },
          tab: { kind: "untrusted", value: "TAB" },
        },
      });
    },
  },
  lite: {
    answer: (_, index) =>
      scripted(index === 0 ? { toolCalls: [run("call_a", "echo one")] } : { text: "One." }, index),
    play: async (codex) => codex.turn(await codex.thread({ model: "gpt-6-sol" }), "Look twice."),
  },
  compact: {
    ...SMALL_WINDOW,
    answer: (_, index) =>
      scripted({ text: index === 1 ? "SUMMARY" : `Reply ${index}.`, ...(index === 0 ? FULL : {}) }, index),
    play: async (codex) => {
      const thread = await codex.thread();
      await codex.turn(thread, "First.");
      await codex.turn(thread, "Second.");
      await codex.compact(thread);
      await codex.turn(thread, "Third.");
    },
  },
  midturn: {
    ...SMALL_WINDOW,
    answer: (_, index) => {
      if (index === 1) return scripted({ toolCalls: [run("call_a", "echo one")], ...FULL }, index);
      return scripted({ text: index === 2 ? "SUMMARY" : `Reply ${index}.` }, index);
    },
    play: async (codex) => {
      const thread = await codex.thread();
      await codex.turn(thread, "Before.");
      await codex.turn(thread, "Look.");
    },
  },
  remote: {
    ...SMALL_WINDOW,
    provider: "OpenAI",
    answer: (asked, index) =>
      asked.body.includes('"compaction_trigger"')
        ? compactionItem(index)
        : scripted({ text: `Reply ${index}.`, ...(index === 0 ? FULL : {}) }, index),
    play: async (codex) => {
      const thread = await codex.thread();
      await codex.turn(thread, "First.");
      await codex.turn(thread, "Second.");
      await codex.turn(thread, "Third.", {
        cwd: join(codex.root, "codex"),
        additionalContext: { tab: { kind: "untrusted", value: "TAB" } },
      });
    },
  },
  steer: {
    answer: (_, index) =>
      scripted({ text: `A long reply ${index} that takes its time.`, delayMs: 100, chunkSize: 8 }, index),
    play: steered,
  },
  review: {
    answer: steps([
      {
        text: '{"findings":[],"overall_correctness":"patch is correct","overall_explanation":"fine","overall_confidence_score":1}',
      },
    ]),
    play: async (codex) => {
      const threadId = await codex.thread();
      const done = codex.notification("turn/completed", threadId);
      const target = { type: "custom", instructions: "Look at it." };
      await codex.request("review/start", { threadId, target, delivery: "inline" });
      await done;
      await codex.turn(threadId, "Thanks.");
    },
  },
  agents: {
    answer: ({ headers, body }, index) => {
      if (headers["x-openai-subagent"] !== undefined) return scripted({ text: "Child done." }, index);
      const text = body.toString();
      const [, id = ""] = /agent_id\\":\\"([0-9a-f-]+)/.exec(text) ?? [];
      if (id === "")
        return scripted(
          { toolCalls: [delegate("call_spawn", "spawn_agent", { message: "CHILD TASK" })] },
          index,
        );
      if (text.includes("call_wait")) return scripted({ text: "Parent done." }, index);
      const wait = delegate("call_wait", "wait_agent", { targets: [id], timeout_ms: 10_000 });
      return scripted({ toolCalls: [wait] }, index);
    },
    play: delegated,
  },
  own: {
    answer: steps([]),
    play: async (codex) => {
      const threadId = await codex.thread();
      await codex.turn(threadId, "Use $skill-creator now.");
      const done = codex.notification("turn/completed", threadId);
      await codex.request("thread/shellCommand", { threadId, command: "echo shell" });
      await done;
      await codex.turn(threadId, "Thanks.");
    },
  },
};

async function record(
  folder: string,
  name: string,
  { exec, play, answer, ...settings }: Scene,
): Promise<void> {
  const codex = await CodexWire.start(answer, settings);
  try {
    if (exec === undefined) await codex.connect();
    await play?.(codex);
    if (exec !== undefined) {
      const options = { cwd: codex.cwd, env: codex.env, stdio: "ignore" } as const;
      await once(spawn(codexBinary(), ["exec", "--skip-git-repo-check", exec], options), "close");
    }
  } finally {
    mkdirSync(folder, { recursive: true });
    for (const [index, asked] of codex.asked.entries())
      writeFileSync(join(folder, `${name}-${index}.http`), neutralRequest(asked, codex.root));
    await codex.end();
  }
}

const [folder = "", ...wanted] = process.argv.slice(2);
for (const [name, scene] of Object.entries(SCENES))
  if (wanted.length === 0 || wanted.includes(name)) await record(folder, name, scene);
