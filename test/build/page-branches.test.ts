/** Rows of a conversation: versions of messages, subagents, and the marks of what happened between the messages. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ServerEvent } from "../../packages/api/src/types.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { TranscriptEntry } from "../../packages/contract/src/session/transcript.ts";
import { branchesFrom, withSwitches } from "../../packages/inspector/src/talk/branches.ts";
import { LiveTurn } from "../../packages/inspector/src/talk/live-turn.ts";
import { itemsOf, type TalkItem } from "../../packages/inspector/src/talk/talk-items.ts";

const AT = "2026-11-30T10:00:00.000Z";

let last = 0;
function entry(of: object): TranscriptEntry {
  last += 1;
  return {
    id: `e${last}`,
    parentId: last === 1 ? null : `e${last - 1}`,
    timestamp: AT,
    ...of,
  } as TranscriptEntry;
}

function said(message: object, turnId = "t1"): TranscriptEntry {
  return entry({ type: "message", turnId, message: message as AgentMessage });
}

/** Each row as its kind and what says most about it. */
function shown(items: readonly TalkItem[]): string[] {
  return items.map((item) => {
    if (item.kind === "subagent") return `subagent ${item.session}, ${item.state}: ${item.task}`;
    if (item.kind === "tool") return `tool ${item.name}, ${item.state}`;
    if (item.kind === "mark") return `${item.tone} mark: ${item.text}`;
    return "text" in item ? `${item.kind}: ${item.text}` : item.kind;
  });
}

const STARTED = "Started the subagent main/sub-1. Its result arrives as a message in this turn.";
const CALL = { type: "toolCall", id: "c1", name: "spawn_agent", arguments: { task: "Count the ships." } };

function event(of: object): ServerEvent {
  return { id: 1, agent: "main", session: "main", work: "t1", event: of } as unknown as ServerEvent;
}

describe("a subagent in a conversation", () => {
  it("takes the place of the call that began it, and has ended with its result", () => {
    const entries = [
      said({ role: "user", content: "Count." }),
      said({ role: "assistant", content: [CALL] }),
      said({ role: "toolResult", toolCallId: "c1", content: [{ type: "text", text: STARTED }] }),
    ];
    assert.deepEqual(shown(itemsOf(entries)), [
      "user: Count.",
      "subagent main/sub-1, running: Count the ships.",
    ]);
    const result = entry({
      type: "custom",
      turnId: "t1",
      customType: "pagurus.subagent_result",
      data: { childSessionKey: "main/sub-1" },
    });
    assert.deepEqual(shown(itemsOf([...entries, result])), [
      "user: Count.",
      "subagent main/sub-1, ended: Count the ships.",
    ]);
    const end = entry({ type: "turn_commit", turnId: "t1", outcome: "aborted" });
    assert.match(shown(itemsOf([...entries, end]))[1] ?? "", /sub-1, ended/);
  });

  it("stays a call where it could not be begun", () => {
    const refused = { type: "text", text: "There is no depth left for a subagent." };
    const rows = itemsOf([
      said({ role: "assistant", content: [CALL] }),
      said({ role: "toolResult", toolCallId: "c1", isError: true, content: [refused] }),
    ]);
    assert.deepEqual(shown(rows), ["tool spawn_agent, failed"]);
  });

  it("is one row while its turn runs, in whatever order its events come", () => {
    const started = event({
      type: "tool.started",
      toolCallId: "c1",
      toolName: "spawn_agent",
      arguments: CALL.arguments,
    });
    const begun = event({
      type: "subagent.started",
      childSessionKey: "main/sub-1",
      contextMode: "isolated",
      depth: 1,
    });
    const outcome = { content: [{ type: "text", text: STARTED }], isError: false };
    const completed = event({ type: "tool.completed", toolCallId: "c1", toolName: "spawn_agent", outcome });
    const ended = event({ type: "subagent.ended", childSessionKey: "main/sub-1", outcome: "completed" });
    for (const order of [
      [started, begun, completed, ended],
      [started, begun, ended, completed],
      [started, completed, ended],
    ]) {
      const turn = new LiveTurn("t1");
      for (const each of order) turn.take(each);
      assert.deepEqual(shown(turn.items), ["subagent main/sub-1, ended: Count the ships."]);
    }
  });
});

describe("the versions of a message", () => {
  const turn = (inputEntryId: string, onPath: boolean) => ({
    turnId: inputEntryId,
    inputEntryId,
    title: inputEntryId,
    at: AT,
    leafId: `${inputEntryId}-end`,
    onPath,
  });

  it("are at the one that is shown, or after the end where all were left", () => {
    const { at, after } = branchesFrom({
      branches: [
        { turns: [turn("a", false), turn("b", true), turn("c", false)] },
        { turns: [turn("d", false)] },
      ],
      switches: [],
    });
    assert.deepEqual([...at.keys()], ["b"]);
    assert.equal(at.get("b")?.shown, 1);
    assert.deepEqual(
      at.get("b")?.turns.map(({ leafId }) => leafId),
      ["a-end", "b-end", "c-end"],
    );
    assert.equal(after?.turns[0]?.inputEntryId, "d");
  });

  it("leave the rows as they are, and another program has a mark before its first message", () => {
    const items = itemsOf([said({ role: "user", content: "Go." })]);
    const [first] = items;
    const id = first?.kind === "user" ? (first.entryId ?? "") : "";
    const none = branchesFrom({ branches: [], switches: [] });
    assert.equal(withSwitches(items, none), items);
    const found = branchesFrom({
      branches: [],
      switches: [{ turnId: "t1", inputEntryId: id, from: "embedded", to: "codex" }],
    });
    assert.deepEqual(shown(withSwitches(items, found)), [
      "quiet mark: From here on Codex works, after Pagurus.",
      "user: Go.",
    ]);
  });
});

describe("marks of a conversation", () => {
  it("say what was summarized, what failed, and which model answers from there on", () => {
    const answer = (model: string) =>
      said({ role: "assistant", provider: "lab", model, content: [{ type: "text", text: "Yes." }] });
    const rows = itemsOf([
      answer("large"),
      entry({
        type: "compaction",
        summary: "All of it.",
        firstKeptEntryId: "e1",
        tokensBefore: 9_000,
        tokensAfter: 800,
        origin: "model",
      }),
      entry({
        type: "custom",
        customType: "pagurus.degraded",
        data: { stage: "recall", reason: "the index is busy" },
      }),
      answer("small"),
    ]);
    assert.deepEqual(shown(rows), [
      "text: Yes.",
      "quiet mark: Older messages were summarized: 9,000 to 800 tokens. You still see them all.",
      "warn mark: Something failed, and the turn continued without it (recall): the index is busy",
      "quiet mark: From here on lab/small answers.",
      "text: Yes.",
    ]);
  });
});
