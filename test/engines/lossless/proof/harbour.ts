/**
 * The real host with a scripted model that manages berths: tools in every turn, each request checked, and a summarizer
 * that the test can break.
 */
import type { TurnEvent } from "../../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../../packages/contract/src/host/host.ts";
import type { PluginApi } from "../../../../packages/contract/src/host/plugin.ts";
import { filler } from "../../../../packages/testkit/src/engine/scripted-conversation.ts";
import { estimateTokens } from "../../../../packages/core/src/tokens/estimate.ts";
import type { RecordedRequest, ReplyStep, ReplyToolCall } from "../../../servers/script.ts";
import { Bench } from "../../../turn/in-process.ts";
import { modelConfig } from "../../../turn/setting.ts";
import { readBody, type WireBody } from "../../../turn/wire-bodies.ts";

const CHUNK = 10_000;
const SUMMARY = /<conversation_summary>\n([\s\S]*?)\n<\/conversation_summary>/;

interface Options {
  window?: number;
  /** `plugins.entries.lossless.config`. */
  lossless?: Record<string, unknown>;
  /** `agents.defaults`. */
  defaults?: Record<string, unknown>;
  engine?: "lossless" | "legacy";
}

/** The scripted model's turn: rounds of calls, then an answer. */
export interface Plan {
  rounds?: ReplyToolCall[][];
  answer: string;
}

export class Harbour {
  readonly bench: Bench;
  /** Problems of the turns' own requests. */
  readonly problems: string[] = [];
  readonly degraded: string[] = [];
  readonly compactions: string[] = [];
  /** Newest request of a turn. */
  body: WireBody | undefined;
  requests = 0;
  /** Number of requests for a summary. */
  asked = 0;
  /** Requests since the newest turn began, in order. */
  order: ("turn" | "summary")[] = [];
  turns = 0;
  largest = 0;
  /** Called for a request without tools. */
  summarize: (body: WireBody) => ReplyStep | Promise<ReplyStep> = (body) => ({ text: goodSummary(body) });
  readonly #plan = { rounds: [] as ReplyToolCall[][], answer: "", input: "" };
  #settings: Options;
  #pagurus: Pagurus | undefined;

  private constructor(bench: Bench, options: Options) {
    this.bench = bench;
    this.#settings = options;
  }

  static async open(options: Options = {}): Promise<Harbour> {
    const held: { harbour?: Harbour } = {};
    const bench = await Bench.with((request) => held.harbour?.reply(request) ?? { status: 500 });
    held.harbour = new Harbour(bench, options);
    await held.harbour.start();
    return held.harbour;
  }

  get window(): number {
    return this.#settings.window ?? 24_000;
  }

