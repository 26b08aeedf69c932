import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { entriesOf, openStore, sayTurn, seeded, temporaryFolder } from "./fixtures.ts";
import { FULL } from "../../runner/short-form.ts";

const MOMENTS = FULL ? 200 : 5;
const CHILD = join(import.meta.dirname, "writer.child.ts");

interface Report {
  started?: boolean;
  ready?: boolean;
  turnId?: string;
  size?: number;
  hash?: string;
}

/** Runs a writer, kills it at a moment after it started (`cut`: it kills itself in a turn), and returns what it had reported. */
async function killedWriter(
  dir: string,
  name: string,
  random: () => number,
  mode: "endless" | "cut",
): Promise<Report[]> {
  const child = spawn(process.execPath, [CHILD, mode, dir, name], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const reports: Report[] = [];
  const duringOpening = random() < 0.2;
  const delay = random() * (duringOpening ? 8 : 40);
  for await (const line of createInterface({ input: child.stdout })) {
    // A kill can cut the last report.
    if (!line.endsWith("}")) continue;
    const report = JSON.parse(line) as Report;
    reports.push(report);
    const from = duringOpening ? report.started : report.ready;
    if (from && mode === "endless") void setTimeout(delay).then(() => child.kill("SIGKILL"));
  }
  const [, signal] = (await ended) as [number | null, string | null];
  assert.equal(signal, "SIGKILL");
  return reports;
}

test(`a kill at ${MOMENTS} moments of turns loses nothing that was committed`, async (t) => {
  const dir = temporaryFolder(t);
  const random = seeded(20_261_121);
  const committed = new Set<string>();
  let interrupted = 0;
  for (let moment = 0; moment < MOMENTS; moment += 1) {
    // A kill at a random moment may miss every turn; a child that kills itself in one does not.
    const mode = moment % 5 === 4 ? "cut" : "endless";
    const reports = await killedWriter(dir, `m${moment}`, random, mode);
    const store = openStore(dir);
    const before = store.find("main");
    if (!before) {
      store.close();
      continue;
    }
    const bytes = readFileSync(before.file);
    const last = reports.findLast((report) => report.hash !== undefined);
    if (last) {
      const prefix = bytes.subarray(0, last.size);
      assert.equal(createHash("sha256").update(prefix).digest("hex"), last.hash, "committed bytes changed");
    }
    for (const report of reports) if (report.turnId !== undefined) committed.add(report.turnId);

    const writer = store.openWriter("main", { cwd: "/w" });
    const notices = writer.notices.flatMap((notice) => notice.turnId ?? []);
    assert.ok(notices.length <= 1);
    interrupted += notices.length;
    sayTurn(writer, `after-${moment}`, "the next turn");
    committed.add(`after-${moment}`);
    const entries = entriesOf(before.file);
    const markers = entries.flatMap((entry) => (entry.type === "turn_commit" ? [entry] : []));
    assert.equal(
      new Set(markers.map((marker) => marker.turnId)).size,
      markers.length,
      "a turn was committed twice",
    );
    for (const marker of markers) {
      if (marker.outcome === "interrupted") assert.ok(!committed.has(marker.turnId));
      else committed.delete(marker.turnId);
    }
    assert.deepEqual([...committed], [], "a committed turn is missing");
    for (const marker of markers) committed.add(marker.turnId);
    for (const marker of markers) if (marker.outcome === "interrupted") committed.delete(marker.turnId);
    for (const turnId of notices)
      assert.ok(markers.some((marker) => marker.turnId === turnId && marker.outcome === "interrupted"));
    checkPairs(writer.contextMessages().messages);
    writer.close();
    store.close();
  }
  assert.ok(interrupted >= MOMENTS / 5, "no kill hit a turn");
});

/** Every tool call has exactly one result after it, and every result has a call. */
function checkPairs(
  messages: ReturnType<ReturnType<ReturnType<typeof openStore>["openWriter"]>["contextMessages"]>["messages"],
): void {
  const open = new Set<string>();
  for (const message of messages) {
    if (message.role === "assistant")
      for (const part of message.content) if (part.type === "toolCall") open.add(part.id);
    if (message.role === "toolResult") assert.ok(open.delete(message.toolCallId));
    if (message.role === "user") assert.deepEqual([...open], []);
  }
  assert.deepEqual([...open], []);
}
