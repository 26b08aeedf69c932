import { PagurusError } from "@pagurus/contract/errors";
import type { AdditionalContext, AdditionalContextEntry } from "@pagurus/contract/fragment";
import { markOf } from "./render.ts";

/** A map as its entries, sorted by the bytes of their keys, as Codex sorts them. */
export type ContextEntries = readonly (readonly [key: string, entry: AdditionalContextEntry])[];

/** Copies and validates a caller's additional context. Throws `usage_invalid`. */
export function contextEntries(input: AdditionalContext | null | undefined): ContextEntries {
  if (input === null || input === undefined) return [];
  if (typeof input !== "object" || Array.isArray(input))
    throw new PagurusError(
      "usage_invalid",
      "additionalContext has to be an object of {value, kind} by key, or null; give it as one.",
    );
  const entries = Object.entries(input).map(([key, entry]) => [key, checked(key, entry)] as const);
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

/** Result of merging a new set into the one before it. */
export interface Merged {
  /** In order. */
  inject: { key: string; entry: AdditionalContextEntry; mark: string }[];
  /** Key to mark. */
  current: Map<string, string>;
  /** The new set differs from the one before it. */
  changed: boolean;
}

/**
 * Makes the input entries the current set; injects those that it lacked or held with another value or kind, and those that `isVisible`
 * denies: the model no longer sees them.
 */
export function mergeContext(
  before: ReadonlyMap<string, string>,
  input: ContextEntries,
  isVisible: (key: string, mark: string) => boolean,
): Merged {
  const marked = input.map(([key, entry]) => ({ key, entry, mark: markOf(entry) }));
  const current = new Map(marked.map(({ key, mark }) => [key, mark]));
  return {
    inject: marked.filter(({ key, mark }) => before.get(key) !== mark || !isVisible(key, mark)),
    current,
    changed: current.size !== before.size || [...current].some(([key, mark]) => before.get(key) !== mark),
  };
}
