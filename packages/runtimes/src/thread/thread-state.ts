/**
 * What a native thread holds of the assembled context, for every runtime that authors threads. Within an epoch a thread only
 * grows, so a count and a hash decide whether it can continue. Source: the design, "Codex", seam `thread`.
 */
import { hash } from "node:crypto";
import type { AssembledContext, HarnessBinding, HarnessTurn } from "@pagurus/contract/harness/harness";
import type { AgentMessage } from "@pagurus/contract/message";

export function hashOf(text: string): string {
  return hash("sha256", text);
}

/** Identity of a message in a thread: its text and calls, not how the host stores it. A result is keyed by its call. */
function keyOf(message: AgentMessage): string {
  if (message.role === "toolResult") return `result ${message.toolCallId}`;
  if (typeof message.content === "string") return `${message.role} ${message.content.trim()}`;
  const parts: string[] = [];
  for (const part of message.content) {
    if (part.type === "text") parts.push(part.text);
    else if (part.type === "toolCall") parts.push(`call ${part.id}`);
    else if (part.type === "image") parts.push(`image ${hashOf(part.data)}`);
  }
  return `${message.role} ${parts.join("\n").trim()}`;
}

/** Number of messages of the assembled context in a thread, and their hash in order, which later ones extend. */
export interface Held {
  count: number;
  hash: string;
}

export const NOTHING_HELD: Held = { count: 0, hash: "" };

/** A message's newest hash, and what it was made of: a turn checks the whole thread, most of which the turn before has checked. */
const LINKS = new WeakMap<AgentMessage, { before: string; key: string; hash: string }>();

function linked(before: string, message: AgentMessage): string {
  const key = keyOf(message);
  const known = LINKS.get(message);
  // An engine may have changed a message of its own.
  if (known?.before === before && known.key === key) return known.hash;
  // The hash before has a fixed length, so the two parts cannot be split in another way.
  const link = hashOf(`${before}\n${key}`);
  LINKS.set(message, { before, key, hash: link });
  return link;
}

export function extended({ count, hash: known }: Held, messages: readonly AgentMessage[]): Held {
  return { count: count + messages.length, hash: messages.reduce(linked, known) };
}

/** What of the turn's context must be equal for a thread to continue; each runtime adds its own parts. */
export interface ContextIdentity {
  epoch: string | undefined;
  fingerprint: string | undefined;
  /** Hashes: of the tool catalog alone, never of engine output; of the system prompt. */
  tools: string;
  instructions: string;
}

export function contextIdentity(
  { tools }: HarnessTurn,
  { system, projection }: Pick<AssembledContext, "system" | "projection">,
): ContextIdentity {
  return {
    epoch: projection?.epoch,
    fingerprint: projection?.fingerprint,
    tools: tools.fingerprint,
    instructions: hashOf(system),
  };
}

/** Parts of an identity in the order in which they are compared, with what a difference is called. */
export type Differences<I> = readonly (readonly [keyof I, string])[];

export const CONTEXT_DIFFERENCES: Differences<ContextIdentity> = [
  ["tools", "another tool catalog"],
  ["epoch", "another epoch"],
  ["fingerprint", "another fingerprint of the context"],
  ["instructions", "other instructions"],
];

/** Undefined when all these parts are equal. */
export function differenceOf<I>(one: I, other: I, differences: Differences<I>): string | undefined {
  return differences.find(([field]) => one[field] !== other[field])?.[1];
}

/** What is known of a thread between turns. */
export interface ThreadContent {
  /** Later messages of a context are new to the thread. Absent when the program manages the context. */
  held?: Held | undefined;
  /** Transcript entry of the newest message that reached the thread. */
  anchor?: string | undefined;
  /** The program has compacted the thread since, which removed the fragments. */
  isCompacted?: boolean;
}

/** State of a binding, as it is stored with the session; each runtime adds the identity of its threads. */
export interface ThreadState extends ThreadContent {
  /** Set while a turn runs; found set later, it means that the thread's content is unknown. */
  openTurn?: string;
}

/** Undefined for a binding of another version or another program, which lacks one of `texts`. */
export function stateOf<S extends ThreadState>(
  { state }: HarnessBinding,
  texts: readonly (keyof S & string)[],
): S | undefined {
  const { count, hash: known } = (state["held"] ?? NOTHING_HELD) as Partial<Held>;
  if (typeof count !== "number" || typeof known !== "string") return undefined;
  return texts.every((field) => typeof state[field] === "string") ? (state as unknown as S) : undefined;
}

/** A bound thread whose content is known and whose identity is the turn's, or why a new one is needed. */
export type FoundThread<S> = { bound: true; nativeId: string; state: S } | { bound: false; reason: string };

export function foundThread<I, S extends I & ThreadState>(
  binding: HarnessBinding | undefined,
  read: (binding: HarnessBinding) => S | undefined,
  identity: I,
  differences: Differences<I>,
): FoundThread<S> {
  if (!binding) return { bound: false, reason: "no thread is bound" };
  const state = read(binding);
  if (!state) return { bound: false, reason: "the binding cannot be read" };
  if (state.openTurn !== undefined)
    return { bound: false, reason: "a turn on the thread did not end cleanly" };
  const reason = differenceOf<I>(state, identity, differences);
  return reason === undefined ? { bound: true, nativeId: binding.nativeId, state } : { bound: false, reason };
}

/** What a thread lacks of a history, and what it holds after that. */
export interface Lacking {
  held: Held | undefined;
  delta: AgentMessage[];
}

/** Undefined when the history is not what the thread holds. `keeps`: the program manages the context, and only later messages are new. */
export function lackingOf(
  { held, anchor }: ThreadContent,
  history: readonly AgentMessage[],
  keeps: boolean,
): Lacking | undefined {
  if (keeps) {
    const at = anchor === undefined ? -1 : history.findLastIndex(({ entryId }) => entryId === anchor);
    return at === -1 ? undefined : { held: undefined, delta: history.slice(at + 1) };
  }
  if (!held || history.length < held.count) return undefined;
  if (extended(NOTHING_HELD, history.slice(0, held.count)).hash !== held.hash) return undefined;
  const delta = history.slice(held.count);
  return { held: extended(held, delta), delta };
}
