import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { NO_FACTS, type Facts } from "../../../packages/lossless/src/epoch.ts";
import { gatherNews, weightOf } from "../../../packages/lossless/src/head/carried-facts.ts";
import { listFiles, readFileList } from "../../../packages/lossless/src/head/file-list.ts";
import { Pace } from "../../../packages/core/src/platform/pace.ts";
import { byLength } from "../../runner/short-form.ts";

interface Act {
  name: string;
  args: Record<string, unknown>;
  result?: string;
  isError?: boolean;
}

function messagesOf(acts: readonly Act[]): AgentMessage[] {
  return acts.flatMap(({ name, args, result, isError = false }, index): AgentMessage[] => {
    const id = `call_${index}`;
    const call: AgentMessage = {
      role: "assistant",
      content: [{ type: "toolCall", id, name, arguments: args }],
    };
    if (result === undefined) return [call];
    const content = [{ type: "text" as const, text: result }];
    return [call, { role: "toolResult", toolCallId: id, toolName: name, content, isError }];
  });
}

async function after(acts: readonly Act[], before: Facts = NO_FACTS): ReturnType<typeof gatherNews> {
  return gatherNews(before, { messages: messagesOf(acts), badEnds: [], inTurn: false }, new Pace());
}

const shell = (command: string, isError = false): Act => ({
  name: "shell",
  args: { command },
  result: "",
  isError,
});
const write = (path: string): Act => ({ name: "write", args: { path, content: "x" }, result: "ok" });

test("a renamed file is deleted at its old path and written at the new one, until another change", async () => {
  const { facts } = await after([
    write("src/a.ts"),
    shell("git mv src/a.ts src/b.ts"),
    { name: "edit", args: { path: "src/b.ts", oldText: "x", newText: "y" }, result: "ok" },
    shell("mv src/unknown.ts 'src/c.ts'"),
    shell("mv src/b.ts src/d.ts", true),
    shell("cd src && mv b.ts d.ts"),
  ]);
  assert.deepEqual(facts.files.toSorted(), [
    "src/a.ts (deleted)",
    "src/b.ts (edited)",
    "src/c.ts (written)",
    "src/unknown.ts (deleted)",
  ]);
});

test("a renamed folder moves its known files along", async () => {
  const { facts } = await after([write("src/a/x.ts"), write("src/a/y.ts"), shell("mv src/a lib/")]);
  assert.deepEqual(facts.files.toSorted(), [
    "lib/a/x.ts (written)",
    "lib/a/y.ts (written)",
    "src/a/x.ts (deleted)",
    "src/a/y.ts (deleted)",
  ]);
});

test("news are the touched files, even with an unchanged state, and the work of the span", async () => {
  const first = await after([write("src/a.ts"), write("src/b.ts"), shell("npm test")]);
  const second = await after([write("src/a.ts"), shell("npm test")], first.facts);
  assert.deepEqual(second.news.files, ["src/a.ts (written, 1 line)"]);
  assert.deepEqual(second.news.work, ["shell npm test — done"]);
  assert.equal(second.facts.files.length, 2);
});

test("short user messages are kept before long ones, binding ones before others, and a mere yes is dropped first", () => {
  const paste = "This is what I have. ".repeat(60);
  const weights = [
    "go ahead",
    paste,
    `${paste} Never touch the gate.`,
    "Look at the harbour.",
    "No, never that.",
  ];
  const ordered = weights.map(weightOf);
  assert.deepEqual(
    ordered,
    ordered.toSorted((a, b) => a - b),
  );
  assert.equal(weightOf("thanks!"), 0);
});

test("many files are listed by root, state and folder, each named once", () => {
  const root = "/home/user/projects/harbour-office";
  const lines = [
    `${root}/src/quay/a.ts (edited)`,
    `${root}/src/quay/b.ts (edited)`,
    `${root}/src/gate.ts (written, 12 lines)`,
    "notes.md (read)",
    "src/x.ts (edited, last write failed)",
  ];
  assert.deepEqual(listFiles(lines, 1_000), [
    "read: notes.md",
    "edited, last write failed: src/x.ts",
    `in ${root}/src/:`,
    "edited: quay/{a.ts, b.ts}",
    "written: gate.ts",
  ]);
});

test("when not all files fit, the last changed ones are listed, and none that was only read", () => {
  const lines = Array.from(
    { length: 40 },
    (_, index) => `src/f${index}.ts (${index % 2 ? "read" : "edited"})`,
  );
  const listed = listFiles(lines, 60).join("\n");
  assert.match(listed, /f38\.ts/);
  assert.doesNotMatch(listed, /f0\.ts|read/);
});

test("a list of files is parsed back unchanged, whatever the paths", () => {
  const name = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_. -]{0,12}[A-Za-z0-9_]$/);
  const path = fc
    .tuple(fc.boolean(), fc.array(fc.constantFrom("src", "lib", "home", "a b", "x"), { maxLength: 4 }), name)
    .map(([absolute, folders, file]) => `${absolute ? "/" : ""}${[...folders, file].join("/")}`);
  const state = fc.constantFrom("read", "edited", "written", "deleted", "edited, last write failed");
  const files = fc.uniqueArray(fc.tuple(path, state), { maxLength: 20, selector: ([item]) => item });
  fc.assert(
    fc.property(files, (pairs) => {
      const lines = pairs.map(([item, how]) => `${item} (${how})`);
      assert.deepEqual(readFileList(listFiles(lines, 100_000)).toSorted(), lines.toSorted());
    }),
    { numRuns: byLength(2_000, 200, 60) },
  );
});
