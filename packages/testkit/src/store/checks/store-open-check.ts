/** Checks of opening sessions and of the context that an opening reads. */
import { must } from "../../conformance-check.ts";
import type { StoreCheck } from "../store-check.ts";
import {
  answerTo,
  assistant,
  CWD,
  mustEqual,
  mustRefuse,
  say,
  textOf,
  textsOf,
  user,
} from "../store-place.ts";

const INVALID_KEYS = ["", "a b", "../x", "-x", "a\n", "x".repeat(201)];

export const openChecks: readonly StoreCheck[] = [
  {
    id: "open.missing",
    title: "A key without a session is refused where none may be created, and reading creates nothing.",
    async run({ place }) {
      const store = await (await place()).store();
      await mustRefuse("session_not_found", "A writer of a missing session", () =>
        store.openWriter("none", { ...CWD, create: false }),
      );
      await mustRefuse("session_not_found", "A reader of a missing session", () => store.openReader("none"));
      mustEqual(store.find("none"), undefined, "A missing session is found");
      mustEqual(store.list(), [], "A store without sessions lists some");
      mustEqual(store.search("words"), [], "A store without sessions has hits");
    },
  },
  {
    id: "open.key",
    title: "An invalid key is refused with session_key_invalid.",
    async run({ place }) {
      const store = await (await place()).store();
      for (const key of INVALID_KEYS) {
        const name = JSON.stringify(key.slice(0, 10));
        await mustRefuse("session_key_invalid", `Opening the key ${name}`, () => store.openWriter(key, CWD));
        await mustRefuse("session_key_invalid", `Finding the key ${name}`, () => store.find(key));
        await mustRefuse("session_key_invalid", `Holding the key ${name}`, () => store.hold(key));
      }
    },
  },
  {
    id: "open.again",
    title: "What was written is there after closing, in the same store and in another opening.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const writer = made.writer(store);
      const { sessionId } = writer.record;
      say(writer, "t1", "one");
      writer.close();
      const next = made.writer(store);
      mustEqual(next.record.sessionId, sessionId, "The key has another session");
      mustEqual(next.notices, [], "A clean opening has notices");
      say(next, "t2", "two");
      const expected = ["one", answerTo("one"), "two", answerTo("two")];
      mustEqual(textsOf(next), expected, "The writer's context differs");
      next.close();
      store.close();
      const other = await made.store();
      const later = made.writer(other);
      mustEqual(later.notices, [], "A clean opening has notices");
      mustEqual(textsOf(later), expected, "The context after reopening differs");
      mustEqual(textsOf(made.reader(other)), expected, "The reader's context differs");
    },
  },
  {
    id: "open.slice",
    title: "A limited context is the newest turns, and says that it is not complete.",
    async run({ place }) {
      const made = await place();
      const writer = made.writer(await made.store());
      for (let turn = 0; turn < 20; turn += 1) say(writer, `t${turn}`, `turn ${turn}`);
      const slice = writer.contextMessages({ maxBytes: 1_500 });
      mustEqual(slice.complete, false, "A part of the context is complete");
      const texts = slice.messages.map(textOf);
      must(texts.length > 0 && texts.length < 30, `The slice has ${texts.length} messages of 40.`);
      mustEqual(slice.messages[0]?.role, "user", "The slice does not begin at a turn");
      mustEqual(texts, textsOf(writer).slice(-texts.length), "The slice is not the end of the context");
      mustEqual(writer.contextMessages().complete, true, "The whole context is incomplete");
    },
  },
  {
    id: "open.compaction",
    title: "After a compaction the context is its summary and what it kept, and the old words stay readable.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const writer = made.writer(store);
      const [gone] = say(writer, "t1", "one");
      const [kept] = say(writer, "t2", "two");
      writer.append({
        type: "compaction",
        summary: "What was one.",
        firstKeptEntryId: kept,
        tokensBefore: 9,
        origin: "model",
      });
      say(writer, "t3", "three");
      for (const view of [writer, made.reader(store)]) {
        const [summary = "", ...rest] = textsOf(view);
        must(summary.includes("What was one."), "The context does not begin with the summary.");
        mustEqual(rest, ["two", answerTo("two"), "three", answerTo("three")], "The kept messages differ");
        const entry = await view.cursor.get(gone);
        must(entry?.type === "message" && textOf(entry.message) === "one", "The old words are gone.");
      }
    },
  },
  {
    id: "open.record",
    title: "The record counts entries, bytes and turns, and has the folder, the title and the name.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const writer = made.writer(store);
      writer.append({ type: "message", turnId: "t1", message: user("What is a ship?") });
      writer.append({ type: "message", turnId: "t1", message: assistant("A vessel.") });
      writer.commitTurn({ turnId: "t1", outcome: "completed" });
      writer.append({ type: "session_info", name: "Ships" });
      writer.close();
      for (const opening of [store, await made.store()]) {
        const record = opening.find("main");
        must(record, "The session is not found.");
        const { sessionKey, cwd, entryCount, bytes, name, title, current, generation } = record;
        mustEqual(
          { sessionKey, cwd, entryCount, name, title, current, generation },
          {
            sessionKey: "main",
            cwd: CWD.cwd,
            entryCount: 4,
            name: "Ships",
            title: "What is a ship?",
            current: true,
            generation: 1,
          },
          "The record differs",
        );
        must(bytes > 200, `The record has ${bytes} bytes.`);
        must(Date.parse(record.createdAt) <= Date.parse(record.updatedAt), "The times are not in order.");
      }
    },
  },
];
