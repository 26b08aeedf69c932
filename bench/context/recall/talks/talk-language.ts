/**
 * Sentences of a language that made conversations consist of. The two parts have no sentence, name or value in common, so that what is tuned
 * with one can be reported with the other.
 */
import type { Split } from "../cases.ts";

/** A person in the forms that the sentences need: `{P}`, and `{G}` for the owner of something. */
export type Person = readonly [plain: string, owner?: string];

export interface FactKind {
  /** Statement with `{P}` or `{G}`, if it is about a person, and `{V}`. */
  says: string;
  asks: string;
  /** One for each person; a single one for a fact about the user. */
  values: readonly string[];
}

export interface LanguagePart {
  people: readonly Person[];
  /** People that no message names. */
  strangers: readonly Person[];
  facts: readonly FactKind[];
  /** Questions about what no message mentions. */
  never: readonly string[];
  chat: readonly string[];
  answers: readonly string[];
}

export interface TalkLanguage {
  name: string;
  script: string;
  parts: Readonly<Record<Split, LanguagePart>>;
}
