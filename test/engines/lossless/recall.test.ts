import assert from "node:assert/strict";
import { test } from "node:test";
import type { PluginTool, ToolContext } from "../../../packages/contract/src/host/plugin.ts";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import { recallPassages } from "../../../packages/lossless/src/recall/pages.ts";
import { recallTools } from "../../../packages/lossless/src/recall/recall-tools.ts";
import { answer, filler, input, round } from "../../../packages/testkit/src/engine/scripted-conversation.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import { Drive, texts } from "./drive.ts";
import { word } from "./recall-talk.ts";
import { messageEntry, withStore } from "./store/fixtures.ts";

const SESSION = "session0001";
const SETTINGS = { trigger: 8_000, headTokens: 1_500, tailTokens: 1_500 };
const CONTEXT: ToolContext = {
  sessionKey: "main",
  sessionId: SESSION,
  cwd: "/",
  signal: new AbortController().signal,
};

function toolOf(drive: Drive, name: string): PluginTool {
  const tool = recallTools(() => drive.store).find((candidate) => candidate.name === name);
  assert.ok(tool);
  return tool;
}

async function call(drive: Drive, name: string, params: Record<string, unknown>): Promise<string> {
  const { content } = await toolOf(drive, name).execute(params, CONTEXT);
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

async function talk(drive: Drive, turns: number, from = 0): Promise<void> {
  for (let index = from; index < from + turns; index += 1)
    await drive.turn(input(index, 40), [round(index, 0, 1, 300)], answer(index, 60));
}

test("summarized messages are found, described, and expanded to their original text", async () => {
  const drive = new Drive({ budget: 10_000, config: SETTINGS });
  try {
    const fact = "The quay gate code is QX-4711-BLUE.";
    await drive.turn({ role: "user", content: `Remember: ${fact} ${filler(200)}` }, [], answer(900));
    await talk(drive, 40);
    const hits = await call(drive, "context_search", { query: "quay gate code QX-4711-BLUE" });
    assert.match(hits, /QX-4711/);
    const id = /^(\S+) user: /m.exec(hits)?.[1] ?? "";
    assert.match(await call(drive, "context_describe", { id }), /user, \d+ tokens/);
    assert.match(await call(drive, "context_expand", { id }), /QX-4711-BLUE/);
    const [part] = drive.lossless.frontier(SESSION).nodeIds;
    assert.match(await call(drive, "context_describe", { id: part }), /summary of the entries/);
    let after = "";
    let whole = "";
    for (let page = 0; page < 100; page += 1) {
      const text = await call(drive, "context_expand", {
        id: part,
        max_tokens: 1_000,
        ...(after === "" ? {} : { after }),
      });
      assert.ok(estimateTokens(text) <= 1_000);
      whole += text;
      after = /after (\S+)\.\]$/.exec(text)?.[1] ?? "";
      if (after === "") break;
    }
    assert.match(whole, /QX-4711-BLUE/);
  } finally {
    await drive.end();
  }
});

test("a pinned entry stays verbatim through every compaction, until it is unpinned", async () => {
  const drive = new Drive({ budget: 10_000, config: SETTINGS });
  try {
    await drive.turn(input(0), [], {
      role: "assistant",
      content: [{ type: "text", text: "The plan: first A7, then B9, never C3." }],
    });
    const entry = drive.transcript.entries.findLast((item) => item.type === "message");
    assert.ok(entry);
    await talk(drive, 2, 1);
    assert.match(await call(drive, "context_pin", { id: entry.id }), /is pinned/);
    await talk(drive, 40, 3);
    assert.match(
      texts(drive.sent.at(-1)?.messages ?? []),
      /<pinned [^>]*>\\nThe plan: first A7, then B9, never C3\./,
    );
    assert.match(await call(drive, "context_pin", { id: entry.id, remove: true }), /not pinned any more/);
    await talk(drive, 30, 43);
    assert.doesNotMatch(texts(drive.sent.at(-1)?.messages ?? []), /<pinned/);
  } finally {
    await drive.end();
  }
});

test("results that a later one made obsolete become lines that name their entry, and stay recoverable", async () => {
  const drive = new Drive({
    budget: 30_000,
    config: { trigger: 9_000, headTokens: 1_000, tailTokens: 1_800 },
  });
  try {
    const read = (id: string, text: string): Parameters<Drive["turn"]>[1][number] => [
      {
        role: "assistant",
        content: [{ type: "toolCall", id, name: "read_file", arguments: { path: "/a.txt" } }],
      },
      {
        role: "toolResult",
        toolCallId: id,
        toolName: "read_file",
        content: [{ type: "text", text }],
        isError: false,
      },
    ];
    await talk(drive, 20);
    await drive.turn(
      input(100),
      [read("one", `First ${filler(300)}`), read("two", `Second ${filler(300)}`)],
      answer(100, 10),
    );
    for (let index = 101; index < 130 && drive.lossless.frontier(SESSION).version < 3; index += 1)
      await drive.turn(
        input(index, 100),
        [read(`r${index}`, `Read ${index} ${filler(200)}`)],
        answer(index, 10),
      );
    const text = texts(drive.sent.at(-1)?.messages ?? []);
    const stub = /\[Left out: the file was read again later\. The whole result is entry (\w+)\.\]/.exec(text);
    assert.ok(stub?.[1], "nothing was pruned");
    assert.match(await call(drive, "context_expand", { id: stub[1] }), /Read \d+|First|Second/);
  } finally {
    await drive.end();
  }
});

test("what was written beside a query finds nothing by itself", async () => {
  await withStore(async (store) => {
    let parent: string | null = null;
    const entries: TranscriptEntry[] = [];
    const add = (text: string): void => {
      const day = String(1 + (entries.length % 28)).padStart(2, "0");
      const made = messageEntry(`e${entries.length}`, parent, text, {
        timestamp: `2026-02-${day}T10:00:00.000Z`,
      });
      parent = made.id;
      entries.push(made);
    };
    for (let index = 0; index < 150; index += 1) {
      add(`Anna was here with ${word(index)}.`);
      if (index === 10) add("Anna likes the pottery class.");
      add(`Bob talks ${word(index + 200)}.`);
      if (index % 15 === 0)
        add(`The tram strike in Lisbon, the metro closed near the castle ${word(index + 400)}.`);
    }
    store.ingestTurn("s", entries);
    const found = async (beside?: string): Promise<string> => {
      const least = { weight: 4, share: 0.3, namedShare: 0.06 };
      const query = { query: "What does Anna like?", sessions: ["s"], asking: "s", least, nodes: false };
      const { passages } = await recallPassages(store, { ...query, budgetTokens: 300, beside });
      return passages.map(({ text }) => text).join("\n");
    };
    const alone = await found();
    assert.match(alone, /pottery/);
    assert.equal(await found("In Lisbon the tram strike and the metro by the castle were closed."), alone);
  });
});
