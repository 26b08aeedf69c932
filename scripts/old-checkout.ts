/** A checkout of an earlier commit, which proofs and benchmarks compare with, in a temporary folder. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { linkModules } from "./linked-modules.ts";
import { ROOT, runCommand } from "./command.ts";

/** The last commit before the house was rebuilt. */
export const OLD_COMMIT = "35dd06b";
/** The last commit that read homes of development builds before it. */
export const LAST_FORMATS_COMMIT = "727ca3c5";
/** The last commit before commands saw an allow list, the workspace was looked at and the readers of answers were written. */
export const BEFORE_WALLS = "eb5f8051167b702395667e55b734371646b7f29a";
/** The last commit whose sources were one package. */
export const BEFORE_PACKAGES = "b7a221a6";
/** The last commit that called models through the packages of the AI SDK. */
export const BEFORE_OWN_PROTOCOLS = "dae04ac0edb4a816bde6cf0b28723e6242e69e30";

interface OldCheckout {
  root: string;
  remove(): Promise<void>;
}

async function succeed(command: string, args: string[], cwd: string): Promise<void> {
  const { code, stdout, stderr } = await runCommand(command, args, { cwd });
  if (code !== 0)
    throw new Error(`"${command} ${args.join(" ")}" ended with code ${code}: ${stderr}${stdout}`);
}

interface Lock {
  packages: Record<string, { version?: string; integrity?: string }>;
}

/** Versions of the packages that a checkout installs, for users and for its own work, by their places. */
function packagesOf(root: string): string {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
  const { "": _root, ...installed } = packages;
  return JSON.stringify(
    Object.entries(installed)
      .filter(([place]) => !/^(?:packages|node_modules\/@pagurus)\//.test(place))
      .map(([place, { version, integrity }]) => [place, version, integrity])
      .toSorted(([one = ""], [other = ""]) => (one < other ? -1 : 1)),
  );
}

/** Whether both checkouts install the same packages of the same versions. */
function hasEqualPackages(one: string, other: string): boolean {
  return packagesOf(one) === packagesOf(other);
}

/**
 * `PAGURUS_OLD_CHECKOUT` names one that is there already; it is left as it is. Otherwise a git worktree of the commit, with this
 * checkout's packages where both have the same lock file, else with packages of its own. Throws where git or npm fails.
 */
async function makeOldCheckout(commit: string, runs: boolean): Promise<OldCheckout> {
  const present = process.env["PAGURUS_OLD_CHECKOUT"];
  if (present !== undefined && present !== "") return { root: present, remove: () => Promise.resolve() };
  const folder = mkdtempSync(join(tmpdir(), "pagurus-old-"));
  const root = join(folder, "pagurus");
  await succeed("git", ["worktree", "add", "--quiet", "--detach", root, commit], ROOT);
  const remove = async (): Promise<void> => {
    await succeed("git", ["worktree", "remove", "--force", root], ROOT);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    if (!runs) return { root, remove };
    if (hasEqualPackages(ROOT, root) && existsSync(join(ROOT, "node_modules"))) linkModules(root);
    else await succeed("npm", ["ci", "--no-audit", "--no-fund"], root);
    return { root, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Runs work on the old checkout, and removes it afterwards. `runs`: whether the work runs its programs, which need its packages. */
export async function withOldCheckout<T>(
  commit: string,
  work: (root: string) => Promise<T>,
  { runs = true }: { runs?: boolean } = {},
): Promise<T> {
  const old = await makeOldCheckout(commit, runs);
  try {
    return await work(old.root);
  } finally {
    await old.remove();
  }
}
