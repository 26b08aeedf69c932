import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { Launcher } from "./launch.ts";
import { promptOf } from "./store-setting.ts";
import { longTest } from "../runner/long-tests.ts";
import { inputOf } from "../runner/child-input.ts";

const user = new Launcher();
after(() => user.remove());
const agentDir = join(user.env.PAGURUS_HOME, "agents", "main");

test("without a configuration file the engine is lossless, and a kill in a rebuild leaves the old store", async () => {
  const turn = await user.run(["run", promptOf(1)]);
  assert.equal(turn.code, 0, turn.err);
  const status = await user.run(["status"]);
  assert.match(status.out, /^Engine: +lossless \(default without a configuration file;/m);
  const { child, ended } = user.start(["lossless", "rebuild"]);
  child.stderr?.on("data", (text: string) => {
    if (text.includes("1 of 1")) child.kill("SIGKILL");
  });
  assert.equal((await ended).code, null);
  assert.ok(existsSync(join(agentDir, "lossless.rebuild")));
  const verified = await user.run(["lossless", "verify"]);
  assert.equal(verified.code, 0, verified.out + verified.err);
  assert.equal((await user.run(["lossless", "rebuild"])).code, 0);
  assert.equal(existsSync(join(agentDir, "lossless.rebuild")), false);
});

longTest("a chat in another process blocks a rebuild, but not a backup", async () => {
  const { child, ended } = user.start(["chat"]);
  // It greets once the engine has opened the store.
  await new Promise((resolve) => child.stderr?.once("data", resolve));
  try {
    const refused = await user.run(["lossless", "rebuild"]);
    assert.equal(refused.code, 1);
    assert.match(refused.err, /in use by another process/);
    const copied = await user.run(["lossless", "backup", "copy.db"]);
    assert.equal(copied.code, 0, copied.err);
  } finally {
    inputOf(child).end();
  }
  assert.equal((await ended).code, 0);
});
