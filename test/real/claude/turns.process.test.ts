/**
 * Input that joins a turn on Claude Code and what stops one: steering, aborts, permissions, images, text that looks like
 * commands.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { ClaudeBench, conversation } from "./claude-bench.ts";

let bench: ClaudeBench;
let pagurus: Pagurus;
let script: (request: RecordedRequest, nth: number) => ReplyStep;
let from = 0;
let session = 0;
const asked: string[] = [];

before(async () => {
  bench = await ClaudeBench.with((request, index) => script(request, index - from));
  pagurus = await bench.host({
    permission: "ask",
    more: {
      askPermission: async ({ toolName }) => {
        asked.push(toolName);
        return toolName === "shell" ? "once" : "deny";
      },
    },
  });
});

after(async () => {
  await pagurus.close();
  assert.deepEqual(readdirSync(join(bench.root, "user")), [], "nothing is written to the user's folders");
  await bench.end();
  await bench.nothingLeft();
});

beforeEach(() => {
  from = bench.server.requests.length;
  session += 1;
  asked.length = 0;
});

function key(): string {
  return `session-${session}`;
}

async function run(
  prompt: string,
  on: (event: TurnEvent, turn: ReturnType<Pagurus["run"]>) => unknown = () => undefined,
): Promise<TurnEvent[]> {
  const turn = pagurus.run({ prompt, cwd: bench.cwd, sessionKey: key() });
  const events: TurnEvent[] = [];
  for await (const event of turn) {
    events.push(event);
    await on(event, turn);
  }
  return events;
}

function bash(command: string, id = "toolu_1"): ReplyStep {
  return { text: "I look.", toolCalls: [{ id, name: "Bash", arguments: { command } }] };
}

/** The conversation from the transcript. */
function recorded(events: readonly TurnEvent[]): string[] {
  return events.flatMap((event) => {
    if (event.type === "steered") return ["steered"];
    if (event.type !== "message") return [];
    const { message } = event;
    if (message.role === "toolResult") return [`result ${message.toolCallId} ${words(message)}`];
    if (typeof message.content === "string") return [`${message.role}: ${message.content}`];
    return message.content.flatMap((part) => {
      if (part.type === "text") return [`${message.role}: ${part.text}`];
      return part.type === "toolCall" ? [`call ${part.name} ${part.id}`] : [];
    });
  });
}

function words({ content }: AgentMessage): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

