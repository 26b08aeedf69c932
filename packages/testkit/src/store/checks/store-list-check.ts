/** Checks of finding sessions: lists, keys of folders, search. */
import { must } from "../../conformance-check.ts";
import type { StoreCheck } from "../store-check.ts";
import { CWD, mustEqual, mustRefuse, say, user } from "../store-place.ts";

const FOLDER = "/work/ships";

export const listChecks: readonly StoreCheck[] = [
  {
    id: "list.order",
    title: "list() and inFolder() have every session, the last used first, in each opening.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      for (const key of ["a", "b", "c"]) store.create(key, { ...CWD, folder: FOLDER });
      for (const key of ["b", "c", "a", "b"]) {
        // Times have milliseconds: the next one is later.
        await new Promise((resolve) => setTimeout(resolve, 3));
        const writer = made.writer(store, key);
        writer.append({ type: "message", message: user(key) });
        writer.close();
      }
      for (const opening of [store, await made.store()]) {
        const keys = (records: { sessionKey: string }[]): string[] =>
          records.map(({ sessionKey }) => sessionKey);
        mustEqual(keys(opening.list()), ["b", "a", "c"], "list() has another order");
        mustEqual(keys(opening.inFolder(FOLDER)), ["b", "a", "c"], "inFolder() has another order");
        mustEqual(opening.inFolder("/work"), [], "Another folder has sessions");
      }
    },
  },
  {
    id: "list.create",
    title: "create() makes an empty session with the requested id, once for a key and an id.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const id = store.reserveId();
      const record = store.create("main", { ...CWD, sessionId: id });
      mustEqual([record.sessionId, record.entryCount, record.current], [id, 0, true], "The record differs");
      const other = await made.store();
      mustEqual(other.find("main")?.sessionId, id, "Another opening finds another session");
      await mustRefuse("session_exists", "A second session of a key", () => other.create("main", CWD));
      await mustRefuse("session_exists", "A second session with an id", () =>
        other.create("more", { ...CWD, sessionId: id }),
      );
      mustEqual(other.find("more"), undefined, "A refused creation has left a session");
    },
  },
  {
    id: "list.reserved",
    title: "Reserved ids are unique, and newer than those of all sessions.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const { sessionId } = store.create("main", CWD);
      const ids = [sessionId, ...Array.from({ length: 50 }, () => store.reserveId())];
      mustEqual(new Set(ids).size, ids.length, "Ids repeat");
      mustEqual(ids.toSorted(), ids, "A later id sorts before an earlier one");
      const later = (await made.store()).reserveId();
      must(later > sessionId, "Another opening's id is older than a session.");
    },
  },
  {
    id: "list.first-key",
    title: "A folder keeps its first key, and another folder of the same name gets another one.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const key = store.firstKey(FOLDER);
      mustEqual(key, "ships", "The key is not the folder's name");
      store.create(key, { ...CWD, folder: FOLDER });
      for (const opening of [store, await made.store()]) {
        mustEqual(opening.firstKey(FOLDER), key, "The folder's key has changed");
        const other = opening.firstKey("/elsewhere/ships");
        must(other !== key && other.startsWith("ships"), `Another folder of the name gets the key ${other}.`);
      }
    },
  },
  {
    id: "search.words",
    title: "Search finds messages with all words, then with some, in any script and in each opening.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const writer = made.writer(store);
      writer.append({ type: "message", turnId: "t1", message: user("The naïve Badger crossed the river.") });
      const chinese = writer.append({
        type: "message",
        turnId: "t1",
        message: user("请把数据库密码放在保险箱里"),
      });
      writer.commitTurn({ turnId: "t1", outcome: "completed" });
      writer.close();
      const second = made.writer(store, "second");
      second.append({ type: "message", message: user("A badger sleeps.") });
      second.close();
      for (const opening of [store, await made.store()]) {
        const found = (query: string, options = {}): string[] =>
          opening.search(query, options).map(({ sessionKey }) => sessionKey);
        mustEqual(found("NAIVE badger"), ["main"], "All words do not come first alone");
        mustEqual(
          found("badger").toSorted(),
          ["main", "second"],
          "A word of two sessions is found elsewhere",
        );
        mustEqual(found("badger unicorn").length, 2, "Some of the words find nothing");
        mustEqual(found("badger", { sessionKey: "second" }), ["second"], "The filter by key does not work");
        mustEqual(found("badger", { limit: 1 }).length, 1, "The limit does not work");
        const only = (key: string) => (sessionKey: string) => sessionKey === key;
        for (const key of ["main", "second"])
          mustEqual(
            found("badger", { limit: 1, allows: only(key) }),
            [key],
            "The limit comes before the filter of sessions",
          );
        mustEqual(
          found("badger", { allows: only("third") }),
          [],
          "A session that the filter excludes is found",
        );
        mustEqual(opening.search("数据库密码")[0]?.entryId, chinese.id, "A text without spaces is not found");
        mustEqual(found("unicorn"), [], "A word that was never written is found");
        const [hit] = opening.search("naive badger");
        must(hit?.snippet.includes("Badger") === true, "The snippet lacks the match.");
        mustEqual([hit.role, hit.onPath], ["user", true], "The hit differs");
      }
    },
  },
  {
    id: "search.off-path",
    title: "Search finds what was rewound, marked as off the path.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const writer = made.writer(store);
      const [, answer] = say(writer, "t1", "one");
      say(writer, "t2", "wolverine");
      writer.rewind(answer);
      writer.close();
      for (const opening of [store, await made.store()])
        mustEqual(
          opening.search("wolverine").map(({ onPath }) => onPath),
          [false, false],
          "The hits differ",
        );
    },
  },
];
