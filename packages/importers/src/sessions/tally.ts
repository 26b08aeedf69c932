/** Counts of what an import took, kept and left out, and the sentences on it. */
import { count, plural } from "@pagurus/core/data/plain-numbers";
import type { AgentMessage } from "@pagurus/contract/message";

/** Unreadable lines that are named one by one; of more only the number is reported. */
const NAMED = 5;

export class Tally {
  readonly messages = { user: 0, assistant: 0, toolResult: 0 };
  toolCalls = 0;
  images = 0;
  /** Texts that a model saw and that are not the user's. */
  notices = 0;
  /** Pieces of additional context. */
  fragments = 0;
  /** Compactions and other summaries. */
  summaries = 0;
  /** Tool calls that got a result saying that theirs is unknown. */
  interrupted = 0;
  /** Parts and lines that are kept as data no model sees, by kind. */
  readonly kept = new Map<string, number>();
  /** Lines without content of the conversation, by kind. */
  readonly leftOut = new Map<string, number>();
  readonly unreadable: { line: number; problem: string }[] = [];
  #unreadable = 0;
  /** The reader's remarks, as sentences. */
  readonly remarks: string[] = [];

  get messageCount(): number {
    return this.messages.user + this.messages.assistant + this.messages.toolResult;
  }

  get unreadableCount(): number {
    return this.#unreadable;
  }

  message(message: AgentMessage): void {
    this.messages[message.role] += 1;
    if (typeof message.content === "string") return;
    for (const part of message.content) {
      if (part.type === "toolCall") this.toolCalls += 1;
      if (part.type === "image") this.images += 1;
    }
  }

  keep(kind: string): void {
    this.kept.set(kind, (this.kept.get(kind) ?? 0) + 1);
  }

  leaveOut(kind: string): void {
    this.leftOut.set(kind, (this.leftOut.get(kind) ?? 0) + 1);
  }

  cannotRead(line: number, problem: string): void {
    this.#unreadable += 1;
    if (this.unreadable.length < NAMED) this.unreadable.push({ line, problem });
  }

  /** One sentence each; the first has the counts. */
  sentences(): string[] {
    const { user, assistant, toolResult } = this.messages;
    const extra = [
      this.images > 0 ? plural(this.images, "image") : "",
      this.summaries > 0 ? plural(this.summaries, "summary", "summaries") : "",
      this.notices > 0 ? plural(this.notices, "notice") : "",
      this.fragments > 0
        ? plural(this.fragments, "piece of additional context", "pieces of additional context")
        : "",
    ].filter((text) => text !== "");
    const sentences = [
      `${plural(this.messageCount, "message")} (${user} of the user, ${assistant} of the assistant, ${toolResult} of tools), ${plural(this.toolCalls, "tool call")}${extra.map((text) => `, ${text}`).join("")}.`,
    ];
    if (this.interrupted > 0)
      sentences.push(`${plural(this.interrupted, "tool call")} without a result got one that says so.`);
    if (this.kept.size > 0) sentences.push(`Kept as data that no model sees: ${kinds(this.kept)}.`);
    if (this.leftOut.size > 0)
      sentences.push(`Left out, no words of the conversation: ${kinds(this.leftOut)}.`);
    if (this.#unreadable > 0) {
      const named = this.unreadable.map(({ line, problem }) => `line ${line} (${problem})`);
      const more = this.#unreadable > NAMED ? `, and ${this.#unreadable - NAMED} more` : "";
      sentences.push(
        `${plural(this.#unreadable, "line")} cannot be read, kept as data: ${named.join(", ")}${more}.`,
      );
    }
    return [...sentences, ...this.remarks];
  }
}

function kinds(map: ReadonlyMap<string, number>): string {
  return [...map]
    .toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .map(([kind, value]) => `${kind} ${count(value)}`)
    .join(", ");
}