describe("A turn on Claude Code", { timeout: 240_000 }, () => {
  it("shows steering after the results of the round in which it came, as a user's message", async () => {
    script = (_request, nth) => (nth === 0 ? bash("sleep 0.3; echo done") : { text: "Seen.", delayMs: 30 });
    const events = await run(
      "Go on.",
      (event, turn) => event.type === "tool.started" && turn.steer("And quickly."),
    );
    const seen = [
      "user: Go on.",
      "assistant: I look.",
      "call Bash toolu_1",
      "result toolu_1 done",
      "user: And quickly.",
    ];
    assert.deepEqual(conversation(bench.request(-1)), seen);
    assert.deepEqual(recorded(events), [...seen.slice(0, -1), "steered", "assistant: Seen."]);
    script = () => ({ text: "Fine." });
    await run("What then?");
    assert.deepEqual(conversation(bench.request(-1)), [...seen, "assistant: Seen.", "user: What then?"]);
    const ids = bench.server.requests.slice(from).map(({ headers }) => headers["x-claude-code-session-id"]);
    assert.equal(new Set(ids).size, 1, "in one native session");
  });

  it("answers steering that comes during its last answer in one more", async () => {
    script = (_request, nth) => ({
      text: nth === 0 ? "The first answer, which takes its time." : "The second.",
      delayMs: 20,
    });
    let isSteered = false;
    const events = await run("Go on.", (event, turn) => {
      if (event.type !== "text.delta" || isSteered) return undefined;
      isSteered = true;
      return turn.steer("One more thing.");
    });
    const seen = [
      "user: Go on.",
      "assistant: The first answer, which takes its time.",
      "user: One more thing.",
    ];
    assert.deepEqual(conversation(bench.request(-1)), seen);
    assert.deepEqual(recorded(events), [...seen.slice(0, -1), "steered", "assistant: The second."]);
  });

  it("is aborted in an answer at once, and keeps its text so far", async () => {
    script = () => ({
      text: "The answer that is never ended by itself. ".repeat(20),
      delayMs: 20,
      hangAfterChunks: 5,
    });
    let at = 0;
    const events = await run("Go on.", (event, turn) => {
      if (event.type !== "text.delta" || at !== 0) return;
      at = performance.now();
      turn.abort();
    });
    assert.ok(performance.now() - at < 2_900, "before the 3 s for an interrupt without an answer");
    const last = events.at(-1);
    assert.equal(last?.type === "turn.completed" && last.stopReason, "aborted");
    const [, partial] = recorded(events);
    assert.match(partial ?? "", /^assistant: The answer/);
    script = () => ({ text: "Fine." });
    await run("Again.");
    assert.deepEqual(conversation(bench.request(-1)), ["user: Go on.", partial, "user: Again."]);
  });

  it("is aborted in a command, which ends with it", async () => {
    script = () => bash(`touch ${bench.root}/begun; sleep 300`);
    await run("Go on.", async (event, turn) => {
      if (event.type !== "tool.started") return;
      while (!existsSync(join(bench.root, "begun"))) await new Promise((resolve) => setTimeout(resolve, 10));
      turn.abort();
    });
    script = () => ({ text: "Fine." });
    const events = await run("Again.");
    assert.equal(events.at(-1)?.type, "turn.completed");
    const shown = conversation(bench.request(-1));
    assert.equal(shown[2], "call Bash toolu_1");
    // It had begun: it must not be reported as refused.
    assert.match(shown[3] ?? "", /^result toolu_1 .*outcome is unknown/);
  });

  it("asks the host before each call of a tool of Claude Code's own, and reports the reason of a refusal to the model", async () => {
    writeFileSync(join(bench.cwd, "seen.txt"), "seen\n");
    const calls = [
      { id: "toolu_1", name: "Bash", arguments: { command: "echo allowed" } },
      {
        id: "toolu_2",
        name: "Edit",
        arguments: { file_path: join(bench.cwd, "new.txt"), old_string: "", new_string: "x" },
      },
      { id: "toolu_3", name: "Read", arguments: { file_path: join(bench.cwd, "seen.txt") } },
    ];
    script = (_request, nth) => (nth === 0 ? { toolCalls: calls } : { text: "Done." });
    await run("Go on.");
    assert.deepEqual(asked.toSorted(), ["shell", "write"]);
    const [, , , , allowed, denied, read] = conversation(bench.request(-1));
    assert.equal(allowed, "result toolu_1 allowed");
    assert.match(denied ?? "", /^result toolu_2 .*(?:denied|not allowed|refused)/i);
    assert.match(read ?? "", /^result toolu_3 .*seen/);
    assert.ok(!existsSync(join(bench.cwd, "new.txt")));
  });

  it("shows no command the key or Claude Code's endpoint", async () => {
    const command = "env | grep -cE 'test-key|127.0.0.1|CONFIG_DIR|CACHE_HOME'; echo looked";
    script = (_request, nth) => (nth < 2 ? bash(command, `toolu_${nth}`) : { text: "Done." });
    await run("Go on.");
    const results = conversation(bench.request(-1)).filter((line) => line.startsWith("result "));
    assert.deepEqual(results, ["result toolu_0 0\nlooked", "result toolu_1 0\nlooked"]);
  });

  it("has the result of a call whose id the server had used before in the next turn, with a notice", async () => {
    script = (_request, nth) =>
      nth < 2 ? bash(`echo ${["first", "second"][nth]}`, "call_0") : { text: "Done." };
    const notices = (await run("Go on.")).flatMap((event) =>
      event.type === "notice" && event.kind === "claude" ? [event.detail] : [],
    );
    assert.match(notices.join(), /^The model server reused the id of a tool call/);
    script = () => ({ text: "Fine." });
    await run("Again.");
    const results = conversation(bench.request(-1)).filter((line) => line.startsWith("result "));
    assert.deepEqual(
      results.map((line) => line.replace(/^result \S+ /, "")),
      ["first", "second"],
    );
  });

  it("treats text that begins like a command as text", async () => {
    script = () => ({ text: "Fine." });
    for (const prompt of ["/compact all of it", "/help", "!ls", "# a heading", "look at @seen.txt"]) {
      await run(prompt);
      assert.equal(conversation(bench.request(-1)).at(-1), `user: ${prompt}`);
    }
    assert.equal(bench.server.requests.length - from, 5, "one request each, and no other");
  });
});
