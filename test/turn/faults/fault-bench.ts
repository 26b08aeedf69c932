/** A session that has to compact, a scripted summarizing model, and invariants after any fault of a compaction. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { Degradation, TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { TurnRun } from "../../../packages/contract/src/host/run.ts";
import type { PluginApi, PluginTool } from "../../../packages/contract/src/host/plugin.ts";
import { readSummary } from "../../../packages/contract/src/engine/summary.ts";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import { createLegacyEngine } from "../../../packages/host/src/engines/legacy/legacy-engine.ts";
import { FULL } from "../../runner/short-form.ts";
import type { RecordedRequest, ReplyStep } from "../../servers/server.ts";
import { Bench, eventsOf } from "../in-process.ts";
import { modelConfig } from "../setting.ts";
import { readBody, type WireBody } from "../wire-bodies.ts";
import { assertPairs } from "./pairs.ts";

/** A word of prompts, replies and tool results that no error, degradation or log line may contain. */
const MARK = "zanzibar";
const WINDOW = 24_000;
/** About 600 tokens. */
const PASSAGE =
  `The ${MARK} harbour keeps its lamps lit and each keeper writes the ships into a book. `.repeat(35);
export const GOOD_SUMMARY =
  "## Goal\nFollow the harbour.\n\n## State\nThe lamps are lit.\n\n## Decisions and constraints\n- None.\n\n## Open asks\n- The next ship.";

export type Mode = "default" | "safeguard";
export type Lane = "queued" | "in-attempt";

export interface FaultOptions {
  engine?: ContextEngine;
  plugin?: (api: PluginApi) => void;
  mode?: Mode;
  /** Default 120: longer than any reply here takes on a busy machine. */
  timeoutSeconds?: number;
  /** Answer of the summarizing model; default a good summary. */
  summarizer?: () => ReplyStep | Promise<ReplyStep>;
  defaults?: Record<string, unknown>;
}

/** A pass-through engine whose `compact()` is the built-in one. */
export function engineWith(
  more: Partial<ContextEngine>,
  info: Partial<ContextEngine["info"]> = {},
): ContextEngine {
  const legacy = createLegacyEngine();
  return {
    ingest: () => Promise.resolve({ ingested: true }),
    assemble: ({ messages }) => Promise.resolve({ messages, estimatedTokens: 0 }),
    compact: (params) => legacy.compact(params),
    ...more,
    info: { id: "faulty", name: "Faulty", ...info },
  };
}

const LOOK: PluginTool = {
  name: "look",
  description: "Looks.",
  parameters: { type: "object", properties: { passages: { type: "integer" } }, required: ["passages"] },
  execute: (params) =>
    Promise.resolve({
      content: [{ type: "text", text: `Seen. ${PASSAGE.repeat(Number(params["passages"]))}` }],
      isError: false,
    }),
};

export interface Played {
  events: TurnEvent[];
  last: TurnEvent;
  /** Bodies of the turn's own requests, and the number of the summarizing model's calls. */
  bodies: WireBody[];
  summaries: number;
}

export class FaultBench {
  readonly bench: Bench;
  readonly pagurus: Pagurus;
  readonly #asked: { bodies: WireBody[]; summaries: number };
  #turns = 0;

  private constructor(bench: Bench, pagurus: Pagurus, asked: { bodies: WireBody[]; summaries: number }) {
    this.bench = bench;
    this.pagurus = pagurus;
    this.#asked = asked;
  }

  static async open(options: FaultOptions = {}): Promise<FaultBench> {
    const asked = { bodies: [] as WireBody[], summaries: 0 };
    const bench = await Bench.with((request) => {
      if (isSummaryRequest(request)) {
        asked.summaries += 1;
        return options.summarizer?.() ?? { text: GOOD_SUMMARY };
      }
      const body = readBody("openai-completions", request);
      asked.bodies.push(body);
      return replyTo(body, asked.bodies.length);
    });
    const { engine, plugin, mode = "default", timeoutSeconds = 120, defaults } = options;
    const pagurus = await bench.host({
      ...(engine ? { engine } : {}),
      plugin: (api) => {
        api.registerTool(LOOK);
        plugin?.(api);
      },
      more: {
        config: modelConfig(
          "openai-completions",
          bench.server.url,
          { contextWindow: WINDOW, maxTokens: 1_000 },
          {
            agents: {
              defaults: {
                compaction: { keepRecentTokens: 3_000, mode, timeoutSeconds },
                toolResultMaxChars: 200_000,
                ...defaults,
              },
            },
            logging: { level: "debug" },
            ...(engine ? { plugins: { slots: { contextEngine: engine.info.id } } } : {}),
          },
        ),
      },
    });
    return new FaultBench(bench, pagurus, asked);
  }

