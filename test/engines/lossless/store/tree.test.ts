import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { MessageEntry } from "../../../../packages/contract/src/session/transcript.ts";
import type { LosslessStore } from "../../../../packages/lossless/src/store/lossless-store.ts";
import { chain, cursorOver, messageEntry, withStore } from "./fixtures.ts";
import { byLength } from "../../../runner/short-form.ts";

type Step =
  | { kind: "append"; count: number; session: number }
  | { kind: "rewind"; share: number; session: number }
  | { kind: "rewrite"; share: number; session: number }
  | { kind: "fork"; share: number; session: number }
  | { kind: "again"; session: number };

const share = fc.double({ min: 0, max: 1, noNaN: true });
const session = fc.nat({ max: 5 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    arbitrary: fc.record({
      kind: fc.constant("append" as const),
      count: fc.integer({ min: 1, max: 4 }),
      session,
    }),
    weight: 4,
  },
  fc.record({ kind: fc.constant("rewind" as const), share, session }),
  fc.record({ kind: fc.constant("rewrite" as const), share, session }),
  fc.record({ kind: fc.constant("fork" as const), share, session }),
  fc.record({ kind: fc.constant("again" as const), session }),
);

/** Reference model of a session: its path, and everything that ever was on it. */
interface Model {
  id: string;
  path: MessageEntry[];
  all: Map<string, MessageEntry>;
}

class World {
  readonly sessions: Model[] = [{ id: "s0", path: [], all: new Map() }];
  #next = 0;

  pick(index: number): Model {
    const model = this.sessions[index % this.sessions.length];
    assert.ok(model);
    return model;
  }

  entry(model: Model, text: string, supersedes?: string): MessageEntry {
    const id = `e${(this.#next++).toString().padStart(5, "0")}`;
    const entry = messageEntry(id, model.path.at(-1)?.id ?? null, text, supersedes ? { supersedes } : {});
    model.path.push(entry);
    model.all.set(id, entry);
    return entry;
  }

  apply(store: LosslessStore, action: Step): void {
    const model = this.pick(action.session);
    if (action.kind === "append") {
      const turn = Array.from({ length: action.count }, (_, index) =>
        this.entry(model, `words ${index % 2}`),
      );
      store.ingestTurn(model.id, turn);
    } else if (action.kind === "again") {
      store.ingestTurn(model.id, model.path.slice(-3));
    } else if (action.kind === "rewind") {
      this.#rewind(store, model, Math.floor(action.share * model.path.length));
    } else if (action.kind === "rewrite") {
      this.#rewrite(store, model, Math.floor(action.share * model.path.length));
    } else this.#fork(store, model, Math.ceil(action.share * model.path.length));
  }

  #rewind(store: LosslessStore, model: Model, length: number): void {
    if (!store.session(model.id)) return;
    model.path = model.path.slice(0, length);
    const targetId = model.path.at(-1)?.id ?? null;
    const rewind = { id: `r${this.#next++}`, parentId: null, timestamp: "2026-05-01T10:00:00.000Z" };
    store.ingestTurn(model.id, [{ ...rewind, type: "rewind", targetId }]);
  }

  /** Appends the path from the first replaced entry on again, as the host does. */
  #rewrite(store: LosslessStore, model: Model, from: number): void {
    const suffix = model.path.slice(from);
    model.path = model.path.slice(0, from);
    store.ingestTurn(
      model.id,
      suffix.map((old, index) => this.entry(model, `rewritten ${index}`, old.id)),
    );
  }

  #fork(store: LosslessStore, model: Model, length: number): void {
    if (this.sessions.length >= 5 || length === 0) return;
    const path = model.path.slice(0, length);
    const fork = {
      id: `s${this.sessions.length}`,
      path,
      all: new Map(path.map((entry) => [entry.id, entry])),
    };
    this.sessions.push(fork);
    store.ingestTurn(fork.id, path);
  }
}

