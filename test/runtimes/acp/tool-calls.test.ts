import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { HarnessTurn } from "../../../packages/contract/src/harness/harness.ts";
import { decide } from "../../../packages/runtimes/src/acp/acp-approvals.ts";
import { NativeCall } from "../../../packages/runtimes/src/acp/acp-tool-calls.ts";

const HOST = new Set(["note"]);

function call(...updates: Record<string, unknown>[]): NativeCall {
  const made = new NativeCall("c1");
  for (const update of updates) made.merge(update, HOST);
  return made;
}

function texts(made: NativeCall): string[] {
  return made.result().map((part) => (part.type === "text" ? part.text : part.type));
}

describe("a tool call of an agent", () => {
  it("of a host's tool is recognized in each notation of an agent", () => {
    for (const update of [
      { name: "mcp__pagurus__note", rawInput: { word: "quay" } },
      {
        title: "mcp.pagurus.note",
        rawInput: { server: "pagurus", tool: "note", arguments: { word: "quay" } },
      },
      { title: "pagurus_note", rawInput: { word: "quay" } },
      {
        _meta: { claudeCode: { toolName: "mcp__pagurus__note" } },
        title: "Note",
        rawInput: { word: "quay" },
      },
    ]) {
      const { hostTool, part } = call(update);
      assert.deepEqual([hostTool, part.name, part.arguments], ["note", "note", { word: "quay" }]);
    }
    assert.equal(call({ title: "mcp__pagurus__other" }).hostTool, undefined);
    assert.equal(call({ title: "mcp__else__note" }).hostTool, undefined);
  });

  it("of a command that reads like a host's tool is the agent's own", () => {
    const made = call({ kind: "execute", title: "pagurus note", rawInput: { command: "pagurus note" } });
    assert.deepEqual([made.hostTool, made.part.name], [undefined, "execute"]);
  });

  it("has the name, arguments and result that the agent reports, in whichever update", () => {
    const made = call(
      { kind: "execute", title: "ls", rawInput: {}, name: "Bash", status: "pending" },
      { rawInput: { command: "ls" } },
      { status: "completed", rawOutput: "a b" },
    );
    assert.deepEqual(
      [made.part.name, made.part.arguments, texts(made)],
      ["Bash", { command: "ls" }, ["a b"]],
    );
  });

  it("without arguments and output shows its title", () => {
    const diff = { type: "diff", path: "/w/a.txt", oldText: "one\n", newText: "two\n" };
    const made = call({
      kind: "edit",
      title: "Edit a.txt",
      locations: [{ path: "/w/a.txt" }],
      content: [diff],
    });
    assert.deepEqual(made.part.arguments, { title: "Edit a.txt", paths: ["/w/a.txt"] });
    assert.deepEqual(texts(made), ["/w/a.txt\n-one\n+two\n"]);
    assert.equal(made.part.name, "edit");
  });

  it("shows the output of a terminal, and fails with its exit code", () => {
    const made = call(
      { kind: "execute", _meta: { terminal_output_delta: { data: "a\n" } } },
      { _meta: { terminal_output_delta: { data: "b\n" }, terminal_exit: { exit_code: 1 } } },
    );
    assert.deepEqual(texts(made), ["a\nb\n"]);
    assert.equal(made.failed("completed"), true);
  });

  it("says so when the agent reports its end and no result", () => {
    const asked = { type: "content", content: { type: "text", text: "[current working directory /w] (x)" } };
    for (const update of [
      { content: [] },
      { content: [{ type: "terminal", terminalId: "t" }] },
      { rawOutput: null },
      {},
    ])
      for (const before of [{}, { status: "pending", content: [asked] }])
        assert.deepEqual(
          texts(call({ kind: "execute", title: "ls" }, before, { status: "completed", ...update })),
          ["The agent did not report this result."],
        );
    for (const empty of [
      { rawOutput: "" },
      { _meta: { terminal_exit: { exit_code: 0 } } },
      { content: [{ type: "content", content: { type: "text", text: "" } }] },
    ])
      assert.deepEqual(texts(call({ kind: "execute" }, { status: "completed", ...empty })), [""]);
  });

  it("shows results of MCP, and their errors", () => {
    assert.deepEqual(texts(call({ rawOutput: { result: { content: [{ type: "text", text: "fine" }] } } })), [
      "fine",
    ]);
    assert.deepEqual(texts(call({ rawOutput: { result: null, error: { message: "no such tool" } } })), [
      "no such tool",
    ]);
  });
});

