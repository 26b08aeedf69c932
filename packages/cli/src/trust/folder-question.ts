/** Asks the user, once for each folder, whether what is in it may decide something. */
import { escapedUnseen } from "@pagurus/core/data/plain-text";
import { loadConfig } from "@pagurus/core/config/load-config";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { FolderTrust, recordTrust, trustKey } from "@pagurus/core/config/folder-trust";
import { oneLine } from "@pagurus/host/command/layout";
import { askLine } from "../chat/permission-prompt.ts";
import { printLine, styleFor, type Cli } from "../cli.ts";

/** The trust of folders for this command. `all`: `--trust`. */
export function folderTrust(cli: Cli, all: boolean | undefined): FolderTrust {
  const home = resolveHome(cli.env);
  return new FolderTrust({ home, folders: loadConfig({ home }).config.trust?.folders, all });
}

/**
 * Whether the folder is trusted. Asks on a terminal if there is no answer yet, and stores what the user says; without a terminal, and
 * for an empty answer, it is not. `reasons`: one line each, what in the folder would decide what.
 */
export async function trusts(
  cli: Cli,
  trust: FolderTrust,
  { cwd, reasons }: { cwd: string; reasons: readonly string[] },
): Promise<boolean> {
  const known = trust.answer(cwd);
  if (known !== undefined) return known;
  const folder = trustKey(cwd);
  const style = styleFor(cli.stderr, cli.env);
  const lines = [
    style("yellow", `Do you trust ${shown(folder)}?`),
    ...reasons.map((reason) => `    ${shown(reason)}`),
    "    Until you do, nothing in it decides an address, a program, a hook or a permission.",
    style("bold", "[y] yes, from now on  [n] no: "),
  ];
  const line = await askLine(cli, lines.join("\n"));
  if (line === undefined) return false;
  const answer = line.trim().toLowerCase();
  // An empty line is no answer: the next command asks again.
  if (answer === "") return false;
  const isYes = answer === "y" || answer === "yes";
  recordTrust(resolveHome(cli.env), cwd, isYes);
  if (!isYes) printLine(cli.stderr, "note: not trusted; pagurus trust add changes that");
  return isYes;
}

function shown(text: string): string {
  return escapedUnseen(oneLine(text, 300));
}
