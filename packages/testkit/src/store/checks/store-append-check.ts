/** Checks of appended entries and of reading them. */
import { engineEntryType } from "@pagurus/contract/session/engine-entry";
import type { TranscriptCursor } from "@pagurus/contract/session/transcript";
import { must } from "../../conformance-check.ts";
import type { StoreCheck } from "../store-check.ts";
import {
  assistant,
  collect,
  mustEqual,
  mustRefuse,
  mustSoonEqual,
  pathOf,
  say,
  textOf,
  textsOf,
  toolResult,
  user,
} from "../store-place.ts";

const LONG = 1_000_000;

export const appendChecks: readonly StoreCheck[] = [
  {
    id: "append.order",
    title:
      "Entries are read in the order in which they were written, by ids that sort in it, with the entry before as parent.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const writer = made.writer(store);
      const written = Array.from("abcdefgh").map((text) =>
        writer.append({ type: "message", message: user(text) }),
      );
      const ids = written.map(({ id }) => id);
      mustEqual(ids.toSorted(), ids, "The ids sorted are not in the order of writing");
      mustEqual(
        written.map(({ parentId }) => parentId),
        [null, ...ids.slice(0, -1)],
        "The parents are wrong",
      );
      mustEqual(writer.leafId, ids.at(-1), "The leaf is not the last entry");
      const other = await made.store();
      await mustSoonEqual(() => pathOf(made.reader(other)), written, "Another opening reads other entries");
    },
  },
  {
    id: "append.fields",
    title: "An entry of any type is read as it was written, with a time and the writer's epoch.",
    async run({ place }) {
      const made = await place();
      const writer = made.writer(await made.store());
      const words = 'a\u0000\u2028 \ud83d\ude00 é 日本\r\n\t\\"';
      const entries = [
        { type: "message" as const, turnId: "t1", message: user(words) },
        { type: "message" as const, turnId: "t1", message: assistant("calls", ["c1"]) },
        { type: "message" as const, turnId: "t1", message: toolResult("c1", "x".repeat(LONG)) },
        { type: "custom" as const, customType: "note", data: { list: [1, null, { deep: true }] } },
        { type: "custom_message" as const, customType: "fragment", content: words, display: false },
        { type: "model_change" as const, provider: "p", modelId: "m" },
        { type: "session_info" as const, name: "A name" },
      ];
      const written = entries.map((entry) => writer.append(entry));
      const { epoch } = written[0] ?? {};
      for (const [at, entry] of written.entries()) {
        const { id: _id, parentId: _parent, timestamp, epoch: own, ...rest } = entry;
        mustEqual(rest, entries[at], `Entry ${at} came back changed`);
        must(!Number.isNaN(Date.parse(timestamp)), `Entry ${at} has no time.`);
        must(
          typeof own === "number" && own === epoch,
          `Entry ${at} has the epoch ${own}, the first one ${epoch}.`,
        );
      }
      const other = await made.store();
      await mustSoonEqual(() => pathOf(made.reader(other)), written, "Another opening reads other entries");
    },
  },
  {
    id: "append.cursor",
    title: "The cursor goes both ways from any entry of the path, and refuses an id that is off it.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const writer = made.writer(store);
      const [one = "", two = "", three = ""] = ["1", "2", "3"].map(
        (text) => writer.append({ type: "message", message: user(text) }).id,
      );
      for (const { cursor } of [writer, made.reader(store)]) {
        const ids = async (items: AsyncIterable<{ id: string }>): Promise<string[]> =>
          (await collect(items)).map(({ id }) => id);
        mustEqual(await ids(cursor.forward()), [one, two, three], "forward() is wrong");
        mustEqual(await ids(cursor.forward(one)), [two, three], "forward(the first) is wrong");
        mustEqual(await ids(cursor.backward()), [three, two, one], "backward() is wrong");
        mustEqual(await ids(cursor.backward(three)), [two, one], "backward(the last) is wrong");
        const found = await cursor.get(two);
        must(found?.type === "message" && textOf(found.message) === "2", "get() finds another entry.");
        mustEqual(await cursor.get("0000000000000000"), undefined, "get() finds an unknown id");
        await mustRefuse("entry_not_found", "forward() after an unknown id", () =>
          collect(cursor.forward("0000000000000000")),
        );
      }
    },
  },
  {
    id: "append.place",
    title: "place() counts lines and messages of the path.",
    async run({ place }) {
      const made = await place();
      const writer = made.writer(await made.store());
      const [one, answer] = say(writer, "t1", "one");
      const note = writer.append({ type: "custom", customType: "x" });
      mustEqual(writer.place(one), { rawSeq: 1, messagePosition: 0 }, "The first message is elsewhere");
      mustEqual(writer.place(answer), { rawSeq: 2, messagePosition: 1 }, "The second message is elsewhere");
      mustEqual(writer.place(note.id)?.rawSeq, 4, "The line after the commit is elsewhere");
      writer.rewind(one);
      mustEqual(writer.place(answer), { rawSeq: 2 }, "A message off the path has a position on it");
      mustEqual(writer.place("0000000000000000"), undefined, "An unknown id has a place");
    },
  },
  {
    id: "append.engine",
    title:
      "Entries of an engine and compactions are listed newest first, on and off the path, also by another opening; other entries are not.",
    async run({ place }) {
      const made = await place();
      const writer = made.writer(await made.store());
      const engine = (data: string): string =>
        writer.append({ type: "custom", customType: engineEntryType("one"), data }).id;
      const [first] = say(writer, "t1", "one");
      const kept = engine("kept");
      const [input] = say(writer, "t2", "two");
      const compaction = { type: "compaction", summary: "s", tokensBefore: 1, origin: "engine" } as const;
      const { id } = writer.append({ ...compaction, firstKeptEntryId: input });
      const left = engine("left");
      writer.append({ type: "custom", customType: engineEntryType("other"), data: "not listed" });
      writer.append({ type: "custom", customType: "note", data: "not listed" });
      writer.rewind(first);
      const newest = engine("newest");
      const listed = async ({ cursor }: { cursor: TranscriptCursor }): Promise<string[]> =>
        (await collect(cursor.ofEngine?.("one") ?? cursor.backward())).map((entry) => entry.id);
      const expected = [newest, left, id, kept];
      mustEqual(await listed(writer), expected, "The writer lists other entries");
      const other = await made.store();
      await mustSoonEqual(() => listed(made.reader(other)), expected, "A reader lists other entries");
    },
  },
  {
    id: "append.closed",
    title: "A closed writer refuses to append, a closed reader to read.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const writer = made.writer(store);
      say(writer, "t1", "one");
      writer.close();
      await mustRefuse("store_write_failed", "Appending to a closed writer", () =>
        writer.append({ type: "message", message: user("late") }),
      );
      const reader = made.reader(store);
      mustEqual(textsOf(reader).length, 2, "The session has another number of messages");
      reader.close();
      await mustRefuse("store_read_failed", "Reading from a closed reader", () =>
        collect(reader.cursor.forward()),
      );
    },
  },
];
