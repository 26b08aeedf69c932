/** A DAG of summaries, made and swapped in at the trigger only: leaves over spans, condensed nodes over leaves. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { ContextPolicy, PolicyRun, PromptBlocks } from "../../../packages/replay/src/context-policy.ts";
import type { ModelCall, RecordedSession } from "../../../packages/replay/src/recorded-session.ts";
import { tailTokens } from "./compaction.ts";
import { headMessage, styleName, writeStrings, writeSummary, type HeadStyle } from "./head.ts";
import { History } from "./history.ts";

const LEAF_SOURCE_TOKENS = 20_000;
const NODE_TOKENS = 800;
/** Nodes of one depth that are condensed into one. */
const FANOUT = 4;
/** Maximum of nodes in the head: then the two oldest become one. */
const MOST_NODES = 6;
const STRINGS_TOKENS = 2_000;

interface Node {
  depth: number;
  text: string;
  message: AgentMessage;
}

class LazyDag implements PolicyRun {
  readonly #history: History;
  readonly #window: number;
  readonly #style: HeadStyle;
  #nodes: Node[] = [];
  #strings: readonly AgentMessage[] = [];
  #inputs: readonly AgentMessage[] = [];
  #cut = 0;
  #written = 0;
  #compactions = 0;

  constructor(session: RecordedSession, window: number, style: HeadStyle) {
    this.#history = new History(session);
    this.#window = window;
    this.#style = style;
  }

  get #head(): AgentMessage[] {
    return [...this.#nodes.map(({ message }) => message), ...this.#strings];
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
    this.#compactions++;
    await this.#addLeaves(cut);
    await this.#condense();
    const shown = this.#nodes.map(({ text }) => text).join("\n");
    const list = this.#style.strings
      ? await writeStrings(this.#history.slice(0, cut), shown, STRINGS_TOKENS / this.#history.session.factor)
      : "";
    this.#strings = list === "" ? [] : [headMessage(list)];
    this.#inputs = this.#history.inputsBefore(call, cut);
    this.#cut = cut;
  }

  /** Leaves of about equal size over what was removed from the tail. */
  async #addLeaves(cut: number): Promise<void> {
    const total = this.#history.tokens(this.#cut, cut);
    const size = total / Math.max(1, Math.round(total / LEAF_SOURCE_TOKENS));
    let from = this.#cut;
    while (from < cut) {
      let to = from + 1;
      while (to < cut && this.#history.tokens(from, to) < size) to++;
      const text = await this.#write({ messages: this.#history.slice(from, to) });
      this.#nodes.push({ depth: 0, text, message: headMessage(text) });
      from = to;
    }
  }

  /** Four of a depth become one of the next, oldest first; then the oldest two, until the head is small enough. */
  async #condense(): Promise<void> {
    for (let depth = 0; depth <= Math.max(...this.#nodes.map((node) => node.depth)); depth++) {
      for (;;) {
        const start = this.#nodes.findIndex((node) => node.depth === depth);
        const run = start < 0 ? [] : this.#nodes.slice(start, start + FANOUT);
        if (run.length < FANOUT || run.some((node) => node.depth !== depth)) break;
        await this.#merge(start, FANOUT, depth + 1);
      }
    }
    while (this.#nodes.length > MOST_NODES) await this.#merge(0, 2, this.#nodes[0]?.depth ?? 0);
  }

  async #merge(start: number, count: number, depth: number): Promise<void> {
    const merged = this.#nodes.slice(start, start + count);
    const text = await this.#write({
      messages: [],
      previousSummary: merged.map((node) => node.text).join("\n"),
    });
    this.#nodes.splice(start, count, { depth, text, message: headMessage(text) });
  }

  #write(span: { messages: readonly AgentMessage[]; previousSummary?: string }): Promise<string> {
    const budget = NODE_TOKENS / this.#history.session.factor;
    return writeSummary(this.#style.writing, { ...span, number: ++this.#written }, budget);
  }

  settle(): void {
    // Nodes are made when a prompt needs them.
  }
}

/** Leaves of 800 tokens over 20,000, four of a depth condensed into one, all at 80 % of the window. */
export function lazyDag(window: number, style: HeadStyle): ContextPolicy {
  return {
    name: `lazy DAG, ${styleName(style)}`,
    limit: window,
    open: (session) => new LazyDag(session, window, style),
  };
}
