/** Checks a plugin's settings against the JSON Schema of its manifest, without running the plugin. */
import { createRequire } from "node:module";
import { types } from "node:util";
import { runInNewContext } from "node:vm";
import type * as zod from "zod";
import { addIssues } from "@pagurus/core/config/config-problems";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { PluginManifest } from "./manifest.ts";

/** Timeout of one plugin's settings check, ms; a usual one takes a few. */
const CHECK_MAX_MS = 2_000;

interface ConfigVerdict {
  /** One sentence each, with the key's path and the expected value; the plugin cannot be loaded with one. */
  problems: string[];
  /** One sentence each: unknown keys, a schema that cannot be read. */
  warnings: string[];
}

/** Checks `plugins.entries.<id>.config`; absent it counts as an empty object. Never throws. */
export function checkPluginConfig(manifest: PluginManifest, config: unknown): ConfigVerdict {
  const { id, configSchema } = manifest;
  if (configSchema === undefined) return { problems: [], warnings: [] };
  const base = ["plugins", "entries", id, "config"];
  try {
    const given = withoutPrototypes(config ?? {});
    const root = { plugins: { entries: { [id]: { config: given } } } };
    return addIssues(
      root,
      inTime(() => judge(configSchema, given)),
      base,
    );
  } catch (error) {
    // Some working plugins have such schemas: what cannot be checked is left to the plugin.
    const [line = ""] = messageOf(error).split("\n");
    const why = line.slice(0, 200).replace(/\.$/, "");
    return {
      problems: [],
      warnings: [
        `The settings of the plugin ${id} are not checked, because its configSchema cannot be read (${why}).`,
      ],
    };
  }
}

function judge(
  configSchema: NonNullable<PluginManifest["configSchema"]>,
  given: unknown,
): zod.core.$ZodIssue[] {
  const z = createRequire(import.meta.url)("zod") as typeof zod;
  // The library's type of a schema is narrower than the contents of a file; it throws for the rest.
  const schema = z.fromJSONSchema(configSchema as Parameters<typeof z.fromJSONSchema>[0]);
  return schema.safeParse(given, { reportInput: false }).error?.issues ?? [];
}

/** The timeout is an error of another realm. */
function messageOf(error: unknown): string {
  return types.isNativeError(error) ? error.message : toPagurusError(error).message;
}

/** Runs work with a timeout: a schema may be infinitely recursive, a pattern may backtrack forever. */
function inTime<T>(work: () => T): T {
  return runInNewContext("work()", { work }, { timeout: CHECK_MAX_MS }) as T;
}

/** Throws `config_invalid` with the first problem of a plugin's settings. */
export function assertPluginConfig(manifest: PluginManifest | undefined, config: unknown): void {
  if (!manifest) return;
  const [first, ...more] = checkPluginConfig(manifest, config).problems;
  if (first === undefined) return;
  const others = more.length === 0 ? "" : ` (and ${more.length} more)`;
  throw new PagurusError(
    "config_invalid",
    `${first.replace(/\.$/, "")}${others}; correct the plugin's settings.`,
    { details: { plugin: manifest.id, problems: [first, ...more] } },
  );
}

/** A copy with own keys only: a schema may name keys that every object inherits. */
function withoutPrototypes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPrototypes);
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.create(null) as Record<string, unknown>;
  for (const [key, inner] of Object.entries(value)) copy[key] = withoutPrototypes(inner);
  return copy;
}
