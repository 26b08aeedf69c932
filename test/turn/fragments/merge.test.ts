import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import type {
  AdditionalContext,
  FragmentNote,
  FragmentSetNote,
} from "../../../packages/contract/src/fragment.ts";
import { FRAGMENT_ENTRY, FRAGMENT_SET_ENTRY } from "../../../packages/contract/src/fragment.ts";
import type { NewEntry, TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import type { ContextNote } from "../../../packages/contract/src/session/writer.ts";
import { contextEntries, mergeContext } from "../../../packages/host/src/turn/fragments/merge.ts";
import { fragmentsOf } from "../../../packages/host/src/turn/fragments/fragment-place.ts";
import { cutValue, fragmentText } from "../../../packages/host/src/turn/fragments/render.ts";
import { TurnFragments } from "../../../packages/host/src/turn/fragments/turn-fragments.ts";
import { unicodeText } from "../../runner/unicode-text.ts";

describe("a value that is too long", () => {
  // Measured: codex app-server 0.169.0, turn/start with additionalContext.
  for (const [name, value, missing, head, tail] of [
    ["just too long", "a".repeat(4_001), 1, 2_000, 2_000],
    ["of two-byte characters", "é".repeat(2_001), 1, 2_000, 2_000],
    ["of two-byte characters after a letter", `a${"é".repeat(2_500)}`, 251, 1_999, 2_000],
    ["of three-byte characters", "€".repeat(3_000), 1_250, 1_998, 1_998],
    ["of four-byte characters", "😀".repeat(1_500), 500, 2_000, 2_000],
  ] as const) {
    it(`${name} keeps both ends at character boundaries, as Codex cuts it`, () => {
      const cut = cutValue(value);
      const marker = `…${missing} tokens truncated…`;
      const at = cut.indexOf(marker);
      assert.equal(Buffer.byteLength(cut.slice(0, at)), head);
      assert.equal(Buffer.byteLength(cut.slice(at + marker.length)), tail);
      assert.ok(value.startsWith(cut.slice(0, at)) && value.endsWith(cut.slice(at + marker.length)));
    });
  }

  it("stays whole at 4,000 bytes, and is cut before it is wrapped", () => {
    const value = "b".repeat(4_000);
    assert.equal(fragmentText("k", { kind: "untrusted", value }), `<external_k>${value}</external_k>`);
    assert.ok(fragmentText("k", { kind: "application", value: `${value}c` }).endsWith("bc</k>"));
  });

  it("never splits a character, whatever its content", () => {
    fc.assert(
      fc.property(unicodeText({ minLength: 1_500, maxLength: 3_000 }), (value) => {
        const cut = cutValue(value.toWellFormed());
        assert.ok(!cut.includes("\uFFFD") || value.toWellFormed().includes("\uFFFD"));
        assert.ok(Buffer.byteLength(cut) <= 4_000 + Buffer.byteLength("…9999 tokens truncated…"));
      }),
      { numRuns: 6, endOnFailure: true },
    );
  });
});

const keys = fc.constantFrom("a", "b", "__proto__", "é");
const entry = fc.record({
  value: fc.constantFrom("", "one", "two"),
  kind: fc.constantFrom("untrusted" as const, "application" as const),
});
const map: fc.Arbitrary<AdditionalContext | null | undefined> = fc.oneof(
  { weight: 6, arbitrary: fc.dictionary(keys, entry, { noNullPrototype: false }) },
  { weight: 1, arbitrary: fc.constantFrom(null, undefined, {}) },
);

describe("the current set", () => {
  it("is the last one passed, and injects entries that are new or different", () => {
    fc.assert(
      fc.property(fc.array(map, { maxLength: 12 }), (maps) => {
        let store = new Map<string, string>();
        let model = new Map<string, string>();
        for (const given of maps) {
          const merged = mergeContext(store, contextEntries(given), () => true);
          const expected = Object.entries(given ?? {}).filter(
            ([key, value]) => model.get(key) !== `${value.kind} ${value.value}`,
          );
          assert.deepEqual(
            merged.inject.map(({ key }) => key),
            expected.map(([key]) => key).toSorted(),
          );
          const next = new Map(
            Object.entries(given ?? {}).map(([key, { kind, value }]) => [key, `${kind} ${value}`]),
          );
          assert.equal(merged.changed, !isDeepStrictEqual(next, model));
          store = merged.current;
          model = next;
        }
      }),
    );
  });

  it("is independent of its caller's later changes", () => {
    const given: AdditionalContext = { a: { kind: "application", value: "one" } };
    const [taken] = contextEntries(given);
    Object.assign(given["a"] ?? {}, { value: "two" });
    assert.equal(taken?.[1].value, "one");
  });
});

/** A transcript of only fragments, sets and messages, of which a compaction hides the oldest. */
class Path {
  entries: TranscriptEntry[] = [];
  #hidden = 0;

  append(entry: NewEntry): TranscriptEntry {
    const made = {
      ...entry,
      id: `e${this.entries.length}`,
      parentId: null,
      timestamp: "",
    } as TranscriptEntry;
    this.entries.push(made);
    return made;
  }

  say(): void {
    this.append({ type: "message", message: { role: "user", content: "x" } });
  }

  hide(): void {
    this.#hidden = this.entries.length;
  }

  notes(): ContextNote[] {
    const shown = this.entries.slice(this.#hidden);
    return shown.flatMap((one, index) => {
      if (one.type !== "custom") return [];
      const next = shown.slice(index).find(({ type }) => type === "message");
      return [
        {
          entryId: one.id,
          customType: one.customType,
          data: one.data,
          ...(next ? { nextEntryId: next.id } : {}),
        },
      ];
    });
  }
}

describe("the set of a session", () => {
  it("is in the transcript, so that the model always sees the current entries, however the turns are cut", () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: map },
      { weight: 1, arbitrary: fc.constant("compaction" as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 14 }), (steps) => {
        const path = new Path();
        let before: AdditionalContext = {};
        for (const given of steps) {
          if (given === "compaction") {
            path.hide();
            before = {};
            continue;
          }
          // A new object each time: only the entries persist.
          const slice = () => ({ messages: [], complete: true, notes: path.notes() });
          const fragments = new TurnFragments({ turnId: "t", writer: () => path, slice });
          fragments.merge(given, "input");
          path.say();
          const now: AdditionalContext = given ?? {};
          const changed = Object.keys(now).filter((key) => {
            const known = Object.hasOwn(before, key) ? before[key] : undefined;
            return known?.value !== now[key]?.value || known?.kind !== now[key]?.kind;
          });
          assert.deepEqual(
            fragments.injected.map(({ key }) => key),
            changed.toSorted(),
          );
          const seen = fragmentsOf(slice());
          for (const [key, { value, kind }] of Object.entries(now))
            assert.equal(
              seen.findLast(({ note }) => note.key === key)?.note.text,
              fragmentText(key, { value, kind }),
            );
          before = now;
        }
        const types = new Set(path.entries.flatMap((one) => (one.type === "custom" ? [one.customType] : [])));
        assert.ok([...types].every((type) => type === FRAGMENT_ENTRY || type === FRAGMENT_SET_ENTRY));
      }),
    );
  });

  it("ignores entries that another program has written", () => {
    const path = new Path();
    const wrong = [null, 1, { key: 1 }, { key: "a", kind: "x", mark: "m", text: "t" }] as unknown[];
    for (const data of wrong) path.append({ type: "custom", customType: FRAGMENT_ENTRY, data });
    for (const current of [null, "a", [1, ["a", 2], null]])
      path.append({
        type: "custom",
        customType: FRAGMENT_SET_ENTRY,
        data: { current } as unknown as FragmentSetNote,
      });
    const slice = { messages: [], complete: true, notes: path.notes() };
    assert.deepEqual(fragmentsOf(slice), []);
    const fragments = new TurnFragments({ writer: () => path, slice: () => slice });
    fragments.merge({ a: { kind: "untrusted", value: "v" } }, "input");
    const [made] = path.entries
      .flatMap((one) =>
        one.type === "custom" && one.customType === FRAGMENT_ENTRY ? [one.data as FragmentNote] : [],
      )
      .slice(wrong.length);
    assert.equal(made?.text, "<external_a>v</external_a>");
  });
});
