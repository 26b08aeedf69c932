/** Checks of what the next opening does after a host has died. */
import { must } from "../../conformance-check.ts";
import type { SessionStore } from "@pagurus/contract/session/store";
import type { SessionWriter } from "@pagurus/contract/session/writer";
import type { StoreCheck } from "../store-check.ts";
import {
  answerTo,
  assistant,
  mustEqual,
  mustRefuse,
  pathOf,
  say,
  textsOf,
  toolResult,
  user,
  type StorePlace,
} from "../store-place.ts";

/** A session with a whole turn and one that ends in the middle, with the calls c1 and c2 open; its host has died. */
async function cutOffWriter(made: StorePlace): Promise<{ writer: SessionWriter; store: SessionStore }> {
  const store = await made.store();
  const writer = made.writer(store);
  say(writer, "t1", "one");
  writer.append({ type: "message", turnId: "t2", message: user("two") });
  writer.append({ type: "message", turnId: "t2", message: assistant("calling", ["c1", "done", "c2"]) });
  writer.append({ type: "message", turnId: "t2", message: toolResult("done", "result") });
  await made.abandon(writer);
  return { writer, store: await made.store() };
}

export const crashChecks: readonly StoreCheck[] = [
  {
    id: "crash.reader",
    title: "A reader reports the turn that a crash cut off, and changes nothing.",
    needs: "abandon",
    async run({ place }) {
      const made = await place();
      const { store } = await cutOffWriter(made);
      const reader = made.reader(store);
      mustEqual(reader.interruptedTurns(), ["t2"], "Other turns are reported");
      mustEqual(reader.runningIn, undefined, "A dead host counts as running");
      mustEqual((await pathOf(made.reader(store))).length, 6, "The session has another number of entries");
    },
  },
  {
    id: "crash.closes",
    title:
      "The next writer keeps all entries of a cut off turn, closes its open calls and commits it as interrupted.",
    needs: "abandon",
    async run({ place }) {
      const made = await place();
      const { store } = await cutOffWriter(made);
      const next = made.writer(store);
      const notice = next.notices.find(({ kind }) => kind === "interrupted_turn");
      mustEqual(notice?.turnId, "t2", "The notice names another turn");
      const added = (await pathOf(next)).slice(6);
      const results = added.slice(0, 2).map((entry) => {
        must(
          entry.type === "message" && entry.message.role === "toolResult",
          `An open call got ${entry.type}.`,
        );
        must(entry.message.isError, "The result of an open call is no error.");
        return entry.message.toolCallId;
      });
      mustEqual(results, ["c1", "c2"], "Other calls were closed");
      const commit = added.at(-1);
      must(commit?.type === "turn_commit" && added.length === 3, "The turn is not committed once.");
      mustEqual([commit.turnId, commit.outcome], ["t2", "interrupted"], "The commit differs");
      mustEqual(
        textsOf(next).slice(0, 5),
        ["one", answerTo("one"), "two", "calling", "result"],
        "Words are lost",
      );
      next.close();
      const third = made.writer(store);
      mustEqual(third.notices, [], "The turn is closed twice");
    },
  },
  {
    id: "crash.continues",
    title: "A cut off turn that the caller continues gets no end.",
    needs: "abandon",
    async run({ place }) {
      const made = await place();
      const { store } = await cutOffWriter(made);
      const next = made.writer(store, "main", { continues: "t2" });
      mustEqual(next.recordedTurn("t2")?.isOver, false, "The turn is over");
      mustEqual(next.recordedTurn("t2")?.messages.length, 3, "The turn has another number of messages");
      next.append({ type: "message", turnId: "t2", message: toolResult("c1", "late") });
      mustEqual(next.commitTurn({ turnId: "t2", outcome: "completed" }), true, "The commit answers");
    },
  },
  {
    id: "crash.late",
    title:
      "A caller that continues a turn which has ended meanwhile leaves the cut off turn after it as it is.",
    needs: "abandon",
    async run({ place }) {
      const made = await place();
      const { store } = await cutOffWriter(made);
      const late = made.writer(store, "main", { continues: "t1" });
      mustEqual(late.recordedTurn("t1")?.isOver, true, "The earlier turn is not over");
      late.close();
      const next = made.writer(store, "main", { continues: "t2" });
      mustEqual(next.recordedTurn("t2")?.isOver, false, "The later turn was ended");
      mustEqual(next.recordedTurn("t2")?.messages.length, 3, "Its calls were closed");
    },
  },
  {
    id: "crash.fence",
    title: "A host that lost its session writes nothing more, and the epoch rises.",
    needs: "abandon",
    async run({ place }) {
      const made = await place();
      const { writer, store } = await cutOffWriter(made);
      const next = made.writer(store);
      const count = (await pathOf(next)).length;
      // A store that does not wait for each entry refuses at the commit.
      await mustRefuse("lock_lost", "Appending by a host that lost its session", () => {
        writer.append({ type: "message", turnId: "t2", message: user("stale") });
        writer.commitTurn({ turnId: "t2", outcome: "completed" });
      });
      await mustRefuse("lock_lost", "A commit by a host that lost its session", () =>
        writer.commitTurn({ turnId: "t2", outcome: "completed" }),
      );
      const entries = await pathOf(made.reader(store));
      mustEqual(entries.length, count, "A stale write is there");
      const epochs = [entries[0]?.epoch ?? 0, next.append({ type: "custom", customType: "x" }).epoch ?? 0];
      must((epochs[0] ?? 0) < (epochs[1] ?? 0), `The epoch went from ${epochs.join(" to ")}.`);
    },
  },
];
