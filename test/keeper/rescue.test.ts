import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { test } from "node:test";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { rescueClaudeCode } from "../../packages/keeper/src/rescue/rescue-claude-code.ts";
import { rescueCodex } from "../../packages/keeper/src/rescue/rescue-codex.ts";
import { fakeCli } from "../cli/fake-cli.ts";
import { anthropicFlaw, responsesFlaw } from "../real/keeper/provider-rules.ts";
import { STUCK_CLAUDE, type Line } from "../real/keeper/stuck-claude.ts";
import { STUCK_CODEX } from "../real/keeper/stuck-codex.ts";
import { claudeLine, KeptHome, SESSION } from "./kept-home.ts";

const NEW = "99999999-1111-4111-8111-111111111111";

function bytes(...values: (object | string)[]): Buffer {
  return Buffer.from(
    values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join("\n"),
  );
}

let uuids = 0;
function message(role: string, content: unknown[], parentUuid: string | null = null): { uuid: string } {
  uuids += 1;
  return { type: role, uuid: `m${uuids}`, parentUuid, sessionId: SESSION, message: { role, content } } as {
    uuid: string;
  };
}

function contents(lines: readonly object[]): unknown[] {
  return lines.flatMap((line) => (line as { message: { content: unknown[] } }).message.content);
}

test("a conversation of Claude Code that is sound is the same under its new id", () => {
  const call = message("assistant", [{ type: "tool_use", id: "t1", name: "Bash", input: {} }]);
  const result = message("user", [{ type: "tool_result", tool_use_id: "t1", content: "done" }], call.uuid);
  const { lines, findings } = rescueClaudeCode(bytes(call, result), NEW);
  assert.deepEqual(findings, []);
  assert.deepEqual(
    lines,
    [call, result].map((line) => ({ ...line, sessionId: NEW })),
  );
});

test("each thing that stops a conversation of Claude Code is named and replaced", () => {
  const cases: [unknown, RegExp, unknown][] = [
    [
      {
        type: "image",
        source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo".padEnd(8 * 1024 * 1024, "A") },
      },
      /image of 6\.0 MB/,
      { type: "text", text: "[An image (image/png, 6.0 MB) was left out: it is too large.]" },
    ],
    [{ type: "thinking", thinking: "hm" }, /thinking block has no signature/, undefined],
    [{ type: "text", text: " " }, /text is empty/, undefined],
    [
      { type: "tool_use", id: "x", name: "Bash", input: { a: 1 } },
      /call of Bash has no result/,
      { type: "text", text: '[A call of Bash whose result is missing: {"a":1}]' },
    ],
    [
      { type: "tool_result", tool_use_id: "y", content: "out" },
      /result belongs to no call/,
      { type: "text", text: "[The result of a call that is missing: out]" },
    ],
    [
      { type: "text", text: "half \ud83d of it" },
      /half a character/,
      { type: "text", text: "half \ufffd of it" },
    ],
  ];
  for (const [block, finding, instead] of cases) {
    const isAnswer = /tool_use"|thinking"/.test(JSON.stringify(block));
    const { lines, findings } = rescueClaudeCode(
      bytes(message(isAnswer ? "assistant" : "user", [{ type: "text", text: "keep" }, block])),
      NEW,
    );
    assert.match(findings.map(({ text }) => text).join(), finding);
    assert.equal(findings.length, 1);
    assert.deepEqual(contents(lines), [
      { type: "text", text: "keep" },
      ...(instead === undefined ? [] : [instead]),
    ]);
  }
});

/** The messages that a session of Claude Code sends. */
function sent(lines: readonly object[]): { role: string; content: unknown[] }[] {
  const messages: { role: string; content: unknown[] }[] = [];
  for (const line of lines) {
    const { role, content } = (line as { message: { role: string; content: unknown } }).message;
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : (content as unknown[]);
    const last = messages.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else messages.push({ role, content: [...blocks] });
  }
  return messages;
}

for (const { kind, damage, finding } of STUCK_CLAUDE)
  test(`a conversation of Claude Code is rescued, and then has nothing to rescue: ${kind}`, () => {
    const first = message("user", [{ type: "text", text: "one" }]);
    const lines: Line[] = [first, message("assistant", [{ type: "text", text: "two" }], first.uuid)];
    damage(lines, (role, content, more) => {
      const line: Line = {
        ...message(role, content as unknown[], lines.at(-1)?.["uuid"] as string),
        ...more,
      };
      lines.push(line);
      return line;
    });
    const rescued = rescueClaudeCode(bytes(...lines), NEW);
    assert.match(rescued.findings.map(({ text }) => text).join("\n"), finding);
    const again = rescueClaudeCode(bytes(...rescued.lines), NEW);
    assert.deepEqual(again, { lines: rescued.lines, findings: [] });
    assert.equal(anthropicFlaw({ messages: sent(rescued.lines) }), undefined);
  });

