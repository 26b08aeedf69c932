/**
 * The parts of the build that a command loads at its start, as scripts (scripts/start-scripts.ts). Node's compile cache keeps only the code
 * of a module that was compiled at load; V8 compiles most functions at their first call, a quarter of a turn's processor time.
 * The compiled code of a script is kept as it is at the end of the process, with each function that ran.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { getCompileCacheDir } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { Script } from "node:vm";
import { isMainThread } from "node:worker_threads";
import { crc32 } from "node:zlib";

/** Loads a module, relative to the file that the script belongs to. */
type Load = (specifier: string) => Promise<unknown>;
type Run = (
  imported: Readonly<Record<string, unknown>>,
  url: string,
  load: Load,
) => Readonly<Record<string, unknown>>;

/** Kinds of processes, which use different functions: the code of each is kept by itself. */
const KINDS: ReadonlySet<string> = new Set(["run", "chat", "status", "sessions", "serve", "resident-host"]);
/** Processes of a kind that write its code: the first one, and others that call functions that the first did not. */
const GENERATIONS = 3;
/** Before the code: its checksum, 4 bytes; the generation, 1; nothing, 3, since V8 copies what is not aligned. */
const HEAD_BYTES = 8;

interface Kept {
  script: Script;
  file: string;
  generation: number;
}

/** State of the process, as is the code that V8 has compiled. */
const unwritten: Kept[] = [];
const flags = new Map<string, { value: string; initial: string }>();

/** Runs the script beside a file of the build, which imports for it and exports what it returns. */
export function startScript(
  url: string,
  load: Load,
  imported: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const filename = fileURLToPath(url).replace(/\.js$/, ".script");
  const source = readFileSync(filename, "latin1");
  const folder = isMainThread ? getCompileCacheDir() : undefined;
  const script =
    folder === undefined ? new Script(source, { filename }) : keptScript(filename, source, folder);
  return (script.runInThisContext() as Run)(imported, url, load);
}

function keptScript(filename: string, source: string, folder: string): Script {
  const file = join(folder, `${basename(filename, ".script")}.${kind()}`);
  const code = codeIn(file);
  const script = new Script(source, { filename, ...(code && { cachedData: code.subarray(HEAD_BYTES) }) });
  const generation = code === undefined || script.cachedDataRejected === true ? 0 : (code[4] ?? 0);
  if (generation < GENERATIONS) {
    if (unwritten.length === 0) process.once("exit", writeStartScripts);
    unwritten.push({ script, file, generation: generation + 1 });
  }
  return script;
}

function kind(): string {
  const [, , command = "chat"] = process.argv;
  if (command === "-p" || command === "--print") return "run";
  return KINDS.has(command) ? command : "other";
}

/** The kept code, after its head; undefined without one, or for one that is not whole. */
function codeIn(file: string): Buffer | undefined {
  try {
    const code = readFileSync(file);
    return crc32(code.subarray(4)) === code.readUInt32LE(0) ? code : undefined;
  } catch {
    // Not written yet, or shorter than its head.
    return undefined;
  }
}

/** Writes the code that the scripts have compiled until now. */
export function writeStartScripts(): void {
  // V8 takes code back for the same flags alone.
  for (const [name, { initial }] of flags) setFlagsFromString(`--${name}=${initial}`);
  for (const { script, file, generation } of unwritten.splice(0)) {
    const code = Buffer.concat([Buffer.alloc(HEAD_BYTES), script.createCachedData()]);
    code[4] = generation;
    code.writeUInt32LE(crc32(code.subarray(4)));
    try {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(`${file}.${process.pid}`, code, { mode: 0o600 });
      renameSync(`${file}.${process.pid}`, file);
    } catch {
      // A full disk, or a folder that was removed: the next process compiles again.
      break;
    }
  }
  for (const [name, { value }] of flags) setFlagsFromString(`--${name}=${value}`);
}

/** Sets a flag of V8 whose value at the start of the process was this one. */
export function setProcessFlag(name: string, value: string, initial: string): void {
  flags.set(name, { value, initial });
  setFlagsFromString(`--${name}=${value}`);
}
