/**
 * Ages old tool results in the context that is sent, for every engine; the transcript keeps them whole. A context ages only at a pause
 * after which the provider's prompt cache has expired. What is sent depends on the messages, their times and the
 * configuration alone, so requests after a pause share their beginning. Source: context-engine page, "Relationship to compaction and
 * memory"; the names are those of OpenClaw's `contextPruning`.
 */
import { ENTRY_TOOL } from "@pagurus/contract/harness/tool";
import type { AgentMessage, ToolResultMessage } from "@pagurus/contract/message";
import { intervalMs } from "../data/interval.ts";
import { fieldOf } from "../data/record-fields.ts";
import { matchesWildcard } from "../data/wildcard.ts";
import { messagesTokens, messageTokens } from "../tokens/message-tokens.ts";
import { trimToolResult } from "./trim.ts";

const DEFAULT_TTL = "1h";
/** Shares of the window: below the first nothing ages; above the second the oldest results are cleared. */
const SHORTEN_SHARE = 0.3;
const CLEAR_SHARE = 0.5;
/** Answers before the pause whose results stay as they are. */
const KEPT_ANSWERS = 3;
/** A result of more characters as it is sent is shortened, to this many. */
const SHORTENED_FROM = 4_000;
const SHORTENED_TO = 3_000;
/** Only a result of more characters as it is sent is worth clearing. */
const CLEARED_FROM = 500;

export interface AgeingSettings {
  /** Pause after which a context ages; undefined: never. */
  ttlMs: number | undefined;
  /** Names of tools, `*` matches any characters; `deny` wins. */
  allow: readonly string[] | undefined;
  deny: readonly string[];
  clears: boolean;
  placeholder: string | undefined;
}

/** The fields of `agents.defaults.contextPruning`. The configuration was validated; here a value of another type counts as absent. */
export function ageingSettings(config: unknown): AgeingSettings {
  const section = fieldOf(fieldOf(fieldOf(config, "agents"), "defaults"), "contextPruning");
  const tools = fieldOf(section, "tools");
  const clear = fieldOf(section, "hardClear");
  const [ttl, placeholder] = [fieldOf(section, "ttl"), fieldOf(clear, "placeholder")];
  const isOff = fieldOf(section, "mode") === "off";
  return {
    ttlMs: isOff ? undefined : intervalMs(typeof ttl === "string" ? ttl : DEFAULT_TTL),
    allow: namesOf(fieldOf(tools, "allow")),
    deny: namesOf(fieldOf(tools, "deny")) ?? [],
    clears: fieldOf(clear, "enabled") !== false,
    placeholder: typeof placeholder === "string" ? placeholder : undefined,
  };
}

function namesOf(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : undefined;
}

export interface AgeingInput {
  messages: readonly AgentMessage[];
  /** Index of the live turn's first message, which never ages, nor any after it. */
  liveFrom: number;
  /** Time of a message in the transcript, ms. */
  timeOf(message: AgentMessage): number | undefined;
  /** The result as it is sent if it does not age: cut to the limit for one result. Thresholds count this size. */
  asSent(result: ToolResultMessage): ToolResultMessage;
  window: number;
  /** Whether the model has the tool that returns an entry's text. */
  hasEntryTool: boolean;
}

export interface AgedResult {
  message: ToolResultMessage;
  trimmed: { fromBytes: number; toBytes: number; aged: "shortened" | "cleared" };
}

/** Chooses the results that have aged, and shortens them. */
export class Ageing {
  readonly #settings: AgeingSettings;
  /** The same object for the same result at every call, so that values cached for it stay valid. */
  readonly #made = new WeakMap<ToolResultMessage, Partial<Record<"shortened" | "cleared", AgedResult>>>();

  constructor(settings: AgeingSettings) {
    this.#settings = settings;
  }

