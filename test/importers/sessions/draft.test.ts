import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import { Draft } from "../../../packages/importers/src/sessions/draft.ts";
import { Tally } from "../../../packages/importers/src/sessions/tally.ts";
import { messagesOf, pairProblem } from "./support.ts";
import { runs } from "../../runner/short-form.ts";

const NOW = Date.parse("2026-05-01T00:00:00.000Z");

type Step =
  | { kind: "user" | "assistant" | "data" | "compaction"; parent: number; calls: number[]; at: number }
  | { kind: "result"; call: number; at: number };

const at = fc.integer({ min: -1_000_000, max: 1_000_000 });
const steps = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constantFrom("user" as const, "assistant" as const, "data" as const, "compaction" as const),
      // -1: at the beginning; beyond the last item: after the item added last.
      parent: fc.integer({ min: -1, max: 25 }),
      calls: fc.uniqueArray(fc.nat(3), { maxLength: 3 }),
      at,
    }),
    fc.record({ kind: fc.constant("result" as const), call: fc.nat(3), at }),
  ),
  { maxLength: 25 },
);

function addStep(draft: Draft, step: Step, number: number): void {
  const text = `words-${number}.`;
  const time = NOW + step.at;
  if (step.kind === "result") {
    const content = [{ type: "text" as const, text }];
    const message = {
      role: "toolResult",
      toolCallId: `c${step.call}`,
      toolName: "",
      content,
      isError: false,
    } as const;
    draft.add({ key: `k${number}`, at: time, body: { type: "message", message } });
    return;
  }
  const where = { key: `k${number}`, parent: step.parent < 0 ? null : `k${step.parent}`, at: time };
  if (step.kind === "data") draft.keep("thing", { text }, where);
  else if (step.kind === "compaction")
    draft.add({
      ...where,
      body: {
        type: "compaction",
        summary: text,
        tokensBefore: 1,
        origin: "model",
        keptKey: `k${step.parent}`,
      },
    });
  else if (step.kind === "user")
    draft.add({ ...where, body: { type: "message", message: { role: "user", content: text } } });
  else {
    const calls = step.calls.map((call) => ({
      type: "toolCall" as const,
      id: `c${call}`,
      name: "bash",
      arguments: {},
    }));
    draft.add({
      ...where,
      body: { type: "message", message: { role: "assistant", content: [{ type: "text", text }, ...calls] } },
    });
  }
}

/** The path from the root to an entry. */
function pathTo(entries: ReadonlyMap<string, TranscriptEntry>, id: string): TranscriptEntry[] {
  const path: TranscriptEntry[] = [];
  for (
    let entry = entries.get(id);
    entry;
    entry = entry.parentId === null ? undefined : entries.get(entry.parentId)
  )
    path.unshift(entry);
  return path;
}

test("whatever is added: ids ascend, parents come first, no text is lost, and every branch has its calls in pairs", () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: -2, max: 25 }), fc.boolean(), (given, leaf, lookAhead) => {
      const entries = new Map<string, TranscriptEntry>();
      const left = new Map<string, number>();
      for (const step of given)
        if (step.kind === "result") left.set(`c${step.call}`, (left.get(`c${step.call}`) ?? 0) + 1);
      let last = "";
      const write = (bytes: Uint8Array): void => {
        const entry = JSON.parse(Buffer.from(bytes).toString("utf8")) as TranscriptEntry;
        assert.match(entry.id, /^[0-9a-z]{16}$/);
        assert.ok(entry.id > last, "ids ascend");
        assert.ok(entry.parentId === null || entries.has(entry.parentId), "a parent comes first");
        if (entry.type === "compaction")
          assert.ok(entry.firstKeptEntryId === entry.id || entries.has(entry.firstKeptEntryId));
        last = entry.id;
        entries.set(entry.id, entry);
      };
      const awaits = (call: string): boolean => lookAhead && (left.get(call) ?? 0) > 0;
      const draft = new Draft({ seed: "s", now: NOW, tally: new Tally(), write, awaits });
      given.forEach((step, number) => {
        if (step.kind === "result") left.set(`c${step.call}`, (left.get(`c${step.call}`) ?? 0) - 1);
        addStep(draft, step, number);
      });
      draft.finish(leaf === -2 ? undefined : leaf < 0 ? null : `k${leaf}`);
      const all = JSON.stringify([...entries.values()]);
      given.forEach((_, number) => assert.equal(all.split(`words-${number}.`).length, 2, `words-${number}`));
      const inner = new Set([...entries.values()].map((entry) => entry.parentId));
      for (const id of entries.keys())
        if (!inner.has(id)) assert.equal(pairProblem(messagesOf(pathTo(entries, id))), undefined);
    }),
    { numRuns: runs(1500) },
  );
});

test("items that wait for a late result are written in the end, and the result is kept", () => {
  const entries: TranscriptEntry[] = [];
  const write = (bytes: Uint8Array): number =>
    entries.push(JSON.parse(Buffer.from(bytes).toString("utf8")) as TranscriptEntry);
  const tally = new Tally();
  const draft = new Draft({ seed: "s", now: NOW, tally, write, awaits: () => true });
  addStep(draft, { kind: "assistant", parent: -1, calls: [1], at: 0 }, 0);
  for (let number = 1; number <= 2_500; number += 1)
    addStep(draft, { kind: "user", parent: number - 1, calls: [], at: 0 }, number);
  addStep(draft, { kind: "result", call: 1, at: 0 }, 9_999);
  draft.finish();
  assert.equal(pairProblem(messagesOf(entries)), undefined);
  assert.equal(tally.messages.user, 2_500);
  assert.equal(tally.interrupted, 1);
  assert.deepEqual([...tally.kept], [["tool result without a call", 1]]);
});

test("a long row of data after one entry comes before that entry's children, in time linear to the row", () => {
  let last: TranscriptEntry | undefined;
  const write = (bytes: Uint8Array): void => {
    const entry = JSON.parse(Buffer.from(bytes).toString("utf8")) as TranscriptEntry;
    assert.equal(entry.parentId, last?.id ?? null);
    last = entry;
  };
  const draft = new Draft({ seed: "s", now: NOW, tally: new Tally(), write });
  addStep(draft, { kind: "user", parent: -1, calls: [], at: 0 }, 0);
  for (let number = 1; number <= 50_000; number += 1) draft.keep("thing", {}, { parent: "k0" });
  addStep(draft, { kind: "user", parent: 0, calls: [], at: 0 }, 1);
  draft.finish();
});
