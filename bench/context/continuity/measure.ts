/** Runs jobs under a policy and checks contexts from the first compaction on (Must show 8). */
import { isValidSequence } from "../../../packages/core/src/compaction/tool-pairing.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { ContextPolicy, PromptBlocks } from "../../../packages/replay/src/context-policy.ts";
import type { ModelCall } from "../../../packages/replay/src/recorded-session.ts";
import { checkContinuity, isOverShare, type ContinuityFindings, type ContinuityRules } from "./check.ts";
import type { Job } from "./script.ts";
import type { JobState } from "./state.ts";
import { LineIndex } from "./statements.ts";

/** Within an epoch a context only grows, so what it lacks shows right after the compaction; later contexts are sampled. */
const CHECKED_FIRST = 3;
const CHECKED_EVERY = 7;

export type Finding = keyof ContinuityFindings;

export interface ContinuityScore {
  policy: string;
  compactions: number;
  /** Of the job that had the fewest. */
  fewestCompactions: number;
  /** Compactions between two calls of one turn. */
  insideTurns: number;
  /** Contexts that were checked. */
  contexts: number;
  /** Contexts in which the user's messages exceed their share. */
  overShare: number;
  /** Shares of the required content, over all contexts; 1 is complete. */
  held: Record<Finding, number>;
  /** Contexts that a provider refuses, and those that do not begin with the one before them in their epoch. */
  invalid: number;
  broken: number;
  /** Contexts without any finding. */
  whole: number;
  /** The first case of each finding: job, call, what it is. */
  examples: Partial<Record<Finding, string>>;
}

class Share {
  #held = 0;
  #wanted = 0;

  add(lost: number, wanted: number): void {
    this.#held += wanted - lost;
    this.#wanted += wanted;
  }

  get value(): number {
    return this.#wanted === 0 ? 1 : this.#held / this.#wanted;
  }
}

/** How many things each finding could have named. */
function wantedOf(state: JobState, found: ContinuityFindings): Record<Finding, number> {
  const { userTexts, corrections, constraints, files, openStep, finishedSteps, effects, aborted } = state;
  return {
    lostUserTexts: userTexts.length - corrections.length,
    lostCorrections: corrections.length,
    lostConstraints: constraints.length,
    lostFiles: files.size,
    lostOpenStep: openStep ? 1 : 0,
    finishedShownOpen: Math.max(finishedSteps.length, found.finishedShownOpen.length),
    lostEffects: effects.length,
    lostAbort: aborted === undefined ? 0 : 1,
  };
}

const FINDINGS: readonly Finding[] = [
  "lostUserTexts",
  "lostCorrections",
  "lostConstraints",
  "lostFiles",
  "lostOpenStep",
  "finishedShownOpen",
  "lostEffects",
  "lostAbort",
];

/** The bytes of a message, computed once for each. */
class Bytes {
  readonly #made = new WeakMap<AgentMessage, string>();

  of(message: AgentMessage): string {
    let bytes = this.#made.get(message);
    if (bytes === undefined) {
      const { entryId: _entry, timestamp: _time, ...rest } = message;
      bytes = JSON.stringify(rest);
      this.#made.set(message, bytes);
    }
    return bytes;
  }
}

/** Adds up the contexts of all jobs. */
class Tally {
  compactions = 0;
  fewestCompactions = Infinity;
  insideTurns = 0;
  contexts = 0;
  overShare = 0;
  invalid = 0;
  broken = 0;
  readonly whole = new Share();
  readonly examples: Partial<Record<Finding, string>> = {};
  readonly #shares = new Map(FINDINGS.map((finding) => [finding, new Share()]));

  add(found: ContinuityFindings, state: JobState, where: string): void {
    const wanted = wantedOf(state, found);
    for (const finding of FINDINGS) {
      const lost = found[finding];
      this.#shares.get(finding)?.add(lost.length, wanted[finding]);
      const [first] = lost;
      if (first !== undefined) this.examples[finding] ??= `${where}: ${lost.length} of them, ${first}`;
    }
    this.contexts++;
    this.whole.add(FINDINGS.some((finding) => found[finding].length > 0) ? 1 : 0, 1);
  }

  get held(): Record<Finding, number> {
    const entries = FINDINGS.map((finding) => [finding, this.#shares.get(finding)?.value ?? 1]);
    return Object.fromEntries(entries) as Record<Finding, number>;
  }
}

/** One job under a policy. */
class Run {
  readonly #tally: Tally;
  readonly #rules: ContinuityRules;
  readonly #job: Job;
  readonly #bytes = new Bytes();
  readonly #lines = new LineIndex();
  #last: { prompt: PromptBlocks; call: ModelCall } | undefined;
  #compactions = 0;
  /** Calls since the newest compaction. */
  #calls = 0;

  constructor(tally: Tally, job: Job, rules: ContinuityRules) {
    this.#tally = tally;
    this.#job = job;
    this.#rules = rules;
  }

  take(call: ModelCall, prompt: PromptBlocks): void {
    const tally = this.#tally;
    const last = this.#last;
    this.#last = { prompt, call };
    this.#calls++;
    if (last && last.prompt.epoch !== prompt.epoch) {
      this.#compactions++;
      this.#calls = 1;
      if (last.call.turnId === call.turnId) tally.insideTurns++;
    } else if (last && !this.#continues(last.prompt, prompt)) tally.broken++;
    if (isValidSequence(prompt.messages) !== undefined) tally.invalid++;
    const state = this.#job.states[call.index];
    const isChecked = this.#calls <= CHECKED_FIRST || this.#calls % CHECKED_EVERY === 0;
    if (this.#compactions === 0 || !isChecked || !state) return;
    const where = `${this.#job.session.name}, call ${call.index}, compaction ${this.#compactions}`;
    tally.add(checkContinuity(prompt, state, this.#rules, this.#lines), state, where);
    if (isOverShare(state, this.#rules)) tally.overShare++;
  }

  #continues({ messages: before }: PromptBlocks, { messages: now }: PromptBlocks): boolean {
    return before.every((message, index) => {
      const other = now[index];
      return other === message || (other && this.#bytes.of(other) === this.#bytes.of(message));
    });
  }

  end(): void {
    this.#tally.compactions += this.#compactions;
    this.#tally.fewestCompactions = Math.min(this.#tally.fewestCompactions, this.#compactions);
  }
}

export async function measureContinuity(
  policy: ContextPolicy,
  jobs: readonly Job[],
  rules: ContinuityRules,
): Promise<ContinuityScore> {
  const tally = new Tally();
  for (const job of jobs) {
    const session = await policy.open(job.session);
    const run = new Run(tally, job, rules);
    try {
      for (const call of job.session.calls) {
        run.take(call, await session.assemble(call));
        await session.settle(call);
      }
    } finally {
      await session.close?.();
    }
    run.end();
  }
  const { compactions, fewestCompactions, insideTurns, contexts, overShare, invalid, broken, examples } =
    tally;
  return {
    policy: policy.name,
    compactions,
    fewestCompactions,
    insideTurns,
    contexts,
    overShare,
    held: tally.held,
    invalid,
    broken,
    whole: tally.whole.value,
    examples,
  };
}
