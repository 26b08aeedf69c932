/** A note on the version of a wrapped program, which is asked for while the program runs, once for each file. */
import { statSync } from "node:fs";
import { isListed, versionIn } from "@pagurus/core/data/tried-programs";
import type { ProgramWrap, WrapLaunch } from "@pagurus/contract/harness/wrap";
import { realPath } from "@pagurus/core/platform/real-path";
import { outputOf } from "@pagurus/core/platform/start-program";
import { askedVersion, firstVersionNote, keepVersion } from "@pagurus/core/platform/version-notes";

const DEADLINE_MS = 20_000;

/** Undefined for a tried version, one that was reported before, and one that is not known when the signal fires. Never throws. */
export async function programVersionNote(
  { id }: Pick<ProgramWrap, "id">,
  { command, env }: Pick<WrapLaunch, "command" | "env">,
  { home, signal }: { home: string; signal: AbortSignal },
): Promise<string | undefined> {
  if (!isListed(id)) return undefined;
  try {
    const file = realPath(command);
    const { mtimeMs, size } = statSync(file);
    const stamp = `${file} ${mtimeMs} ${size}`;
    const known = askedVersion(home, id, stamp);
    const version =
      known ?? versionIn(await outputOf(command, ["--version"], { env, signal, timeout: DEADLINE_MS }));
    if (version === undefined) return undefined;
    if (known === undefined) keepVersion(home, id, { stamp, version });
    return firstVersionNote(home, id, version);
  } catch {
    return undefined;
  }
}
