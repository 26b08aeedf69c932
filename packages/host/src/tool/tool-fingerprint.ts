/** Schemas of tools without unseen characters, and the fingerprint of a set of tools. */
import { createHash } from "node:crypto";
import type { ToolSpec } from "@pagurus/contract/harness/tool";
import { plainTexts } from "@pagurus/core/data/plain-text";
import { canonicalJson } from "@pagurus/core/data/canonical-json";

// A tool's schema is one object per process; a set is created per turn.
const schemas = new WeakMap<object, string>();
const plainSchemas = new WeakMap<object, ToolSpec["parameters"]>();

function canonicalSchema(parameters: ToolSpec["parameters"]): string {
  const known = schemas.get(parameters) ?? canonicalJson(parameters);
  schemas.set(parameters, known);
  return known;
}

/** The schema without unseen characters in its texts; the same object each time, as `canonicalSchema` needs it. */
export function plainSchema(parameters: ToolSpec["parameters"]): ToolSpec["parameters"] {
  const known = plainSchemas.get(parameters) ?? (plainTexts(parameters) as ToolSpec["parameters"]);
  plainSchemas.set(parameters, known);
  return known;
}

/** A digest of names, descriptions and schemas, in the order of names. */
export function fingerprintOf(specs: readonly ToolSpec[]): string {
  const sorted = specs.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const digest = createHash("sha256");
  for (const { name, description, parameters } of sorted)
    digest.update(JSON.stringify([name, description, canonicalSchema(parameters)]));
  return digest.digest("hex");
}
