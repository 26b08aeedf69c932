import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AgentMessage } from "../../../../packages/contract/src/message.ts";
import { filler } from "../../../../packages/testkit/src/engine/scripted-conversation.ts";
import { Drive, texts, type Sent } from "../drive.ts";
import { byLength } from "../../../runner/short-form.ts";

const SESSION = "session0001";

function calling(id: string, name: string, args: Record<string, unknown>, result: string): AgentMessage[] {
  return [
    { role: "assistant", content: [{ type: "toolCall", id, name, arguments: args }] },
    {
      role: "toolResult",
      toolCallId: id,
      toolName: name,
      content: [{ type: "text", text: result }],
      isError: false,
    },
  ];
}

function saying(text: string): AgentMessage {
  return { role: "assistant", content: [{ type: "text", text }], stopReason: "stop" };
}

async function compact(drive: Drive): Promise<void> {
  const { result } = await drive.engine.compact({ ...drive.params(), force: true, currentTokenCount: 9_000 });
  if (!result?.summary || result.firstKeptEntryId === undefined) return;
  const { summary, firstKeptEntryId, tokensBefore } = result;
  drive.transcript.append({ type: "compaction", summary, firstKeptEntryId, tokensBefore, origin: "engine" });
}

/** Unique words: each one in a context must be from the path. */
class Words {
  readonly #places = new Map<string, string>();
  readonly #drive: Drive;

  constructor(drive: Drive) {
    this.#drive = drive;
  }

  add(make: (word: string) => string): string {
    const word = `Zq${this.#places.size + 1}x`;
    this.#places.set(word, "");
    return make(word);
  }

  /** Records that the newest entry contains the word that was added last. */
  placed(): void {
    const word = [...this.#places.keys()].at(-1);
    const id = this.#drive.transcript.entries.at(-1)?.id;
    if (word !== undefined && id !== undefined) this.#places.set(word, id);
  }

  check({ messages }: Sent): void {
    const path = new Set(this.#drive.transcript.entries.map(({ id }) => id));
    for (const [word] of texts(messages).matchAll(/Zq\d+x/g)) {
      const id = this.#places.get(word) ?? "";
      assert.ok(path.has(id), `${word} of ${id} is on a branch that was left`);
    }
  }
}

async function turn(drive: Drive, words: Words, rounds: number): Promise<void> {
  const turnId = drive.begin({
    role: "user",
    content: words.add((word) => `Never touch ${word} again. ${filler(40)}`),
  });
  words.placed();
  words.check(await drive.call(turnId));
  for (let index = 0; index < rounds; index += 1) {
    const text = words.add((word) => `Look at ${word}, /srv/${word}.conf.`);
    const [call, result] = calling(`${turnId}_${index}`, "run", { command: text }, filler(300));
    if (!call || !result) return;
    drive.append(turnId, call);
    words.placed();
    drive.append(turnId, result);
    words.check(await drive.call(turnId));
  }
  drive.append(turnId, saying(words.add((word) => `Done with ${word}.`)));
  words.placed();
  await drive.commit(turnId);
}

const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant("turn"), size: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("rewind"), size: fc.nat(12) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("compact"), size: fc.constant(0) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart"), size: fc.constant(0) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("pin"), size: fc.nat(60) }) },
);

test("no word of an abandoned branch is in a context, whatever was compacted, pinned or restarted", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 45, maxLength: 55 }), async (steps) => {
      const config = { trigger: 8_000, headTokens: 2_000, tailTokens: 1_500 };
      const drive = new Drive({ budget: 10_000, config });
      const words = new Words(drive);
      try {
        await turn(drive, words, 1);
        for (const { kind, size } of steps) {
          const { entries } = drive.transcript;
          const ends = entries.filter(({ type }) => type === "custom");
          const written = entries.filter(({ type }) => type === "message");
          if (kind === "turn") await turn(drive, words, size);
          else if (kind === "compact") await compact(drive);
          else if (kind === "restart") await drive.restart();
          else if (kind === "pin")
            drive.lossless.pin(SESSION, {
              entryId: written[size % written.length]?.id ?? "",
              pinnedAt: size,
            });
          else drive.transcript.rewind(ends[Math.max(0, ends.length - 2 - size)]?.id ?? "");
        }
      } finally {
        await drive.end();
      }
    }),
    { numRuns: byLength(40, 3, 1) },
  );
});

test("a result that a later write made obsolete stays left out, and is shown again when the write is rewound", async () => {
  const config = { trigger: 26_000, headTokens: 1_200, tailTokens: 6_000 };
  const drive = new Drive({ budget: 30_000, config });
  try {
    for (let index = 0; index < 9; index += 1)
      await drive.turn({ role: "user", content: `Task ${index}. ${filler(900)}` }, [], saying(filler(900)));
    const read = calling("r1", "read", { path: "/srv/a.ts" }, `READWORD ${filler(300)}`);
    await drive.turn({ role: "user", content: "Read it." }, [read], saying("read"));
    const before = drive.transcript.entries.at(-1)?.id ?? "";
    const write = calling("w1", "write", { path: "/srv/a.ts", content: "new" }, "written");
    await drive.turn({ role: "user", content: "Write it." }, [write], saying("written"));
    for (const round of [1, 2]) {
      await compact(drive);
      await drive.turn({ role: "user", content: `After compaction ${round}.` }, [], saying("yes"));
      const shown = texts(drive.sent.at(-1)?.messages ?? []);
      assert.match(shown, /Left out: the file was written anew later/);
      assert.doesNotMatch(shown, /READWORD/);
    }
    drive.transcript.rewind(before);
    await drive.turn({ role: "user", content: "After the rewind." }, [], saying("yes"));
    const shown = texts(drive.sent.at(-1)?.messages ?? []);
    assert.match(shown, /READWORD/);
    assert.doesNotMatch(shown, /Left out/);
  } finally {
    await drive.end();
  }
});

test("two processes that store turns of one session keep each other's live messages", async () => {
  const drive = new Drive({ budget: 20_000 });
  const first = drive.engine;
  try {
    await drive.turn({ role: "user", content: "one" }, [], saying("1"));
    drive.reopen();
    const second = drive.engine;
    const turnId = drive.begin({ role: "user", content: "two" });
    const after = drive.transcript.entries.at(-1)?.id;
    drive.volatile.push({ message: { role: "user", content: "VOLATILE" }, after });
    await drive.call(turnId);
    drive.append(turnId, saying("2"));
    await drive.commit(turnId);
    drive.engine = first;
    await drive.turn({ role: "user", content: "three" }, [], saying("3"));
    assert.match(texts(drive.sent.at(-1)?.messages ?? []), /VOLATILE/);
    await first.dispose?.();
    drive.engine = second;
    await drive.restart();
    await drive.turn({ role: "user", content: "four" }, [], saying("4"));
    assert.match(texts(drive.sent.at(-1)?.messages ?? []), /VOLATILE/);
  } finally {
    await drive.end();
  }
});
