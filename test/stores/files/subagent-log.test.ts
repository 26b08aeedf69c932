import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import fc from "fast-check";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import { silentLogger } from "../../../packages/core/src/platform/log.ts";
import {
  SubagentLog,
  type ChildRecord,
  type Reservation,
} from "../../../packages/host/src/stores/files/subagent-log.ts";
import { temporaryFolder } from "./fixtures.ts";
import { byLength } from "../../runner/short-form.ts";

const MOST = 3;

/** An owner of children: it keeps those it has started until it drops them. */
class Owner {
  readonly held = new Set<string>();
  readonly log: SubagentLog;

  constructor(file: string, instance: string) {
    this.log = new SubagentLog({
      file,
      instance,
      holds: (key) => this.held.has(key),
      logger: silentLogger,
    });
  }

  reserve(parent: string, more: Partial<Reservation> = {}): ChildRecord | undefined {
    const record = this.log.reserve({
      parentSessionKey: parent,
      childSessionId: "0000000000000000",
      contextMode: "isolated",
      depth: 1,
      expiresAt: Date.now() + 60_000,
      most: MOST,
      keyOf: (number) => `${parent}/sub-${number}`,
      taken: () => false,
      ...more,
    });
    if (record) this.held.add(record.childSessionKey);
    return record;
  }
}

function registry(t: TestContext): string {
  return join(temporaryFolder(t), "subagents.db");
}

/** The process of an owner dies. */
function kill(file: string, instance: string): void {
  if (!existsSync(file)) return;
  const db = new DatabaseSync(file);
  db.prepare("UPDATE children SET pid = 4194305, ticks = '1' WHERE instance = ?").run(instance);
  db.close();
}

test("numbers of keys are counted per parent, skip existing keys, and are not reused", (t) => {
  const owner = new Owner(registry(t), "a");
  assert.equal(owner.reserve("x")?.childSessionKey, "x/sub-1");
  assert.equal(owner.reserve("y")?.childSessionKey, "y/sub-1");
  owner.log.setFailed("x/sub-1");
  assert.equal(owner.reserve("x")?.childSessionKey, "x/sub-2");
  assert.equal(owner.reserve("x", { taken: (key) => key === "x/sub-3" })?.childSessionKey, "x/sub-4");
  owner.log.close();
});

test("a child whose end was requested does not start to run", (t) => {
  const owner = new Owner(registry(t), "a");
  owner.reserve("x");
  owner.log.requestStop("x", "released", false);
  assert.equal(owner.log.setRunning("x/sub-1"), false);
  assert.deepEqual(
    owner.log.toStop().map(({ childSessionKey, stop }) => [childSessionKey, stop]),
    [["x/sub-1", "released"]],
  );
  owner.log.close();
});

test("a file of another version is refused and stays as it is", (t) => {
  const file = registry(t);
  const db = new DatabaseSync(file);
  db.exec("PRAGMA user_version = 99");
  db.close();
  const owner = new Owner(file, "a");
  const refused = (error: unknown): boolean =>
    error instanceof PagurusError &&
    error.message.includes("another version") &&
    error.message.includes(file);
  assert.throws(() => owner.log.depthOf("x"), refused);
  assert.throws(() => owner.reserve("x"), refused);
});

interface Expected {
  parent: string;
  owner: number;
  state: "preparing" | "running" | "ended" | "failed";
  result: boolean;
  notified: boolean;
  delivered: boolean;
}

/** A plain model of the registry's content. */
class Model {
  readonly children = new Map<string, Expected>();
  readonly notified = new Map<string, number>();

  alive(parent: string): number {
    return [...this.children.values()].filter(
      (child) =>
        child.parent === parent && ["preparing", "running"].includes(child.state) && child.owner >= 0,
    ).length;
  }

  waiting(parent: string): string[] {
    return [...this.children]
      .filter(
        ([, child]) => child.parent === parent && child.state === "ended" && child.result && !child.delivered,
      )
      .map(([key]) => key);
  }

  orphans(): string[] {
    const due = (child: Expected): boolean =>
      ["preparing", "running"].includes(child.state) || (child.state === "ended" && !child.notified);
    return [...this.children].filter(([, child]) => child.owner < 0 && due(child)).map(([key]) => key);
  }
}

