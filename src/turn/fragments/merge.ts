import { PagurusError } from "../../contract/errors.ts";
import type { AdditionalContext, AdditionalContextEntry } from "../../contract/fragment.ts";
import { markOf } from "./render.ts";

/** A map as its entries, in the order of their keys' bytes, as Codex sorts them. */
export type ContextEntries = readonly (readonly [key: string, entry: AdditionalContextEntry])[];

/** Copies and checks what a caller gives. Throws `usage_invalid`. */
export function contextEntries(given: AdditionalContext | null | undefined): ContextEntries {
  if (given === null || given === undefined) return [];
  if (typeof given !== "object" || Array.isArray(given))
    throw new PagurusError(
      "usage_invalid",
      "additionalContext has to be an object of {value, kind} by key, or null; give it as one.",
    );
  const entries = Object.entries(given).map(([key, entry]) => [key, checked(key, entry)] as const);
  return entries.toSorted(([one], [other]) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
}

function checked(key: string, entry: unknown): AdditionalContextEntry {
  const { value, kind } = (entry ?? {}) as { value?: unknown; kind?: unknown };
  if (typeof value === "string" && (kind === "untrusted" || kind === "application")) return { value, kind };
  const what = typeof value === "string" ? "kind is not untrusted or application" : "value is no text";
  throw new PagurusError(
    "usage_invalid",
    `The entry "${key.slice(0, 80)}" of additionalContext cannot be used: its ${what}; give {value: string, kind: "untrusted" | "application"}.`,
  );
}

/** What a set makes of the one before it. */
export interface Merged {
  /** In order. */
  inject: { key: string; entry: AdditionalContextEntry; mark: string }[];
  /** Key to mark. */
  current: Map<string, string>;
  /** The current set is not the one before it. */
  changed: boolean;
}

/**
 * The given entries become the current set; those are injected that it did not hold, or held with another value or
 * kind, and those that `isVisible` denies: the model no longer sees what it was told.
 */
export function mergeContext(
  before: ReadonlyMap<string, string>,
  given: ContextEntries,
  isVisible: (key: string, mark: string) => boolean,
): Merged {
  const marked = given.map(([key, entry]) => ({ key, entry, mark: markOf(entry) }));
  const current = new Map(marked.map(({ key, mark }) => [key, mark]));
  return {
    inject: marked.filter(({ key, mark }) => before.get(key) !== mark || !isVisible(key, mark)),
    current,
    changed: current.size !== before.size || [...current].some(([key, mark]) => before.get(key) !== mark),
  };
}
