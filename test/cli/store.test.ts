import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Launcher } from "./launch.ts";

const SECRET = "sesame";
/** No program listens on port 1. */
const CLOSED = `postgres://me:${SECRET}@127.0.0.1:1/d`;

function launcher(t: TestContext): Launcher {
  const user = new Launcher();
  t.after(() => user.remove());
  return user;
}

test("no command of the store prints a password, of a URL that is none neither", async (t) => {
  const user = launcher(t);
  for (const url of [`mysql://me:${SECRET}@h/d`, `me:${SECRET}@h`, `postgres://me:${SECRET}@[x/d`, CLOSED]) {
    const commands = [
      ["init", "--url", url],
      ["status", "--url", url],
      ["copy", "--to", url],
      ["copy", "--from", url],
    ];
    for (const args of commands) {
      const { code, out, err } = await user.run(["store", ...args]);
      assert.equal(code, url === CLOSED ? 1 : 2, err);
      assert.ok(err.length > 20 && !(out + err).includes(SECRET), err);
    }
  }
});

test("a server that cannot be reached is named with the reason", async (t) => {
  const { err } = await launcher(t).run(["store", "status", "--url", CLOSED]);
  assert.match(
    err,
    /^pagurus: Cannot read from the database 127\.0\.0\.1:1\/d: .*ECONNREFUSED.*\[store_unreachable\]\n$/,
  );
});

test("a store without a URL, a direction or a valid schema is refused", async (t) => {
  const user = launcher(t);
  const refused = async (expected: RegExp, ...args: string[]): Promise<void> => {
    const { code, err } = await user.run(["store", ...args]);
    assert.equal(code, 2, err);
    assert.match(err, expected);
  };
  await refused(/The store has no URL; set PAGURUS_STORE_URL .*\[usage_invalid\]/, "status");
  await refused(/Give either --to or --from\. \[usage_invalid\]/, "copy");
  await refused(/Give either --to or --from\. \[usage_invalid\]/, "copy", "--to", CLOSED, "--from", CLOSED);
  await refused(
    /The store\.schema .* is no plain name.*\[usage_invalid\]/,
    "init",
    "--url",
    CLOSED,
    "--schema",
    'x"; drop',
  );
});

test("the URL and the schema are those of the configuration where no other ones are named", async (t) => {
  const user = launcher(t);
  mkdirSync(user.env.PAGURUS_HOME, { recursive: true });
  const store = { kind: "postgres", url: "${STORE_OF_MINE}", schema: "mine" };
  writeFileSync(join(user.env.PAGURUS_HOME, "pagurus.json"), JSON.stringify({ store }));
  assert.match(
    (await user.run(["store", "status"])).err,
    /store\.url refers to the environment variable STORE_OF_MINE, which is not set.*\[credential_missing\]/,
  );
  Object.assign(user.env, { STORE_OF_MINE: "postgres://configured@127.0.0.1:1/configured" });
  assert.match((await user.run(["store", "status"])).err, /the database 127\.0\.0\.1:1\/configured: /);
  Object.assign(user.env, { PAGURUS_STORE_URL: "postgres://environment@127.0.0.1:1/environment" });
  assert.match((await user.run(["store", "status"])).err, /the database 127\.0\.0\.1:1\/environment: /);
  assert.match(
    (await user.run(["store", "status", "--url", CLOSED])).err,
    /the database 127\.0\.0\.1:1\/d: /,
  );
});
