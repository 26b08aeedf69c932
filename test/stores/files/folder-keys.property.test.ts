import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import { firstKeys, folderName } from "../../../packages/host/src/stores/files/folder-keys.ts";
import { isSessionKey } from "../../../packages/host/src/stores/files/keys.ts";
import { openSessionStore } from "../../../packages/host/src/stores/files/session-store.ts";
import { FULL, byLength } from "../../runner/short-form.ts";

/** Few names, so that folders share them; some are no valid key, or the numbered key of another folder. */
const names = fc.oneof(
  fc.constantFrom(
    "app",
    "app-2",
    "app-3",
    "APP",
    "a b",
    "-x",
    ".config",
    "été",
    "日本",
    "main",
    "…",
    "~",
    "a:b",
    "#",
  ),
  fc.string({ minLength: 1, maxLength: 12 }).filter((name) => !/[/\0]/.test(name) && !/^\.{1,2}$/.test(name)),
);
const folders = fc.array(names, { minLength: 1, maxLength: 3 }).map((parts) => `/${parts.join("/")}`);

type Step =
  | { does: "begin" | "talk" | "leave" | "renew" | "delete"; folder: number }
  | { does: "name"; key: string };

const steps = fc.array(
  fc.oneof(
    {
      weight: 9,
      arbitrary: fc.record({ does: fc.constantFrom("begin", "talk", "leave", "renew"), folder: fc.nat(7) }),
    },
    { weight: 1, arbitrary: fc.record({ does: fc.constant("delete"), folder: fc.nat(7) }) },
    {
      weight: 2,
      arbitrary: fc.record({ does: fc.constant("name"), key: fc.constantFrom("app", "app-2", "main", "b") }),
    },
  ) as fc.Arbitrary<Step>,
  { maxLength: 25 },
);

describe("keys of folders", () => {
  it("every folder's keys are valid, and no key is tried twice (finding A1)", () => {
    fc.assert(
      fc.property(folders, (folder) => {
        const keys = [...firstKeys(folder)];
        assert.ok(keys.every((key) => isSessionKey(key) && key.startsWith(folderName(folder))));
        assert.equal(new Set(keys).size, keys.length);
      }),
      { numRuns: byLength(5_000, 300, 100) },
    );
  });

  it("no two folders share a key, and a folder keeps its own while it has a conversation (finding A1)", () => {
    fc.assert(
      fc.property(fc.uniqueArray(folders, { minLength: 2, maxLength: 8 }), steps, (places, plan) => {
        const root = mkdtempSync(join(tmpdir(), "pagurus-keys-"));
        try {
          play(root, places, plan);
        } finally {
          rmSync(root, { recursive: true, force: true });
        }
      }),
      { numRuns: FULL ? 400 : 12 },
    );
  });
});

/** Two processes' stores take turns over one folder; each key has one owner, the folder or the caller who chose it. */
function play(root: string, places: readonly string[], plan: readonly Step[]): void {
  const stores = [0, 1].map(() => openSessionStore({ agentDir: root, agentId: "main" }));
  const owners = new Map<string, string>();
  const held: { key: string; folder: string; release: () => void }[] = [];
  plan.forEach((step, turn) => {
    const store = stores[turn % 2];
    assert.ok(store);
    if (step.does === "name") {
      if (held.some(({ key }) => key === step.key)) return;
      if (!store.find(step.key)) {
        store.create(step.key, { cwd: "/" });
        owners.set(step.key, "named");
      }
      return;
    }
    const folder = places[step.folder % places.length] ?? "/";
    const last = store.inFolder(folder)[0]?.sessionKey;
    if (step.does === "begin") {
      const { sessionKey: key, release } = store.begin(folder);
      assert.equal(owners.get(key), undefined, `${key} is new`);
      owners.set(key, folder);
      held.push({ key, folder, release });
    } else if (step.does === "leave") {
      const left = held.shift();
      left?.release();
      // It was never written to: nothing keeps it.
      if (left && !store.find(left.key)) owners.delete(left.key);
    } else if (step.does === "talk") {
      const mine = held.find((one) => one.folder === folder);
      const key = mine?.key ?? last ?? store.firstKey(folder);
      const hold = mine ? undefined : store.hold(key, folder);
      const writer = store.openWriter(key, { cwd: folder });
      writer.append({ type: "message", message: { role: "user", content: folder } });
      writer.close();
      hold?.release();
      assert.ok(
        [undefined, folder].includes(owners.get(key)),
        `${key} is of ${owners.get(key)}, not of ${folder}`,
      );
      owners.set(key, folder);
    } else if (step.does === "renew") {
      if (last !== undefined) store.renew(last, { cwd: folder });
    } else if (last !== undefined && !held.some(({ key }) => key === last)) {
      store.delete(last);
      owners.delete(last);
    }
    check(store, places, owners);
  });
  for (const { release } of held) release();
  // A rebuilt index gives the same result.
  for (const store of stores) store.close();
  for (const suffix of ["", "-wal", "-shm"]) rmSync(join(root, `sessions.db${suffix}`), { force: true });
  const fresh = openSessionStore({ agentDir: root, agentId: "main" });
  check(fresh, places, owners);
  fresh.close();
}

function check(
  store: ReturnType<typeof openSessionStore>,
  places: readonly string[],
  owners: ReadonlyMap<string, string>,
): void {
  for (const folder of places)
    for (const { sessionKey } of store.inFolder(folder)) assert.equal(owners.get(sessionKey), folder);
  for (const { sessionKey, current, folder } of store.list())
    if (current) assert.equal(folder ?? "named", owners.get(sessionKey));
}
