/** Which conversation and which kind a request of a wrapped program is, where its protocol does not mark that. */
import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { completionsDialect } from "../../../packages/gateway/src/dialect/completions/completions-dialect.ts";
import { responsesDialect } from "../../../packages/gateway/src/dialect/responses/responses-dialect.ts";
import type { WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { RequestKinds } from "../../../packages/gateway/src/wrap/request-kinds.ts";
import { liveMessages } from "../../../packages/gateway/src/wrap/request-messages.ts";
import { opencodeWrap } from "../../../packages/gateway/src/programs/opencode.ts";
import { copilotWrap } from "../../../packages/gateway/src/programs/copilot.ts";
import { qwenWrap } from "../../../packages/gateway/src/programs/qwen.ts";

type Element = Record<string, unknown>;

const SYSTEM = { role: "system", content: "You are an agent." };
const TOOLS = [{ type: "function", function: { name: "bash" } }];

let hasOpenCalls = false;
let answering = false;
let notices: string[] = [];
let kinds: RequestKinds;

beforeEach(() => {
  hasOpenCalls = false;
  answering = false;
  notices = [];
  kinds = new RequestKinds({
    rules: [],
    hasOpenCalls: () => hasOpenCalls,
    isAnswering: () => answering,
    notify: (text) => void notices.push(text),
  });
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

describe("what the session of a program lacks", () => {
  it("is reported: the requests that passed, with their reasons and number", () => {
    read([user("Moor.")]);
    assert.deepEqual(kinds.reports, []);
    for (let at = 0; at < 3; at++) read([user("Moor.")], { more: { n: 2 } });
    read([{ role: "oracle", content: "x" }, user("Moor.")]);
    assert.equal(kinds.reports.length, 1);
    assert.equal(notices.length, 2, "the first of each reason is reported at once");
    assert.match(notices[0] ?? "", /^A request passed without the engine: it asks for several answers\.$/);
    assert.match(kinds.reports[0] ?? "", /^4 requests passed without the engine/);
    assert.match(kinds.reports[0] ?? "", /it asks for several answers \(3 times\); .*role "oracle"/);
  });

  it("is reported: the answers that only the program's provider has", () => {
    const path = "/responses";
    const input = [user("Moor."), { type: "item_reference", id: "msg_1" }, user("More.")];
    const body = Buffer.from(JSON.stringify({ model: "m1", input }));
    kinds.classified(responsesDialect.read(path, {}, body), { path, headers: {} });
    assert.match(kinds.reports[0] ?? "", /^The session is incomplete.*\(1 in one request\)/);
    assert.match(notices[0] ?? "", /^The program names earlier answers by their ids/);
  });
});

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
      isAnswering: () => false,
      notify: () => undefined,
    });
    const { native } = read([SYSTEM, user("Moor.")], { headers: { "x-session-id": "ses_1" }, by: named });
    assert.deepEqual(native, { threadId: "ses_1" });
    assert.ok(read([SYSTEM, user("Moor.")], { by: named }).native.contentId, "and by content without it");
  });
});

describe("conversations that begin with the same words", () => {
  const id = (messages: Element[]): string => read([SYSTEM, ...messages]).native.contentId ?? "";
  const answered = (request: WireRequest, text: string): void =>
    kinds.noteAnswer(request, { role: "assistant", content: [{ type: "text", text }] });

  it("are two while the first one waits for its answer, and are known by their answers", () => {
    const one = read([SYSTEM, user("same")]);
    answering = true;
    const other = read([SYSTEM, user("same")]);
    answering = false;
    assert.notEqual(other.native.contentId, one.native.contentId);
    answered(one, "Answer A.");
    answered(other, "Answer B.");
    assert.equal(id([user("same"), answer("Answer A."), user("more")]), one.native.contentId);
    assert.equal(id([user("same"), answer("Answer B."), user("more")]), other.native.contentId);
  });

  it("are two after an answer: the program's user began again", () => {
    const one = read([SYSTEM, user("same")]);
    answered(one, "Answer A.");
    assert.notEqual(id([user("same")]), one.native.contentId);
  });

  it("are one after a failure or an interruption of the first turn", () => {
    const one = id([user("alpha")]);
    assert.equal(id([user("alpha")]), one, "the program retries");
    assert.equal(id([user("alpha"), user("beta")]), one, "its user adds words");
    assert.equal(id([user("alpha"), user("beta"), answer("Yes."), user("gamma")]), one);
  });
});

describe("a rule that fails", () => {
  it("is skipped with a notice, and the request stays governed", () => {
    const by = new RequestKinds({
      rules: [
        {
          kind: "side",
          version: "1",
          matches: () => {
            throw new TypeError("no such field");
          },
        },
      ],
      hasOpenCalls: () => false,
      isAnswering: () => false,
      notify: (text) => void notices.push(text),
    });
    assert.equal(read([SYSTEM, user("Moor.")], { by }).kind, "main");
    assert.match(notices[0] ?? "", /failed and was skipped: no such field/);
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
    const other = [{ role: "system", content: "Write a commit message." }, user("diff --git a b")];
    assert.equal(read(other, { more }).kind, "side", "what has other rules and no answer yet is beside it");
    const continued = [...other, answer("Fix the berth."), user("Shorter.")];
    assert.equal(read(continued, { more }).kind, "main", "and a conversation of its own when it continues");
  });
});

describe("the rules of the programs", () => {
  it("OpenCode's titles and its subagents are not the conversation", () => {
    const { rules = [] } = opencodeWrap;
    const by = new RequestKinds({
      rules,
      conversationHeader: "x-session-id",
      hasOpenCalls: () => false,
      isAnswering: () => false,
      notify: () => undefined,
    });
    const title = { role: "system", content: "You are a title generator. You output ONLY a thread title." };
    assert.equal(read([title, user("Moor.")], { more: { tools: [] }, by }).kind, "side");
    assert.equal(read([title, user("Moor.")], { by }).kind, "main", "with tools it is no title");
    const headers = { "x-session-id": "ses_2", "x-parent-session-id": "ses_1" };
    assert.equal(read([SYSTEM, user("Look.")], { headers, by }).kind, "subagent");
  });

  it("Copilot marks its subagents in a header", () => {
    const by = new RequestKinds({
      rules: copilotWrap.rules ?? [],
      hasOpenCalls: () => false,
      isAnswering: () => false,
      notify: () => undefined,
    });
    const headers = { "x-interaction-type": "conversation-subagent" };
    assert.equal(read([SYSTEM, user("Look.")], { headers, by }).kind, "subagent");
    assert.equal(read([SYSTEM, user("Look.")], { by }).kind, "main");
  });

  it("Qwen Code's memory extraction is not the conversation, though it begins with it", () => {
    const by = new RequestKinds({
      rules: qwenWrap.rules ?? [],
      hasOpenCalls: () => false,
      isAnswering: () => false,
      notify: () => undefined,
    });
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