  /** By the original message. */
  of(input: AgeingInput): ReadonlyMap<AgentMessage, AgedResult> {
    const aged = new Map<AgentMessage, AgedResult>();
    const { messages, window, hasEntryTool, asSent } = input;
    const old = messages.slice(0, this.#newestPause(input) ?? 0);
    let tokens = messagesTokens(old.map((each) => (each.role === "toolResult" ? asSent(each) : each)));
    if (old.length === 0 || tokens < window * SHORTEN_SHARE) return aged;
    const candidates = old.slice(0, keptFrom(old)).filter((message) => this.#mayAge(message));
    const age = (message: ToolResultMessage, how: "shortened" | "cleared"): void => {
      const made = this.#aged(message, how, hasEntryTool);
      tokens += messageTokens(made.message) - messageTokens(aged.get(message)?.message ?? asSent(message));
      aged.set(message, made);
    };
    for (const message of candidates)
      if (charactersOf(asSent(message)) > SHORTENED_FROM) age(message, "shortened");
    if (!this.#settings.clears) return aged;
    for (const message of candidates) {
      if (tokens <= window * CLEAR_SHARE) break;
      if (charactersOf(asSent(message)) > CLEARED_FROM) age(message, "cleared");
    }
    return aged;
  }

  /** Index of the newest message of a user, the input included, before which the conversation paused. */
  #newestPause({ messages, liveFrom, timeOf }: AgeingInput): number | undefined {
    const { ttlMs } = this.#settings;
    if (ttlMs === undefined) return undefined;
    let after: { index: number; time: number } | undefined;
    for (let index = Math.min(liveFrom, messages.length - 1); index >= 0; index--) {
      const message = messages[index];
      const time = message && timeOf(message);
      if (message === undefined || time === undefined) continue;
      if (after && after.time - time >= ttlMs) return after.index;
      after = message.role === "user" ? { index, time } : undefined;
    }
    return undefined;
  }

  #mayAge(message: AgentMessage): message is ToolResultMessage {
    if (message.role !== "toolResult") return false;
    const { allow, deny } = this.#settings;
    const isNamed = (names: readonly string[]): boolean =>
      names.some((name) => matchesWildcard(name, message.toolName));
    return (allow === undefined || isNamed(allow)) && !isNamed(deny);
  }

  #aged(message: ToolResultMessage, how: "shortened" | "cleared", hasEntryTool: boolean): AgedResult {
    const known = this.#made.get(message) ?? {};
    this.#made.set(message, known);
    return (known[how] ??=
      how === "cleared" ? this.#cleared(message, hasEntryTool) : shortenedResult(message, hasEntryTool));
  }

  #cleared(message: ToolResultMessage, hasEntryTool: boolean): AgedResult {
    const text = this.#settings.placeholder ?? placeholderFor(message, hasEntryTool);
    const fromBytes = Buffer.byteLength(textIn(message));
    const trimmed = { fromBytes, toBytes: Buffer.byteLength(text), aged: "cleared" as const };
    return { message: { ...message, content: [{ type: "text", text }] }, trimmed };
  }
}

function shortenedResult(message: ToolResultMessage, hasEntryTool: boolean): AgedResult {
  const tool = hasEntryTool ? ENTRY_TOOL : undefined;
  const { message: short, trimmed } = trimToolResult(message, SHORTENED_TO, tool);
  const bytes = Buffer.byteLength(textIn(message));
  return { message: short, trimmed: { fromBytes: bytes, toBytes: bytes, ...trimmed, aged: "shortened" } };
}

function placeholderFor({ entryId }: ToolResultMessage, hasEntryTool: boolean): string {
  const how = hasEntryTool ? `, which ${ENTRY_TOOL} gives` : "";
  const where = entryId === undefined ? "" : `; the whole result is entry ${entryId}${how}`;
  return `[Old tool result content cleared${where}]`;
}

/** Index of the first answer that is kept with its results; 0 if the messages have no more answers than that. */
function keptFrom(old: readonly AgentMessage[]): number {
  let left = KEPT_ANSWERS;
  for (let index = old.length - 1; index >= 0; index--)
    if (old[index]?.role === "assistant" && --left === 0) return index;
  return 0;
}

function charactersOf({ content }: ToolResultMessage): number {
  return content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
}

function textIn({ content }: ToolResultMessage): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
