/** `/diff` and `/tree`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { TranscriptEntry } from "../../packages/contract/src/session/transcript.ts";
import type { Choice, CommandContext } from "../../packages/host/src/command/command-types.ts";
import { changesOfCall, diffText, type FileChange } from "../../packages/host/src/command/file-changes.ts";
import { runCommand } from "../../packages/host/src/command/host-command.ts";
import { FakePagurus, FakeStore } from "../cli/fake-pagurus.ts";

function entry(id: string, parentId: string | null, turnId: string, message: AgentMessage): TranscriptEntry {
  return { id, parentId, turnId, timestamp: "2026-01-02T03:04:05.000Z", type: "message", message };
}

/** A turn with one edit of a file; its entries are `<id>1`, `<id>2` and `<id>3`. */
function editTurn(
  id: string,
  after: string | null,
  words: string,
  edit: [string, string],
): TranscriptEntry[] {
  const args = { path: "calc.js", old_text: edit[0], new_text: edit[1] };
  const call = { type: "toolCall" as const, id: `call-${id}`, name: "edit", arguments: args };
  const content = [{ type: "text" as const, text: 'Edited "calc.js" at line 7.' }];
  return [
    entry(`${id}1`, after, id, { role: "user", content: words }),
    entry(`${id}2`, `${id}1`, id, { role: "assistant", content: [call] }),
    entry(`${id}3`, `${id}2`, id, {
      role: "toolResult",
      toolCallId: `call-${id}`,
      toolName: "edit",
      content,
      isError: false,
    }),
  ];
}

const FIRST = editTurn("a", null, "Fix the sign", ["a - b", "a + b"]);
const SECOND = editTurn("b", "a3", "Use a constant", ["a + b", "SUM"]);
/** Begun after a rewind to the end of the first turn. */
const OTHER = editTurn("c", "a3", "Keep it simple", ["x", "y"]);

function context(store: FakeStore, more: Partial<CommandContext> = {}): CommandContext {
  return { sessionKey: "main", agentId: "main", cwd: "/", pagurus: new FakePagurus({ store }), ...more };
}

test("/diff shows the changes of the last turn that made some, with the numbers of their lines", async () => {
  const said = entry("d1", "b3", "d", { role: "user", content: "Thanks" });
  const { text } = await runCommand("/diff", context(new FakeStore([...FIRST, ...SECOND, said])));
  assert.match(text, /^calc\.js\n {3}7 - a \+ b\n {3}7 \+ SUM\n1 file, \+1 −1 in "Use a constant"/);
});

test("/diff all shows those of the conversation, those of one file together", async () => {
  const shown: FileChange[] = [];
  const where = context(new FakeStore([...FIRST, ...SECOND]), {
    showChanges: (changes) => shown.push(...changes),
  });
  assert.match((await runCommand("/diff all", where)).text, /^1 file, \+2 −2 in this conversation/);
  assert.deepEqual(
    shown.map(({ path, lines }) => [path, ...lines.map((line) => diffText(line, 2).trim())]),
    [["calc.js", "7 - a - b", "7 + a + b", "⋮", "7 - a + b", "7 + SUM"]],
  );
});

test("/diff leaves out a call that failed", async () => {
  const failed = FIRST.map((each) =>
    each.type === "message" && each.message.role === "toolResult"
      ? { ...each, message: { ...each.message, isError: true } }
      : each,
  );
  assert.match((await runCommand("/diff", context(new FakeStore(failed)))).text, /^No tool .* has changed/);
});

test("changes of Codex and Claude Code are read like those of the host", () => {
  const diff = "@@ -1,2 +1,2 @@\n keep\n-old\n+new\n@@ -9 +9,2 @@\n end\n+more\n";
  const changes = [
    { path: "a.js", kind: { type: "update" }, diff },
    { path: "b.js", kind: { type: "add" }, diff: "one\n" },
  ];
  assert.deepEqual(
    changesOfCall("apply_patch", { changes }, "").map(({ path, lines }) => [
      path,
      ...lines.map((line) => diffText(line, 2).trim()),
    ]),
    [
      ["a.js", "1   keep", "2 - old", "2 + new", "⋮", "9   end", "10 + more"],
      ["b.js", "1 + one"],
    ],
  );
  const args = { file_path: "c.js", old_string: "x", new_string: "y" };
  assert.deepEqual(
    changesOfCall("Edit", args, "")[0]?.lines.map((line) => diffText(line, 2)),
    ["     - x", "     + y"],
  );
});

/** The first turn, then two that both continue it; the conversation is on the second. */
function branched(): FakeStore {
  const back: TranscriptEntry = {
    id: "r1",
    parentId: "b3",
    timestamp: "2026-01-02T03:04:05.000Z",
    type: "rewind",
    targetId: "a3",
  };
  const file = [...FIRST, ...SECOND, back, ...OTHER];
  const store = new FakeStore([...FIRST, ...OTHER], file);
  store.export = async function* () {
    const header = { type: "session", version: 3, id: "s", timestamp: "", cwd: "/" };
    yield Buffer.from([header, ...file].map((line) => `${JSON.stringify(line)}\n`).join(""));
  };
  return store;
}

test("/tree lists the turns with their branches, and marks where the conversation is", async () => {
  const { text } = await runCommand("/tree", context(branched()));
  assert.deepEqual(text.split("\n").slice(1), [
    "1  ● Fix the sign",
    "2  ├─ ○ Use a constant",
    "3  └─ ● Keep it simple  (now)",
  ]);
});

test("a turn that is picked from /tree is the one that the conversation continues after", async () => {
  const store = branched();
  let first: string | undefined;
  const pick = (_: string, choices: readonly Choice[], selected?: string): Promise<string | undefined> => {
    first = choices.find(({ value }) => value === selected)?.label;
    return Promise.resolve(choices.find(({ label }) => label.includes("constant"))?.value);
  };
  const { effects } = await runCommand("/tree", context(store, { pick }));
  assert.deepEqual(store.rewinds, ["b3"]);
  assert.deepEqual(effects, [{ type: "rewound" }]);
  assert.equal(first, "└─ ● Keep it simple");
  assert.match((await runCommand("/tree 3", context(store))).text, /already/);
  assert.match((await runCommand("/tree 9", context(store))).text, /from 1 to 3/);
});

test("/undo gives back the words that were typed, without what was attached", async () => {
  const content = [
    { type: "text" as const, text: "What is it?" },
    { type: "text" as const, text: "<file>lamp();</file>", source: "file lamp.js" },
  ];
  const store = new FakeStore([entry("a1", null, "a", { role: "user", content })]);
  const { effects } = await runCommand("/undo", context(store));
  assert.deepEqual(effects, [{ type: "rewound", text: "What is it?" }]);
});