const step = fc.record({
  what: fc.constantFrom("reserve", "run", "fail", "end", "notify", "deliver", "crash", "sweep"),
  owner: fc.constantFrom(0, 1),
  parent: fc.constantFrom("x", "y"),
  pick: fc.nat(20),
  reason: fc.constantFrom("completed" as const, "released" as const, "deleted" as const, "swept" as const),
});

/** Notifies the engine of a child that this owner keeps, as a test counts it. */
function notify(model: Model, owner: Owner, key: string): void {
  const child = model.children.get(key);
  assert.ok(child && child.state === "ended");
  owner.log.setNotified(key);
  owner.held.delete(key);
  child.notified = true;
  model.notified.set(key, (model.notified.get(key) ?? 0) + 1);
}

test("with any actions and deaths of owners, limits hold, each end is reported once, each result waits", (t) => {
  let runs = 0;
  const folder = temporaryFolder(t);
  const property = fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const file = join(folder, `${runs++}.db`);
    const owners = [new Owner(file, "0"), new Owner(file, "1")];
    const model = new Model();
    let instances = 2;
    const names = ["0", "1"];
    for (const { what, owner: at, parent, pick, reason } of steps) {
      const owner = owners[at];
      assert.ok(owner);
      const mine = [...model.children].filter(([key, child]) => child.owner === at && owner.held.has(key));
      const [key, child] = mine[pick % Math.max(1, mine.length)] ?? [];
      if (what === "reserve") {
        const hasPlace = model.alive(parent) < MOST;
        const record = owner.reserve(parent);
        assert.equal(record !== undefined, hasPlace, "a place is given when and only when there is one");
        if (record) {
          assert.ok(!model.children.has(record.childSessionKey), "no key is given twice");
          const fresh = { result: false, notified: false, delivered: false };
          model.children.set(record.childSessionKey, { parent, owner: at, state: "preparing", ...fresh });
        }
      } else if (what === "crash") {
        owner.log.close();
        kill(file, names[at] ?? "");
        for (const known of model.children.values()) if (known.owner === at) known.owner = -1;
        names[at] = String(instances++);
        owners[at] = new Owner(file, names[at]);
      } else if (what === "sweep") {
        const orphans = owner.log.takeOrphans().map((record) => record.childSessionKey);
        assert.deepEqual(orphans.toSorted(), model.orphans().toSorted());
        for (const orphan of orphans) {
          const taken = model.children.get(orphan);
          assert.ok(taken);
          taken.owner = at;
          owner.held.add(orphan);
          if (taken.state !== "ended") {
            assert.ok(owner.log.end(orphan, { reason: "swept", outcome: "aborted" }));
            Object.assign(taken, { state: "ended", result: taken.state === "running" });
          }
          notify(model, owner, orphan);
        }
      } else if (key !== undefined && child) {
        if (what === "run" && child.state === "preparing") {
          assert.ok(owner.log.setRunning(key));
          child.state = "running";
        } else if (what === "fail" && child.state === "preparing") {
          owner.log.setFailed(key);
          owner.held.delete(key);
          Object.assign(child, { state: "failed", notified: true });
        } else if (what === "end" && child.state === "running") {
          assert.equal(owner.log.end(key, { reason, outcome: "completed", answerEntryId: "e" }), true);
          assert.equal(owner.log.end(key, { reason: "swept", outcome: "aborted" }), false, "an end stays");
          Object.assign(child, { state: "ended", result: reason === "completed" || reason === "swept" });
        } else if (what === "notify" && child.state === "ended" && !child.notified) {
          notify(model, owner, key);
        }
      }
      if (what === "deliver") {
        const [first] = model.waiting(parent);
        if (first !== undefined) {
          owner.log.setDelivered([first]);
          Object.assign(model.children.get(first) ?? {}, { delivered: true });
        }
      }
      for (const name of ["x", "y"]) {
        const waiting = owners[1 - at]?.log.waiting(name).map((record) => record.childSessionKey);
        assert.deepEqual(waiting?.toSorted(), model.waiting(name).toSorted());
      }
    }
    for (const owner of owners) owner.log.close();
    for (const count of model.notified.values()) assert.equal(count, 1);
  });
  fc.assert(property, { numRuns: byLength(300, 40, 15) });
});
