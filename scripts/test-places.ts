/** The temporary folder that the jobs of one run share, and the cache of compiled code, which the next run takes up. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./command.ts";

const MEMORY = "/dev/shm";
/** Far more than the tests write at a time: at the end of memory the system kills programs. */
const LEAST_FREE_BYTES = 4 * 1024 ** 3;

/** By path and content of a module, so that a changed one is compiled again. */
const COMPILED = join(ROOT, "node_modules/.cache/tests-compiled");
/** Entries of the cache; modules in temporary folders, whose names never come again, add up. */
const MOST_COMPILED = 20_000;

function pruneCompiled(): void {
  if (!existsSync(COMPILED)) return;
  if (readdirSync(COMPILED, { recursive: true }).length > MOST_COMPILED)
    rmSync(COMPILED, { recursive: true, force: true });
}

function hasMemory(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= LEAST_FREE_BYTES;
}

/**
 * Variables for the jobs. A temporary folder in memory spares the tests the disk's `fsync`; proofs keep the disk. The cache
 * spares each process the compilation of what another has compiled, in this run or an earlier one.
 */
export function testPlaces(): NodeJS.ProcessEnv {
  const isProof = process.env["PAGURUS_PROVE"] === "1";
  // The name is short: a path of a unix socket takes 107 bytes.
  const root = mkdtempSync(join(!isProof && hasMemory() ? MEMORY : tmpdir(), "pt-"));
  process.once("exit", () => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));
  const temporary = join(root, "t");
  mkdirSync(temporary, { mode: 0o700 });
  pruneCompiled();
  return { TMPDIR: temporary, NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? COMPILED };
}