const OPTIONS = [
  { optionId: "always", kind: "allow_always" },
  { optionId: "yes", kind: "allow_once" },
  { optionId: "no", kind: "reject_once" },
];

function turnOf(refusal: string | undefined): { turn: HarnessTurn; asked: unknown[] } {
  const asked: unknown[] = [];
  const tools = {
    permits: async ({ name, arguments: args }: { name: string; arguments: unknown }) => {
      asked.push([name, args]);
      return refusal;
    },
  };
  return {
    turn: { tools, signal: new AbortController().signal } as unknown as HarnessTurn,
    asked,
  };
}

describe("permission that an agent requests", () => {
  it("is decided by the host's rules for the equivalent tool", async () => {
    for (const [update, wanted] of [
      [{ kind: "execute", rawInput: { command: "rm a" } }, ["shell", { command: "rm a" }]],
      [{ kind: "execute", rawInput: { command: ["rm", "a"] } }, ["shell", { command: "rm a" }]],
      [
        { kind: "edit", content: [{ type: "diff", path: "/w/a", newText: "x" }] },
        ["write", { path: "/w/a", content: "x" }],
      ],
      [{ kind: "delete", locations: [{ path: "/w/a" }] }, ["write", { path: "/w/a", content: "" }]],
      [{ kind: "read", rawInput: { file_path: "/etc/a" } }, ["read", { path: "/etc/a" }]],
      [{ kind: "fetch", rawInput: { url: "http://a/" } }, ["web_fetch", { url: "http://a/" }]],
    ] as const) {
      const { turn, asked } = turnOf(undefined);
      const { optionId } = await decide(turn, { options: OPTIONS }, call(update));
      assert.deepEqual([optionId, asked], ["yes", [wanted]], "once, not for ever");
    }
  });

  it("is refused with the host's reason", async () => {
    const { turn } = turnOf("it is forbidden");
    const decision = await decide(
      turn,
      { options: OPTIONS },
      call({ kind: "execute", rawInput: { command: "rm a" } }),
    );
    assert.deepEqual(decision, { optionId: "no", refusal: "it is forbidden" });
  });

  it("is answered with no option when the agent offers none that fits", async () => {
    const { turn } = turnOf(undefined);
    for (const options of [
      [],
      [{ kind: "allow_once" }],
      [{ optionId: "x", kind: "of_another_time" }],
      "none",
    ])
      assert.equal((await decide(turn, { options }, call({ kind: "think" }))).optionId, undefined);
  });

  it("for a host's tool is granted: its own call asks", async () => {
    const { turn, asked } = turnOf("it is forbidden");
    const { optionId } = await decide(turn, { options: OPTIONS }, call({ title: "mcp__pagurus__note" }));
    assert.deepEqual([optionId, asked], ["yes", []]);
  });

  it("for a call without an equivalent tool is asked as a command, and for thoughts is granted", async () => {
    const { turn, asked } = turnOf("no");
    const other = call({ kind: "other", title: "mcp__else__delete", rawInput: { all: true } });
    assert.equal((await decide(turn, { options: OPTIONS }, other)).optionId, "no");
    assert.deepEqual(asked, [["shell", { command: 'mcp__else__delete {"all":true}' }]]);
    assert.equal((await decide(turn, { options: OPTIONS }, call({ kind: "think" }))).optionId, "yes");
  });

  it("is not granted when the turn is over, or only forever", async () => {
    const signal = AbortSignal.abort();
    const { turn } = turnOf(undefined);
    assert.equal(
      (await decide({ ...turn, signal }, { options: OPTIONS }, call({ kind: "think" }))).optionId,
      undefined,
    );
    const { optionId } = await decide(turn, { options: [OPTIONS[0]] }, call({ kind: "think" }));
    assert.equal(optionId, undefined);
  });
});
