import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { JsonScanError } from "../../../packages/gateway/src/json/scan.ts";
import { responsesDialect } from "../../../packages/gateway/src/dialect/responses/responses-dialect.ts";
import { bytesOf, line, lines, readInput, readRecorded, RECORDED, recorded } from "./responses-recorded.ts";

const user = (text: string) => ({ role: "user", content: [{ type: "input_text", text }] });

describe("the kind of a Codex request", () => {
  const kinds: Record<string, string> = {
    "agents-2": "subagent",
    "review-0": "subagent",
    "compact-1": "compaction",
    "compact-3": "compaction",
    "midturn-2": "compaction",
    "remote-1": "compaction",
  };
  for (const name of RECORDED)
    it(`${name} is ${kinds[name] ?? "main"}`, () => {
      assert.equal(readRecorded(name).kind, kinds[name] ?? "main");
    });

  it("a compaction states who started it", () => {
    assert.deepEqual(readRecorded("compact-1").compaction, { trigger: "auto" });
    assert.deepEqual(readRecorded("compact-3").compaction, { trigger: "manual" });
    assert.deepEqual(readRecorded("remote-1").compaction, { trigger: "auto" });
    assert.equal(readRecorded("loop-1").compaction, undefined);
  });

  it("has thread, turn and window, and the subagent", () => {
    const { native } = readRecorded("compact-3");
    assert.match(native.threadId ?? "", /^01a20437-/);
    assert.match(native.turnId ?? "", /^01a20437-/);
    assert.equal(native.window, `${native.threadId}:1`);
    assert.equal(native.agentId, undefined);
    const child = readRecorded("agents-2").native;
    assert.equal(child.agentId, child.threadId);
    assert.notEqual(child.threadId, readRecorded("agents-4").native.threadId);
  });

  it("is read from the body if a proxy removed the headers", () => {
    const { path, body } = recorded("compact-3");
    const request = responsesDialect.read(path, {}, body);
    assert.equal(request.kind, "compaction");
    assert.deepEqual(request.native, readRecorded("compact-3").native);
  });

  it("is unknown, and so passes, if the request kind was never recorded", () => {
    const { path, headers, body } = recorded("loop-1");
    for (const kind of ["memory", "prewarm", "title"]) {
      const changed = headers["x-codex-turn-metadata"]?.replace(
        '"request_kind":"turn"',
        `"request_kind":"${kind}"`,
      );
      const request = responsesDialect.read(path, { ...headers, "x-codex-turn-metadata": changed }, body);
      assert.equal(request.kind, "unknown", kind);
    }
  });

  it("is aside for a title that the interactive program requests in a thread of its own", () => {
    const { path, headers, body } = recorded("loop-1");
    const metadata = JSON.parse(headers["x-codex-turn-metadata"] ?? "") as Record<string, unknown>;
    const changed = JSON.stringify({ ...metadata, thread_source: "thread_title" });
    const request = responsesDialect.read(path, { ...headers, "x-codex-turn-metadata": changed }, body);
    assert.equal(request.kind, "side");
  });

  it("a compaction of a subagent is not the conversation's", () => {
    const { path, headers, body } = recorded("compact-1");
    const request = responsesDialect.read(path, { ...headers, "x-openai-subagent": "collab_spawn" }, body);
    assert.equal(request.kind, "subagent");
  });

  it("is unknown, and so passes, if the conversation is not, or not completely, in the input", () => {
    const input = [user("hello")];
    const unknown: [string, ReturnType<typeof readInput>][] = [
      ["a text", readInput("hello")],
      ["no input", readInput(undefined)],
      ["an object", readInput({})],
      ["texts in a list", readInput(["hello"])],
      ["a previous response", readInput(input, { previous_response_id: "resp_1" })],
      ["a conversation kept by the provider", readInput(input, { conversation: "conv_1" })],
      ["another path", readInput(input, {}, {}, "/responses/resp_1")],
      ["a longer path", readInput(input, {}, {}, "/responses/resp_1/cancel")],
    ];
    for (const [what, { kind }] of unknown) assert.equal(kind, "unknown", what);
    assert.equal(readInput(input, {}, {}, "/responses/input_tokens").kind, "count");
    assert.equal(
      readInput(input, { previous_response_id: null }, {}, "/responses?api-version=1").kind,
      "main",
    );
  });

  it("a body that is no JSON object is refused", () => {
    for (const body of ["", "[]", '{"input":[', '{"input":[]}x', '"input"', '{"input":[{"a" 1}]}'])
      assert.throws(() => responsesDialect.read("/responses", {}, Buffer.from(body)), JsonScanError, body);
  });

  it("another client's metadata header without JSON is ignored", () => {
    const request = readInput([user("hello")], {}, { "x-codex-turn-metadata": "{oops" });
    assert.equal(request.kind, "main");
    assert.deepEqual(request.native, {});
  });
});

