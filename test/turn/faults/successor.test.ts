import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { CompactParams } from "../../../packages/contract/src/engine/engine-compaction.ts";
import { engineWith, of, withFault } from "./fault-bench.ts";
import { everyOther } from "../../runner/long-tests.ts";

interface Fault {
  what: string;
  /** Fields besides `ok` and `compacted`; `folder` is empty and the engine's. */
  answer(folder: string, params: CompactParams): object;
  says: RegExp;
}

const header = (id: string): string =>
  `${JSON.stringify({ type: "session", version: 3, id, timestamp: "2026-01-01T00:00:00.000Z", cwd: "/" })}\n`;

function written(folder: string, name: string, content: string): string {
  const file = join(folder, name);
  writeFileSync(file, content);
  return file;
}

const FAULTS: Fault[] = [
  {
    what: "does not exist",
    answer: () => ({ result: { sessionId: "nowhere", tokensBefore: 1 } }),
    says: /nowhere/,
  },
  { what: "is no id", answer: () => ({ sessionId: "../../escape" }), says: /escape/ },
  { what: "is a number", answer: () => ({ sessionId: 7 }), says: /no proper successor/ },
  {
    what: "has a file that is a number",
    answer: () => ({ result: { sessionId: "next", sessionFile: 7, tokensBefore: 1 } }),
    says: /no proper successor/,
  },
  {
    what: "has a file that does not exist",
    answer: (folder) => ({ sessionId: "next", sessionFile: join(folder, "none.jsonl") }),
    says: /next.*none\.jsonl/,
  },
  {
    what: "has a folder as its file",
    answer: (folder) => ({ sessionId: "next", sessionFile: folder }),
    says: /next/,
  },
  {
    what: "has an empty file",
    answer: (folder) => ({ sessionId: "next", sessionFile: written(folder, "empty.jsonl", "") }),
    says: /next/,
  },
  {
    what: "has a file without a header",
    answer: (folder) => ({
      sessionId: "next",
      sessionFile: written(folder, "words.jsonl", "hello\nworld\n"),
    }),
    says: /next/,
  },
  {
    what: "has a file with a corrupt line",
    answer: (folder) => ({
      sessionId: "next",
      sessionFile: written(folder, "torn.jsonl", `${header("next")}{"type":"message","id":"a",\n`),
    }),
    says: /next.*[Ll]ine 2/,
  },
  {
    what: "has a file that is cut in the middle of a line",
    answer: (folder, { sessionFile }) => {
      const whole = readFileSync(sessionFile, "utf8");
      return { sessionId: "next", sessionFile: written(folder, "cut.jsonl", whole.slice(0, -40)) };
    },
    says: /next/,
  },
  {
    what: "belongs to another key",
    answer: () => ({ result: { sessionId: "OTHER", tokensBefore: 1 } }),
    says: /not taken/,
  },
  {
    what: "has the id of a session of another key and a good file",
    answer: (folder) => ({
      sessionId: "OTHER",
      sessionFile: written(folder, "other.jsonl", header("OTHER")),
    }),
    says: /not taken/,
  },
];

function rotating(folderOf: () => string, otherId: () => string, answer: Fault["answer"]): ContextEngine {
  const compact = (params: CompactParams): Promise<never> => {
    const given = JSON.stringify(answer(folderOf(), params)).replaceAll("OTHER", otherId());
    return Promise.resolve({ ok: true, compacted: true, ...(JSON.parse(given) as object) } as never);
  };
  return engineWith({ compact }, { ownsCompaction: true });
}

describe("a successor that compact() names", () => {
  for (const { what, answer, says } of everyOther(FAULTS)) {
    it(`that ${what} leaves the session at its transcript`, async () => {
      let folder = "";
      let otherId = "";
      const engine = rotating(
        () => folder,
        () => otherId,
        answer,
      );
      await withFault({ engine }, async (fault) => {
        folder = join(fault.bench.root, "engine");
        mkdirSync(folder);
        await fault.bench.ask(fault.pagurus, "Another talk.", { sessionKey: "other" });
        const other = fault.pagurus.sessions().find("other");
        assert.ok(other);
        otherId = other.sessionId;
        const otherBytes = readFileSync(other.file);
        const id = fault.pagurus.sessions().find("main")?.sessionId;
        const before = fault.bytes();

        const played = await fault.play("look:0,look:0", undefined, 10);
        assert.equal(played.last.type, "turn.completed", JSON.stringify(played.last));
        assert.equal(of(played.events, "compaction.started").length, 1);
        assert.match(of(played.events, "compaction.failed")[0]?.reason ?? "", says);
        assert.ok(!of(played.events, "notice").some(({ kind }) => kind === "session_rotated"));
        const reported = of(played.events, "context.degraded").filter(({ stage }) => stage === "compact");
        assert.equal(reported.length, 1, JSON.stringify(reported));
        assert.match(reported[0]?.reason ?? "", says);
        assert.ok((await fault.degraded()).some(({ stage }) => stage === "compact"));

        assert.equal(fault.pagurus.sessions().find("main")?.sessionId, id);
        const records = fault.pagurus.sessions().list();
        assert.deepEqual(
          new Set(records.map(({ sessionKey, generation }) => `${sessionKey} ${generation}`)),
          new Set(["main 1", "other 1"]),
        );
        assert.equal(records.length, 2);
        assert.ok(readFileSync(other.file).equals(otherBytes), "the other session is as it was");
        await fault.assertSound(before, played, { again: 1 });
      });
    });
  }
});