for (const { kind, damage, finding } of STUCK_CODEX)
  test(`a rollout of Codex is rescued, and then has nothing to rescue: ${kind}`, () => {
    const items: Line[] = [];
    damage(items, (payload) => items.push(item(payload) as Line));
    const rescued = rescueCodex(bytes(...items), NEW);
    assert.match(rescued.findings.map(({ text }) => text).join("\n"), finding);
    const again = rescueCodex(bytes(...rescued.lines), NEW);
    assert.deepEqual(again, { lines: rescued.lines, findings: [] });
    const input = rescued.lines.map((line) => line["payload"]);
    assert.equal(responsesFlaw({ input }), undefined);
  });

test("a message whose parent is missing follows the one before it, and half a line is left out", () => {
  const first = message("user", [{ type: "text", text: "one" }]);
  const second = message("assistant", [{ type: "text", text: "two" }], "gone");
  const { lines, findings } = rescueClaudeCode(bytes(first, second, '{"type":"us'), NEW);
  assert.deepEqual(
    lines.map((line) => (line as { parentUuid?: unknown }).parentUuid),
    [null, first.uuid],
  );
  assert.deepEqual(
    findings.map(({ line }) => line),
    [2, 3],
  );
});

const item = (payload: object): object => ({
  timestamp: "2026-05-01T10:00:00Z",
  type: "response_item",
  payload,
});
const said = (role: string, text: string): object =>
  item({ type: "message", role, content: [{ type: "input_text", text }] });

test("a rollout with more items than a request may have keeps the newest, from a message of the user on", () => {
  const meta = { type: "session_meta", payload: { id: SESSION, cwd: "/w" } };
  const many = Array.from({ length: 20_000 }, (_, at) =>
    said(at % 2 === 0 ? "user" : "assistant", `item ${at}`),
  );
  const { lines, findings } = rescueCodex(bytes(meta, ...many), NEW);
  assert.equal(lines.length, 15_361);
  assert.deepEqual(lines[0], { type: "session_meta", payload: { id: NEW, cwd: "/w" } });
  assert.deepEqual(lines[1], said("user", "item 4640"));
  assert.match(findings[0]?.text ?? "", /20000 items.* 4640 oldest/);
});

test("calls and results of a rollout are pairs again, and what is too large is shortened", () => {
  const long = "x".repeat(11_000_000);
  const { lines, findings } = rescueCodex(
    bytes(
      item({ type: "function_call", call_id: "a", name: "shell", arguments: "{}" }),
      item({ type: "function_call_output", call_id: "b", output: "lost" }),
      said("user", long),
      item({
        type: "message",
        role: "user",
        content: [{ type: "input_image", image_url: "d".repeat(21 * 1024 * 1024) }],
      }),
    ),
    NEW,
  );
  const types = lines.map((line) => (line as { payload: { type: string } }).payload.type);
  assert.deepEqual(types, ["function_call", "function_call_output", "message", "message", "message"]);
  assert.deepEqual(
    findings.map(({ line }) => line),
    [1, 2, 3, 4],
  );
  assert.ok(JSON.stringify(lines).length < 10_600_000);
});

test("rescue writes a new session beside the original, which stays as it was, also from a kept version", async () => {
  const home = new KeptHome();
  try {
    const cli = {
      ...fakeCli({ env: { HOME: home.folder, PAGURUS_HOME: home.path("pagurus") } }),
      cwd: home.folder,
    };
    const source = claudeLine(0, "hello") + claudeLine(1, " ");
    const path = home.write(`.claude/projects/-work/${SESSION}.jsonl`, source);
    await home.keeper.pass();
    assert.equal(await execute(["rescue", path], cli), 0);
    assert.match(cli.out(), /Line 2: A text is empty.*\nWrote 2 lines[^]*Continue with: claude --resume /);
    assert.equal(readFileSync(path, "utf8"), source);
    const names = readdirSync(home.path(".claude/projects/-work"));
    assert.equal(names.length, 2);
    rmSync(path);
    assert.equal(await execute(["rescue", path, "--version", "1", "--output", "again.jsonl"], cli), 0);
    assert.match(readFileSync(home.path("again.jsonl"), "utf8"), /hello/);
    assert.equal(await execute(["rescue", "nothing.jsonl"], cli), 2);
  } finally {
    home[Symbol.dispose]();
  }
});
