/** Lines of extracts about results. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { summarizeExtractively } from "../../packages/core/src/compaction/summary/extract.ts";
import { readSections, type Section } from "../../packages/core/src/compaction/summary/sections.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import { NO_FACTS } from "../../packages/lossless/src/epoch.ts";
import { gatherFacts } from "../../packages/lossless/src/head/carried-facts.ts";
import { Pace } from "../../packages/core/src/platform/pace.ts";
import { assistant, call, result, user } from "./histories.ts";

/** A Codex command with its result as in a rollout. */
function codex(id: string, cmd: string, code: number, output: string): AgentMessage[] {
  const frame = `Chunk ID: ${id}f57\nWall time: 0.0100 seconds\nProcess exited with code ${code}\nOriginal token count: 5\nOutput:\n`;
  return [
    assistant("", [call(id, "exec_command", { cmd })]),
    result(id, frame + output, { toolName: "exec_command", isError: code !== 0 }),
  ];
}

const CODEX = [
  user("Run them."),
  ...codex("a1", "npm test", 1, "# tests 3\nTypeError: x is no function\n# fail 1\n"),
  ...codex("b2", "touch made", 0, ""),
  ...codex("c3", "false", 1, ""),
];

async function linesOf(messages: AgentMessage[], section: Section): Promise<string[]> {
  const lines = readSections(await summarizeExtractively({ messages, maxTokens: 1_500 }));
  return lines.filter((line) => line.section === section).map(({ text }) => text);
}

test("an extract has a Codex command's own output, without the frame around it (finding B10)", async () => {
  assert.deepEqual(await linesOf(CODEX, "Work done"), [
    "exec_command npm test — failed: TypeError: x is no function",
    "exec_command touch made — exit code 0",
    "exec_command false — failed: exit code 1",
  ]);
});

test("a head's work lines have a Codex command's own output (finding B10)", async () => {
  const { work } = await gatherFacts(NO_FACTS, { messages: CODEX, badEnds: [], inTurn: false }, new Pace());
  assert.deepEqual(work, [
    "exec_command npm test — failed: TypeError: x is no function",
    "exec_command touch made — done: exit code 0",
    "exec_command false — failed: exit code 1",
  ]);
});

test("an extract has the first line of a result as well as its last (finding B10)", async () => {
  const messages = [
    user("Which one is on?"),
    assistant("", [call("1", "shell", { command: "systemctl status" })]),
    result("1", "active since Monday\nmemory 3 MB\nend of list"),
    assistant("", [call("2", "lookup", { query: "order" })]),
    result("2", "order held by the bank\nsee the desk", { toolName: "lookup" }),
  ];
  assert.deepEqual(await linesOf(messages, "Work done"), [
    "shell systemctl status — active since Monday … end of list",
    "lookup order — order held by the bank / see the desk",
  ]);
});
