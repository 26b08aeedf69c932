import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { Captures, facts, passed } from "./setting.ts";
import { longTest } from "../../runner/long-tests.ts";

function captures(t: TestContext, limits?: { maxBytes?: number; keep?: number }): Captures {
  const made = new Captures(limits);
  t.after(() => made.remove());
  return made;
}

test("a passed request is stored byte for byte, and an unchanged sent body is not stored twice", async (t) => {
  const place = captures(t);
  const body = Buffer.from('{ "model" : "m-1",\r\n"messages":[] }\u{1f600}\u0000');
  passed(place.log, facts(body, { turnId: "t1", sessionId: undefined }), "data: 1\n\n");
  await place.log.settled();
  assert.deepEqual(place.files(), ["000001.answer.bin", "000001.harness.bin", "000001.json"]);
  assert.ok(place.bytes("000001.harness.bin").equals(body));
  assert.equal(place.bytes("000001.answer.bin").toString(), "data: 1\n\n");
  const { harness, sent, answer, outcome, turnId, number } = place.json(1);
  assert.deepEqual([number, turnId], [1, "t1"]);
  assert.deepEqual(harness, {
    bytes: body.length,
    stored: body.length,
    sha256: createHash("sha256").update(body).digest("hex"),
  });
  assert.equal(sent[0]?.body, "same");
  assert.deepEqual([answer?.status, answer?.body?.bytes], [200, 9]);
  assert.deepEqual([outcome?.answeredBy, outcome?.cut, outcome?.left], ["upstream", false, false]);
  assert.equal(typeof outcome?.totalMs, "number");
});

test("a replaced body is stored too, each time that it was sent", async (t) => {
  const place = captures(t);
  const request = place.log.begin(facts(Buffer.from("harness")));
  request.sent("p/m", [Buffer.from("har"), Buffer.from("nesT")], { replaced: true, keptItems: 3 });
  request.sent("p/m", [Buffer.from("smaller")], { replaced: true, droppedItems: 2 });
  request.answered({ status: 200, rawHeaders: [] });
  request.end({ cut: true, left: false, answeredBy: "upstream", error: "the connection was closed" });
  await place.log.settled();
  assert.equal(place.bytes("000001.sent.bin").toString(), "harnesT");
  assert.equal(place.bytes("000001.sent2.bin").toString(), "smaller");
  const { sent, outcome } = place.json(1);
  assert.deepEqual([sent[0]?.keptItems, sent[1]?.droppedItems, sent[1]?.replaced], [3, 2, true]);
  assert.deepEqual([outcome?.cut, outcome?.error], [true, "the connection was closed"]);
});

test("only the user can enter the capture folders and read the files", async (t) => {
  const place = captures(t);
  passed(place.log, facts({}));
  place.log.begin(facts({}));
  await place.log.settled();
  const mode = (path: string): number => statSync(path).mode & 0o777;
  assert.equal(mode(place.folder()), 0o700);
  assert.equal(mode(dirname(place.folder())), 0o700);
  for (const name of place.files()) assert.equal(mode(join(place.folder(), name)), 0o600, name);
});

test("each session has its own numbers, in the order in which requests came, also after a restart", async (t) => {
  const place = captures(t);
  for (const [at, key] of ["a", "b", "a", "a/b", "a:b"].entries())
    passed(place.log, facts({}, { key, request: at }));
  await place.log.settled();
  passed(place.another(), facts({}, { key: "a", request: 9 }));
  const again = place.another();
  passed(again, facts({}, { key: "b", request: 10 }));
  passed(again, facts({}, { key: "b", request: 11, agentId: "other" }));
  await again.settled();
  const requests = (key: string, ...numbers: number[]): unknown[] =>
    numbers.map((number) => place.json(number, key).request);
  assert.deepEqual(requests("a", 1, 2), [0, 2]);
  assert.deepEqual(requests("b", 1, 2), [1, 10]);
  // Keys that map to similar folder names, and the same key of another agent.
  assert.deepEqual([requests("a/b", 1), requests("a:b", 1)], [[3], [4]]);
  assert.equal(place.files("b").filter((name) => name.endsWith(".json")).length, 2);
});

