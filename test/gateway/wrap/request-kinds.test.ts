/** Which conversation and which kind a request of a wrapped program is, where its protocol does not mark that. */
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { completionsDialect } from "../../../src/gateway/dialect/completions/completions-dialect.ts";
import type { WireRequest } from "../../../src/gateway/dialect/wire-dialect.ts";
import { RequestKinds } from "../../../src/gateway/wrap/request-kinds.ts";
import { liveMessages } from "../../../src/gateway/wrap/request-messages.ts";
import { opencodeWrap } from "../../../src/programs/opencode.ts";
import { copilotWrap } from "../../../src/programs/copilot.ts";
import { qwenWrap } from "../../../src/programs/qwen.ts";

type Element = Record<string, unknown>;

const SYSTEM = { role: "system", content: "You are an agent." };
const TOOLS = [{ type: "function", function: { name: "bash" } }];

let hasOpenCalls = false;
let kinds: RequestKinds;

beforeEach(() => {
  hasOpenCalls = false;
  kinds = new RequestKinds({ rules: [], hasOpenCalls: () => hasOpenCalls });
});

function read(
  messages: Element[],
  {
    more = {},
    headers = {},
    by = kinds,
  }: { more?: Element; headers?: Record<string, string>; by?: RequestKinds } = {},
): WireRequest {
  const path = "/chat/completions";
  const body = Buffer.from(JSON.stringify({ model: "m1", messages, tools: TOOLS, ...more }));
  return by.classified(completionsDialect.read(path, headers, body), { path, headers });
}

const user = (content: unknown): Element => ({ role: "user", content });
const answer = (content: string): Element => ({ role: "assistant", content });

describe("the conversation of a request without a name", () => {
  it("is known by the words before its first answer, however long it becomes", () => {
    const first = read([SYSTEM, user("Moor the boat.")]);
    const later = read([SYSTEM, user("Moor the boat."), answer("Done."), user("And the barge.")]);
    const other = read([SYSTEM, user("Moor the barge.")]);
    assert.ok(first.native.contentId);
    assert.equal(later.native.contentId, first.native.contentId);
    assert.notEqual(other.native.contentId, first.native.contentId);
  });

  it("is named by the program's header if it has one", () => {
    const named = new RequestKinds({
      rules: [],
      conversationHeader: "x-session-id",
      hasOpenCalls: () => false,
    });
    const { native } = read([SYSTEM, user("Moor.")], { headers: { "x-session-id": "ses_1" }, by: named });
    assert.deepEqual(native, { threadId: "ses_1" });
    assert.ok(read([SYSTEM, user("Moor.")], { by: named }).native.contentId, "and by content without it");
  });
});

describe("the kind of a request that its protocol does not mark", () => {
  it("another agent's conversation begins with other rules while a call is open", () => {
    assert.equal(read([SYSTEM, user("Moor the boat.")]).kind, "main");
    hasOpenCalls = true;
    const rules = { role: "system", content: "You are a helper." };
    assert.equal(read([rules, user("Look at the quay.")]).kind, "subagent");
    assert.equal(read([rules, user("Look at the quay."), answer("Yes."), user("More.")]).kind, "subagent");
    assert.equal(read([SYSTEM, user("Moor the boat."), answer("x"), user("y")]).kind, "main");
    assert.equal(read([SYSTEM, user("A new conversation.")]).kind, "main", "the user began another one");
  });

  it("a request without tools beside a conversation with tools passes", () => {
    assert.equal(read([SYSTEM, user("Moor the boat.")]).kind, "main");
    const title = [{ role: "system", content: "Name this." }, user("Moor the boat and the barge.")];
    assert.equal(read(title, { more: { tools: [] } }).kind, "side");
  });

  it("a loop without tools is a conversation", () => {
    const more = { tools: [] };
    assert.equal(read([SYSTEM, user("One.")], { more }).kind, "main");
    assert.equal(read([{ role: "system", content: "Now in June." }, user("Two.")], { more }).kind, "main");
  });
});

describe("the rules of the programs", () => {
  it("OpenCode's titles and its subagents are not the conversation", () => {
    const { rules = [] } = opencodeWrap;
    const by = new RequestKinds({ rules, conversationHeader: "x-session-id", hasOpenCalls: () => false });
    const title = { role: "system", content: "You are a title generator. You output ONLY a thread title." };
    assert.equal(read([title, user("Moor.")], { more: { tools: [] }, by }).kind, "side");
    assert.equal(read([title, user("Moor.")], { by }).kind, "main", "with tools it is no title");
    const headers = { "x-session-id": "ses_2", "x-parent-session-id": "ses_1" };
    assert.equal(read([SYSTEM, user("Look.")], { headers, by }).kind, "subagent");
  });

  it("Copilot marks its subagents in a header", () => {
    const by = new RequestKinds({ rules: copilotWrap.rules ?? [], hasOpenCalls: () => false });
    const headers = { "x-interaction-type": "conversation-subagent" };
    assert.equal(read([SYSTEM, user("Look.")], { headers, by }).kind, "subagent");
    assert.equal(read([SYSTEM, user("Look.")], { by }).kind, "main");
  });

  it("Qwen Code's memory extraction is not the conversation, though it begins with it", () => {
    const by = new RequestKinds({ rules: qwenWrap.rules ?? [], hasOpenCalls: () => false });
    const rules = {
      role: "system",
      content:
        "You are now acting as the managed memory extraction subagent for an AI coding assistant.\n\nThe",
    };
    assert.equal(read([rules, user("Moor."), answer("Done."), user("Extract.")], { by }).kind, "side");
  });
});

describe("text that a program puts into its user's message", () => {
  const words = (content: unknown): unknown =>
    liveMessages(read([SYSTEM, user(content)])).map((message) => message.content);
  const reminder = "<system-reminder>\nThe current date is: Friday.\n</system-reminder>";

  it("is not the user's: a reminder of Qwen Code, the time of Copilot", () => {
    const text = (value: string): Element => ({ type: "text", text: value });
    assert.deepEqual(words([text(reminder), text("Moor.")]), [[{ type: "text", text: "Moor." }]]);
    assert.deepEqual(words("<current_datetime>2026-11-25T20:00:00Z</current_datetime>\n\nMoor."), ["Moor."]);
    assert.deepEqual(words([text(reminder)]), [], "nothing is left");
  });

  it("stays the user's without exactly these marks", () => {
    assert.deepEqual(words(`Explain ${reminder}`), [`Explain ${reminder}`]);
    const open = "<current_datetime>soon</current_datetime> Moor.";
    assert.deepEqual(words(open), [open]);
  });

  it("is sent again when the rest is dropped, if it describes what the model can use", () => {
    const skills =
      "<system-reminder>\nThe following skills are available for use with the Skill tool. Treat\n</system-reminder>";
    const parts = [skills, reminder, "Moor."].map((value) => ({ type: "text", text: value }));
    const [item] = read([SYSTEM, user(parts)]).items.slice(1);
    assert.deepEqual(JSON.parse(item?.surroundings?.toString() ?? "{}"), {
      role: "user",
      content: [{ type: "text", text: skills }],
    });
  });
});
