/**
 * Positions of fragments in a context. The host places them, by the entry of the message that they were injected before: no engine receives
 * them, and within an epoch each keeps its place.
 */
import {
  FRAGMENT_ENTRY,
  FRAGMENT_SET_ENTRY,
  type FragmentNote,
  type FragmentSetNote,
} from "@pagurus/contract/fragment";
import type { AgentMessage, UserMessage } from "@pagurus/contract/message";
import type { ContextNote, ContextSlice } from "@pagurus/contract/session/writer";

export interface PlacedFragment {
  entryId: string;
  note: FragmentNote;
  message: UserMessage;
  /** Entry of the message that it comes before; null: at the end; undefined: its place is out of reach. */
  before: string | null | undefined;
}

// The same message object for the same entry at every call, so that values cached for it stay valid.
const messages = new WeakMap<FragmentNote, UserMessage>();

/** The fragments of a slice in their order. */
export function fragmentsOf({ notes }: Pick<ContextSlice, "notes">): PlacedFragment[] {
  return (notes ?? []).flatMap((note) => {
    const data = fragmentNote(note);
    if (!data) return [];
    const message = messages.get(data) ?? fragmentMessage(note.entryId, data);
    messages.set(data, message);
    const before = data.place === "input" ? note.inputEntryId : (note.nextEntryId ?? null);
    return [{ entryId: note.entryId, note: data, message, before }];
  });
}

function fragmentNote({ customType, data }: ContextNote): FragmentNote | undefined {
  if (customType !== FRAGMENT_ENTRY) return undefined;
  const { key, kind, mark, text } = (data ?? {}) as Partial<FragmentNote>;
  const isNote = typeof key === "string" && typeof mark === "string" && typeof text === "string";
  return isNote && (kind === "untrusted" || kind === "application") ? (data as FragmentNote) : undefined;
}

function fragmentMessage(entryId: string, { key, kind, text }: FragmentNote): UserMessage {
  return { role: "user", content: text, entryId, fragment: { key, kind } };
}

/** The set that is current at the end of a slice, key to mark. A set from before the slice is lost with its fragments. */
export function currentSet({ notes }: Pick<ContextSlice, "notes">): Map<string, string> {
  const newest = notes?.findLast(({ customType }) => customType === FRAGMENT_SET_ENTRY);
  const { current } = (newest?.data ?? {}) as Partial<FragmentSetNote>;
  return new Map(Array.isArray(current) ? current.filter(isMark) : []);
}

function isMark(pair: unknown): pair is [key: string, mark: string] {
  return Array.isArray(pair) && typeof pair[0] === "string" && typeof pair[1] === "string";
}

/** Inserts the fragments whose place the context contains. */
export function placeFragments(
  context: AgentMessage[],
  fragments: readonly PlacedFragment[],
): AgentMessage[] {
  if (fragments.length === 0) return context;
  const byEntry = Map.groupBy(fragments, ({ before }) => before);
  const at = (before: string | null): AgentMessage[] =>
    (byEntry.get(before) ?? []).map(({ message }) => message);
  const placed = context.flatMap((message) =>
    message.entryId === undefined ? [message] : [...at(message.entryId), message],
  );
  return [...placed, ...at(null)];
}

export function isFragment(
  message: AgentMessage | undefined,
): message is UserMessage & Required<Pick<UserMessage, "fragment">> {
  return message?.role === "user" && message.fragment !== undefined;
}
