/** Rows of a conversation, made from the entries of its transcript in order. */
import type { AgentMessage, AssistantMessage, ImagePart, UserMessage } from "@pagurus/contract/message";
import type { CompactionEntry, TranscriptEntry } from "@pagurus/contract/session/transcript";
import { count } from "@pagurus/core/data/plain-numbers";
import { segmentsOf } from "./segments.ts";

/** A file or an output that came with a message, without being typed. */
export interface Attached {
  source: string;
  text: string;
}

export interface UserItem {
  kind: "user";
  key: string;
  entryId?: string | undefined;
  /** Entry before the message; null at the beginning. */
  before?: string | null | undefined;
  at?: string | undefined;
  text: string;
  attached: readonly Attached[];
  images: readonly ImagePart[];
}
export interface TextItem {
  kind: "text";
  key: string;
  entryId?: string | undefined;
  text: string;
  isLive: boolean;
}
export interface ThinkingItem {
  kind: "thinking";
  key: string;
  entryId?: string | undefined;
  text: string;
  isLive: boolean;
}
export interface ToolItem {
  kind: "tool";
  key: string;
  callId: string;
  entryId?: string | undefined;
  name: string;
  args: Record<string, unknown>;
  /** Output while it runs, and the result afterwards. */
  output: string;
  images: readonly ImagePart[];
  state: "running" | "done" | "failed";
}
export interface MarkItem {
  kind: "mark";
  key: string;
  tone: "quiet" | "warn" | "error";
  text: string;
  /** More words, which are folded. */
  detail?: string | undefined;
}
export interface PlanItem {
  kind: "plan";
  key: string;
  steps: readonly { step: string; status: string }[];
}
/** A conversation that the agent began for a part of its task. */
export interface SubagentItem {
  kind: "subagent";
  key: string;
  /** Key of its session. */
  session: string;
  task: string;
  state: "running" | "ended";
  /** Absent where only its end is known. */
  outcome?: string | undefined;
}
/** The end of a turn, with what a user does with its answer. */
export interface EndItem {
  kind: "end";
  key: string;
  turnId: string;
  /** The input of the turn. */
  input?: UserItem | undefined;
  /** The answer's words, to copy. */
  answer: string;
  facts: string;
}
export type TalkItem =
  | UserItem
  | TextItem
  | ThinkingItem
  | ToolItem
  | MarkItem
  | PlanItem
  | SubagentItem
  | EndItem;

export function userItem(
  message: UserMessage,
  key: string,
  place: { entryId?: string | undefined; before?: string | null | undefined; at?: string | undefined } = {},
): UserItem {
  const parts =
    typeof message.content === "string"
      ? [{ type: "text" as const, text: message.content }]
      : message.content;
  const texts = parts.filter((part) => part.type === "text");
  return {
    kind: "user",
    key,
    ...place,
    text: texts
      .filter(({ source }) => source === undefined)
      .map(({ text }) => text)
      .join("\n\n"),
    attached: texts.flatMap(({ source, text }) => (source === undefined ? [] : [{ source, text }])),
    images: parts.filter((part) => part.type === "image"),
  };
}

/** Rows of an answer's words, one for each segment. */
export function textItems(text: string, key: string, isLive: boolean, entryId?: string): TextItem[] {
  return segmentsOf(text).map((segment, at) => ({
    kind: "text",
    key: `${key}.${at}`,
    entryId,
    text: segment,
    isLive,
  }));
}

export function assistantItems(message: AssistantMessage, key: string, entryId?: string): TalkItem[] {
  const items: TalkItem[] = [];
  for (const [at, part] of message.content.entries()) {
    const own = `${key}:${at}`;
    if (part.type === "text") {
      if (part.text.trim() !== "") items.push(...textItems(part.text, own, false, entryId));
    } else if (part.type === "thinking") {
      if (part.thinking.trim() !== "")
        items.push({ kind: "thinking", key: own, entryId, text: part.thinking, isLive: false });
    } else
      items.push({
        kind: "tool",
        key: `tool:${part.id}`,
        callId: part.id,
        entryId,
        name: part.name,
        args: part.arguments,
        output: "",
        images: [],
        state: "running",
      });
  }
  return items;
}