function check(store: LosslessStore, model: Model): void {
  if (!store.session(model.id)) {
    assert.equal(model.path.length, 0);
    return;
  }
  const ids = model.path.map(({ id }) => id);
  const walk = store.walkBack(model.id);
  assert.deepEqual(
    walk.items.map(({ entryId }) => entryId),
    ids,
  );
  assert.deepEqual(
    walk.items.map(({ message }) => message),
    model.path.map(({ message }) => message),
  );
  assert.equal(walk.complete, true);
  assert.equal(walk.tokens, store.session(model.id)?.tokens);
  assert.equal(store.session(model.id)?.leafId, ids.at(-1) ?? null);
  let sum = 0;
  walk.items.forEach((item, position) => {
    sum += item.tokens;
    assert.equal(item.position, position);
    assert.equal(item.tokensUpTo, sum);
    assert.equal(store.at(model.id, position)?.entryId, item.entryId);
  });
  const onPath = new Set(ids);
  for (const id of model.all.keys()) assert.equal(store.locate(model.id, id)?.onPath, onPath.has(id));
  const [first, last] = [ids.at(Math.floor(ids.length / 3)), ids.at(-1)];
  if (first === undefined || last === undefined) return;
  const expected = ids.slice(Math.floor(ids.length / 3));
  assert.deepEqual(
    store.outline(model.id, first, last).map(({ entryId }) => entryId),
    expected,
  );
  const paged: string[] = [];
  for (let after: string | undefined, more = true; more;) {
    const page = store.range(model.id, first, last, { limit: 2, ...(after === undefined ? {} : { after }) });
    paged.push(...page.items.map(({ entryId }) => entryId));
    after = page.next;
    more = after !== undefined;
  }
  assert.deepEqual(paged, expected);
}

describe("the path", () => {
  it("follows appends, rewinds, rewrites and forks", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), (steps) =>
        withStore(async (store) => {
          const world = new World();
          for (const action of steps) {
            world.apply(store, action);
            for (const model of world.sessions) check(store, model);
          }
        }),
      ),
      { numRuns: byLength(200, 25, 10) },
    );
  });

  it("of a fork shares the rows of its origin", async () => {
    await withStore((store) => {
      const path = chain(["one", "two", "three"]);
      store.ingestTurn("origin", path);
      assert.deepEqual(store.ingestTurn("fork", path.slice(0, 2)), { stored: 0, known: 2, leafId: "e1" });
      store.ingestTurn("fork", [messageEntry("f", "e1", "another")]);
      store.ingestTurn("origin", [messageEntry("o", "e2", "four")]);
      assert.equal(store.sizeReport().entries, 5);
      assert.equal(store.locate("fork", "f")?.onPath, true);
      assert.throws(() => store.walkBack("fork", { before: "e2" }), { code: "entry_not_found" });
    });
  });

  it("is walked from its end by tokens and by messages, whatever is in between", async () => {
    await withStore((store) => {
      const entries = chain(Array.from({ length: 300 }, (_, index) => `message number ${index}`));
      store.ingestTurn("s", entries);
      const each = store.at("s", 200)?.tokens ?? 0;
      const walk = store.walkBack("s", { maxTokens: each * 10 });
      assert.equal(walk.items.length, 10);
      assert.equal(walk.items.at(-1)?.entryId, "e299");
      assert.equal(walk.complete, false);
      assert.equal(store.walkBack("s", { maxTokens: 1 }).items.length, 1);
      assert.deepEqual(
        store.walkBack("s", { before: "e100", maxMessages: 2 }).items.map(({ entryId }) => entryId),
        ["e98", "e99"],
      );
      const bounded = store.walkBack("s", { after: "e296" });
      assert.deepEqual([bounded.items.length, bounded.complete], [3, true]);
      assert.deepEqual(
        store.outlineBack("s", { maxMessages: 2 }).items.map((item) => [item.entryId, "message" in item]),
        [
          ["e298", false],
          ["e299", false],
        ],
      );
    });
  });
});

describe("an adoption", () => {
  it("adds new entries and moves the leaf as in the transcript", async () => {
    await withStore(async (store) => {
      const path = chain(["one", "two", "three", "four"]);
      await store.adopt("s", cursorOver(path.slice(0, 3)), { sessionKey: "main" });
      assert.deepEqual(store.session("s"), {
        sessionId: "s",
        sessionKey: "main",
        leafId: "e2",
        entries: 3,
        tokens: store.session("s")?.tokens,
        adopted: true,
      });
      assert.deepEqual(await store.adopt("s", cursorOver(path)), { stored: 1, known: 0, leafId: "e3" });
      assert.deepEqual(await store.adopt("s", cursorOver(path.slice(0, 2))), {
        stored: 0,
        known: 0,
        leafId: "e1",
      });
      assert.equal(store.session("s")?.entries, 2);
      const branch = [...path.slice(0, 2), messageEntry("n", "e1", "new")];
      assert.equal((await store.adopt("s", cursorOver(branch))).leafId, "n");
      assert.equal((await store.adopt("s", cursorOver([]))).leafId, null);
      assert.equal(store.locate("s", "e3")?.onPath, false);
    });
  });
});