describe("the structure of a Codex request", () => {
  const LOOKS = [
    "user: Look twice.",
    "assistant: (Two looks.)",
    "assistant: exec_command(call_a)",
    "assistant: exec_command(call_b)",
    "toolResult: exec_command(call_a) = one",
    "toolResult: exec_command(call_b) = two",
  ];

  it("a tool loop is one live turn after Codex's instructions and environment", () => {
    const request = readRecorded("loop-1");
    assert.equal(request.prefixCount, 3);
    assert.deepEqual(lines(request), ["---", ...LOOKS]);
    assert.deepEqual(request.items[5]?.messages, [
      {
        role: "assistant",
        content: [{ type: "toolCall", id: "call_a", name: "exec_command", arguments: { cmd: "echo one" } }],
      },
    ]);
  });

  it("environment, developer text and additional context of a turn belong to the turn", () => {
    const live = ["---", "setting", "setting", "setting", "user: Again."];
    assert.deepEqual(lines(readRecorded("loop-2")), [...LOOKS, "assistant: One and two.", ...live]);
  });

  it("tools in the input belong to the fixed prefix", () => {
    const request = readRecorded("lite-1");
    assert.equal(request.prefixCount, 6);
    assert.equal(lines(request)[1], "user: Look twice.");
  });

  it("what a compaction left before the turn is not of the turn, and is passing", () => {
    const older = ["user: First.", "setting", "setting", "user: Second.", "passing"];
    assert.deepEqual(lines(readRecorded("compact-5")), [...older, "---", "user: Third."]);
  });

  it("after a compaction within the turn the turn still begins with the user's input", () => {
    const live = ["---", "setting", "setting", "user: Look.", "passing"];
    assert.deepEqual(lines(readRecorded("midturn-3")), ["user: Before.", ...live]);
  });

  it("the history of a compaction request is the whole conversation, without the compaction prompt", () => {
    const all = ["user: First.", "assistant: Reply 0.", "---", "setting"];
    assert.deepEqual(lines(readRecorded("compact-1")), [...all.slice(0, 2), "setting", "---"]);
    assert.deepEqual(lines(readRecorded("remote-1")), [...all.slice(0, 2), "setting", "---"]);
    const within = ["---", "user: Look.", "assistant: exec_command(call_a)"];
    assert.deepEqual(lines(readRecorded("midturn-2")).slice(2, 5), within);
    assert.equal(lines(readRecorded("midturn-2")).at(-1), "setting");
  });

  it("a compaction that only its provider can read is passing like one in text, and is kept as it is", () => {
    const older = ["user: First.", "passing"];
    assert.deepEqual(lines(readRecorded("remote-2")), [...older, "---", "user: Second."]);
    const { items } = readRecorded("remote-2");
    assert.equal(items.find((item) => line(item) === "passing")?.replacement, undefined);
  });

  it("a steering text does not begin another turn, and a mark of an interruption is no user text", () => {
    const found = lines(readRecorded("steer-3"));
    assert.deepEqual(
      [found[0], found[1], ...found.slice(3)],
      ["user: Begin.", "user: And this.", "user: Stop soon.", "setting", "---", "user: Go on."],
    );
  });

  it("while the steered turn runs, it begins before both texts", () => {
    const { path, headers, body } = recorded("steer-3");
    const { items } = readRecorded("steer-3");
    const steered = items[4];
    assert.ok(steered);
    const list = bytesOf(readRecorded("steer-3"), { start: items[0]?.start ?? 0, end: steered.end });
    const first =
      /msg_([0-9a-f-]{36})[^{}]*"role":"user","content":\[\{"type":"input_text","text":"Begin/.exec(
        body.toString(),
      )?.[1];
    const changed = headers["x-codex-turn-metadata"]?.replace(/"turn_id":"[^"]*"/, `"turn_id":"${first}"`);
    const whole = Buffer.from(`{"model":"m","input":[${list}]}`);
    const request = responsesDialect.read(path, { ...headers, "x-codex-turn-metadata": changed }, whole);
    assert.deepEqual(lines(request), ["---", "user: Begin.", "user: And this."]);
  });

  it("skills that the user named, a command of the user's and an agent's report are classified", () => {
    assert.deepEqual(lines(readRecorded("own-0")), ["---", "user: Use $skill-creator now.", "setting"]);
    const [, , , shell] = lines(readRecorded("own-1"));
    assert.equal(shell, "user: </user_shell_command>");
    const [, spawn, id, , , report] = lines(readRecorded("agents-4"));
    assert.equal(spawn, "assistant: multi_agent_v1__spawn_agent(call_spawn)");
    assert.match(id ?? "", /^toolResult: multi_agent_v1__spawn_agent\(call_spawn\) = /);
    assert.equal(report, "user: </subagent_notification>");
  });

  it("after a review the environment comes late, and the turn begins with it", () => {
    const request = readRecorded("review-1");
    assert.equal(request.prefixCount, 1);
    assert.deepEqual(lines(request).slice(1), [
      "assistant: fine",
      "---",
      "setting",
      "setting",
      "user: Thanks.",
    ]);
  });
});

describe("ids without a time", () => {
  it("are older than any turn", () => {
    const { headers } = recorded("loop-2");
    const older = { ...user("one"), id: "msg_ffffffff-e25c-5179-84e0-b24589dda966" };
    const inTurn = { ...user("two"), id: "msg_ffffffff-e25c-7179-84e0-b24589dda966" };
    const request = readInput([older, { role: "assistant", content: "x", id: "msg_z" }, inTurn], {}, headers);
    assert.deepEqual(lines(request), ["user: one", "assistant: x", "---", "user: two"]);
  });

  it("let the turn begin with the user's last input", () => {
    const request = readInput([user("one"), user("two")], {}, recorded("loop-2").headers);
    assert.deepEqual(lines(request), ["user: one", "---", "user: two"]);
  });
});

describe("the structure of another client's request", () => {
  it("the live turn begins with the user's last input, and the settings directly before it", () => {
    const request = readInput([
      { role: "system", content: "Be brief." },
      user("one"),
      { role: "assistant", content: "first" },
      { role: "developer", content: "A rule." },
      user("two"),
      { type: "function_call", call_id: "c1", name: "look", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "seen" },
    ]);
    assert.equal(request.prefixCount, 1);
    assert.deepEqual(lines(request), [
      "user: one",
      "assistant: first",
      "---",
      "setting",
      "user: two",
      "assistant: look(c1)",
      "toolResult: look(c1) = seen",
    ]);
  });

  it("an input without user text has no live turn, and an empty one neither", () => {
    assert.deepEqual(lines(readInput([{ role: "assistant", content: "first" }])), [
      "assistant: first",
      "---",
    ]);
    assert.equal(readInput([{ role: "system", content: "Be brief." }]).liveFrom, 1);
    assert.equal(readInput([]).liveFrom, 0);
  });

  it("images, custom calls, local shells, refusals and elements without text are read", () => {
    const image = { type: "input_image", image_url: "data:image/png;base64,AAAA" };
    const request = readInput([
      { role: "user", content: [{ type: "input_text", text: "see" }, image] },
      { type: "reasoning", summary: [], encrypted_content: "xx" },
      { type: "custom_tool_call", call_id: "c1", name: "patch", input: "*** Begin" },
      { type: "custom_tool_call_output", call_id: "c1", output: [{ type: "input_text", text: "ok" }, image] },
      { type: "local_shell_call", call_id: "c2", action: { type: "exec", command: ["ls"] } },
      { type: "local_shell_call_output", call_id: "c2", output: "files" },
      { type: "web_search_call", id: "ws_1", status: "completed" },
      { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "no" }] },
      { type: "function_call_output", call_id: "lost", output: "?" },
      { type: "something_new", id: "x" },
    ]);
    assert.deepEqual(lines(request).slice(1), [
      "user: see image",
      "mute",
      "assistant: patch(c1)",
      "toolResult: patch(c1) = ok image",
      "assistant: local_shell(c2)",
      "toolResult: local_shell(c2) = files",
      "mute",
      "assistant: no",
      "toolResult: unknown(lost) = ?",
      "setting",
    ]);
  });

  it("an element's messages are decoded once", () => {
    const [item] = readInput([user("one")]).items;
    assert.equal(item?.messages, item?.messages);
  });
});