export function withResult(
  tool: ToolItem,
  {
    content,
    isError,
  }: { content: readonly ({ type: "text"; text: string } | ImagePart)[]; isError: boolean },
): ToolItem {
  return {
    ...tool,
    output: content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n"),
    images: content.filter((part) => part.type === "image"),
    state: isError ? "failed" : "done",
  };
}

/** How the host's own tool answers: `Started the subagent main/sub-1. Its result …`. */
const STARTED = /^Started the subagent (.+\/sub-\d+)\. /;

/** The subagent that a call began; undefined for every other tool, and for one that began none. */
export function subagentOf({ name, args, output, state }: ToolItem): SubagentItem | undefined {
  const [, session] = name === "spawn_agent" && state === "done" ? (STARTED.exec(output) ?? []) : [];
  if (session === undefined) return undefined;
  const task = typeof args["task"] === "string" ? args["task"] : "";
  return subagentItem(session, task);
}

export function subagentItem(session: string, task = ""): SubagentItem {
  return { kind: "subagent", key: `subagent:${session}`, session, task, state: "running" };
}

/** Marks the subagent of a session as ended. False where no row has it. */
export function endSubagent(items: TalkItem[], session: string, outcome?: string): boolean {
  const at = items.findLastIndex((item) => item.kind === "subagent" && item.session === session);
  const item = items[at];
  if (item?.kind !== "subagent") return false;
  items[at] = { ...item, state: "ended", outcome: outcome ?? item.outcome };
  return true;
}

/** The result of a compaction, as a sentence. */
export function compactionText({
  tokensBefore,
  tokensAfter,
}: Pick<CompactionEntry, "tokensBefore" | "tokensAfter">): string {
  const after = tokensAfter === undefined ? "" : ` to ${count(tokensAfter)}`;
  return `Older messages were summarized: ${count(tokensBefore)}${after} tokens. You still see them all.`;
}

/** A degradation as a sentence. */
export function degradedText({ stage, reason }: { stage: string; reason: string }): string {
  return `Something failed, and the turn continued without it (${stage}): ${reason}`;
}

const ENDS: Readonly<Record<string, string>> = {
  aborted: "The turn was stopped.",
  interrupted: "The turn was cut off.",
};

interface OpenTurn {
  input: UserItem | undefined;
  answer: string;
  cost: number;
  tokens: number;
}

/** Makes rows of entries that are added oldest first. */
class Rows {
  readonly items: TalkItem[] = [];
  readonly #tools = new Map<string, number>();
  #turn: OpenTurn = { input: undefined, answer: "", cost: 0, tokens: 0 };
  #model = "";
  /** Sessions of the subagents that the open turn began. */
  readonly #subagents: string[] = [];

  add(entry: TranscriptEntry): void {
    if (entry.type === "message") this.#message(entry.message, entry);
    else if (entry.type === "compaction")
      this.items.push({
        kind: "mark",
        key: entry.id,
        tone: "quiet",
        text: compactionText(entry),
        detail: entry.summary,
      });
    else if (entry.type === "turn_commit") this.#end(entry);
    else if (entry.type === "custom") this.#custom(entry);
    else if (entry.type === "custom_message" && entry.display === true)
      this.items.push({ kind: "mark", key: entry.id, tone: "quiet", text: "A note", detail: entry.content });
  }