  end(): Promise<void> {
    return this.bench.end();
  }

  /** Turns of closed tool rounds, about 13,000 tokens: five, in the short form three of which the first is as long as three. */
  async fill(): Promise<void> {
    const orders = FULL
      ? Array.from({ length: 5 }, () => "look:2")
      : ["look:3,look:3,look:2", "look:2", "look:2"];
    for (const order of orders) {
      const played = await this.play(order);
      assert.equal(played.last.type, "turn.completed", JSON.stringify(played.last));
      assert.equal(
        of(played.events, "compaction.started").length,
        0,
        "no compaction while the history grows",
      );
    }
  }

  /** Runs a turn; `order` is `look:n` for tool rounds of n passages each, joined by commas. `began` receives the run. */
  async play(order = "", began?: (run: TurnRun) => void, passages = 1): Promise<Played> {
    const from = { bodies: this.#asked.bodies.length, summaries: this.#asked.summaries };
    const prompt = `Prompt ${++this.#turns} «${order}» ${PASSAGE.repeat(passages)}`;
    const run = this.pagurus.run({ prompt, cwd: this.bench.root });
    began?.(run);
    const events = await eventsOf(run);
    const last = events.at(-1);
    assert.ok(last);
    return {
      events,
      last,
      bodies: this.#asked.bodies.slice(from.bodies),
      summaries: this.#asked.summaries - from.summaries,
    };
  }

  /** A turn in which the lane's threshold is crossed: before its first request, or inside it. */
  cross(lane: Lane, began?: (run: TurnRun) => void): Promise<Played> {
    return lane === "queued" ? this.play("", began, 10) : this.play("look:10", began);
  }

  bytes(): Buffer {
    const record = this.pagurus.sessions().find("main");
    assert.ok(record);
    return readFileSync(record.file);
  }

  entries(): TranscriptEntry[] {
    const lines = this.bytes().toString("utf8").split("\n").slice(1, -1);
    return lines.map((line) => JSON.parse(line) as TranscriptEntry);
  }

  /** Content of the log files. */
  logged(): string {
    const folder = join(this.bench.root, "home", "logs");
    if (!existsSync(folder)) return "";
    return readdirSync(folder)
      .map((name) => readFileSync(join(folder, name), "utf8"))
      .join("");
  }

  /**
   * Checks after a fault: the transcript only grew, every request was valid, the next turns complete without another round of compactions,
   * the model sees the transcript's messages, and no sentence has words of the conversation.
   */
  async assertSound(before: Buffer, played: Played, faults: { again?: number } = {}): Promise<void> {
    assert.ok(this.bytes().subarray(0, before.length).equals(before), "what was written before is as it was");
    for (const entry of this.entries()) assert.equal(typeof entry.id, "string");
    const after = await this.play("look:0");
    assert.equal(after.last.type, "turn.completed", JSON.stringify(after.last));
    const compactions = of(after.events, "compaction.started").length;
    assert.ok(compactions <= (faults.again ?? 0), `${compactions} compactions in the next turn`);
    for (const body of [...played.bodies, ...after.bodies]) assertPairs(body);
    this.#assertSeen(after);
    const sentences = [...played.events, ...after.events].flatMap(reasonsOf);
    for (const sentence of [...sentences, this.logged()]) {
      assert.ok(!sentence.includes(MARK), `no words of the conversation: ${sentence.slice(0, 300)}`);
      assert.ok(!sentence.includes("Prompt 1"), "no prompt");
    }
    for (const sentence of sentences) {
      assert.ok(
        sentence.length <= 500 && !sentence.includes("\n"),
        `one sentence: ${sentence.slice(0, 600)}`,
      );
    }
  }

  /** Compares the last request of a turn with the transcript, with an independent reader. */
  #assertSeen(after: Played): void {
    const cut = after.events.some((event) => event.type === "context.degraded" && event.stage === "trim");
    const sent = (after.bodies.at(-1)?.messages ?? [])
      .map(({ text, results }) => text + results.map((result) => result.text).join(""))
      .join("\n");
    const path = seenOf(this.entries()).slice(0, -1);
    let at = sent.length;
    let length = 0;
    let parts = 0;
    for (const text of path.toReversed()) {
      const found = at < text.length ? -1 : sent.lastIndexOf(text, at - text.length);
      // The newest part when the rest does not fit, which is reported.
      if (found < 0 && cut) break;
      assert.ok(found >= 0, `the model sees the path: ${text.slice(0, 80)}`);
      at = found;
      length += text.length;
      parts += 1;
    }
    assert.ok(parts > 0 && sent.length - length <= 2 * parts + 60, "and nothing else");
  }

