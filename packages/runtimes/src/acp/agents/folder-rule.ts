/** What an agent would start from in a folder that the user does not trust, and how it is kept from that. */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { attempt } from "@pagurus/core/data/attempt";
import { recordOf } from "@pagurus/core/data/record-fields";
import { folderFiles } from "@pagurus/core/platform/folder-files";
import { ensurePrivateDir, writeFileAtomic } from "@pagurus/core/platform/atomic-files";
import type { Env, FolderAccess, FolderRule, KnownAgent } from "./known-agent.ts";
import { defined } from "@pagurus/core/data/defined";

export interface FolderPlace {
  cwd: string;
  env: Env;
  /** Folder for files of the host that the agent reads. */
  files: string;
}

/** What keeps an agent from the files of a folder that is not trusted; undefined if it has none of them. Throws `runtime_unsupported`. */
export function untrustedFolder(
  { label, folder }: Pick<KnownAgent, "label" | "folder">,
  { cwd, env, files }: FolderPlace,
): FolderAccess | undefined {
  if (!folder) return undefined;
  const home = env["HOME"] || homedir();
  const { leavesOut = [], runs = [], meta } = folder;
  const [first] = folderFiles(cwd, runs, home);
  if (first !== undefined)
    throw new PagurusError(
      "runtime_unsupported",
      `${label} would start from ${JSON.stringify(relative(cwd, first))} of this folder, which you do not trust, and has no setting against that; trust the folder (pagurus trust add), or choose another runtime.`,
    );
  if (folderFiles(cwd, leavesOut, home).length === 0) return undefined;
  return { env: folder.env?.(env, files) ?? {}, ...defined({ meta }) };
}

/** Environment of Gemini CLI and its forks in which they ask about folders, and without an answer leave their files out. */
export function askingAboutFolders(variable: string, systemFile: string): NonNullable<FolderRule["env"]> {
  return (env, files) => {
    const system = recordOf(
      attempt(() => JSON.parse(readFileSync(env[variable] || systemFile, "utf8")) as unknown),
    );
    const security = { ...recordOf(system["security"]), folderTrust: { enabled: true } };
    ensurePrivateDir(files);
    const file = join(files, `asking-${variable.toLowerCase()}.json`);
    writeFileAtomic(file, JSON.stringify({ ...system, security }), { synced: false });
    return { [variable]: file };
  };
}
