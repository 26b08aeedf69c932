/** The temporary folder and the cache of compiled code that the jobs of one run share; both go with the run. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MEMORY = "/dev/shm";
/** Far more than the tests write at a time: at the end of memory the system kills programs. */
const LEAST_FREE_BYTES = 4 * 1024 ** 3;

function hasMemory(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= LEAST_FREE_BYTES;
}

/**
 * Variables for the jobs. A temporary folder in memory spares the tests the disk's `fsync`; proofs keep the disk. The cache
 * spares each process the compilation of what another has compiled.
 */
export function testPlaces(): NodeJS.ProcessEnv {
  const isProof = process.env["PAGURUS_PROVE"] === "1";
  // The name is short: a path of a unix socket takes 107 bytes.
  const root = mkdtempSync(join(!isProof && hasMemory() ? MEMORY : tmpdir(), "pt-"));
  process.once("exit", () => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));
  const temporary = join(root, "t");
  const compiled = join(root, "c");
  for (const folder of [temporary, compiled]) mkdirSync(folder, { mode: 0o700 });
  return { TMPDIR: temporary, NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? compiled };
}
