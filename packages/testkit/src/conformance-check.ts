/** Outcomes of a check besides passing: `Violation` and `NotOffered`. */
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import type {} from "@pagurus/core/data/record-fields";

/** Members that an engine may leave out; a check that needs one is skipped without it. */
export type OptionalMember =
  | "bootstrap"
  | "ingestBatch"
  | "afterTurn"
  | "interceptCompaction"
  | "maintain"
  | "prepareSubagentSpawn"
  | "onSubagentEnded"
  | "commitTurn"
  | "dispose";

/** The tested part violates the check. */
export class Violation extends Error {
  override readonly name = "Violation";
}

/** The tested part does not offer what the check needs. */
export class NotOffered extends Error {
  override readonly name = "NotOffered";
}

/** Throws `Violation` with the sentence unless the condition holds. */
export function must(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new Violation(sentence);
}

/** Throws `NotOffered` with the sentence unless the condition holds. */
export function onlyIf(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new NotOffered(sentence);
}

/** A member bound to its engine; `NotOffered` where it is absent. */
export function member<K extends OptionalMember>(
  engine: ContextEngine,
  name: K,
): NonNullable<ContextEngine[K]> {
  const value = engine[name];
  onlyIf(typeof value === "function", `The engine has no ${name}().`);
  return value.bind(engine) as NonNullable<ContextEngine[K]>;
}

/** A short form of a value for a sentence. */
export function shown(value: unknown): string {
  if (value instanceof Error) return `the error "${value.message}"`;
  if (typeof value === "function") return "a function";
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
