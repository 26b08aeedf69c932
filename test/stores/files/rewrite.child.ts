/** Rewrites and rotates a session until it is killed; reports its progress on standard output. Not a test itself. */
import fs, { writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import type { NewEntry, TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import type { SessionWriter } from "../../../packages/contract/src/session/writer.ts";
import { assistant, collect, openStore, seeded, textOf, toolResult, user } from "./fixtures.ts";

const [, , dir = "", name = "", seed = "1", steps = "0"] = process.argv;
const random = seeded(Number(seed));
const store = openStore(dir);

function say(line: object): void {
  fs.writeSync(1, `${JSON.stringify(line)}\n`);
}

/** From now on the process dies in the nth operation on a file, a write in the middle of its bytes. */
function dieIn(count: number): void {
  let left = count;
  const die = (): void => process.kill(process.pid, "SIGKILL") as unknown as void;
  const write = fs.writeSync;
  const partly = (
    fd: number,
    data: Uint8Array,
    offset: number,
    length: number,
    position: number | null,
  ): number => {
    // Dying in a whole branch or file is more useful than in a line.
    if (fd !== 1) left -= length > 10_000 ? 8 : 1;
    if (fd === 1 || left > 0) return write(fd, data, offset, length, position);
    write(fd, data, offset, Math.floor(random() * (length + 1)), position);
    die();
    return length;
  };
  const at = <Args extends unknown[]>(work: (...args: Args) => void) => {
    return (...args: Args): void => {
      if ((left -= 1) <= 0 && random() < 0.5) die();
      work(...args);
      if (left <= 0) die();
    };
  };
  const { fsyncSync, linkSync, renameSync, rmSync } = fs;
  Object.assign(fs, {
    writeSync: partly,
    fsyncSync: at(fsyncSync),
    linkSync: at(linkSync),
    renameSync: at(renameSync),
    rmSync: at(rmSync),
  });
  syncBuiltinESMExports();
}

/** Every user message has its turn and the number of the last rewrite. */
function prompt(turnId: string, version: number): ReturnType<typeof user> {
  return user(`${turnId} v${version}`);
}

async function userMessages(
  writer: SessionWriter,
): Promise<{ id: string; turnId: string; version: number }[]> {
  const found: { id: string; turnId: string; version: number }[] = [];
  for await (const entry of writer.cursor.forward()) {
    if (entry.type !== "message" || entry.message.role !== "user") continue;
    const [, turnId = "", version = ""] = /^(\S+) v(\d+)$/.exec(textOf(entry.message)) ?? [];
    found.push({ id: entry.id, turnId, version: Number(version) });
  }
  return found;
}

function begin(writer: SessionWriter, turnId: string, version: number): void {
  writer.append({ type: "message", turnId, message: prompt(turnId, version) });
  writer.append({ type: "message", turnId, message: assistant("calling", [`${turnId}-a`]) });
}

function end(writer: SessionWriter, turnId: string): void {
  const text = "r".repeat(Math.floor(random() * 6_000));
  writer.append({ type: "message", turnId, message: toolResult(`${turnId}-a`, text) });
  const finalized = random() < 0.3 ? { finalized: false } : {};
  writer.commitTurn({ turnId, outcome: "completed", ...finalized });
  say({ turnId, due: "finalized" in finalized });
}

async function rewrite(writer: SessionWriter): Promise<number> {
  const messages = await userMessages(writer);
  const version = (messages.at(-1)?.version ?? 0) + 1;
  const result = writer.rewrite(
    messages.map(({ id, turnId }) => ({ entryId: id, message: prompt(turnId, version) })),
  );
  if (!result.changed) throw new Error(result.reason);
  say({ version });
  return version;
}

/** Rotates in the middle of a turn, as a compaction does: the engine writes the history, the turn is carried along. */
async function rotate(writer: SessionWriter, turnId: string): Promise<SessionWriter> {
  const entries = await collect(writer.cursor.forward());
  const id = `${name}-${turnId}`;
  const timestamp = new Date().toISOString();
  const header = { type: "session", version: 3, id, timestamp, cwd: "/w" };
  const before = entries.filter((entry) => entry.turnId !== turnId);
  const file = join(dir, "engine.jsonl");
  writeFileSync(file, [header, ...before].map((line) => `${JSON.stringify(line)}\n`).join(""));
  const carry = entries.filter((entry) => entry.turnId === turnId).map(withoutPlace);
  const next = store.rotate(writer, { sessionId: id, file }, carry);
  say({ rotated: id });
  return next;
}

function withoutPlace({
  id: _id,
  parentId: _p,
  timestamp: _t,
  epoch: _e,
  ...rest
}: TranscriptEntry): NewEntry {
  return rest as NewEntry;
}

let writer = store.openWriter("main", { cwd: "/w" });
let version = (await userMessages(writer)).at(-1)?.version ?? 0;
say({ ready: true });
if (steps !== "0") dieIn(Number(steps));
for (let number = 0; ; number += 1) {
  const turnId = `${name}.${number}`;
  begin(writer, turnId, version);
  if (random() < 0.5) writer = await rotate(writer, turnId);
  end(writer, turnId);
  if (random() < 0.7) version = await rewrite(writer);
}
