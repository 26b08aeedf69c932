import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { PermissionQuestion } from "../../packages/contract/src/host/run.ts";
import { editPreview } from "../../packages/host/src/tool/files/change-preview.ts";
import { fixture, textOf, type Fixture } from "./fixture.ts";

/** A tool set in mode `ask` whose questions are recorded and denied. */
function asking(t: TestContext): Fixture & { asked: PermissionQuestion[] } {
  const asked: PermissionQuestion[] = [];
  const made = fixture(t, {
    permission: { mode: "ask" },
    ask: async (question) => {
      asked.push(question);
      return "deny";
    },
  });
  return { ...made, asked };
}

test("the question for a write shows whether the file is new, and its first lines", async (t) => {
  const { call, write, asked, root } = asking(t);
  write("old.txt", "1\n2\n3");
  const lines = Array.from({ length: 12 }, (_, index) => `line ${index + 1}`);
  await call("write", { path: "new.txt", content: lines.join("\n") });
  await call("write", { path: "old.txt", content: "only\n" });
  await call("write", { path: "empty.txt", content: "" });
  await call("write", { path: "wide.txt", content: "w".repeat(200) });
  assert.deepEqual(
    asked.map(({ summary, preview }) => [summary, preview]),
    [
      ["write new.txt", ["new file, 12 lines", ...lines.slice(0, 9), "… 3 lines more"].join("\n")],
      ["write old.txt", "overwrites 3 lines with 1 line\nonly"],
      ["write empty.txt", "new file, 0 lines"],
      ["write wide.txt", `new file, 1 line\n${"w".repeat(160)}… (40 more characters)`],
    ],
  );
  assert.ok(asked.every(({ rule }) => rule === `write anywhere in ${root}`));
});

test("the question for an edit says edit and shows a small diff", async (t) => {
  const { call, write, asked, root } = asking(t);
  write("a.ts", "a\nb\nc\nd\ne\n");
  const denied = await call("edit", {
    path: "a.ts",
    old_text: "a\nb\nc\nd\ne",
    new_text: "a\nb\nC\nD\nd\ne",
  });
  assert.match(textOf(denied), /user said no/);
  assert.equal(asked[0]?.summary, "edit a.ts");
  assert.equal(asked[0]?.preview, " b\n-c\n+C\n+D\n d");
  assert.equal(asked[0]?.rule, `edit anywhere in ${root}`);
});

test("the question for a command and for a plugin's tool shows all of its input", async (t) => {
  const asked: PermissionQuestion[] = [];
  const { call, root } = fixture(t, {
    permission: { mode: "ask" },
    ask: async (question) => {
      asked.push(question);
      return "deny";
    },
    extra: [
      {
        name: "send",
        description: "Sends.",
        parameters: { type: "object" },
        execute: () => Promise.reject(new Error("not allowed")),
      },
    ],
  });
  const command = Array.from({ length: 40 }, (_, index) => `echo ${index}`).join("\n");
  await call("shell", { command });
  await call("send", { to: "x" });
  assert.equal(asked[0]?.preview, command);
  assert.equal(asked[0]?.rule, `shell: exactly this command in ${root}`);
  assert.equal(asked[1]?.preview, '{\n  "to": "x"\n}');
});

test("a diff has at most 20 lines, whatever is edited, and the sides share them", () => {
  const lines = (count: number, mark: string): string =>
    Array.from({ length: count }, (_, index) => `${mark}${index}`).join("\n");
  for (const [before, after] of [
    [lines(50, "a"), lines(50, "b")],
    [`x\n${lines(50, "a")}\ny`, "x\nb\ny"],
    ["x\na\ny", `x\n${lines(50, "b")}\ny`],
    [lines(50, "a"), ""],
  ] as const) {
    const shown = editPreview({ oldText: before, newText: after, all: true }).split("\n");
    assert.ok(shown.length <= 20, shown.join("\n"));
    assert.ok(shown.some((line) => line.startsWith("-")));
    assert.ok(shown.some((line) => line.startsWith("+")) || after === "");
    assert.equal(shown[0], "at every place:");
  }
  assert.equal(editPreview({ oldText: "a\nb", newText: "a\nx\nb", all: false }), " a\n+x\n b");
  assert.equal(editPreview({ oldText: "a", newText: "", all: false }), "-a\n+");
});
