/** Comparing authorities: patterns, folders, and that one made from two never allows more than either. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import {
  allowsFolder,
  allowsScope,
  bothOf,
  checkNarrower,
  matches,
  mostOf,
} from "../../packages/core/src/authority/authority.ts";
import { OWNER, SCOPES, type Authority } from "../../packages/contract/src/host/authority.ts";
import {
  DEFAULT_PERMISSION_MODE,
  PERMISSION_MODES,
} from "../../packages/contract/src/host/permission-modes.ts";
import { tokenAuthority } from "../../packages/server/src/access/tokens.ts";
import { runs } from "../runner/short-form.ts";

const pattern = fc.constantFrom("*", "fam-*", "fam-a", "*-a", "priv-*", "fam-*-b");
const key = fc.constantFrom("fam-a", "fam-x-b", "fam-", "priv-a", "main", "a");
const authority: fc.Arbitrary<Authority> = fc.record({
  door: fc.constant("token" as const),
  tokenId: fc.constantFrom("one", "other"),
  scope: fc.constantFrom(...SCOPES),
  sessions: pattern,
  agents: fc.constantFrom("*", "main"),
  folders: fc.constantFrom("any" as const, [] as string[], ["/srv"], ["/srv/app"]),
  mode: fc.constantFrom("any" as const, ...PERMISSION_MODES),
  mayStartPrograms: fc.boolean(),
  mayRemember: fc.boolean(),
  audience: fc.constantFrom(undefined, "group" as const, "strangers" as const),
  until: fc.constantFrom(undefined, 1, 2),
});

test("a pattern matches a pattern only where it matches all that this one matches", () => {
  fc.assert(
    fc.property(pattern, pattern, key, (outer, inner, text) => {
      if (matches(outer, inner) && matches(inner, text)) assert.ok(matches(outer, text));
    }),
    { numRuns: runs(500) },
  );
});

test("an authority made from two allows nothing that one of them does not", () => {
  fc.assert(
    fc.property(authority, authority, key, (one, other, sessionKey) => {
      let both: Authority;
      try {
        both = bothOf(one, other);
      } catch {
        // Neither pattern is within the other: nothing is allowed then.
        return;
      }
      for (const each of [one, other]) {
        if (matches(both.sessions, sessionKey)) assert.ok(matches(each.sessions, sessionKey));
        assert.ok(allowsScope(each.scope, both.scope));
        for (const folder of ["/srv", "/srv/app", "/etc"])
          if (allowsFolder(both, folder, [])) assert.ok(allowsFolder(each, folder, []));
        for (const configured of PERMISSION_MODES) {
          const most = mostOf(both, configured) ?? "auto";
          const limit = mostOf(each, configured) ?? "auto";
          assert.ok(PERMISSION_MODES.indexOf(most) <= PERMISSION_MODES.indexOf(limit));
        }
        assert.ok(each.mayStartPrograms || !both.mayStartPrograms);
        assert.ok(each.mayRemember || !both.mayRemember);
        assert.ok((both.until ?? Infinity) <= (each.until ?? Infinity));
        assert.ok(each.audience === undefined || both.audience !== undefined);
      }
    }),
    { numRuns: runs(500) },
  );
});

test("a token is refused whose authority would be wider than its creator's in any dimension", () => {
  const parent = tokenAuthority(
    { scope: "admin", sessions: "fam-*", agents: "main", mode: "ask" },
    "parent",
    1_000,
  );
  const child = { scope: "chat", sessions: "fam-a*", agents: "main", mode: "deny" } as const;
  assert.doesNotThrow(() => checkNarrower(parent, tokenAuthority(child, "", 1_000)));
  for (const wider of [
    { ...child, sessions: "*" },
    { ...child, sessions: "fam*" },
    { ...child, agents: "*" },
    { ...child, mode: "auto" as const },
    { ...child, folders: "any" as const },
    { ...child, folders: ["/srv"] },
    { ...child, mayStartPrograms: true },
    { ...child, mayRemember: true },
  ])
    assert.throws(() => checkNarrower(parent, tokenAuthority(wider, "", 1_000)), JSON.stringify(wider));
  assert.throws(() => checkNarrower(parent, tokenAuthority(child, "")), "no end");
  assert.throws(() => checkNarrower(parent, tokenAuthority(child, "", 1_001)), "a later end");
  assert.throws(() => checkNarrower(tokenAuthority({ scope: "chat" }, ""), OWNER), "a wider scope");
});

test("a folder is allowed by its real path, below one that may be named", () => {
  const root = mkdtempSync(join(tmpdir(), "pagurus-authority-"));
  try {
    for (const name of ["own", "own/below", "other"]) mkdirSync(join(root, name));
    symlinkSync(join(root, "other"), join(root, "own", "link"));
    const may = (path: string): boolean => allowsFolder({ folders: [] }, path, [join(root, "own")]);
    assert.deepEqual(
      ["own", "own/below", "own/new", "own/link", "own/link/..", "own/..", "own/../other", "ownother"].map(
        (each) => may(`${root}/${each}`),
      ),
      [true, true, true, false, false, false, false, false],
    );
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test("the default mode is between ask and auto: a limit of ask keeps the questions, one of auto adds nothing", () => {
  const limited = (mode: Authority["mode"]) => mostOf({ mode }, DEFAULT_PERMISSION_MODE);
  assert.deepEqual(
    ["read-only", "deny", "ask", "sandbox", "auto"].map((mode) => limited(mode as Authority["mode"])),
    ["read-only", "deny", "ask", "sandbox", "sandbox"],
  );
  assert.equal(limited("any"), undefined);
  const child = (mode: Authority["mode"]): Authority => ({ ...OWNER, mode });
  assert.throws(
    () => checkNarrower(child("ask"), child("sandbox")),
    /may not create a token with the mode sandbox/,
  );
  assert.throws(
    () => checkNarrower(child("sandbox"), child("auto")),
    /may not create a token with the mode auto/,
  );
  checkNarrower(child("sandbox"), child("ask"));
  assert.equal(bothOf(child("auto"), child("sandbox")).mode, "sandbox");
});