describe("Codex's own text", () => {
  const OWN = [
    "# AGENTS.md instructions for /home/user\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>",
    "<environment_context>\n  <cwd>/home/user</cwd>\n</environment_context>",
    "<turn_aborted>\nThe user stopped it.\n</turn_aborted>",
    "<skill>\n<name>x</name>\n</skill>",
  ];

  it("is recognized by its beginning and end, in all of a message's parts", () => {
    for (const text of OWN) assert.equal(readInput([user(text)]).items[0]?.kind, "setting", text);
    const content = OWN.slice(0, 2).map((text) => ({ type: "input_text", text }));
    assert.equal(readInput([{ role: "user", content }]).items[0]?.kind, "setting");
  });

  it("is user text if anything else is with it", () => {
    const others = [
      ...OWN.map((text) => `${text}\nWhat does this mean?`),
      ...OWN.map((text) => `About ${text}`),
      "# AGENTS.md instructions",
      "<environment_context>",
      "<environment_context>x</skill>",
      "<b>words</b>",
    ];
    for (const text of others) assert.equal(readInput([user(text)]).items[0]?.kind, "message", text);
    const content = [OWN[0], "What is this?"].map((text) => ({ type: "input_text", text }));
    assert.equal(readInput([{ role: "user", content }]).items[0]?.kind, "message");
    assert.equal(readInput([{ role: "assistant", content: OWN[1] }]).items[0]?.kind, "message");
  });

  it("is identified by Codex's metadata of each part, if present, and not by its content", () => {
    const kinds = (content_item_kinds: string[], text: string) =>
      readInput([{ ...user(text), internal_chat_message_metadata_passthrough: { content_item_kinds } }])
        .items[0]?.kind;
    assert.equal(kinds(["user.text"], OWN[1] ?? ""), "message");
    assert.equal(kinds(["environments.environment_context"], OWN[1] ?? ""), "setting");
    assert.equal(kinds(["unknown"], OWN[1] ?? ""), "setting");
    assert.equal(kinds(["unknown"], "words"), "message");
    assert.equal(kinds(["agents_md.instructions", "unknown"], "words"), "message");
    assert.equal(kinds(["memories.instructions"], "words"), "setting");
  });

  it("is user text if the user quotes a summary or its beginning", () => {
    const [item] = readInput([user("Another language model started to solve this problem. Who?")]).items;
    assert.equal(item?.kind, "message");
    const { body, items } = readRecorded("compact-5");
    const left = items.find(({ isPassing }) => isPassing);
    const summary = JSON.parse(body.toString("utf8", left?.start, left?.end)) as object;
    assert.equal(readInput([{ ...summary, role: "assistant" }]).items[0]?.kind, "message");
  });
});
