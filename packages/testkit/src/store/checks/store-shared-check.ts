/** Checks of what the openings of a place share beside the transcripts. A store without `shared` skips them. */
import { appendFileSync, existsSync, readFileSync, statSync } from "node:fs";
import type { SharedRecords } from "@pagurus/contract/session/shared-records";
import type { SessionStore } from "@pagurus/contract/session/store";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import { onlyIf, must } from "../../conformance-check.ts";
import type { StoreCheck, StoreCheckContext } from "../store-check.ts";
import { mustEqual, mustSoonEqual, say, type StorePlace } from "../store-place.ts";

const SOME_RUNTIME = "some-runtime";

interface Opening {
  store: SessionStore;
  shared: SharedRecords;
}

async function openings({ place }: StoreCheckContext): Promise<{ made: StorePlace; a: Opening; b: Opening }> {
  const made = await place();
  const opened: Opening[] = [];
  for (let opening = 0; opening < 2; opening += 1) {
    const store = await made.store();
    const { shared } = store;
    onlyIf(shared, "The store shares nothing beside the transcripts.");
    opened.push({ store, shared });
  }
  const [a, b] = opened;
  must(a && b, "The store was not opened twice.");
  return { made, a, b };
}

/** Appends to a session's receipts as its writer does. */
function write({ shared }: Opening, record: SessionRecord, line: string): void {
  const file = receiptsText(record);
  const at = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  appendFileSync(file, line);
  shared.receipts(record.sessionId, at, Buffer.from(line));
}

function receiptsText({ file }: SessionRecord): string {
  return file.replace(/\.jsonl$/, ".receipts.jsonl");
}

function read(made: StorePlace, { store }: Opening): string {
  const { record } = made.reader(store);
  return existsSync(receiptsText(record)) ? readFileSync(receiptsText(record), "utf8") : "";
}

/** One turn of an opening, which binds a thread. */
function turn(made: StorePlace, { store, shared }: Opening, turnId: string, nativeId?: string): void {
  const writer = made.writer(store);
  say(writer, turnId, turnId);
  if (nativeId !== undefined) shared.bind(writer.record.sessionId, SOME_RUNTIME, nativeId);
  writer.close();
}

/** Waits until a sum has arrived. */
async function arrived({ shared }: Opening, scope: string, wanted: object): Promise<void> {
  const sums = (): Promise<unknown> =>
    Promise.resolve(
      Object.fromEntries([...shared.spend.sums(scope)].toSorted(([one], [other]) => (one < other ? -1 : 1))),
    );
  await mustSoonEqual(sums, wanted, `The sums of ${scope} differ`);
}

export const sharedChecks: readonly StoreCheck[] = [
  {
    id: "shared.receipts",
    title: "Receipts of one opening are in the file of the next one, whose own ones follow them.",
    async run(context) {
      const { made, a, b } = await openings(context);
      const first = made.writer(a.store);
      write(a, first.record, '{"one":1}\n');
      say(first, "t1", "one");
      first.close();
      mustEqual(read(made, b), '{"one":1}\n', "The other opening has other receipts");
      const second = made.writer(b.store);
      write(b, second.record, '{"two":2}\n');
      second.close();
      for (const opening of [a, b])
        mustEqual(read(made, opening), '{"one":1}\n{"two":2}\n', "An opening has other receipts");
    },
  },
  {
    id: "shared.receipts-fence",
    title: "Receipts of a writer that was taken over are not among those of the next one.",
    needs: "abandon",
    async run(context) {
      const { made, a, b } = await openings(context);
      const lost = made.writer(a.store);
      say(lost, "t1", "one");
      await made.abandon(lost);
      const next = made.writer(b.store);
      write(a, lost.record, '{"stale":1}\n');
      write(b, next.record, '{"next":1}\n');
      say(next, "t2", "two");
      next.close();
      mustEqual(read(made, b), '{"next":1}\n', "The next writer's opening has other receipts");
    },
  },
  {
    id: "shared.thread",
    title: "A native thread is usable in the opening that bound it, until another one has the session.",
    async run(context) {
      const { made, a, b } = await openings(context);
      turn(made, a, "t1", "thread-1");
      turn(made, a, "t2");
      const id = made.reader(a.store).record.sessionId;
      const isUsable = ({ shared }: Opening): boolean | undefined =>
        shared.boundThread(id, SOME_RUNTIME)?.isUsable;
      mustEqual([isUsable(a), isUsable(b)], [true, false], "The thread is usable elsewhere");
      mustEqual(b.shared.boundThread(id, SOME_RUNTIME)?.nativeId, "thread-1", "Another thread is named");
      turn(made, b, "t3");
      turn(made, a, "t4");
      mustEqual(isUsable(a), false, "A thread is usable after another opening had the session");
      turn(made, a, "t5", "thread-2");
      mustEqual(isUsable(a), true, "A thread that was bound again is not usable");
      a.shared.bind(id, SOME_RUNTIME, undefined);
      mustEqual(a.shared.boundThread(id, SOME_RUNTIME), undefined, "A thread that was unbound is bound");
    },
  },
  {
    id: "shared.spend",
    title: "Sums of costs are those of every opening by source, and only grow.",
    async run(context) {
      const { a, b } = await openings(context);
      a.shared.spend.report("day 2026-01-02", new Map([["one", 2]]));
      await arrived(b, "day 2026-01-02", { one: 2 });
      b.shared.spend.report(
        "day 2026-01-02",
        new Map([
          ["one", 1],
          ["two", 4],
        ]),
      );
      b.shared.spend.report("session x", new Map([["two", 4]]));
      for (const opening of [a, b]) {
        await arrived(opening, "session x", { two: 4 });
        await arrived(opening, "day 2026-01-02", { one: 2, two: 4 });
      }
    },
  },
  {
    id: "shared.delete",
    title: "A deletion removes the receipts, threads and costs of the session, and keeps its day's costs.",
    async run(context) {
      const { made, a, b } = await openings(context);
      turn(made, a, "t1", "thread-1");
      const { record } = made.reader(a.store);
      const scopes = [`session ${record.sessionId}`, "day 2026-01-02"] as const;
      for (const scope of scopes) {
        a.shared.spend.report(scope, new Map([["one", 2]]));
        await arrived(a, scope, { one: 2 });
      }
      b.store.delete("main");
      a.store.list();
      must(!existsSync(receiptsText(record)), "The file of receipts is there after the deletion.");
      mustEqual(a.shared.boundThread(record.sessionId, SOME_RUNTIME), undefined, "The thread is bound");
      await arrived(a, scopes[0], {});
      await arrived(a, scopes[1], { one: 2 });
    },
  },
];
