/** An epoch: what stands before the messages that a session's contexts keep verbatim. Its bytes never change. */
import { createHash } from "node:crypto";
import type { AgentMessage, UserMessage } from "../../contract/message.ts";
import { renderSummary } from "../../contract/summary.ts";
import type { Chapter } from "./chapters.ts";
import type { Frontier } from "./store/types.ts";

export interface StringUse {
  value: string;
  /** Messages of the agent or the user that hold it. */
  said: number;
  /** Ordinal of the newest of them. */
  last: number;
}

/** What code collects of the summarized prefix and carries from epoch to epoch. */
export interface Facts {
  /** Entries of user messages that the head shows verbatim, oldest first. */
  users: readonly string[];
  /** User messages that summaries stand for. */
  earlierUsers: number;
  /** Sentences of users that had to leave the verbatim part and still hold, oldest first. */
  rules: readonly string[];
  /** One line each call that changed something, oldest first. */
  work: readonly string[];
  /** Those of `work` since the user last spoke that may have changed something: they are told whatever has to go. */
  effects: readonly string[];
  /** What calls reported as under way or to be done, and no later one as done. */
  reports: readonly { topic: string; label: string }[];
  /** Calls without a result and turns that did not end well, one line each. */
  open: readonly string[];
  /** As `fileLine` writes them, last use last. */
  files: readonly string[];
  /** Exact strings that the agent or the user wrote themselves. */
  strings: readonly StringUse[];
  /** Messages that have left so far; `last` of a string counts in them. */
  left: number;
  /** What the agent said last before the kept messages; empty where that is kept. */
  lastAnswer: string;
}

/** A live message that no entry holds, kept in its place until the epoch ends. */
export interface Volatile {
  message: AgentMessage;
  /** Entry it stands behind; the epoch's id where that is the head. */
  after: string;
}

export interface Stub {
  text: string;
  /** Entry that made the result worthless; off the path, the result is shown again. */
  by: string;
}

/** Names a call of an assistant message among an epoch's stubs. */
export function callKey(entryId: string, callId: string): string {
  return `${entryId}/${callId}`;
}

export interface Epoch {
  /** Names the epoch and its bytes: the same for the same head and cut. */
  id: string;
  /** Text of the summary, without delimiters. */
  head: string;
  /** What of the head the next one takes over; absent where that begins anew. */
  chapters?: readonly Chapter[];
  /** Pinned entries that the head was made for. */
  pins?: readonly string[];
  firstKeptEntryId: string;
  /** Input of the turn that the cut splits; it stands before the head. */
  splitInputId?: string;
  facts: Facts;
  /** Texts that stand for the words of kept results by entry id, of kept calls by `callKey`. */
  stubs: Readonly<Record<string, Stub>>;
  /** Entries of the path when it was made; a compaction entry behind them is a newer one. */
  madeAt: number;
  /** Estimated tokens of the context when it began. */
  startTokens: number;
}

export const NO_FACTS: Facts = {
  users: [],
  earlierUsers: 0,
  rules: [],
  work: [],
  effects: [],
  reports: [],
  open: [],
  files: [],
  strings: [],
  left: 0,
  lastAnswer: "",
};

export function hashOf(...parts: readonly string[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length}:${part}`);
  return hash.digest("hex").slice(0, 16);
}

export function epochId(head: string, firstKeptEntryId: string, stubs: Epoch["stubs"] = {}): string {
  const left = Object.entries(stubs).flatMap(([id, { text }]) => [id, text]);
  return hashOf("epoch", head, firstKeptEntryId, ...left);
}

/** The epoch that a frontier was published with; undefined before the first. */
export function epochOf(frontier: Frontier): Epoch | undefined {
  const { firstKeptEntryId, details } = frontier;
  if (firstKeptEntryId === null || typeof details !== "object" || details === null) return undefined;
  const kept = details as Partial<Omit<Epoch, "firstKeptEntryId">>;
  if (typeof kept.head !== "string" || typeof kept.id !== "string") return undefined;
  return {
    id: kept.id,
    head: kept.head,
    firstKeptEntryId,
    ...(kept.splitInputId === undefined ? {} : { splitInputId: kept.splitInputId }),
    facts: { ...NO_FACTS, ...kept.facts },
    ...(kept.chapters === undefined ? {} : { chapters: kept.chapters }),
    ...(kept.pins === undefined ? {} : { pins: kept.pins }),
    stubs: kept.stubs ?? {},
    madeAt: kept.madeAt ?? 0,
    startTokens: kept.startTokens ?? 0,
  };
}

/** What of an epoch is kept with its frontier. */
export function epochDetails(epoch: Epoch): unknown {
  const { firstKeptEntryId: _, ...details } = epoch;
  return details;
}

const headMessages = new WeakMap<Epoch, UserMessage>();

/** The head as the model sees it. The same object for the same epoch, so that its tokens are counted once. */
export function headMessage(epoch: Epoch): UserMessage {
  const known = headMessages.get(epoch);
  if (known) return known;
  const message: UserMessage = { role: "user", content: renderSummary(epoch.head) };
  headMessages.set(epoch, message);
  return message;
}
