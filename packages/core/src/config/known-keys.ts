/** Known keys of each place in the configuration, for suggestions on a mistyped one. */
import type * as zod from "zod";
import { recordOf } from "../data/record-fields.ts";
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

/** Keys of bundled runtimes, whose settings the runtime reads itself. */
const RUNTIME_KEYS: Readonly<Record<string, readonly string[]>> = {
  codex: ["command", "sandbox", "context", "compaction"],
  "claude-cli": ["command", "login", "context"],
  acp: ["agents", "agentId"],
};
const ACP_AGENT_KEYS = "command args env cwd mode model login context startSeconds".split(" ");

/** Paths of the settings of runtimes, as `KEY_NOTES` has them. */
export function runtimeKeyPaths(): string[] {
  const paths = Object.entries(RUNTIME_KEYS).flatMap(([id, keys]) =>
    keys.map((key) => `plugins.entries.${id}.config.${key}`),
  );
  return [...paths, ...ACP_AGENT_KEYS.map((key) => `plugins.entries.acp.config.agents.<>.${key}`)];
}

/** Keys in the settings of runtimes that none of them reads: the path and the known keys. */
export function unknownRuntimeKeys(root: unknown): { path: string[]; known: readonly string[] }[] {
  const entries = recordOf(recordOf(recordOf(root)["plugins"])["entries"]);
  const found: { path: string[]; known: readonly string[] }[] = [];
  const look = (value: unknown, path: string[], known: readonly string[]): void => {
    for (const key of Object.keys(recordOf(value)))
      if (!known.includes(key)) found.push({ path: [...path, key], known });
  };
  for (const [id, known] of Object.entries(RUNTIME_KEYS)) {
    const config = recordOf(entries[id])["config"];
    const path = ["plugins", "entries", id, "config"];
    look(config, path, known);
    if (id !== "acp") continue;
    for (const [name, agent] of Object.entries(recordOf(recordOf(config)["agents"])))
      look(agent, [...path, "agents", name], ACP_AGENT_KEYS);
  }
  return found;
}

/** The end of a sentence about an unknown name; empty where no known name is similar. */
export function proposal(wanted: string, known: readonly string[]): string {
  const [best] = nearest(wanted, known);
  return best === undefined ? "" : ` Did you mean ${best}?`;
}
