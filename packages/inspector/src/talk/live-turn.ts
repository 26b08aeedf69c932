/** Rows of the turn that runs, made from its events as they come. */
import type { ServerEvent } from "@pagurus/api/types";
import {
  assistantItems,
  compactionText,
  degradedText,
  endSubagent,
  subagentItem,
  subagentOf,
  textItems,
  userItem,
  withResult,
  type MarkItem,
  type TalkItem,
  type ToolItem,
} from "./talk-items.ts";

/** Output of a running tool that is kept, in characters of its end. */
const MOST_OUTPUT = 40_000;

export class LiveTurn {
  readonly work: string;
  #items: TalkItem[] = [];
  #text = "";
  #thinking = "";
  /** Number of the answer whose words come now; part of their keys. */
  #answer = 0;
  #marks = 0;
  /** The reason for which the turn waits, as a sentence. */
  doing = "";

  constructor(work: string) {
    this.work = work;
  }

  /** Number of complete answers: a turn sends a request for each. */
  get steps(): number {
    return this.#answer;
  }

  get items(): TalkItem[] {
    const key = `${this.work}~${this.#answer}`;
    return [
      ...this.#items,
      ...(this.#thinking === ""
        ? []
        : [{ kind: "thinking" as const, key: `${key}t`, text: this.#thinking, isLive: this.#text === "" }]),
      ...(this.#text === "" ? [] : textItems(this.#text, key, true)),
    ];
  }

  /** True where the rows have changed. */
  take({ event }: ServerEvent): boolean {
    switch (event.type) {
      case "text.delta":
        this.#text += event.delta;
        this.doing = "";
        return true;
      case "thinking.delta":
        this.#thinking += event.delta;
        this.doing = "";
        return true;
      case "message":
        this.#message(event.message);
        return true;
      case "tool.started":
        if (!this.#change(event.toolCallId, (tool) => tool))
          this.#items.push(newTool(event.toolCallId, event.toolName, event.arguments));
        return true;
      case "tool.output":
        return this.#change(event.toolCallId, (tool) => ({
          ...tool,
          output: (tool.output + event.chunk).slice(-MOST_OUTPUT),
        }));
      case "tool.completed":
        return this.#completed(event.toolCallId, event.outcome);
      case "plan.updated":
        this.#items = this.#items.filter(({ kind }) => kind !== "plan");
        this.#items.push({ kind: "plan", key: `${this.work}:plan`, steps: event.steps });
        return true;
      default:
        return this.#other(event);
    }
  }

  #other(event: ServerEvent["event"]): boolean {
    switch (event.type) {
      case "work.resumed":
        // The words that were cut off come again.
        [this.#text, this.#thinking] = ["", ""];
        return true;
      case "model.request":
        this.doing = "Waiting for the model …";
        return true;
      case "model.retry":
        this.doing = `The model did not answer (${event.reason}); try ${event.attempt + 1} follows …`;
        return true;
      case "work.waiting":
        this.doing = event.message;
        return true;
      case "model.fallback":
        return this.#mark("warn", `${event.from} did not answer (${event.reason}); ${event.to} takes over.`);
      case "notice":
        return this.#mark("quiet", event.detail);
      case "context.degraded":
        return this.#mark("warn", degradedText(event));
      case "compaction.started":
        this.doing = "Summarizing older messages …";
        return true;
      case "compaction.completed":
        this.doing = "";
        return this.#mark("quiet", compactionText(event));
      case "compaction.failed":
        this.doing = "";
        return this.#mark("warn", `Not compacted: ${event.reason}`);
      case "subagent.started":
        this.#items.push(subagentItem(event.childSessionKey));
        return true;
      case "subagent.ended":
        return endSubagent(this.#items, event.childSessionKey, event.outcome);
      case "turn.failed":
        return this.#mark("error", event.error.message);
      default:
        return false;
    }
  }

  #message(message: Extract<ServerEvent["event"], { type: "message" }>["message"]): void {
    const key = message.entryId ?? `${this.work}:${this.#items.length}`;
    if (message.role === "user") {
      this.#items.push(userItem(message, key, { entryId: message.entryId }));
    } else if (message.role === "assistant") {
      [this.#text, this.#thinking] = ["", ""];
      this.#answer += 1;
      const made = assistantItems(message, key, message.entryId);
      for (const item of made)
        // A tool may have begun before its message is complete.
        if (item.kind !== "tool" || !this.#change(item.callId, (tool) => ({ ...tool, args: item.args })))
          this.#items.push(item);
    } else this.#completed(message.toolCallId, message);
  }

  /** A tool that began a subagent makes way for it. */
  #completed(callId: string, result: Parameters<typeof withResult>[1]): boolean {
    const isKnown = this.#change(callId, (tool) => withResult(tool, result));
    const at = this.#items.findLastIndex((item) => item.kind === "tool" && item.callId === callId);
    const tool = this.#items[at];
    const begun = tool?.kind === "tool" ? subagentOf(tool) : undefined;
    if (!begun) return isKnown;
    const known = this.#items.find((item) => item.kind === "subagent" && item.session === begun.session);
    this.#items[at] = known?.kind === "subagent" ? { ...known, task: begun.task } : begun;
    this.#items = this.#items.filter((item) => item !== known);
    return true;
  }

  #mark(tone: MarkItem["tone"], text: string): true {
    this.#marks += 1;
    this.#items.push({ kind: "mark", key: `${this.work}:mark${this.#marks}`, tone, text });
    return true;
  }

  #change(callId: string, to: (tool: ToolItem) => ToolItem): boolean {
    const at = this.#items.findLastIndex((item) => item.kind === "tool" && item.callId === callId);
    const tool = this.#items[at];
    if (tool?.kind !== "tool") return false;
    this.#items[at] = to(tool);
    return true;
  }
}

function newTool(callId: string, name: string, args: Record<string, unknown>): ToolItem {
  return {
    kind: "tool",
    key: `tool:${callId}`,
    callId,
    name,
    args,
    output: "",
    images: [],
    state: "running",
  };
}