  get pagurus(): Pagurus {
    if (!this.#pagurus) throw new Error("the host is closed");
    return this.#pagurus;
  }

  /** Restarts the host, maybe with another engine. */
  async restart(options: Options = {}, between?: () => void): Promise<void> {
    await this.#pagurus?.close();
    between?.();
    this.#settings = { ...this.#settings, ...options };
    await this.start();
  }

  async start(): Promise<void> {
    const { lossless = {}, defaults = {}, engine = "lossless" } = this.#settings;
    const plugins = { slots: { contextEngine: engine }, entries: { lossless: { config: lossless } } };
    this.#pagurus = await this.bench.host({
      more: {
        plugins: { harbour: registerLog },
        config: modelConfig(
          "openai-completions",
          this.bench.server.url,
          { contextWindow: this.window },
          { agents: { defaults: { maxSteps: 1_000, ...defaults } }, logging: { level: "silent" }, plugins },
        ),
      },
    });
  }

  async end(): Promise<void> {
    await this.bench.end();
  }

  /** Runs a turn, which has to complete. */
  async turn(input: string, plan: Plan, sessionKey = "main"): Promise<TurnEvent[]> {
    this.order = [];
    Object.assign(this.#plan, { rounds: [...(plan.rounds ?? [])], answer: plan.answer, input });
    const events = await this.bench.ask(this.pagurus, input, { sessionKey });
    this.turns += 1;
    for (const event of events) {
      if (event.type === "context.degraded") this.degraded.push(`${event.stage}: ${event.reason}`);
      if (event.type === "compaction.completed") this.compactions.push(`${event.lane} by ${event.handledBy}`);
      if (event.type === "compaction.failed") this.compactions.push(`failed: ${event.reason}`);
    }
    return events;
  }

  /** Runs turns with one call each; their texts contain their number. */
  async work(from: number, turns: number): Promise<void> {
    for (let turn = from; turn < from + turns; turn += 1) {
      const calls = [berthCall(`${turn}`)];
      await this.turn(`Do task ${turn}. ${filler(40)}`, {
        rounds: [calls],
        answer: `Task ${turn} is done. ${filler(60)}`,
      });
    }
  }

  reply(request: RecordedRequest): ReplyStep | Promise<ReplyStep> {
    const body = readBody("openai-completions", request);
    // Not needed again.
    this.bench.server.requests.length = 0;
    if (body.tools.length === 0) {
      this.asked += 1;
      this.order.push("summary");
      const step = this.summarize(body);
      return step instanceof Promise ? step : { chunkSize: CHUNK, ...step };
    }
    this.requests += 1;
    this.order.push("turn");
    this.body = body;
    this.#check(body, request);
    const toolCalls = this.#plan.rounds.shift();
    return toolCalls ? { toolCalls, chunkSize: CHUNK } : { text: this.#plan.answer, chunkSize: CHUNK };
  }

  #check(body: WireBody, request: RecordedRequest): void {
    const tokens = estimateTokens(request.text);
    this.largest = Math.max(this.largest, tokens);
    const inputs = body.messages.filter(({ text }) => text.includes(this.#plan.input)).length;
    const found = [
      pairProblem(body),
      tokens > this.window ? `${tokens} tokens in a window of ${this.window}` : undefined,
      inputs === 1 ? undefined : `the input is there ${inputs} times`,
    ];
    for (const problem of found)
      if (problem !== undefined) this.problems.push(`request ${this.requests}: ${problem}`);
  }

  /** Texts of the results of the newest request, by call. */
  results(): Map<string, string> {
    const results = (this.body?.messages ?? []).flatMap((message) => message.results);
    return new Map(results.map(({ id, text }) => [id, text]));
  }

  /** The summary that the newest request began with. */
  head(): string | undefined {
    const texts = (this.body?.messages ?? []).map(({ text }) => SUMMARY.exec(text)?.[1]);
    return texts.find((text) => text !== undefined);
  }
}

export function berthCall(key: string): ReplyToolCall {
  return { id: `call_${key}`, name: "berth_log", arguments: { berth: `B-${key}` } };
}

function registerLog(api: PluginApi): void {
  api.registerTool({
    name: "berth_log",
    description: "Reads a berth's log.",
    parameters: { type: "object", properties: { berth: { type: "string" } } },
    execute: async ({ berth }) => ({
      content: [{ type: "text", text: `Log of ${String(berth)}: ${filler(300)}` }],
      isError: false,
    }),
  });
}

/** Checks that each call is followed by its result, before any other message. */
export function pairProblem({ messages }: WireBody): string | undefined {
  let open: string[] = [];
  for (const [index, message] of messages.entries()) {
    for (const { id } of message.results) {
      if (!open.includes(id)) return `message ${index}: the result of ${id} without its call`;
      open = open.filter((other) => other !== id);
    }
    if (message.role === "tool") continue;
    if (open.length > 0) return `message ${index}: ${open.join()} has no result`;
    open = message.calls.map(({ id }) => id);
  }
  return open.length > 0 ? `${open.join()} has no result` : undefined;
}

/** A good model's summary: every part, and every required string. */
export function goodSummary({ messages }: WireBody, words = "The berths are looked after."): string {
  const asked = messages.map(({ text }) => text).join("\n");
  const named = Array.from(
    asked.matchAll(/these (?:changed files|exact strings): (.*)/g),
    ([, list]) => `- ${list}`,
  );
  const parts = ["Goal", "State", "Decisions and constraints", "Open asks"];
  return [...parts.map((heading) => `## ${heading}\n- ${words}`), ...named].join("\n");
}
