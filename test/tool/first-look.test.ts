import { isInside } from "../../packages/core/src/platform/inside.ts";
import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import { join, relative, isAbsolute, sep } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import {
  createChangeGuard,
  lookAhead,
  type ManifestCache,
} from "../../packages/host/src/tool/changes/change-guard.ts";
import { lookAt } from "../../packages/host/src/tool/changes/manifest.ts";
import { runs } from "../runner/short-form.ts";
import { fixture, type Fixture } from "./fixture.ts";
import { until } from "../runner/until.ts";

/** A change this long ago cannot have the same time as a look, ms. */
const SETTLED_MS = 40;

/** Waits until a look can trust the time of the file that was written last. */
async function untilSettled(path: string): Promise<void> {
  await until(() => Date.now() - statSync(path).ctimeMs >= SETTLED_MS);
}

async function settled({ write }: Fixture): Promise<void> {
  for (let at = 0; at < 20; at += 1) write(`packages/p${at}/src/a.ts`, "x");
  await untilSettled(write(".envrc", "old"));
}

function guardOf({ root, base }: Fixture, cache: ManifestCache) {
  return createChangeGuard({
    root,
    home: join(base, "home"),
    closed: [],
    env: {},
    isAllowed: () => false,
    cache,
  });
}

test("after a look ahead the look before the first command lists no folder again", async (t) => {
  const made = fixture(t);
  await settled(made);
  const cache: ManifestCache = new Map();
  lookAhead({ root: made.root, closed: [], env: {}, cache });
  const ahead = await cache.get(made.root);
  const running = await guardOf(made, cache).start("true");
  const before = await cache.get(made.root);
  await running.end();
  assert.ok(ahead && before && ahead.folders.size > 40);
  for (const [path, folder] of ahead.folders) assert.equal(before.folders.get(path), folder, path);
  assert.equal(before.placed.get(join(made.root, ".envrc"))?.content?.toString(), "old");
});

test("what the user changes between the look ahead and a command is not taken for the command's", async (t) => {
  const made = fixture(t);
  await settled(made);
  const cache: ManifestCache = new Map();
  lookAhead({ root: made.root, closed: [], env: {}, cache });
  await cache.get(made.root);
  made.write(".envrc", "the user's");
  made.write("packages/p3/.vscode/tasks.json", "{}");
  const running = await guardOf(made, cache).start("true");
  made.write("packages/p4/.envrc", "the command's");
  const held = await running.end();
  assert.deepEqual(
    held.flatMap(({ record }) => record.places.map(({ shown }) => shown)),
    ["packages/p4/.envrc"],
  );
  assert.ok(existsSync(join(made.root, "packages/p3/.vscode/tasks.json")));
});

test("a tool set looks ahead at its first call of another tool, unless commands are the runtime's own", async (t) => {
  for (const native of [[], ["shell"]]) {
    const looks: ManifestCache = new Map();
    const made = fixture(t, { looks, native, env: { PATH: process.env["PATH"] } });
    await settled(made);
    await made.call("read", { path: ".envrc" });
    // The modules of the check are loaded first.
    if (native.length === 0) await until(() => looks.has(made.root));
    assert.equal(looks.has(made.root), native.length === 0);
  }
});

test("a tool set whose runtime expects calls looks at the workspace before the command", async (t) => {
  const looks: ManifestCache = new Map();
  const made = fixture(t, { looks, env: { PATH: process.env["PATH"] } });
  await settled(made);
  made.set.expect?.();
  await until(() => looks.has(made.root));
  const ahead = await looks.get(made.root);
  await made.call("shell", { command: "true" });
  const after = await looks.get(made.root);
  const path = join(made.root, "packages/p7/src");
  assert.ok(ahead?.folders.has(path));
  assert.equal(after?.folders.get(path), ahead?.folders.get(path));
});

test("a folder that PATH names since the last look is one of programs", async (t) => {
  const made = fixture(t);
  await untilSettled(made.write("tools/run", "x"));
  const options = { root: made.root, closed: [], settings: [] };
  const before = await lookAt({ ...options, programs: [] });
  const after = await lookAt({ ...options, programs: [join(made.root, "tools")] }, before);
  assert.equal(before.placed.size, 0);
  assert.deepEqual(
    [...after.placed.values()].map(({ kind }) => kind),
    ["program"],
  );
});

test(
  "a place in a folder with letters beyond ASCII is found",
  { skip: process.platform !== "linux" },
  async (t) => {
    const made = fixture(t);
    made.write("grüße/.envrc", "x");
    const { placed } = await lookAt({ root: made.root, closed: [], programs: [], settings: [] });
    const [path = ""] = placed.keys();
    assert.equal(Buffer.from(path, "latin1").toString("utf8"), join(made.root, "grüße/.envrc"));
  },
);

test("a path is inside a folder exactly if the way to it does not begin with dots", () => {
  const slow = (root: string, path: string): boolean => {
    const way = relative(root, path);
    return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
  };
  const part = fc.constantFrom("", ".", "..", "a", "b", "ab", ".a", "..a", "a.");
  const path = fc.array(part, { maxLength: 5 }).map((parts) => `/${parts.join("/")}`);
  fc.assert(
    fc.property(path, path, (root, inner) => {
      assert.equal(isInside(root, inner), slow(root, inner));
      assert.equal(isInside(root, `${root}/${inner}`), slow(root, `${root}/${inner}`));
    }),
    { numRuns: runs(2_000) },
  );
});
