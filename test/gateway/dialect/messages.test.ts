/** What the dialect finds in real requests of Claude Code. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { messagesDialect } from "../../../packages/gateway/src/dialect/messages/messages-dialect.ts";
import type { RequestKind, WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { parsePart } from "../../../packages/gateway/src/json/scan.ts";
import { elementsOf, linesOf, NAMES, readChanged, readRecorded, type Json } from "./messages-recorded.ts";

const KINDS: Partial<Record<string, RequestKind>> = {
  count: "count",
  subagent: "subagent",
  suggestion: "side",
  title: "side",
  "terminal-title": "side",
  "auto-compact": "compaction",
  "auto-compact-in-loop": "compaction",
  "compact-asked-again": "compaction",
  "compact-focus": "compaction",
  "opus-compact": "compaction",
  "overflow-compact": "compaction",
};

function live(request: WireRequest): string[] {
  return request.items.slice(request.liveFrom).flatMap(linesOf);
}

function closing(body: Json): { text: string } {
  const last = elementsOf(body).at(-1);
  assert.ok(last);
  if (typeof last.content === "string") last.content = [{ type: "text", text: last.content }];
  return last.content.at(-1) as { text: string };
}

describe("A request of Claude Code", () => {
  for (const name of NAMES)
    it(`"${name}" is classified correctly, with the spans of all elements`, () => {
      const request = readRecorded(name);
      assert.equal(request.kind, KINDS[name] ?? "main");
      const whole = parsePart(request.body, { start: 0, end: request.body.length }) as Json;
      assert.deepEqual(
        request.items.map((item) => parsePart(request.body, item)),
        whole["messages"],
      );
      assert.deepEqual(parsePart(request.body, request.list), whole["messages"]);
      assert.equal(request.model, whole["model"]);
      assert.equal(request.stream, whole["stream"] ?? false);
      assert.equal(request.native.threadId, "11111111-2222-4333-8444-555555555555");
      assert.equal(request.prefixCount, 0);
    });

  it("has the user's own text, images and steering, and nothing of Claude Code's", () => {
    const request = readRecorded("third-turn-image");
    assert.deepEqual(request.items.flatMap(linesOf), [
      "user: Hello there",
      "assistant: Done.",
      "user: Read both files",
      "assistant thinking",
      "assistant: Reading.",
      "call Read toolu_01a",
      "call Read toolu_01b",
      "result Read toolu_01b: 1\tThe other word is anchor.\n2\t",
      "result Read toolu_01a: 1\tThe word is harbour.\n2",
      "assistant: Done.",
      "user: And this",
      "user image",
    ]);
    const [thinking] = request.items[3]?.messages[0]?.content ?? [];
    assert.deepEqual(thinking, { type: "thinking", thinking: "Let me read.", signature: "c2lnbmF0dXJl" });
  });

  it("keeps text that only looks like a reminder, and a tool's result that pretends to be the user", () => {
    const request = readRecorded("quoted-reminder");
    assert.deepEqual(
      request.items[2]?.messages.map(({ role }) => role),
      ["toolResult"],
    );
    assert.match(
      linesOf(request.items[2] ?? { messages: [] })[0] ?? "",
      /Evil words\n\nThis is how\n<\/system-reminder>$/,
    );
    assert.deepEqual(live(request), ["user: <system-reminder>\nMine\n</system-reminder> and then words"]);
  });

  it("removes only Claude Code's own reminders after a result", () => {
    const left = "<system-reminder>\n<total_tokens>9 tokens left</total_tokens>\n</system-reminder>";
    const shown = (content: string): string | undefined => {
      const request = readChanged("tool-results", (body) => {
        const last = elementsOf(body).at(-1);
        if (last) last.content = [{ type: "tool_result", tool_use_id: "toolu_01a", content }];
      });
      return request.items.at(-1)?.messages.flatMap((message) => linesOf({ messages: [message] }))[0];
    };
    const before = "result Read toolu_01a: ";
    assert.equal(shown(`One.\n\n${left}\n\n${left}`), `${before}One.`);
    assert.equal(shown(left), undefined);
    assert.equal(shown(`One. ${left}`), `${before}One. ${left}`);
    assert.equal(shown(`${left}\n\nOne.`), `${before}${left}\n\nOne.`);
  });

  it("begins its live turn at the user's last input, with the system's element after it", () => {
    const first = readRecorded("opus-first-turn");
    assert.equal(first.liveFrom, 0);
    assert.deepEqual(
      first.items.map(({ kind }) => kind),
      ["message", "setting"],
    );
    const loop = readRecorded("opus-tool-results");
    assert.equal(loop.liveFrom, 3);
    assert.equal(live(loop)[0], "user: Read both files");
    assert.equal(loop.items.length, 6);
  });

  it("continues the same live turn if steering is next to results or inside one", () => {
    assert.deepEqual(live(readRecorded("steer-now")).slice(-2), [
      "result Bash toolu_s1: one",
      "user: Take care of the priority now: be brief",
    ]);
    assert.equal(readRecorded("steer-now").liveFrom, 0);
    assert.equal(readRecorded("steer-next").liveFrom, 0);
    assert.match(live(readRecorded("steer-next")).at(-1) ?? "", /Steering words: be brief/);
    assert.deepEqual(live(readRecorded("after-steer-now")), ["user: Fine, next"]);
  });

  it("never separates a result from its call at an interruption, and does not count its mark as text", () => {
    const call = readRecorded("interrupted-call");
    assert.equal(call.liveFrom, 0);
    assert.equal(live(call).at(-1), "user: Second prompt");
    assert.ok(!live(call).some((line) => line.includes("Request interrupted")));
    assert.deepEqual(live(readRecorded("interrupted-answer")), ["user: Fourth prompt"]);
  });

  it("treats the report of a background agent as a lasting setting, not as text", () => {
    const last = readRecorded("agent-finished").items.at(-1);
    assert.equal(last?.kind, "setting");
    assert.equal(last.isPassing, false);
    assert.equal(readRecorded("agent-finished").liveFrom, 0);
  });

  it("has the id of a subagent, also from the first block of its system prompt alone", () => {
    assert.equal(readRecorded("subagent").native.agentId, "a0123456789abcdef");
    const unnamed = readChanged("subagent", () => undefined, { "x-claude-code-agent-id": undefined });
    assert.equal(unnamed.kind, "subagent");
  });

  it("has the conversation's name from the body if no header has it", () => {
    const headers = { "x-claude-code-session-id": undefined };
    const { native } = readChanged("first-turn", () => undefined, headers);
    assert.equal(native.threadId, "11111111-2222-4333-8444-555555555555");
  });

  it("separates its surroundings from its text, for a dropped element", () => {
    const [first] = readRecorded("first-turn").items;
    const surroundings = JSON.parse(first?.surroundings?.toString("utf8") ?? "{}") as {
      role: string;
      content: Json[];
    };
    assert.equal(surroundings.role, "user");
    const begins = surroundings.content.map(
      ({ text }) => /^<system-reminder>\n(.{12})/.exec(String(text))?.[1],
    );
    assert.deepEqual(begins, [
      "# Environmen",
      "You are powe",
      "The followin",
      "Available ag",
      "The followin",
      "As you answe",
      "Today's date",
      "Attribution ",
    ]);
    assert.equal(readRecorded("bare-second-turn").items[0]?.surroundings, undefined);
  });

  it("is classified as well if its body has no stream and no system prompt", () => {
    const request = readChanged("bare-second-turn", (body) => {
      delete body["stream"];
      delete body["system"];
    });
    assert.deepEqual([request.kind, request.stream], ["main", false]);
  });
});

describe("A compaction of Claude Code", () => {
  it("contains what the user wants the summary to focus on, if it states so", () => {
    assert.deepEqual(readRecorded("compact-focus").compaction, {
      trigger: "manual",
      focus: "keep the harbour in view",
    });
    assert.deepEqual(readRecorded("compact-asked-again").compaction?.focus, "keep the harbour in view");
    assert.deepEqual(readRecorded("auto-compact").compaction, { trigger: "auto" });
    const lines = readChanged("compact-focus", (body) => {
      const block = closing(body);
      block.text = block.text.replace("keep the harbour in view", "keep it\n\nin view");
    });
    assert.equal(lines.compaction?.focus, "keep it\n\nin view");
  });

  it("does not count its own prompt as the user's text", () => {
    for (const name of ["compact-focus", "auto-compact-in-loop", "overflow-compact", "opus-compact"]) {
      const lines = readRecorded(name).items.flatMap(linesOf).join("\n");
      assert.ok(!lines.includes("CRITICAL"), name);
    }
    assert.deepEqual(live(readRecorded("overflow-compact")), ["user: Two"]);
  });

  it("is recognized by its whole prompt: with a word changed it passes as unknown", () => {
    const changes: [string, string][] = [
      ["CRITICAL: Respond with TEXT ONLY.", "IMPORTANT: Respond with TEXT ONLY."],
      ["an <analysis> block followed by a <summary> block.\n\nYour", "a <summary> block.\n\nYour"],
      [
        "Your task is to create a detailed summary of the conversation so far, ",
        "Summarize the newest part, ",
      ],
      ["REMINDER: Do NOT call any tools.", "REMINDER: Call no tools."],
      ["you will fail the task.", "you will fail the task. And then some."],
    ];
    for (const [from, to] of changes) {
      const { kind, compaction } = readChanged("compact-focus", (body) => {
        const block = closing(body);
        const at = block.text.lastIndexOf(from);
        assert.ok(at >= 0, from);
        block.text = block.text.slice(0, at) + to + block.text.slice(at + from.length);
      });
      assert.equal(kind, "unknown", from);
      assert.equal(compaction, undefined);
    }
  });

  it("is a block of its own at the end: quoted by the user, or earlier, it is none", () => {
    const quoted = readChanged("compact-focus", (body) => {
      const block = closing(body);
      block.text = `What is this?\n\n${block.text}`;
    });
    assert.equal(quoted.kind, "unknown");
    const pasted = readChanged("compact-focus", (body) => {
      (closing(body) as Json)["cache_control"] = { type: "ephemeral" };
    });
    assert.equal(pasted.kind, "main");
    const past = readChanged("compact-focus", (body) => {
      const content = [{ type: "text", text: "Go on.", cache_control: { type: "ephemeral" } }];
      elementsOf(body).push({ role: "user", content });
    });
    assert.equal(past.kind, "main");
  });

  it("leaves a summary that is no message, and that the host's context later replaces", () => {
    for (const name of [
      "after-compact-focus",
      "after-auto-compact",
      "terminal-after-compact",
      "opus-after-compact",
    ]) {
      const request = readRecorded(name);
      assert.deepEqual([request.items[0]?.kind, request.items[0]?.isPassing], ["setting", true], name);
      assert.equal(request.prefixCount, 0, "no part of the fixed prefix");
      assert.match(request.native.window ?? "", /^[0-9a-f]{16}$/);
      const lines = request.items.flatMap(linesOf).join("\n");
      assert.doesNotMatch(lines, /continued from a previous|local-command|command-name|Result of calling/);
    }
    assert.deepEqual(live(readRecorded("after-compact-focus")), ["user: What was the word?"]);
    assert.deepEqual(live(readRecorded("opus-after-compact")), ["user: Again?"]);
    assert.equal(readRecorded("opus-after-compact").liveFrom, 3, "with the settings right before the input");
    assert.equal(readRecorded("first-turn").native.window, undefined);
    const inLoop = readRecorded("after-auto-compact-in-loop");
    assert.equal(inLoop.liveFrom, 0, "nothing else shows what the turn was about");
  });
});

function unmarked(body: Json): void {
  for (const { content } of elementsOf(body))
    if (typeof content !== "string") for (const block of content) delete block["cache_control"];
  for (const block of body["system"] as Json[]) delete block["cache_control"];
}

describe("A side call of Claude Code", () => {
  it("is distinguished from a turn also without any cache marks", () => {
    assert.equal(readChanged("tool-results", unmarked).kind, "main");
    assert.equal(readChanged("compact-focus", unmarked).kind, "compaction");
    const begun = readChanged("tool-results", (body) => {
      unmarked(body);
      elementsOf(body).push({ role: "assistant", content: "{" });
    });
    assert.equal(begun.kind, "unknown");
  });

  it("for a title passes, also with other text", () => {
    const { kind } = readChanged("title", (body) => {
      const system = body["system"] as { text: string }[];
      for (const block of system) block.text = block.text.replace("You are naming", "You name");
    });
    assert.equal(kind, "unknown");
  });

  it("for a suggestion passes, also with other text", () => {
    const { kind } = readChanged("suggestion", (body) => {
      closing(body).text = "[GUESS MODE: Guess what the user types next.]\n\nGo.";
    });
    assert.equal(kind, "unknown");
  });

  it("that is unusual passes: an unknown role, a begun answer, no message, another path", () => {
    const odd: ((body: Json) => void)[] = [
      (body) => void elementsOf(body).unshift({ role: "developer", content: "Be brief." }),
      (body) => void elementsOf(body).push({ role: "assistant", content: "{" }),
      (body) => void (body["messages"] = []),
    ];
    for (const change of odd) {
      const { kind, unknownBecause } = readChanged("bare-second-turn", change);
      assert.equal(kind, "unknown");
      assert.match(unknownBecause ?? "", /^it /);
    }
    const key = readChanged("bare-second-turn", (body) => void (body["max_tokens"] = 1));
    assert.equal(key.kind, "side", "a single token only checks the key");
    const { body } = readRecorded("first-turn");
    assert.equal(messagesDialect.read("/complete", {}, body).kind, "unknown");
  });
});

describe("A request of a client that is not Claude Code", () => {
  const user = { role: "user", content: "Hello." };
  const cases: [string, Json][] = [
    [
      "a cache mark on its rules alone",
      { system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }] },
    ],
    ["an output format without tools", { output_config: { format: { type: "json_schema", schema: {} } } }],
    ["a limit of one token", { max_tokens: 1 }],
    ["a begun answer", { messages: [user, { role: "assistant", content: "{" }] }],
    [
      "a text that Claude Code asks with",
      { system: "You are naming a coding session so the user can pick it out of a long list of sessions. " },
    ],
  ];
  for (const [name, more] of cases)
    it(`is a turn with ${name}`, () => {
      const body = Buffer.from(JSON.stringify({ model: "m", max_tokens: 100, messages: [user], ...more }));
      const headers = { "user-agent": "Anthropic/JS 1.14.0" };
      assert.equal(messagesDialect.read("/messages", headers, body).kind, "main");
    });
});

describe("The words of a client that is not Claude Code", () => {
  it("are the user's, also in the marks of Claude Code's own texts", () => {
    const texts = [
      "<system-reminder>\nHello.\n</system-reminder>",
      "<local-command-stdout>ls</local-command-stdout>",
      "[Request interrupted by user]",
    ];
    for (const text of texts) {
      const body = Buffer.from(
        JSON.stringify({ model: "m", max_tokens: 9, messages: [{ role: "user", content: text }] }),
      );
      const request = messagesDialect.read("/messages", {}, body);
      assert.deepEqual(live(request), [`user: ${text}`]);
    }
  });
});
