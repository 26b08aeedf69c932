import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, symlinkSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { capturesDir } from "../../../packages/core/src/config/captures.ts";
import { captureNumbers, readCapture, readPart } from "../../../packages/gateway/src/capture/read-capture.ts";
import { Captures, facts, passed } from "./setting.ts";
import { longTest } from "../../runner/long-tests.ts";

const CHILD = fileURLToPath(new URL("writer.child.ts", import.meta.url));

function captures(t: TestContext, limits?: { maxBytes?: number; keep?: number }): Captures {
  const made = new Captures(limits);
  t.after(() => made.remove());
  return made;
}

test("a killed process leaves whole records, and the last one states what it lacks", async (t) => {
  for (const delay of [0, 3, 9, 14]) {
    const place = captures(t);
    const child = spawn(process.execPath, [CHILD, place.home, "main"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    await new Promise<void>((resolve) => {
      child.stdout.on("data", (chunk: Buffer) => {
        output += chunk.toString();
        if (output.split("\n").length > 5) resolve();
      });
    });
    await new Promise((resolve) => setTimeout(resolve, delay));
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    const session = { home: place.home, agentId: "main", sessionKey: "main" };
    const numbers = captureNumbers(session);
    assert.ok(numbers.length >= 5);
    for (const number of numbers) {
      const record = readCapture(session, number);
      const isLast = number === numbers.at(-1);
      if (!record || !record.outcome) assert.ok(isLast, `record ${number} of ${numbers.length} is not whole`);
      if (!record) continue;
      const harness = readPart(session, record, "harness");
      if (harness?.notes.length === 0) assert.equal(harness.bytes.length, 200_000);
      else assert.ok(isLast && /not written before the process ended/.test(harness?.notes[0] ?? ""));
      if (record.outcome) assert.equal(readPart(session, record, "answer")?.bytes.length, 20_000);
    }
    // Numbers continue after the records that are left.
    passed(place.log, facts({}, { request: 77 }));
    await place.log.settled();
    assert.equal(place.json((numbers.at(-1) ?? 0) + 1).request, 77);
  }
});

longTest("two processes that write into one session share no number and lose no record", async (t) => {
  const place = captures(t);
  const children = [0, 1].map(() =>
    spawn(process.execPath, [CHILD, place.home, "main", "25"], { stdio: "ignore" }),
  );
  await Promise.all(children.map((child) => once(child, "exit")));
  const session = { home: place.home, agentId: "main", sessionKey: "main" };
  const numbers = captureNumbers(session);
  assert.deepEqual(
    numbers,
    Array.from({ length: 50 }, (_, at) => at + 1),
  );
  for (const child of children) {
    const own = numbers
      .map((number) => readCapture(session, number))
      .filter((record) => record?.runtime === String(child.pid));
    assert.deepEqual(
      own.map((record) => record?.request),
      Array.from({ length: 25 }, (_, at) => at),
    );
    for (const record of own) assert.equal(record?.answer?.body?.stored, 20_000);
  }
});

test(
  "a full disk ends the capture with one warning, and no call of a request fails",
  { skip: !existsSync("/dev/full") },
  async (t) => {
    const place = captures(t);
    const open = [place.log.begin(facts({})), place.log.begin(facts({})), place.log.begin(facts({}))];
    await place.log.settled();
    for (const number of [2, 3]) symlinkSync("/dev/full", join(place.folder(), `00000${number}.answer.bin`));
    for (const request of open) {
      request.answered({ status: 200, rawHeaders: [] });
      request.chunk(Buffer.from("x"));
    }
    await place.log.settled();
    for (const request of open) {
      request.chunk(Buffer.from("y"));
      request.end({ cut: false, left: false, answeredBy: "upstream" });
    }
    passed(place.log, facts({}));
    await place.log.settled();
    assert.deepEqual(place.warnings, [
      "Model requests are no longer captured: the disk is full; free some space and try again.",
    ]);
    assert.equal(place.bytes("000003.harness.bin").toString(), "{}");
    assert.ok(!place.files().includes("000004.json"));
  },
);

test("a folder that cannot be made ends the capture with one warning", async (t) => {
  const place = captures(t);
  writeFileSync(capturesDir(place.home), "a file in its place");
  for (let request = 0; request < 3; request++) passed(place.log, facts({}));
  await place.log.settled();
  assert.equal(place.warnings.length, 1);
  assert.match(place.warnings[0] ?? "", /^Model requests are no longer captured: .*\.$/);
});

longTest(
  "a disk that hangs delays no request and fills no memory",
  { skip: process.platform === "win32" },
  async (t) => {
    const place = captures(t);
    const request = place.log.begin(facts({}));
    await place.log.settled();
    const pipe = join(place.folder(), "000001.answer.bin");
    // Without a reader, opening it blocks.
    execFileSync("mkfifo", [pipe]);
    request.answered({ status: 200, rawHeaders: [] });
    const chunk = Buffer.alloc(1024 ** 2);
    for (let piece = 0; piece < 200; piece++) {
      request.chunk(chunk);
      if (piece % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    request.end({ cut: false, left: false, answeredBy: "upstream" });
    // Nothing reads the pipe before: what waits for the disk waits forever.
    const reader = await open(pipe, "r");
    let read = 0;
    const buffer = Buffer.alloc(2 ** 20);
    for (;;) {
      const { bytesRead } = await reader.read(buffer);
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    await reader.close();
    await place.log.settled();
    const body = place.json(1).answer?.body;
    assert.deepEqual(
      [body?.bytes, body?.stored, body?.cut],
      [200 * 2 ** 20, read, "the disk did not follow"],
    );
    assert.ok(read <= 64 * 2 ** 20 && read > 2 ** 20, `${read} bytes`);
    // There is free space again.
    passed(place.log, facts(Buffer.alloc(1_000)));
    await place.log.settled();
    assert.equal(place.json(2).harness.stored, 1_000);
  },
);
