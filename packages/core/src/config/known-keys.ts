/** Known keys of each place in the configuration, for suggestions on a mistyped one. */
import type * as zod from "zod";
import { nearest } from "../platform/nearest.ts";

/** What is read of a schema's definition; the library's own types have one for each kind. */
interface Definition {
  type?: string;
  shape?: Record<string, zod.ZodType>;
  catchall?: zod.ZodType;
  innerType?: zod.ZodType;
  valueType?: zod.ZodType;
  element?: zod.ZodType;
  options?: readonly zod.ZodType[];
}

function definitionOf(schema: zod.ZodType): Definition {
  const { def } = schema as unknown as { def: Definition };
  return def.innerType ? definitionOf(def.innerType) : def;
}

/** Known keys of the object at this path; none where any key is allowed. */
export function keysAt(schema: zod.ZodType, path: readonly PropertyKey[]): string[] {
  const { shape, catchall, valueType, element, options } = definitionOf(schema);
  if (options) return [...new Set(options.flatMap((option) => keysAt(option, path)))];
  const [key, ...rest] = path;
  if (key === undefined) return Object.keys(shape ?? {});
  const named = shape && Object.hasOwn(shape, key) ? shape[String(key)] : undefined;
  const inner = named ?? valueType ?? element ?? catchall;
  return inner ? keysAt(inner, rest) : [];
}

/** The end of a sentence about an unknown name; empty where no known name is similar. */
export function proposal(wanted: string, known: readonly string[]): string {
  const [best] = nearest(wanted, known);
  return best === undefined ? "" : ` Did you mean ${best}?`;
}