  #message(message: AgentMessage, { id, parentId, timestamp }: TranscriptEntry): void {
    if (message.role === "user") {
      const item = userItem(message, id, { entryId: id, before: parentId, at: timestamp });
      this.items.push(item);
      this.#turn.input ??= item;
    } else if (message.role === "assistant") {
      this.#changedModel(message, id);
      this.#turn.tokens += message.usage?.output ?? 0;
      this.#turn.cost += message.usage?.cost ?? 0;
      for (const item of assistantItems(message, id, id)) {
        if (item.kind === "tool") this.#tools.set(item.callId, this.items.length);
        if (item.kind === "text") this.#turn.answer += item.text;
        this.items.push(item);
      }
      if (message.errorMessage !== undefined && message.errorMessage !== "")
        this.items.push({ kind: "mark", key: `${id}!`, tone: "error", text: message.errorMessage });
    } else {
      const at = this.#tools.get(message.toolCallId);
      const tool = at === undefined ? undefined : this.items[at];
      if (at === undefined || tool?.kind !== "tool") return;
      const done = withResult(tool, message);
      const begun = subagentOf(done);
      this.items[at] = begun ?? done;
      if (begun) this.#subagents.push(begun.session);
    }
  }

  #changedModel({ provider, model }: AssistantMessage, id: string): void {
    if (model === undefined) return;
    const ref = provider === undefined ? model : `${provider}/${model}`;
    if (this.#model !== "" && this.#model !== ref)
      this.items.push({ kind: "mark", key: `${id}>`, tone: "quiet", text: `From here on ${ref} answers.` });
    this.#model = ref;
  }

  #end({ id, turnId, outcome, code }: Extract<TranscriptEntry, { type: "turn_commit" }>): void {
    const { input, answer, cost, tokens } = this.#turn;
    this.#turn = { input: undefined, answer: "", cost: 0, tokens: 0 };
    if (outcome === "failed")
      this.items.push({
        kind: "mark",
        key: `${id}!`,
        tone: "error",
        text: `The turn failed${code === undefined ? "" : ` (${code})`}.`,
      });
    else if (outcome !== "completed")
      this.items.push({ kind: "mark", key: `${id}!`, tone: "quiet", text: ENDS[outcome] ?? outcome });
    // A call without a result had none when the turn ended.
    for (const at of this.#tools.values()) {
      const tool = this.items[at];
      if (tool?.kind === "tool" && tool.state === "running")
        this.items[at] = {
          ...tool,
          state: "failed",
          output: tool.output === "" ? "No result." : tool.output,
        };
    }
    this.#tools.clear();
    for (const session of this.#subagents.splice(0)) endSubagent(this.items, session);
    if (input === undefined && answer === "") return;
    const facts = [
      this.#model,
      tokens > 0 ? `${count(tokens)} tokens out` : "",
      cost > 0 ? `$${cost.toFixed(cost < 0.01 ? 4 : 2)}` : "",
    ];
    this.items.push({
      kind: "end",
      key: id,
      turnId,
      input,
      answer,
      facts: facts.filter((fact) => fact !== "").join(" · "),
    });
  }

  #custom({ id, customType, data }: Extract<TranscriptEntry, { type: "custom" }>): void {
    const known = (data ?? {}) as Record<string, unknown>;
    const text = (name: string): string => (typeof known[name] === "string" ? known[name] : "");
    if (customType === "pagurus.degraded")
      this.items.push({
        kind: "mark",
        key: id,
        tone: "warn",
        text: degradedText({ stage: text("stage"), reason: text("reason") }),
      });
    else if (customType === "pagurus.subagent_result") {
      const session = text("childSessionKey");
      if (!endSubagent(this.items, session)) this.items.push({ ...subagentItem(session), state: "ended" });
    } else if (customType === "pagurus.model_fallback")
      this.items.push({
        kind: "mark",
        key: id,
        tone: "warn",
        text: `${text("from")} did not answer (${text("reason")}); ${text("to")} takes over.`,
      });
    else if (customType === "pagurus.engine_compaction" || customType === "pagurus.native_compaction")
      this.items.push({ kind: "mark", key: id, tone: "quiet", text: compactionText(known as never) });
    else if (customType === "pagurus.plan" && Array.isArray(known["steps"]))
      this.#plan({ kind: "plan", key: id, steps: known["steps"] as PlanItem["steps"] });
  }

  /** A turn shows its newest plan alone. */
  #plan(plan: PlanItem): void {
    const at = this.items.findLastIndex(({ kind }) => kind === "plan" || kind === "user");
    if (this.items[at]?.kind === "plan") this.items.splice(at, 1);
    this.items.push(plan);
    this.#tools.clear();
    for (const [index, item] of this.items.entries())
      if (item.kind === "tool" && item.state === "running") this.#tools.set(item.callId, index);
  }
}

export function itemsOf(entries: readonly TranscriptEntry[]): TalkItem[] {
  const rows = new Rows();
  for (const entry of entries) rows.add(entry);
  return rows.items;
}
