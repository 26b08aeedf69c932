/** Runs the compiler over the kit's types. */
import { join } from "node:path";
import { ROOT, runCommand } from "../../../scripts/command.ts";

const DEADLINE_MS = 120_000;

/** What differs, by name, a line each, with the compiler's own words; empty where nothing does. `root`: a copy of the checkout. */
export async function driftOf(root: string = ROOT): Promise<string> {
  const compiler = join(ROOT, "node_modules/.bin/tsc");
  const args = ["-p", join(root, "test/real/openclaw/types"), "--noErrorTruncation"];
  const { code, stdout, stderr } = await runCommand(compiler, args, { deadlineMs: DEADLINE_MS });
  const text = (stdout + stderr).replaceAll("\\n", "\n").trim();
  return code === 0 || text !== "" ? text : `tsc ended with code ${code}`;
}
