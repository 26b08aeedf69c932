/** Checks of generations: renewing a key, and successors that a compaction made. */
import type { SessionStore } from "@pagurus/contract/session/store";
import { must } from "../../conformance-check.ts";
import type { StoreCheck } from "../store-check.ts";
import {
  again,
  assistant,
  CWD,
  mustEqual,
  mustRefuse,
  say,
  textsOf,
  toolResult,
  user,
  type StorePlace,
} from "../store-place.ts";

const SUCCESSOR = "f47ac10b-58cc-4372-a567-0e02b2c3d479";

/** A successor's transcript with one message, as an engine writes it. */
function engineFile(made: StorePlace, id: string, text: string): string {
  const timestamp = "2026-01-02T03:04:05.000Z";
  const header = { type: "session", version: 3, id, timestamp, cwd: "/engine" };
  const entry = { type: "message", id: "engine-1", parentId: null, timestamp, message: user(text) };
  return made.file(`${id}.engine`, [header, entry].map((line) => `${JSON.stringify(line)}\n`).join(""));
}

function generations(store: SessionStore): [number, string, boolean][] {
  return store
    .list()
    .toSorted((one, other) => one.generation - other.generation)
    .map(({ generation, sessionId, current }) => [generation, sessionId, current]);
}

export const rotateChecks: readonly StoreCheck[] = [
  {
    id: "renew.empty",
    title: "A renewed key is empty, and its former generation stays readable by its id.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const writer = made.writer(store);
      const old = writer.record.sessionId;
      say(writer, "t1", "one");
      writer.close();
      const renewed = store.renew("main", CWD);
      mustEqual(
        [renewed.generation, renewed.current, renewed.entryCount],
        [2, true, 0],
        "The record differs",
      );
      for (const opening of [store, await made.store()]) {
        mustEqual(opening.find("main")?.sessionId, renewed.sessionId, "The key has another generation");
        const expected = [
          [1, old, false],
          [2, renewed.sessionId, true],
        ];
        mustEqual(generations(opening), expected, "The generations differ");
        mustEqual(textsOf(made.reader(opening, "main", old)).length, 2, "The former generation differs");
        await mustRefuse("session_not_found", "A reader of an unknown generation", () =>
          opening.openReader("main", "0000000000000000"),
        );
      }
    },
  },
  {
    id: "rotate.file",
    title: "A successor's file becomes the current generation, with the live turn at its end.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const writer = made.writer(store);
      const old = writer.record.sessionId;
      say(writer, "t1", "one");
      const live = [
        writer.append({ type: "message", turnId: "live", message: user("now") }),
        writer.append({ type: "message", turnId: "live", message: assistant("calling", ["c1"]) }),
      ];
      const file = engineFile(made, SUCCESSOR, "what was before");
      const next = made.keep(store.rotate(writer, { sessionId: SUCCESSOR, file }, live.map(again)));
      mustEqual(next.record.sessionId, SUCCESSOR, "The successor has another id");
      mustEqual(textsOf(next), ["what was before", "now", "calling"], "The successor's context differs");
      await mustRefuse("store_write_failed", "Appending to the former writer", () =>
        writer.append({ type: "message", message: user("late") }),
      );
      next.append({ type: "message", turnId: "live", message: toolResult("c1", "result") });
      mustEqual(
        next.commitTurn({ turnId: "live", outcome: "completed" }),
        true,
        "The live turn's commit answers",
      );
      next.close();
      store.close();
      const other = await made.store();
      const expected = [
        [1, old, false],
        [2, SUCCESSOR, true],
      ];
      mustEqual(generations(other), expected, "The generations differ");
      const reopened = made.writer(other);
      mustEqual(textsOf(reopened), ["what was before", "now", "calling", "result"], "The context differs");
      mustEqual(reopened.notices, [], "The successor opens with notices");
      const earlier = made.reader(other, "main", old);
      mustEqual(textsOf(earlier).slice(0, 3).length, 3, "The former generation has lost words");
      mustEqual(earlier.interruptedTurns(), [], "The live turn counts as cut off in the former generation");
    },
  },
  {
    id: "rotate.back",
    title: "A key goes back to an earlier generation by its id.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const writer = made.writer(store);
      const first = writer.record.sessionId;
      say(writer, "t1", "one");
      const file = engineFile(made, SUCCESSOR, "short");
      const second = made.keep(store.rotate(writer, { sessionId: SUCCESSOR, file }, []));
      const live = second.append({ type: "message", turnId: "live", message: user("now") });
      const back = made.keep(store.rotate(second, { sessionId: first }, [again(live)]));
      mustEqual(textsOf(back).slice(-1), ["now"], "The live turn is not at the end");
      mustEqual(textsOf(back).length, 3, "The earlier generation differs");
      back.commitTurn({ turnId: "live", outcome: "completed" });
      back.close();
      mustEqual((await made.store()).find("main")?.sessionId, first, "The key has another generation");
    },
  },
  {
    id: "rotate.refuses",
    title: "A successor that cannot be taken is refused, and the session continues as it was.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const writer = made.writer(store);
      const { sessionId: own } = writer.record;
      say(writer, "t1", "one");
      store.create("other", { ...CWD, sessionId: "theirs" });
      const broken = made.file("broken", "garbage\n");
      const refuse = async (
        code: "import_invalid" | "session_exists",
        sentence: string,
        successor: { sessionId: string; file?: string },
      ): Promise<void> => {
        await mustRefuse(code, sentence, () => store.rotate(writer, successor, []));
        mustEqual(store.find("main")?.sessionId, own, `After ${sentence} the key has another session`);
      };
      await refuse("import_invalid", "a successor that does not exist", { sessionId: "missing" });
      await refuse("import_invalid", "a file that is no transcript", { sessionId: "broken", file: broken });
      await refuse("import_invalid", "an id that is a path", { sessionId: "../x", file: broken });
      await refuse("session_exists", "an id of another key", {
        sessionId: "theirs",
        file: engineFile(made, "theirs", "x"),
      });
      writer.append({ type: "message", message: user("continues") });
      must(textsOf(writer).at(-1) === "continues", "The session does not continue.");
    },
  },
  {
    id: "rotate.superseded",
    title: "A session that was renewed meanwhile gets no successor.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const writer = made.writer(store);
      say(writer, "t1", "one");
      const renewed = (await made.store()).renew("main", CWD);
      const file = engineFile(made, SUCCESSOR, "late");
      await mustRefuse("lock_lost", "A successor of a former generation", () =>
        store.rotate(writer, { sessionId: SUCCESSOR, file }, []),
      );
      mustEqual(store.find("main")?.sessionId, renewed.sessionId, "The user's new generation is not current");
    },
  },
];
