/** Checks of rewinding, rewriting and forking: branches of the tree of entries. */
import { must } from "../../conformance-check.ts";
import type { StoreCheck } from "../store-check.ts";
import {
  answerTo,
  assistant,
  mustEqual,
  mustRefuse,
  pathOf,
  say,
  textOf,
  textsOf,
  user,
} from "../store-place.ts";

const UNKNOWN = "0000000000000000";

export const branchChecks: readonly StoreCheck[] = [
  {
    id: "rewind.moves",
    title: "A rewind moves the leaf, also for the next opening, and what follows continues there.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const writer = made.writer(store);
      const [, answer] = say(writer, "t1", "one");
      const [off] = say(writer, "t2", "two");
      writer.rewind(answer);
      mustEqual(writer.leafId, answer, "The leaf is elsewhere");
      writer.close();
      store.close();
      const other = await made.store();
      const next = made.writer(other);
      mustEqual(next.leafId, answer, "The next opening has another leaf");
      say(next, "t3", "three");
      mustEqual(textsOf(next), ["one", answerTo("one"), "three", answerTo("three")], "The path differs");
      const kept = await next.cursor.get(off);
      must(kept?.type === "message" && textOf(kept.message) === "two", "The words off the path are gone.");
      next.rewind(null);
      mustEqual([next.leafId, textsOf(next).length], [null, 0], "A rewind to the beginning leaves a path");
    },
  },
  {
    id: "rewind.unknown",
    title: "A rewind to an entry that the session does not have is refused and changes nothing.",
    async run({ place }) {
      const made = await place();
      const writer = made.writer(await made.store());
      say(writer, "t1", "one");
      const leaf = writer.leafId;
      await mustRefuse("entry_not_found", "A rewind to an unknown entry", () => writer.rewind(UNKNOWN));
      mustEqual(writer.leafId, leaf, "The leaf has moved");
    },
  },
  {
    id: "rewrite.replaces",
    title:
      "A rewrite replaces messages by new entries of the path, and the old ones stay readable by their ids.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const writer = made.writer(store);
      say(writer, "t1", "one");
      const [, answer] = say(writer, "t2", "two");
      say(writer, "t3", "three");
      const result = writer.rewrite([{ entryId: answer, message: assistant("short") }]);
      mustEqual([result.changed, result.rewrittenEntries], [true, 1], "The result differs");
      const expected = ["one", answerTo("one"), "two", "short", "three", answerTo("three")];
      mustEqual(textsOf(writer), expected, "The writer's path differs");
      writer.close();
      store.close();
      const reader = made.reader(await made.store());
      mustEqual(textsOf(reader), expected, "The path after reopening differs");
      const old = await reader.cursor.get(answer);
      must(old?.type === "message" && textOf(old.message) === answerTo("two"), "The old words are gone.");
      const copy = (await pathOf(reader)).find(
        (entry) => entry.type === "message" && entry.supersedes === answer,
      );
      must(copy, "No entry names the one that it supersedes.");
    },
  },
  {
    id: "rewrite.refuses",
    title: "A rewrite of an unknown entry, of another role or of a live turn changes nothing and says why.",
    async run({ place }) {
      const made = await place();
      const writer = made.writer(await made.store());
      const [one] = say(writer, "t1", "one");
      const live = writer.append({ type: "message", turnId: "t2", message: user("live") });
      const before = textsOf(writer);
      const cases = { unknown: UNKNOWN, "of another role": one, "of a live turn": live.id };
      for (const [name, entryId] of Object.entries(cases)) {
        const message = name === "of a live turn" ? user("changed") : assistant("changed");
        const { changed, reason = "" } = writer.rewrite([{ entryId, message }]);
        must(
          !changed && reason !== "",
          `A rewrite of an entry that is ${name} is not refused with a reason.`,
        );
      }
      mustEqual(textsOf(writer), before, "The path has changed");
    },
  },
  {
    id: "fork.path",
    title: "A fork has the path up to an entry, with the same ids, and is independent.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const writer = made.writer(store);
      const [one] = say(writer, "t1", "one");
      say(writer, "t2", "two");
      writer.close();
      const path = await pathOf(made.reader(store));
      const early = await store.fork("main", "early", { entryId: one });
      mustEqual(
        [early.sessionKey, early.generation, early.entryCount],
        ["early", 1, 1],
        "The record differs",
      );
      await store.fork("main", "whole");
      const other = await made.store();
      mustEqual(await pathOf(made.reader(other, "whole")), path, "The whole fork has another path");
      mustEqual(
        await pathOf(made.reader(other, "early")),
        path.slice(0, 1),
        "The early fork has another path",
      );
      say(made.writer(other, "whole"), "t9", "only here");
      mustEqual(textsOf(made.reader(store)).length, 4, "The source has changed");
    },
  },
  {
    id: "fork.refuses",
    title:
      "A fork to a key in use, from a missing session or an unknown entry is refused and creates nothing.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      say(made.writer(store), "t1", "one");
      say(made.writer(store, "taken"), "t1", "other");
      await mustRefuse("session_exists", "A fork to a key in use", () => store.fork("main", "taken"));
      await mustRefuse("session_not_found", "A fork of a missing session", () => store.fork("none", "new"));
      await mustRefuse("entry_not_found", "A fork at an unknown entry", () =>
        store.fork("main", "new", { entryId: UNKNOWN }),
      );
      mustEqual(store.find("new"), undefined, "A refused fork has created a session");
    },
  },
];
