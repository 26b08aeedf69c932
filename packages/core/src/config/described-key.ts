/**
 * A key of the configuration with its meaning and default, for people: the source of the tables in docs/configuration.md and of the
 * descriptions of `pagurus config schema`. Both are Markdown; an agent of `agents.list` has the keys of `agents.defaults`.
 */
import type { ZodOptional, ZodType } from "zod";

/** An optional key: `key(z.int().min(1), "sessions that may work at once", "16")`. */
export function key<Type extends ZodType>(type: Type, meaning: string, fallback?: string): ZodOptional<Type> {
  return type.optional().meta({ description: meaning, fallback });
}

/** A key that its object must have. */
export function requiredKey<Type extends ZodType>(type: Type, meaning: string, fallback?: string): Type {
  return type.meta({ description: meaning, fallback });
}
