/** Turns that continue while a compaction, or background work, waits for a slow model. */
import { setTimeout as wait } from "node:timers/promises";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type { BenchHost } from "./assemble-host.ts";
import { openHost, quantile, scriptedModel, turnsOf, type AssembleJob } from "./assemble-jobs.ts";
import type { Figures } from "./jobs.ts";

const MODEL_MS = 3_000;
/** Pause between two calls of the turns' own model. */
const PACE_MS = 25;
/** Bound of the background work, which would otherwise request more parts than a benchmark needs. */
const MOST_CALLS = 3;
/** Tokens of the context when the compaction begins; it grows little from there, so that no other one is due. */
const FILLED = 70_000;
/** Another vocabulary than that of the other jobs. */
const SEED = 77;

/** Turns until the context is so large that summaries of several parts are due. */
async function fill(host: BenchHost): Promise<void> {
  for (const messages of turnsOf(SEED)) {
    const [input, ...rest] = messages;
    if (!input) return;
    host.begin(input);
    let assembled = await host.assemble();
    if (assembled.wantsCompaction && (await host.compactForSend(assembled)))
      assembled = await host.assemble();
    for (const message of rest) host.append(message);
    await host.commit();
    if ((assembled.estimatedTokens ?? 0) > FILLED) return;
  }
}

/**
 * Short turns in sequence until `work` is over; ms of each assemble that was due meanwhile, from when it was due: a loop
 * that is blocked by the work delays it as well.
 */
async function watch(host: BenchHost, work: Promise<unknown>): Promise<{ ms: number[]; before: number }> {
  const ms: number[] = [];
  const answer: AgentMessage = {
    role: "assistant",
    content: [{ type: "text", text: "Yes." }],
    stopReason: "stop",
  };
  let isOver = false;
  let before = 0;
  void work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const due = performance.now() + PACE_MS;
    await wait(PACE_MS);
    host.begin({ role: "user", content: "Go on." });
    const { wantsCompaction } = await host.assemble();
    ms.push(performance.now() - due);
    if (wantsCompaction) throw new Error("Another compaction is due already.");
    if (!isOver) before += 1;
    host.append(answer);
    await host.commit();
  }
  return { ms, before };
}

/** `kind` is what waits for the model: `/compact`, or what is prepared in the background. */
async function beside(folder: string, kind: "compact" | "maintain"): Promise<Figures> {
  let calls = 0;
  const enough = new AbortController();
  const complete = scriptedModel(MODEL_MS, () => {
    calls += 1;
    if (calls === MOST_CALLS) enough.abort();
  });
  const { host } = await openHost(folder, { complete });
  await fill(host);
  const start = performance.now();
  const work: Promise<unknown> = kind === "compact" ? host.compact() : host.maintain(enough.signal);
  const { ms, before } = await watch(host, work);
  const tookMs = performance.now() - start;
  if (calls === 0 || (await work) === false) throw new Error(`The ${kind} has not asked its model.`);
  await host.close();
  return {
    [`${kind}LongestMs`]: Math.max(...ms),
    [`${kind}P95`]: quantile(ms, 0.95),
    [`${kind}P99`]: quantile(ms, 0.99),
    [`${kind}During`]: ms.length,
    [`${kind}Before`]: before,
    [`${kind}Calls`]: calls,
    [`${kind}Ms`]: tookMs,
  };
}

export async function waiting({ folder }: AssembleJob): Promise<Figures> {
  return { ...(await beside(folder, "compact")), ...(await beside(folder, "maintain")) };
}
