/** Assembling in a long session, as the host calls it: each job in its own process, its engine warm. */
import { setImmediate } from "node:timers/promises";
import type { AssembleResult } from "../../packages/contract/src/engine/engine-params.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { LlmComplete } from "../../packages/contract/src/model.ts";
import { createLosslessEngine } from "../../packages/lossless/src/lossless-engine.ts";
import type { LosslessStore } from "../../packages/lossless/src/store/lossless-store.ts";
import { BenchHost } from "./assemble-host.ts";
import { WITH_RECALL } from "../with-recall.ts";
import { entries } from "./corpus.ts";
import { SESSION, type Figures } from "./jobs.ts";

/** Seed of the messages after the stored history; another one than that of the history. */
const SEED = 99;
/** Warm-up turns, not counted. */
const WARM_UP = 10;

export interface AssembleJob {
  name: "fresh" | "whole" | "turns" | "waiting" | "memory";
  /** With the database of a session, which the job changes. */
  folder: string;
  /** Turns that are counted. */
  turns: number;
  /** Of the job `turns`. Default: unless the environment says otherwise. */
  recalls?: boolean;
  /** Makes each input a question, of the job `turns`. */
  asks?: boolean;
}

/** A window of today's models; one that fits all of 10,000 messages. */
const WINDOW = 200_000;
const WHOLE_WINDOW = 40_000_000;

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Whole turns of the generator, from the user's input to the last answer. */
export function* turnsOf(seed: number): Generator<AgentMessage[]> {
  let turn: AgentMessage[] = [];
  for (const { message } of entries(seed, Infinity)) {
    if (message.role === "user" && turn.length > 0) {
      yield turn;
      turn = [];
    }
    turn.push(message);
  }
}

/** Answers model calls after so many milliseconds. */
export function scriptedModel(ms: number, onAnswer: () => void = () => undefined): LlmComplete {
  const words = ["Goal", "State", "Decisions and constraints", "Open asks"]
    .map((heading) => `## ${heading}\n- The model of the benchmark says so.`)
    .join("\n");
  return async ({ messages }) => {
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    onAnswer();
    const named = /these (?:changed files|exact strings): (.*)/g;
    const asked = messages.flatMap(({ content }) =>
      Array.from(content.matchAll(named), ([, list]) => list ?? ""),
    );
    const text = `${words}\n${asked.join(", ")}`;
    return { text, provider: "bench", model: "instant", agentId: "main", stopReason: "stop" };
  };
}

interface Opened {
  host: BenchHost;
  store: LosslessStore;
  /** Of the engine's opening and its first read of the session. */
  openMs: number;
}

export async function openHost(
  folder: string,
  options: {
    window?: number;
    trigger?: number;
    transcript?: string;
    complete?: LlmComplete;
    recalls?: boolean | undefined;
  } = {},
): Promise<Opened> {
  const { window = WINDOW, trigger, transcript, complete, recalls = WITH_RECALL } = options;
  const settings = { ...(trigger === undefined ? {} : { trigger }), ...(recalls ? {} : { recall: false }) };
  const config = { plugins: { entries: { lossless: { config: settings } } } };
  const start = performance.now();
  let store: LosslessStore | undefined;
  const engine = createLosslessEngine(
    { agentDir: folder, config },
    { onStore: (opened) => (store = opened) },
  );
  if (!store) throw new Error("The engine has not opened its store.");
  const opened = performance.now() - start;
  const host = new BenchHost(engine, store, {
    folder,
    sessionId: SESSION,
    window,
    config,
    ...(transcript === undefined ? {} : { transcript }),
    ...(complete ? { complete } : {}),
  });
  const before = performance.now();
  await host.bootstrap();
  return { host, store, openMs: opened + performance.now() - before };
}

interface Timed<T> {
  answer: T;
  ms: number;
  /** Of the whole process. */
  cpuMs: number;
}

async function timed<T>(work: () => Promise<T>): Promise<Timed<T>> {
  await setImmediate();
  const cpu = process.cpuUsage();
  const start = performance.now();
  const answer = await work();
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return { answer, ms, cpuMs: (user + system) / 1_000 };
}

/** Calls of one kind. */
class Samples {
  readonly #ms: number[] = [];
  readonly #cpuMs: number[] = [];

  add<T>({ answer, ms, cpuMs }: Timed<T>): T {
    this.#ms.push(ms);
    this.#cpuMs.push(cpuMs);
    return answer;
  }