  async degraded(): Promise<Degradation[]> {
    return (await this.pagurus.status({ cwd: this.bench.root })).degraded;
  }
}

/** The conversation of a path: from the last compaction on, the summary first. */
function seenOf(entries: readonly TranscriptEntry[]): string[] {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const path: TranscriptEntry[] = [];
  for (let at = entries.at(-1); at; at = at.parentId === null ? undefined : byId.get(at.parentId))
    path.unshift(at);
  const compaction = path.findLast((entry) => entry.type === "compaction");
  const messages = path.flatMap((entry) => (entry.type === "message" ? [entry] : []));
  const kept = compaction ? messages.filter(({ id }) => id >= compaction.firstKeptEntryId) : messages;
  const input = compaction && messages.filter(({ id }) => id === compaction.splitTurnInputId);
  const texts = [...(input ?? []), ...kept].map(({ message }) =>
    typeof message.content === "string"
      ? message.content
      : message.content.map((part) => (part.type === "text" ? part.text : "")).join(""),
  );
  return compaction
    ? [
        ...texts.slice(0, input?.length ?? 0),
        `<conversation_summary>\n${compaction.summary}`,
        ...texts.slice(input?.length ?? 0),
      ]
    : texts;
}

function isSummaryRequest({ body }: RecordedRequest): boolean {
  return JSON.stringify(body["messages"]).includes("You write the summary that replaces the older part");
}

/** Tool rounds as the newest prompt requests them, then an answer. */
function replyTo(body: WireBody, index: number): ReplyStep {
  const inputs = body.messages.filter(({ role, text }) => role === "user" && readSummary(text) === undefined);
  const input = inputs.at(-1);
  const sizes =
    /«([^»]*)»/
      .exec(input?.text ?? "")?.[1]
      ?.split(",")
      .filter((size) => size !== "") ?? [];
  const at = body.messages.findLastIndex((message) => message === input);
  const rounds = body.messages.slice(at).filter(({ calls }) => calls.length > 0).length;
  const next = sizes[rounds]?.split(":")[1];
  if (next === undefined) return { text: `Answer ${index}: ${PASSAGE.slice(0, 600)}` };
  return {
    text: `Looking ${index}.`,
    toolCalls: [{ id: `call-${index}`, name: "look", arguments: { passages: Number(next) } }],
  };
}

export function of<K extends TurnEvent["type"]>(
  events: readonly TurnEvent[],
  type: K,
): Extract<TurnEvent, { type: K }>[] {
  return events.filter((event): event is Extract<TurnEvent, { type: K }> => event.type === type);
}

function reasonsOf(event: TurnEvent): string[] {
  if (event.type === "context.degraded" || event.type === "compaction.failed") return [event.reason];
  if (event.type === "turn.failed") return [event.error.message];
  return event.type === "notice" ? [event.detail] : [];
}

/** Runs a session that is one turn before its threshold, to its end. */
export async function withFault(
  options: FaultOptions,
  work: (fault: FaultBench) => Promise<void>,
): Promise<void> {
  const fault = await FaultBench.open(options);
  try {
    await fault.fill();
    await work(fault);
  } finally {
    await fault.end();
  }
}

export function raise(error: Error): never {
  throw error;
}
