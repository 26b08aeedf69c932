/** Checks of the ends of turns. */
import { must } from "../../conformance-check.ts";
import type { StoreCheck } from "../store-check.ts";
import { answerTo, assistant, mustEqual, say, textOf, user } from "../store-place.ts";

export const commitChecks: readonly StoreCheck[] = [
  {
    id: "commit.once",
    title: "A turn is committed once, also by a later opening.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const writer = made.writer(store);
      writer.append({ type: "message", turnId: "t1", message: user("one") });
      mustEqual(writer.commitTurn({ turnId: "t1", outcome: "completed" }), true, "The first commit answers");
      mustEqual(writer.commitTurn({ turnId: "t1", outcome: "failed" }), false, "The second commit answers");
      writer.close();
      store.close();
      const later = await made.store();
      const next = made.writer(later);
      mustEqual(
        next.commitTurn({ turnId: "t1", outcome: "failed" }),
        false,
        "A commit after reopening answers",
      );
      next.close();
      mustEqual(later.find("main")?.entryCount, 2, "The session has another number of entries");
    },
  },
  {
    id: "commit.recorded",
    title: "recordedTurn() has a turn's messages, whether it is over, and the entry before it.",
    async run({ place }) {
      const made = await place();
      const writer = made.writer(await made.store());
      const [one] = say(writer, "t1", "one");
      const leaf = writer.leafId;
      const input = writer.append({ type: "message", turnId: "t2", message: user("two") });
      const first = writer.recordedTurn("t1");
      mustEqual(first?.messages.map(textOf), ["one", answerTo("one")], "The first turn has other messages");
      mustEqual([first?.isOver, first?.leafBefore], [true, null], "The first turn's state is wrong");
      mustEqual(first?.messages[0]?.entryId, one, "The input has another entry id");
      const second = writer.recordedTurn("t2");
      mustEqual(
        second?.messages.map(({ entryId }) => entryId),
        [input.id],
        "The live turn has other messages",
      );
      mustEqual([second?.isOver, second?.leafBefore], [false, leaf], "The live turn's state is wrong");
      mustEqual(writer.recordedTurn("t3"), undefined, "A turn without an entry is recorded");
    },
  },
  {
    id: "commit.finalized",
    title: "Turns that the engine has not taken are offered, oldest first, until they are marked.",
    async run({ place }) {
      const made = await place();
      const store = await made.store();
      const writer = made.writer(store);
      say(writer, "t1", "one");
      for (const turnId of ["t2", "t3"]) {
        writer.append({ type: "message", turnId, message: user(turnId) });
        writer.append({ type: "message", turnId, message: assistant("yes") });
        writer.commitTurn({ turnId, outcome: "completed", finalized: false, heartbeat: turnId === "t3" });
      }
      const due = [...writer.unfinalizedTurns()];
      mustEqual(
        due.map(({ turnId, messages, heartbeat }) => [turnId, messages.map(textOf), heartbeat]),
        [
          ["t2", ["t2", "yes"], false],
          ["t3", ["t3", "yes"], true],
        ],
        "Other turns are offered",
      );
      writer.markFinalized("t2");
      writer.markFinalized("t2");
      writer.markFinalized("never begun");
      writer.close();
      store.close();
      const next = made.writer(await made.store());
      mustEqual(
        [...next.unfinalizedTurns()].map(({ turnId }) => turnId),
        ["t3"],
        "Other turns are left",
      );
    },
  },
  {
    id: "commit.outcome",
    title: "A commit is an entry with its outcome and error code.",
    async run({ place }) {
      const made = await place();
      const writer = made.writer(await made.store());
      writer.append({ type: "message", turnId: "t1", message: user("one") });
      writer.commitTurn({ turnId: "t1", outcome: "failed", code: "model_auth" });
      let last;
      for await (const entry of made.reader(await made.store()).cursor.backward()) {
        last = entry;
        break;
      }
      must(last?.type === "turn_commit", `The last entry is ${last?.type ?? "missing"}.`);
      mustEqual([last.turnId, last.outcome, last.code], ["t1", "failed", "model_auth"], "The commit differs");
    },
  },
];
