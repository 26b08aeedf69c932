/** A session in which every turn is near the next compaction, and a model whose summaries can be delayed. */
import type { ReplyStep } from "../../servers/server.ts";
import type { Running } from "../setting.ts";
import type { WireBody } from "../wire-bodies.ts";
import { KillBench, type EngineConfig } from "./kill-bench.ts";

/** About 3,000 tokens; the window takes two such turns. */
export const WORDS = "The keeper writes each ship that passes into the long book of the harbour. ".repeat(
  170,
);
const WINDOW = 13_000;
const SUMMARY =
  "## Goal\nKeep the book.\n\n## State\nShips are written down.\n\n## Decisions and constraints\n- None.\n\n## Open asks\n- More ships.";

/** A model whose summaries can be delayed. */
export class Model {
  hold = false;
  #opened = Promise.withResolvers<void>();

  /** Resolves when a delayed summary has been requested. */
  opened(): Promise<void> {
    this.#opened = Promise.withResolvers<void>();
    return this.#opened.promise;
  }

  reply(body: WireBody): ReplyStep {
    if (/SUMMARIZE|You write the summary/.test(body.system)) {
      if (!this.hold) return { text: SUMMARY };
      this.#opened.resolve();
      return { text: SUMMARY, hangAfterChunks: 1 };
    }
    const input = body.messages.findLast(({ text }) => text.includes("Input-"));
    const looks = input?.text.includes("look!") === true;
    if (!looks || body.messages.at(-1)?.role === "tool")
      return { text: `Answer of ${body.messages.length}.` };
    const command = "yes 'the lamp at the pier is lit' | head -n 450";
    return {
      text: "Looking.",
      toolCalls: [{ id: `c${body.messages.length}`, name: "shell", arguments: { command } }],
    };
  }
}

/** A session of two such turns. */
export async function withModel(
  engine: EngineConfig,
  work: (bench: KillBench, model: Model) => Promise<void>,
): Promise<void> {
  const model = new Model();
  const bench = await KillBench.open(engine, (body) => model.reply(body), WINDOW);
  try {
    await bench.whole(WORDS);
    await bench.whole(WORDS);
    await work(bench, model);
  } finally {
    await bench.end();
  }
}

/** Returns whether the process was still alive to be killed. */
export async function killAndGoOn(
  bench: KillBench,
  model: Model,
  killed: { running: Running; input: string },
  words = "",
): Promise<boolean> {
  const inTime = await bench.kill(killed.running);
  bench.noteCommitted(killed.input);
  bench.snapshot();
  bench.release();
  model.hold = false;
  await bench.whole(words);
  bench.assertTakenOnce();
  return inTime;
}
