/**
 * Additional context: what a program around the conversation (a browser, an automation) passes to the model besides the user's
 * input. Source: the `additionalContext` of Codex's `turn/start` and `turn/steer`.
 */

/** `application`: instructions of the program that runs the turn; `untrusted`: data it has from elsewhere. */
export type FragmentKind = "untrusted" | "application";

export interface AdditionalContextEntry {
  /** As the model gets it: unescaped, cut to about 1,000 tokens. */
  value: string;
  kind: FragmentKind;
}

/** The complete current set: a key that is left out is dropped. Keys are the caller's own and may be any text. */
export type AdditionalContext = Record<string, AdditionalContextEntry>;

/** One entry as the model sees it, in a message of its own. */
export interface Fragment {
  readonly key: string;
  readonly kind: FragmentKind;
  /** Sent as a user message to a provider without a developer role. */
  readonly role: "user" | "developer";
  /** With its wrapper, truncated. */
  readonly text: string;
  /** Transcript entry that holds it. */
  readonly entryId: string;
  /** The kind of input it was injected with. */
  readonly with: "input" | "steering";
}

/** `customType` of a transcript entry that holds one fragment (`FragmentNote`). */
export const FRAGMENT_ENTRY = "pagurus.fragment";
/** `customType` of a transcript entry that records which set is current (`FragmentSetNote`); the newest counts. */
export const FRAGMENT_SET_ENTRY = "pagurus.additional_context";

/** Data of a `pagurus.fragment` entry. */
export interface FragmentNote {
  key: string;
  kind: FragmentKind;
  /** Hash of kind and whole value: equal marks mean equal content. */
  mark: string;
  text: string;
  /** `next`: before the message that follows; `input`: before the input of the entry's turn. */
  place: "next" | "input";
}

/** Data of a `pagurus.additional_context` entry: key and mark of each current entry. */
export interface FragmentSetNote {
  current: [key: string, mark: string][];
}
