/** One record of a conversation: a message, a call with its result, or what a program wrote beside them. */
export interface KeptPart {
  kind: "text" | "thinking" | "call" | "result" | "image" | "data";
  text: string;
  /** Of a tool. */
  name?: string;
}

/** `data`: no message; what a program wrote for itself, or a copy of messages. */
export const ROLES = ["user", "assistant", "tool", "system", "summary", "data"] as const;
export type Role = (typeof ROLES)[number];

export interface KeptRecord {
  role: Role;
  parts: KeptPart[];
  /** Further words of the record, which belong to no part. */
  rest: string;
  /** Milliseconds since the epoch. */
  at?: number;
  /** Identifies the record in its file where the file is rewritten as a whole: a later record with the same key takes its place. */
  key?: string;
  /** The conversation's id, where the record names it. */
  conversation?: string;
  parent?: string;
  folder?: string;
  title?: string;
  /** Of the program that wrote it, where the record names it. */
  version?: string;
  /** It has words in places where its format has no message. */
  isUnread?: boolean;
}

/** All words of a record, for the search. */
export function wordsOf({ parts, rest }: Pick<KeptRecord, "parts" | "rest">): string {
  const lines = parts.map(({ name, text }) => (name === undefined ? text : `${name}\n${text}`));
  return [...lines, rest].filter((line) => line !== "").join("\n");
}