  /** `Cpu` is the mean of a call, `CpuP95` a percentile that other load on the machine does not increase. */
  figures(name: string): Figures {
    const count = this.#ms.length;
    return {
      [`${name}CpuP95`]: quantile(this.#cpuMs, 0.95),
      [`${name}P50`]: quantile(this.#ms, 0.5),
      [`${name}P95`]: quantile(this.#ms, 0.95),
      [`${name}Max`]: quantile(this.#ms, 1),
      [`${name}Cpu`]: count === 0 ? 0 : this.#cpuMs.reduce((sum, ms) => sum + ms, 0) / count,
      [`${name}Count`]: count,
    };
  }
}

/** Turns through the host, each call assembled; compactions are made between two assembles. */
class Clock {
  first = new Samples();
  later = new Samples();
  all = new Samples();
  compacting = new Samples();
  commit = new Samples();
  /** Of the newest context. */
  messages = 0;
  tokens = 0;
  readonly #host: BenchHost;

  constructor(host: BenchHost) {
    this.#host = host;
  }

  /** From here on it counts. */
  reset(): void {
    this.first = new Samples();
    this.later = new Samples();
    this.all = new Samples();
    this.compacting = new Samples();
    this.commit = new Samples();
  }

  async turn(messages: readonly AgentMessage[]): Promise<void> {
    const [input, ...rest] = messages;
    const answer = rest.pop();
    if (!input || !answer) return;
    const host = this.#host;
    host.begin(input);
    await this.call(this.first);
    for (let index = 0; index < rest.length; index += 2) {
      for (const message of rest.slice(index, index + 2)) host.append(message);
      await this.call(this.later);
    }
    host.append(answer);
    this.commit.add(await timed(() => host.commit()));
  }

  async call(kind: Samples, mayCompact = true): Promise<AssembleResult> {
    const host = this.#host;
    const assemble = async (): Promise<AssembleResult> => {
      const call = await timed(() => host.assemble());
      kind.add(call);
      return this.all.add(call);
    };
    let answer = await assemble();
    const isDue = answer.wantsCompaction === true || (answer.estimatedTokens ?? 0) > host.tokenBudget;
    if (isDue && mayCompact && this.compacting.add(await timed(() => host.compactForSend(answer))))
      answer = await assemble();
    this.messages = answer.messages.length;
    this.tokens = answer.estimatedTokens ?? 0;
    return answer;
  }

  figures(): Figures {
    return {
      ...this.first.figures("first"),
      ...this.later.figures("later"),
      ...this.all.figures("all"),
      ...this.compacting.figures("compacting"),
      ...this.commit.figures("commit"),
      messages: this.messages,
      tokens: this.tokens,
    };
  }
}

/** Nothing is summarized and no compaction is made: each turn has one call. */
export async function fresh({ folder, turns }: AssembleJob): Promise<Figures> {
  const { host, openMs } = await openHost(folder);
  const clock = new Clock(host);
  let coldMs = 0;
  let count = -WARM_UP;
  for (const messages of turnsOf(SEED)) {
    const [input, answer] = [messages[0], messages.at(-1)];
    if (count === turns || !input || !answer) break;
    if (count === 0) clock.reset();
    host.begin(input);
    const start = performance.now();
    const { contextProjection } = await clock.call(clock.first, false);
    if (count === -WARM_UP) coldMs = openMs + performance.now() - start;
    if (contextProjection?.epoch !== "whole") throw new Error("Something was summarized.");
    host.append(answer);
    await host.commit();
    count += 1;
  }
  await host.close();
  return { ...clock.figures(), coldMs };
}

/** All of the history is in the context. */
export async function whole({ folder, turns }: AssembleJob): Promise<Figures> {
  const { host, openMs } = await openHost(folder, { window: WHOLE_WINDOW, trigger: WHOLE_WINDOW });
  return { ...(await served(host, turns)), openMs };
}

function asQuestion(input: AgentMessage): AgentMessage {
  return input.role === "user" && typeof input.content === "string"
    ? { ...input, content: `${input.content}?` }
    : input;
}

async function served(host: BenchHost, turns: number, asks = false): Promise<Figures> {
  const clock = new Clock(host);
  let count = -WARM_UP;
  for (const messages of turnsOf(SEED)) {
    if (count === turns) break;
    if (count === 0) clock.reset();
    await clock.turn(asks ? messages.map(asQuestion) : messages);
    count += 1;
  }
  await host.close();
  return clock.figures();
}

/** Maximum of background runs: enough for 10,000 messages; of more a part is prepared. */
const MOST_RUNS = 6;

/** After summaries of all that was removed from the context; epochs change as the turns continue. */
export async function turns({ folder, turns: count, recalls, asks }: AssembleJob): Promise<Figures> {
  const { host } = await openHost(folder, { complete: scriptedModel(0), recalls });
  const start = performance.now();
  if (!(await host.compact())) throw new Error("Nothing was compacted.");
  const compactMs = performance.now() - start;
  for (let run = 0; run < MOST_RUNS; run += 1) if ((await host.maintain()).startsWith("0 parts")) break;
  await host.compact();
  const preparedMs = performance.now() - start;
  return { ...(await served(host, count, asks)), compactMs, preparedMs };
}
