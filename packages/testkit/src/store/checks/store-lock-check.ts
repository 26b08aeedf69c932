/** Checks of locks and holds between two openings of a place. */
import { must } from "../../conformance-check.ts";
import type { StoreCheck } from "../store-check.ts";
import { CWD, mustEqual, mustRefuse, say, user } from "../store-place.ts";

const FOLDER = "/work/ships";

export const lockChecks: readonly StoreCheck[] = [
  {
    id: "lock.writer",
    title: "A session has one writer among all openings, until it is closed.",
    async run({ place }) {
      const made = await place();
      const [one, other] = [await made.store(), await made.store()];
      const writer = made.writer(one);
      say(writer, "t1", "one");
      for (const store of [one, other])
        await mustRefuse("session_locked", "A second writer", () => store.openWriter("main", CWD));
      made.writer(other, "free");
      writer.close();
      say(made.writer(other), "t2", "two");
      await mustRefuse("session_locked", "A second writer", () => one.openWriter("main", CWD));
    },
  },
  {
    id: "lock.running",
    title: "A reader sees that a session is being written, and calls no turn of it cut off.",
    async run({ place }) {
      const made = await place();
      const writer = made.writer(await made.store());
      say(writer, "t1", "one");
      writer.append({ type: "message", turnId: "t2", message: user("two") });
      const other = await made.store();
      const during = made.reader(other);
      must(during.runningIn, "The reader does not see the writer.");
      must(!Number.isNaN(Date.parse(during.runningIn.since)), "The reader does not see since when.");
      mustEqual(during.interruptedTurns(), [], "A live turn counts as cut off");
      writer.commitTurn({ turnId: "t2", outcome: "completed" });
      writer.close();
      mustEqual(made.reader(other).runningIn, undefined, "A closed session counts as being written");
    },
  },
  {
    id: "lock.hold",
    title: "A key is held once among all openings, not while it is written, and free after its release.",
    async run({ place }) {
      const made = await place();
      const [one, other] = [await made.store(), await made.store()];
      const hold = one.hold("main");
      mustEqual(hold.sessionKey, "main", "The hold has another key");
      for (const store of [one, other])
        await mustRefuse("session_locked", "A second hold", () => store.hold("main"));
      other.hold("free").release();
      hold.release();
      hold.release();
      other.hold("main").release();
      const writer = made.writer(one);
      await mustRefuse("session_locked", "A hold of a session that is written", () => other.hold("main"));
      writer.close();
      other.hold("main").release();
    },
  },
  {
    id: "lock.folder",
    title: "A session that is created under a held key belongs to the hold's folder.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const hold = store.hold("ships", FOLDER);
      const writer = made.writer(store, "ships");
      say(writer, "t1", "one");
      writer.close();
      hold.release();
      for (const opening of [store, await made.store()]) {
        mustEqual(opening.find("ships")?.folder, FOLDER, "The session belongs to another folder");
        mustEqual(
          opening.inFolder(FOLDER).map(({ sessionKey }) => sessionKey),
          ["ships"],
          "The folder has other sessions",
        );
      }
    },
  },
  {
    id: "lock.begin",
    title: "Two openings begin different conversations of a folder.",
    async run({ place }) {
      const made = await place();
      const stores = [await made.store(), await made.store()];
      const holds = stores.flatMap((store) => [store.begin(FOLDER), store.begin(FOLDER)]);
      const keys = holds.map(({ sessionKey }) => sessionKey);
      mustEqual(new Set(keys).size, 4, `The keys ${keys.join(", ")} repeat`);
      const [writer] = [made.writer(stores[0] ?? (await made.store()), keys[0])];
      say(writer, "t1", "one");
      writer.close();
      for (const hold of holds) hold.release();
      const next = stores[1]?.begin(FOLDER);
      must(next !== undefined && next.sessionKey !== keys[0], "The key of a session is taken again.");
      next.release();
    },
  },
];
