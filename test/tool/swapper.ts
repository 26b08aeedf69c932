/** A program that swaps a folder and a link as fast as it can, for some seconds. */
import { fileURLToPath } from "node:url";
import { findProgram } from "../../packages/core/src/platform/executables.ts";

/** `renameat2` with `RENAME_EXCHANGE`, which swaps two names at once. */
const EXCHANGE: Partial<Record<NodeJS.Architecture, number>> = { x64: 316, arm64: 276 };
const PERL =
  "$| = 1; my ($name, $link, $seconds, $call) = @ARGV; my $until = time + $seconds; print qq(ready\\n);" +
  " while (time < $until) { syscall($call + 0, -100, $name, -100, $link, 2) for 1 .. 1000 }";

/** The command; in Perl where available, since Node has no call that swaps two names without a gap. */
export function swapCommand(name: string, link: string, seconds: number): string[] {
  const call = process.platform === "linux" ? EXCHANGE[process.arch] : undefined;
  const perl = findProgram("perl", { env: process.env }).file;
  if (perl !== undefined && call !== undefined)
    return [perl, "-e", PERL, name, link, String(seconds), String(call)];
  const program = fileURLToPath(new URL("swapper.child.ts", import.meta.url));
  return [process.execPath, program, name, link, String(seconds)];
}
