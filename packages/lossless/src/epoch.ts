/** Epochs: the head before the messages that a session's contexts keep verbatim. An epoch's bytes never change. */
import { createHash } from "node:crypto";
import type { AgentMessage, UserMessage } from "@pagurus/contract/message";
import type { LastingRules } from "@pagurus/core/compaction/summary/lasting-rules";
import { renderSummary } from "@pagurus/contract/engine/summary";
import type { Chapter } from "./head/chapters.ts";
import type { Trouble } from "./head/trouble.ts";
import type { Frontier } from "./store/store-types.ts";
import { defined } from "@pagurus/core/data/defined";

export interface StringUse {
  value: string;
  /** Number of messages in which the agent or the user wrote it. */
  said: number;
  /** Ordinal of the newest of them. */
  last: number;
}

/** Facts that code collects from the summarized prefix and carries from epoch to epoch. */
export interface Facts {
  /** Entries of user messages that the head shows verbatim, oldest first. */
  users: readonly string[];
  /** Number of user messages that are only in summaries. */
  earlierUsers: number;
  /** Binding sentences of user messages that are no longer verbatim, oldest first. */
  rules: readonly string[];
  /** What the user asks of all later answers, and what no longer holds; absent where the history was not read for it. */
  lasting?: LastingRules;
  /** Errors of calls, with what ended them, oldest first. */
  troubles: readonly Trouble[];
  /** Open steps of the newest plan. */
  plan: readonly string[];
  /** One line each call that changed something, oldest first. */
  work: readonly string[];
  /** Lines of `work` since the user's last message that may have changed something: they are always shown. */
  effects: readonly string[];
  /** Steps that calls reported as in progress or to do, and no later call as done. */
  reports: readonly { topic: string; label: string }[];
  /** Calls without a result and turns that did not end well, one line each. */
  open: readonly string[];
  /** As `fileLine` writes them, last use last. */
  files: readonly string[];
  /** Exact strings that the agent or the user wrote. */
  strings: readonly StringUse[];
  /** Number of messages summarized so far; `last` of a string is an index among them. */
  left: number;
  /** The agent's last message before the kept ones; empty when it is kept. */
  lastAnswer: string;
}

/** Place of a message before all others, head included. */
export const BEFORE_ALL = "";

/** A live message without an entry, kept in its place until the epoch ends. */
export interface Volatile {
  message: AgentMessage;
  /** Entry that it follows; the epoch's id when it follows the head, or `BEFORE_ALL`. */
  after: string;
  /**
   * For a block of recalled passages: its turn, and the id of the epoch that it ends with. `fills`: no passages, only what fills the budget.
   * `passing`: made where people only talk, for its turn; later ones can replace it.
   */
  recall?: { turnId: string; epoch: string; fills?: true; passing?: true };
}

/** True for a message that the turn needs: it does not only fill the budget, and is no passing block of another turn. */
export function isWanted({ recall }: Volatile, turnId: string | undefined): boolean {
  return recall?.fills !== true && (recall?.passing !== true || recall.turnId === turnId);
}

export interface Stub {
  text: string;
  /** Entry that made the result obsolete; when it is off the path, the result is shown again. */
  by: string;
}

/** Key of an assistant message's call among an epoch's stubs. */
export function callKey(entryId: string, callId: string): string {
  return `${entryId}/${callId}`;
}

export interface Epoch {
  /** Id of the epoch and its bytes: equal for the same head and cut. */
  id: string;
  /** Text of the summary, without delimiters. */
  head: string;
  /** Chapters that the next head continues; absent when the next head is rendered from scratch. */
  chapters?: readonly Chapter[];
  /** Pinned entries in the head. */
  pins?: readonly string[];
  firstKeptEntryId: string;
  /** Input of the turn that the cut splits; it comes before the head. */
  splitInputId?: string;
  facts: Facts;
  /** Replacement texts of kept results by entry id, of kept calls by `callKey`. */
  stubs: Readonly<Record<string, Stub>>;
  /** Length of the path at creation; a compaction entry after it is newer. */
  madeAt: number;
  /** Estimated tokens of the context at its start. */
  startTokens: number;
}

export const NO_FACTS: Facts = {
  users: [],
  earlierUsers: 0,
  rules: [],
  troubles: [],
  plan: [],
  work: [],
  effects: [],
  reports: [],
  open: [],
  files: [],
  strings: [],
  left: 0,
  lastAnswer: "",
};

/** Whether people only talk: no work was done and no file was touched. */
export function isTalk({ work, files }: Pick<Facts, "work" | "files">): boolean {
  return work.length === 0 && files.length === 0;
}

export function hashOf(...parts: readonly string[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length}:${part}`);
  return hash.digest("hex").slice(0, 16);
}

export function epochId(head: string, firstKeptEntryId: string, stubs: Epoch["stubs"] = {}): string {
  const left = Object.entries(stubs).flatMap(([id, { text }]) => [id, text]);
  return hashOf("epoch", head, firstKeptEntryId, ...left);
}

/** The epoch of a frontier; undefined before the first one. */
export function epochOf(frontier: Frontier): Epoch | undefined {
  const { firstKeptEntryId, details } = frontier;
  if (firstKeptEntryId === null || typeof details !== "object" || details === null) return undefined;
  const kept = details as Partial<Omit<Epoch, "firstKeptEntryId">>;
  if (typeof kept.head !== "string" || typeof kept.id !== "string") return undefined;
  return {
    id: kept.id,
    head: kept.head,
    firstKeptEntryId,
    ...defined({ splitInputId: kept.splitInputId }),
    facts: { ...NO_FACTS, ...kept.facts },
    ...defined({ chapters: kept.chapters, pins: kept.pins }),
    stubs: kept.stubs ?? {},
    madeAt: kept.madeAt ?? 0,
    startTokens: kept.startTokens ?? 0,
  };
}

/** The part of an epoch that is stored with its frontier. */
export function epochDetails(epoch: Epoch): unknown {
  const { firstKeptEntryId: _, ...details } = epoch;
  return details;
}

const headMessages = new WeakMap<Epoch, UserMessage>();

/** The head as a message. The same object for the same epoch, so that its tokens are counted once. */
export function headMessage(epoch: Epoch): UserMessage {
  const known = headMessages.get(epoch);
  if (known) return known;
  const message: UserMessage = { role: "user", content: renderSummary(epoch.head) };
  headMessages.set(epoch, message);
  return message;
}
