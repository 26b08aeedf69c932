/**
 * Caches that a file was found valid, so that the next start need not load the schema library. Contains a hash and key
 * paths, no values.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "../platform/atomic-files.ts";
import { SCHEMA_FINGERPRINT } from "./config-schema.ts";

export interface Verdict {
  warnings: string[];
  ignored: (string | number)[][];
}

interface Marker extends Verdict {
  hash: string;
}

function markerFile(home: string): string {
  return join(home, ".config-validated.json");
}

/** The hash covers the file's bytes and the schema: a new schema checks an old file again. */
function hashOf(text: string): string {
  return createHash("sha256").update(SCHEMA_FINGERPRINT).update("\0").update(text).digest("hex");
}

/** The cached result for exactly this text; undefined when the check must run. */
export function readVerdict(home: string, text: string): Verdict | undefined {
  try {
    const marker = JSON.parse(readFileSync(markerFile(home), "utf8")) as Partial<Marker>;
    if (marker.hash !== hashOf(text)) return undefined;
    if (!Array.isArray(marker.warnings) || !Array.isArray(marker.ignored)) return undefined;
    return { warnings: marker.warnings, ignored: marker.ignored };
  } catch {
    // No marker, or not one of ours: the check runs.
    return undefined;
  }
}

export function writeVerdict(home: string, text: string, verdict: Verdict): void {
  const marker: Marker = { hash: hashOf(text), warnings: verdict.warnings, ignored: verdict.ignored };
  try {
    writeFileAtomic(markerFile(home), `${JSON.stringify(marker)}\n`);
  } catch {
    // In a read-only home the next start repeats the check, nothing else.
    return;
  }
}
