/**
 * Remembers that a file was found valid, so that the next start need not load the schema library (70 ms).
 * Holds a hash and key paths, no values.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "../platform/files.ts";
import { SCHEMA_FINGERPRINT } from "./schema.ts";

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

/** Both the file's bytes and the schema count: a new schema judges an old file anew. */
function hashOf(text: string): string {
  return createHash("sha256").update(SCHEMA_FINGERPRINT).update("\0").update(text).digest("hex");
}

/** What the check of exactly this text found; undefined when it has to be made. */
export function readVerdict(home: string, text: string): Verdict | undefined {
  try {
    const marker = JSON.parse(readFileSync(markerFile(home), "utf8")) as Partial<Marker>;
    if (marker.hash !== hashOf(text)) return undefined;
    if (!Array.isArray(marker.warnings) || !Array.isArray(marker.ignored)) return undefined;
    return { warnings: marker.warnings, ignored: marker.ignored };
  } catch {
    // No marker, or one that is not ours: the check is made.
    return undefined;
  }
}

export function writeVerdict(home: string, text: string, verdict: Verdict): void {
  const marker: Marker = { hash: hashOf(text), warnings: verdict.warnings, ignored: verdict.ignored };
  try {
    writeFileAtomic(markerFile(home), `${JSON.stringify(marker)}\n`);
  } catch {
    // A home that cannot be written costs the next start the check, nothing else.
    return;
  }
}