test("two logs that write into one session never share a number", async (t) => {
  const place = captures(t);
  const logs = [place.log, place.another(), place.another()];
  for (let request = 0; request < 60; request++) {
    const log = logs[request % 3];
    if (log) passed(log, facts({ request }, { request }));
    if (request % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(logs.map((log) => log.settled()));
  const numbers = place.files().filter((name) => name.endsWith(".json"));
  assert.equal(numbers.length, 60);
  assert.equal(numbers.at(-1), "000060.json");
  const numbered = numbers.map((_, at) => {
    const body = JSON.parse(
      place.bytes(`${String(at + 1).padStart(6, "0")}.harness.bin`).toString(),
    ) as object;
    assert.deepEqual(body, { request: place.json(at + 1).request });
    return place.json(at + 1).request;
  });
  assert.equal(new Set(numbered).size, 60);
  assert.deepEqual(place.warnings, []);
});

test("the oldest records are deleted above the byte limit, and numbers continue", async (t) => {
  const place = captures(t, { maxBytes: 40_000 });
  for (let request = 0; request < 30; request++) {
    passed(place.log, facts(Buffer.alloc(4_000, 0x61), { request, key: request % 3 === 0 ? "b" : "a" }));
    await place.log.settled();
    assert.ok(place.size() < 46_000, `${place.size()} bytes after ${request}`);
  }
  const left = place.files("a").filter((name) => name.endsWith(".json"));
  assert.equal(left.at(-1), "000020.json");
  assert.ok(left.length >= 3 && left.length < 10, left.join(" "));
  assert.equal(place.json(Number.parseInt(left.at(-1) ?? "", 10), "a").request, 29);
  // A record is deleted as a whole.
  const stems = new Set(left.map((name) => name.slice(0, 6)));
  for (const name of place.files("a")) if (/^\d/.test(name)) assert.ok(stems.has(name.slice(0, 6)), name);
});

test("numbers continue even if all records of a session are gone", async (t) => {
  const place = captures(t, { maxBytes: 20_000 });
  for (const key of ["a", "a", "b", "b", "b", "b", "b"]) {
    passed(place.log, facts(Buffer.alloc(6_000), { key }));
    await place.log.settled();
  }
  assert.deepEqual(
    place.files("a").filter((name) => name.endsWith(".json")),
    [],
  );
  const restarted = place.another({ maxBytes: 20_000 });
  passed(restarted, facts({}, { key: "a" }));
  await restarted.settled();
  assert.ok(place.files("a").includes("000003.json"), place.files("a").join(" "));
});

test("`keep` limits the records of each session to the newest ones", async (t) => {
  const place = captures(t, { keep: 2 });
  for (let request = 0; request < 5; request++) passed(place.log, facts({}, { request }));
  passed(place.log, facts({}, { key: "b" }));
  await place.log.settled();
  assert.deepEqual(
    place.files().filter((name) => name.endsWith(".json")),
    ["000004.json", "000005.json"],
  );
  assert.equal(place.files("b").length, 4 - 1);
});

test("a body larger than the limit of all captures is cut, and the record states it", async (t) => {
  const place = captures(t, { maxBytes: 10_000 });
  passed(place.log, facts(Buffer.alloc(12_345, 0x61)), "an answer");
  await place.log.settled();
  const { harness, answer } = place.json(1);
  assert.deepEqual([harness.bytes, harness.stored], [12_345, 10_000]);
  assert.match(harness.cut ?? "", /larger than all captures may be/);
  assert.equal(place.bytes("000001.harness.bin").length, 10_000);
  assert.deepEqual([answer?.body?.bytes, answer?.body?.stored], [9, 0]);
});

test("a record that is deleted while its answer streams stays deleted", async (t) => {
  const place = captures(t);
  const request = place.log.begin(facts({}));
  request.answered({ status: 200, rawHeaders: [] });
  request.chunk(Buffer.from("one"));
  await place.log.settled();
  place.remove();
  request.chunk(Buffer.from("two"));
  request.end({ cut: false, left: false, answeredBy: "upstream" });
  await place.log.settled();
  assert.throws(() => place.files(), /ENOENT/);
  assert.deepEqual(place.warnings, []);
  // The next request creates the folder again.
  passed(place.log, facts({}));
  await place.log.settled();
  assert.ok(place.files().some((name) => name.endsWith(".json")));
});

longTest("the byte limit includes what other processes write", async (t) => {
  const place = captures(t);
  const logs = [1, 2, 3].map(() => place.another({ maxBytes: 80_000 }));
  for (let request = 0; request < 90; request++) {
    const log = logs[request % 3];
    if (log) passed(log, facts(Buffer.alloc(4_000), { request, key: `s${request % 3}` }));
    await log?.settled();
    assert.ok(place.size() < 80_000 * (1 + 3 / 8), `${place.size()} bytes after ${request}`);
  }
  assert.ok(place.size() > 40_000);
});

test("logs that create the folder of a session at the same time lose no record", async (t) => {
  for (let round = 0; round < 40; round++) {
    const place = captures(t);
    const logs = [1, 2, 3, 4].map(() => place.another());
    for (const log of logs) {
      passed(log, facts({}));
      // A different offset in each round.
      for (let step = 0; step < round % 8; step++) await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(logs.map((log) => log.settled()));
    assert.deepEqual(
      place.files().filter((name) => name.endsWith(".json")),
      ["000001.json", "000002.json", "000003.json", "000004.json"],
    );
    for (const number of [1, 2, 3, 4]) assert.ok(place.json(number).outcome);
  }
});
