import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, test } from "node:test";
import { CaptureLog } from "../../packages/gateway/src/capture/capture.ts";
import { facts, passed } from "../gateway/capture/setting.ts";
import { Launcher } from "./launch.ts";

const user = new Launcher();
after(() => user.remove());

test("a captured request is listed, read and written out byte for byte by the real command line", async () => {
  const off = await user.run(["requests", "list"]);
  assert.deepEqual([off.code, off.out], [0, ""]);
  assert.match(off.err, /requests are captured unless gateway\.capture is false/);
  const log = new CaptureLog({
    home: user.env.PAGURUS_HOME,
    maxBytes: 2 ** 28,
    logger: { warn: () => undefined },
  });
  const body = Buffer.from(
    `{"model":"m","messages":[{"role":"user","content":"${"long ".repeat(60_000)}"}]}`,
  );
  passed(log, facts(body));
  await log.settled();
  assert.match((await user.run(["requests", "list"])).out, /main +m-1 +200/);
  assert.match(
    (await user.run(["requests", "show", "1"])).out,
    /messages\[0\] +user +293\.0 KB +kept +long long/,
  );
  const raw = await user.run(["requests", "show", "1", "--raw"]);
  assert.equal(
    createHash("sha256").update(raw.out).digest("hex"),
    createHash("sha256").update(body).digest("hex"),
  );
  const wrong = await user.run(["requests", "show", "none"]);
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /use a whole number, 1 or more/);
  const help = await user.run(["requests", "--help"]);
  assert.match(help.out, /pagurus requests replay 12 --text/);
});

test("sessions delete deletes the captures of the session, and of no other", async () => {
  const log = new CaptureLog({
    home: user.env.PAGURUS_HOME,
    maxBytes: 2 ** 28,
    logger: { warn: () => undefined },
  });
  for (const key of ["gone", "stays"]) {
    assert.equal((await user.run(["run", "hello", "--session", key])).code, 0);
    passed(log, facts({}, { key }));
  }
  await log.settled();
  assert.equal((await user.run(["sessions", "delete", "gone", "--yes"])).code, 0);
  assert.equal((await user.run(["requests", "list", "--session", "gone"])).out, "");
  assert.match((await user.run(["requests", "list", "--session", "stays"])).out, /m-1/);
});
