/** A context that the model refuses as too long, before a turn and within one: the engine compacts, Claude Code continues. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { ReplyStep } from "../../servers/server.ts";
import { ClaudeBench, conversation, type Line } from "./claude-bench.ts";

const TOO_LONG: ReplyStep = {
  status: 400,
  errorBody: {
    type: "error",
    error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" },
  },
};
const MORE = "The keeper of the quay wrote down which ships had come. ".repeat(20);

let bench: ClaudeBench;
let pagurus: Pagurus;
let isTooLong: (lines: Line[]) => boolean = () => false;

before(async () => {
  bench = await ClaudeBench.with((request, index) => {
    if (request.headers["x-claude-code-session-id"] === undefined) return { text: "## Goal\n- The quay." };
    const lines = conversation(request);
    if (isTooLong(lines)) return TOO_LONG;
    const call = { id: `toolu_${index}`, name: "Bash", arguments: { command: "echo seen" } };
    return lines.at(-1) === "user: Look."
      ? { text: "I look.", toolCalls: [call] }
      : { text: `Answer ${index}. ${MORE}` };
  });
  const config = { trigger: 50_000, headTokens: 1_500, tailTokens: 600 };
  pagurus = await bench.host({ contextWindow: 60_000, plugins: { lossless: { config } } });
});

after(() => bench.end());

describe("A context that the model refuses as too long", { timeout: 240_000 }, () => {
  it("at the beginning of a turn is compacted by the engine, and sent again", async () => {
    for (const prompt of ["One?", "Two?", "Three?"])
      await bench.ask(pagurus, prompt, { sessionKey: "first" });
    isTooLong = (lines) => lines.length > 6;
    await bench.ask(pagurus, "Four?", { sessionKey: "first" });
    const shown = conversation(bench.request(-1));
    assert.match(shown[0] ?? "", /^user: <conversation_summary>/);
    assert.equal(shown.at(-1), "user: Four?");
  });

  it("within a turn too, and nothing is done twice", async () => {
    isTooLong = () => false;
    for (const prompt of ["One?", "Two?", "Three?"])
      await bench.ask(pagurus, prompt, { sessionKey: "second" });
    isTooLong = (lines) => lines.length > 6 && lines.at(-1)?.startsWith("result ") === true;
    const events = await bench.ask(pagurus, "Look.", { sessionKey: "second" });
    assert.equal(events.filter(({ type }) => type === "tool.started").length, 1);
    const shown = conversation(bench.request(-1));
    assert.match(shown[0] ?? "", /^user: <conversation_summary>/);
    const [look, said, call, result, goesOn] = shown.slice(-5);
    assert.deepEqual([look, said], ["user: Look.", "assistant: I look."]);
    assert.ok(call?.startsWith("call Bash ") && result?.endsWith(" seen"));
    assert.equal(goesOn, "user: Continue from where you left off.");
    isTooLong = () => false;
    await bench.ask(pagurus, "And then?", { sessionKey: "second" });
    assert.ok(!conversation(bench.request(-1)).includes(goesOn ?? ""), "which no later turn has");
  });
});
