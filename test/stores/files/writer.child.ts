/** Writes turns into a session until it is killed; reports its commits on standard output. Not a test itself. */
import { createHash } from "node:crypto";
import { readFileSync, writeSync } from "node:fs";
import { assistant, openStore, toolResult, user } from "./fixtures.ts";

const [, , mode = "", dir = "", name = "", count = "1"] = process.argv;

function say(line: object): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

function turn(
  writer: ReturnType<ReturnType<typeof openStore>["openWriter"]>,
  turnId: string,
  size: number,
): void {
  writer.append({ type: "message", turnId, message: user(`prompt of ${turnId}`) });
  writer.append({ type: "message", turnId, message: assistant("calling", [`${turnId}-a`, `${turnId}-b`]) });
  writer.append({ type: "message", turnId, message: toolResult(`${turnId}-b`, "b".repeat(size)) });
  writer.append({ type: "message", turnId, message: toolResult(`${turnId}-a`, "a".repeat(size)) });
  writer.append({ type: "message", turnId, message: assistant(`done with ${turnId}`) });
  writer.commitTurn({ turnId, outcome: "completed" });
}

/** Turns without an end; each commit is reported with the hash of the whole file. */
function endless(): void {
  const store = openStore(dir);
  say({ started: true });
  const writer = store.openWriter("main", { cwd: "/w" });
  say({ ready: true });
  for (let number = 0; ; number += 1) {
    const turnId = `${name}-${number}`;
    turn(writer, turnId, (number * 7919) % 20_000);
    const bytes = readFileSync(writer.record.file);
    say({ turnId, size: bytes.length, hash: createHash("sha256").update(bytes).digest("hex") });
  }
}

/** A whole turn, then one in which it dies with open tool calls. */
function cut(): void {
  const store = openStore(dir);
  const writer = store.openWriter("main", { cwd: "/w" });
  turn(writer, `${name}-0`, 100);
  say({ turnId: `${name}-0` });
  const turnId = `${name}-1`;
  writer.append({ type: "message", turnId, message: user(`prompt of ${turnId}`) });
  writer.append({ type: "message", turnId, message: assistant("calling", [`${turnId}-a`, `${turnId}-b`]) });
  writer.append({ type: "message", turnId, message: toolResult(`${turnId}-b`, "b") });
  process.kill(process.pid, "SIGKILL");
}

/** Opens, writes a turn and closes, several times; the last time it dies as the owner of the lock. */
function contend(): void {
  const store = openStore(dir);
  for (let number = 0; number < Number(count); number += 1) {
    const writer = store.openWriter("main", { cwd: "/w", deadlineMs: 120_000 });
    turn(writer, `${name}-${number}`, 10);
    if (number + 1 === Number(count)) process.kill(process.pid, "SIGKILL");
    writer.close();
  }
}

/** Writes turns until the store refuses; reports the error and the file's content. */
function fill(): void {
  const store = openStore(dir);
  const writer = store.openWriter("main", { cwd: "/w" });
  for (let number = 0; number < 100_000; number += 1) {
    const turnId = `${name}-${number}`;
    try {
      turn(writer, turnId, 4_000);
      say({ turnId });
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      say({ code, message });
      break;
    }
  }
  writer.close();
  store.close();
}

if (mode === "endless") endless();
else if (mode === "cut") cut();
else if (mode === "contend") contend();
else fill();
