/**
 * Additional context: what a program around the conversation (a browser, an automation) tells the model beside the
 * user's words. Source: the `additionalContext` of Codex's `turn/start` and `turn/steer`.
 */

/** `application`: instructions of the program that runs the turn; `untrusted`: what it has from elsewhere. */
export type FragmentKind = "untrusted" | "application";

export interface AdditionalContextEntry {
  /** As the model gets it: not escaped, cut to about 1,000 tokens. */
  value: string;
  kind: FragmentKind;
}

/** The complete current set: a key that is left out is forgotten. Keys are the caller's own; any text will do. */
export type AdditionalContext = Record<string, AdditionalContextEntry>;

/** One entry as the model sees it, in a message of its own. */
export interface Fragment {
  readonly key: string;
  readonly kind: FragmentKind;
  /** A provider without a developer role gets it as a user's message. */
  readonly role: "user" | "developer";
  /** With its wrapper, cut. */
  readonly text: string;
  /** Transcript entry that holds it. */
  readonly entryId: string;
  /** What it was injected with. */
  readonly with: "input" | "steering";
}

/** `customType` of a transcript entry that holds one fragment (`FragmentNote`). */
export const FRAGMENT_ENTRY = "pagurus.fragment";
/** `customType` of a transcript entry that says which set is current (`FragmentSetNote`); the newest counts. */
export const FRAGMENT_SET_ENTRY = "pagurus.additional_context";

/** Data of a `pagurus.fragment` entry. */
export interface FragmentNote {
  key: string;
  kind: FragmentKind;
  /** Stands for kind and whole value: two with the same mark say the same. */
  mark: string;
  text: string;
  /** `next`: before the message that follows; `input`: before the input of the entry's turn. */
  place: "next" | "input";
}

/** Data of a `pagurus.additional_context` entry: key and mark of each current entry. */
export interface FragmentSetNote {
  current: [key: string, mark: string][];
}
