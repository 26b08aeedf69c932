import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { describe, it } from "node:test";
import type { TranscriptEntry } from "../../packages/contract/src/session/transcript.ts";
import { startServer, type ReplyStep } from "../servers/server.ts";
import { storedTranscripts } from "../stores/stored-transcripts.ts";
import { makeSetting, modelConfig, run, start, type Setting } from "./setting.ts";
import { readBody } from "./wire-bodies.ts";
import { byLength } from "../runner/short-form.ts";
import { random } from "../runner/seeded-random.ts";

const MOMENTS = byLength(200, 4, 1);

function transcript(setting: Setting): Buffer {
  const [bytes = Buffer.alloc(0), ...more] = storedTranscripts(setting.home).values();
  assert.deepEqual(more, [], "one session");
  return bytes;
}

function entries(bytes: Buffer): TranscriptEntry[] {
  const lines = bytes.toString("utf8").split("\n").slice(1, -1);
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as TranscriptEntry);
}

/** The transcript up to the end of its last commit marker. */
function committed(bytes: Buffer): Buffer {
  const at = bytes.lastIndexOf('"type":"turn_commit"');
  if (at < 0) return Buffer.alloc(0);
  const end = bytes.indexOf("\n", at);
  return end < 0 ? committed(bytes.subarray(0, at)) : bytes.subarray(0, end + 1);
}

describe(`kill -9 at ${MOMENTS} moments of turns with tools`, () => {
  it("keeps every committed turn byte for byte, marks the interrupted one, and runs the next turn", async () => {
    const next = random(20_261_121);
    const server = await startServer({
      protocol: "openai-completions",
      script: (request): ReplyStep => {
        const wire = readBody("openai-completions", request);
        const lastUser = wire.messages.findLastIndex((message) => message.role === "user");
        const rounds = wire.messages.slice(lastUser).filter((message) => message.calls.length > 0).length;
        if (rounds >= 3) return { text: "All done. ".repeat(20), delayMs: 2 };
        return {
          text: "Working.",
          toolCalls: [
            { id: `c${rounds}`, name: "shell", arguments: { command: `echo round ${rounds} >> rounds.txt` } },
          ],
          delayMs: 2,
        };
      },
    });
    const setting = makeSetting(modelConfig("openai-completions", server.url, { contextWindow: 400_000 }));
    let kept = Buffer.alloc(0);
    let interrupted = 0;
    let killed = 0;
    try {
      for (let moment = 0; moment < MOMENTS; moment++) {
        const running = start(setting, ["run", "--json", `Prompt ${moment}`]);
        // The first one is inside its turn, however busy the machine is; the others from before the first write until after the commit.
        await running.seen(moment === 0 ? "tool.started" : "turn.started").catch(() => undefined);
        if (moment > 0) await pause(next() * 160);
        running.child.kill("SIGKILL");
        const { signal } = await running.finished;
        if (signal === "SIGKILL") killed += 1;

        const bytes = transcript(setting);
        assert.ok(
          bytes.subarray(0, kept.length).equals(kept),
          "what was committed before is there, byte for byte",
        );
        const list = entries(bytes.subarray(0, bytes.lastIndexOf("\n") + 1));
        const ended = new Set(list.flatMap((entry) => (entry.type === "turn_commit" ? [entry.turnId] : [])));
        const open = new Set(
          list.flatMap((entry) =>
            entry.turnId !== undefined && !ended.has(entry.turnId) ? [entry.turnId] : [],
          ),
        );
        assert.ok(open.size <= 1, "at most one turn is open");
        kept = Buffer.from(committed(bytes));

        const after = await run(setting, `After ${moment}`);
        assert.equal(after.code, 0, after.stderr);
        const marked = entries(transcript(setting)).flatMap((entry) =>
          entry.type === "turn_commit" && entry.outcome === "interrupted" ? [entry.turnId] : [],
        );
        for (const turnId of open) {
          interrupted += 1;
          assert.ok(marked.includes(turnId), "the interrupted turn is marked");
          const notice = after.events.find(
            (event) => event.type === "notice" && event.kind === "interrupted_turn",
          );
          assert.ok(notice, "the user is told of the interrupted turn");
        }
        const now = transcript(setting);
        assert.ok(now.subarray(0, kept.length).equals(kept), "reopening did not touch what was committed");
        kept = Buffer.from(committed(now));
      }
      assert.ok(killed > MOMENTS / 2, `${killed} of ${MOMENTS} processes were killed while they ran`);
      assert.ok(interrupted > 0, "some turns were interrupted");
    } finally {
      await server.close();
      setting.remove();
    }
  });
});
