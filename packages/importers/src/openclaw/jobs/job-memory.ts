/** Remembers by their ids there which jobs of OpenClaw were created here, so that one that its owner removed stays removed. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { isRecord, parseJson } from "@pagurus/core/data/record-fields";
import { ensurePrivateDir, writeFileAtomic } from "@pagurus/core/platform/atomic-files";

export interface JobMemory {
  /** File of the ids, for the report. */
  readonly file: string;
  has(sourceId: string): boolean;
  /** Throws the system's errors. */
  add(sourceId: string): void;
}

/** In the home, for example `{"jobs": ["daily-mail"]}`. */
const NAME = "openclaw-jobs.json";

/** Throws `import_invalid` for a file that was damaged, and the system's errors. */
export function jobMemory(home: string): JobMemory {
  const file = join(home, NAME);
  const ids = existsSync(file) ? readIds(file) : new Set<string>();
  return {
    file,
    has: (sourceId) => ids.has(sourceId),
    add: (sourceId) => {
      ids.add(sourceId);
      ensurePrivateDir(home);
      writeFileAtomic(file, `${JSON.stringify({ jobs: [...ids] }, undefined, 2)}\n`);
    },
  };
}

function readIds(file: string): Set<string> {
  const stored = parseJson(readFileSync(file, "utf8"));
  if (!isRecord(stored) || !Array.isArray(stored["jobs"]))
    throw new PagurusError(
      "import_invalid",
      `${file}, the list of the jobs that were created before, cannot be read; repair it, or remove it and take every job again.`,
    );
  return new Set(stored["jobs"].map(String));
}
