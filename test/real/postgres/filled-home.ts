/** A home with conversations of many kinds, and the transcripts of a home as bytes. */
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { SessionStore } from "../../../packages/contract/src/session/store.ts";
import type { Launcher } from "../../cli/launch.ts";
import { assistant, openStore, sayTurn, toolResult, user } from "../../stores/files/fixtures.ts";

const CWD = { cwd: "/project" };
/** Recorded from a real Codex. */
const ROLLOUT = fileURLToPath(new URL("../../importers/sessions/rollout-0.169.0.jsonl", import.meta.url));
const SUCCESSOR = "f47ac10b-58cc-4372-a567-0e02b2c3d479";

/** Turns of the command line, a real Codex conversation, and in a second agent what makes transcripts differ. */
export async function fillHome(user: Launcher): Promise<void> {
  for (const words of ["hello", "and again", "日本 \u{1f600}"])
    await user.run(["run", words, "--session", "work"]);
  const imported = await user.run(["sessions", "import", ROLLOUT]);
  if (imported.code !== 0) throw new Error(imported.err);
  const dir = join(user.env.PAGURUS_HOME, "agents", "other");
  const store = openStore(dir);
  try {
    await fillAgent(store, dir);
    await importAsOther(store, dir);
  } finally {
    store.close();
  }
}

async function fillAgent(store: SessionStore, dir: string): Promise<void> {
  const branched = store.openWriter("agent:main/branched", CWD);
  const [one = ""] = sayTurn(branched, "t1", "one \u2028");
  sayTurn(branched, "t2", "two");
  branched.rewind(one);
  branched.append({ type: "message", turnId: "t3", message: assistant("calls", ["c1"]) });
  branched.append({ type: "message", turnId: "t3", message: toolResult("c1", "x".repeat(2_000_000)) });
  branched.commitTurn({ turnId: "t3", outcome: "aborted" });
  branched.close();
  await store.fork("agent:main/branched", "forked");
  for (let generation = 1; generation <= 3; generation += 1) {
    const writer = store.openWriter("renewed", CWD);
    sayTurn(writer, `t${generation}`, `generation ${generation}`);
    writer.close();
    if (generation < 3) store.renew("renewed", CWD);
  }
  const rotated = store.openWriter("rotated", CWD);
  const first = rotated.record.sessionId;
  sayTurn(rotated, "t1", "before");
  const file = join(dir, "successor");
  const timestamp = "2026-01-02T03:04:05.000Z";
  const lines = [
    { type: "session", version: 3, id: SUCCESSOR, timestamp, cwd: "/engine" },
    { type: "message", id: "e1", parentId: null, timestamp, message: user("short") },
  ];
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const next = store.rotate(rotated, { sessionId: SUCCESSOR, file }, []);
  // Back to the first one, which so is newer than the second.
  store.rotate(next, { sessionId: first }, []).close();
  const hold = store.hold("ships", "/work/ships");
  const owned = store.openWriter("ships", CWD);
  sayTurn(owned, "t1", "of a folder");
  owned.close();
  hold.release();
  store.create("empty", CWD);
  const torn = store.openWriter("torn", CWD);
  sayTurn(torn, "t1", "whole");
  torn.append({ type: "message", turnId: "t2", message: user("cut off") });
  torn.close();
  appendFileSync(torn.record.file, '{"torn');
  const damaged = store.openWriter("damaged", CWD);
  sayTurn(damaged, "t1", "fine");
  damaged.close();
  appendFileSync(damaged.record.file, "no line of ours\n");
}

/** A session under another key than its header's. */
async function importAsOther(store: SessionStore, dir: string): Promise<void> {
  const writer = store.openWriter("former", CWD);
  sayTurn(writer, "t1", "moved");
  writer.close();
  const file = join(dir, "moved.jsonl");
  writeFileSync(file, readFileSync(writer.record.file));
  store.delete("former");
  await store.import(file, { sessionKey: "moved" });
}

/** Transcripts and key files of a home by their paths, without a torn last line. */
export function transcriptsOf(home: string): Map<string, string> {
  const agents = join(home, "agents");
  const files = existsSync(agents) ? readdirSync(agents, { recursive: true, encoding: "utf8" }) : [];
  const wanted = files.filter((name) => /^[^/]+\/sessions\/[^./][^/]*\.(jsonl|key)$/.test(name)).toSorted();
  return new Map(
    wanted
      .filter((name) => !name.endsWith(".receipts.jsonl"))
      .map((name) => {
        const bytes = readFileSync(join(agents, name));
        return [name, bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1).toString("base64")];
      }),
  );
}

/** The sessions that a home lists, without what belongs to its place. */
export function listed(home: string): object[] {
  return readdirSync(join(home, "agents"))
    .toSorted()
    .flatMap((agent) => {
      const store = openStore(join(home, "agents", agent));
      try {
        return store
          .list()
          .map(({ file: _file, ...record }) => ({ agent, ...record }))
          .toSorted((one, other) => (one.sessionId < other.sessionId ? -1 : 1));
      } finally {
        store.close();
      }
    });
}
