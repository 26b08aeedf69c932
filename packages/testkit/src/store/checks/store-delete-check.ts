/** Checks of deletion and of closed stores. */
import type { StoreCheck } from "../store-check.ts";
import { CWD, mustEqual, mustRefuse, say } from "../store-place.ts";

export const deleteChecks: readonly StoreCheck[] = [
  {
    id: "delete.all",
    title: "A deletion removes every generation of a key and its words, and nothing else.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      for (const key of ["main", "other"]) {
        const writer = made.writer(store, key);
        say(writer, "t1", `wolverine ${key}`);
        writer.close();
      }
      store.renew("main", CWD);
      const other = await made.store();
      const { sessions, bytes } = other.delete("main");
      mustEqual([sessions, bytes > 0], [2, true], "The result differs");
      for (const opening of [other, await made.store()]) {
        mustEqual(opening.find("main"), undefined, "The session is found");
        mustEqual(opening.search("wolverine main", { sessionKey: "main" }), [], "Its words are found");
        mustEqual(
          opening.list().map(({ sessionKey }) => sessionKey),
          ["other"],
          "Other sessions are left",
        );
        await mustRefuse("session_not_found", "A reader of a deleted session", () =>
          opening.openReader("main"),
        );
      }
      mustEqual(store.find("main"), undefined, "The first opening finds the session");
      mustEqual(made.writer(store).record.entryCount, 0, "A new session of the key is not empty");
    },
  },
  {
    id: "delete.refuses",
    title: "A deletion of a missing session, or of one that is written, is refused.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      await mustRefuse("session_not_found", "A deletion of a missing session", () => store.delete("none"));
      const writer = made.writer(store);
      say(writer, "t1", "one");
      const other = await made.store();
      await mustRefuse("session_locked", "A deletion of a session that is written", () =>
        other.delete("main"),
      );
      writer.close();
      mustEqual(other.find("main")?.entryCount, 3, "A refused deletion has removed entries");
    },
  },
  {
    id: "close.refuses",
    title: "A closed store refuses to read with store_read_failed.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      store.create("main", CWD);
      store.close();
      await mustRefuse("store_read_failed", "A list of a closed store", () => store.list());
      await mustRefuse("store_read_failed", "A search in a closed store", () => store.search("words"));
    },
  },
];
