/** Compaction at 80 % of the window: one summary of everything before the kept tail. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { ContextPolicy, PolicyRun, PromptBlocks } from "../../../packages/replay/src/context-policy.ts";
import type { ModelCall, RecordedSession } from "../../../packages/replay/src/recorded-session.ts";
import { headMessage, styleName, writeStrings, writeSummary, type HeadStyle } from "./head.ts";
import { History } from "./history.ts";

const SUMMARY_TOKENS = 4_000;

/** Tokens that stay verbatim, as in the published simulation. */
export function tailTokens(window: number): number {
  return Math.min(20_000, window / 10);
}

class Compacted implements PolicyRun {
  readonly #history: History;
  readonly #window: number;
  readonly #style: HeadStyle;
  #cut = 0;
  #summary: string | undefined;
  #head: readonly AgentMessage[] = [];
  /** Inputs of the live turn at the time of the compaction: they precede the summary until the next one. */
  #inputs: readonly AgentMessage[] = [];
  #compactions = 0;

  constructor(session: RecordedSession, window: number, style: HeadStyle) {
    this.#history = new History(session);
    this.#window = window;
    this.#style = style;
  }

  async assemble(call: ModelCall): Promise<PromptBlocks> {
    const most = 0.8 * this.#window;
    const before = [...this.#inputs, ...this.#head];
    if (this.#history.promptTokens(before, this.#cut, call) > most) await this.#compact(call);
    const messages = [...this.#inputs, ...this.#head, ...this.#history.slice(this.#cut, call.end)];
    return { messages, epoch: String(this.#compactions) };
  }

  async #compact(call: ModelCall): Promise<void> {
    const cut = this.#history.cut(call, tailTokens(this.#window), this.#cut);
    if (cut <= this.#cut) return;
    const { writing, strings } = this.#style;
    const budget = SUMMARY_TOKENS / this.#history.session.factor;
    const messages = this.#history.slice(this.#cut, cut);
    const span = { messages, previousSummary: this.#summary, number: ++this.#compactions };
    this.#summary = await writeSummary(writing, span, strings ? budget / 2 : budget);
    const list = strings ? await writeStrings(this.#history.slice(0, cut), this.#summary, budget / 2) : "";
    this.#head = [headMessage([this.#summary, list].filter((text) => text !== "").join("\n\n"))];
    this.#inputs = this.#history.inputsBefore(call, cut);
    this.#cut = cut;
  }

  settle(): void {
    // A compaction is made when a prompt needs it.
  }
}

/** Compacts when a prompt would exceed 80 % of the window: a summary of 4,000 tokens and the newest messages. */
export function compaction(window: number, style: HeadStyle): ContextPolicy {
  return {
    name: `compaction at 80 %, ${styleName(style)}`,
    limit: window,
    open: (session) => new Compacted(session, window, style),
  };
}
