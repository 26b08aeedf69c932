/** Random folders and edits, and a folder as a list of its entries with their bytes. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

/** Every entry with type, mode and content; a folder without its mode where `modes` is false. */
export function snapshot(root: string, below = ""): string[] {
  return readdirSync(join(root, below))
    .toSorted()
    .flatMap((name) => {
      const path = join(below, name);
      const stats = lstatSync(join(root, path));
      const mode = (stats.mode & 0o777).toString(8);
      if (stats.isSymbolicLink()) return [`${path} -> ${readlinkSync(join(root, path))}`];
      if (stats.isDirectory()) return [`${path}/ ${mode}`, ...snapshot(root, path)];
      return [`${path} ${mode} ${readFileSync(join(root, path)).toString("hex")}`];
    });
}

/** The snapshot without git's own folders, which a restore leaves alone. */
export function withoutGit(root: string): string[] {
  return snapshot(root).filter((line) => !line.includes(".git"));
}

const NAMES = ["a", "b", "c.txt", "d", "ü", "sub module", "e.bin"];
const MODES = [0o644, 0o755, 0o600, 0o444];

/** One random edit below `folder`: writing, removing, renaming, modes, links, folders, and repositories if `nested`. */
export function edit(
  root: string,
  random: (below: number) => number,
  folder: string,
  { nested = false }: { nested?: boolean } = {},
): void {
  const pick = (): string => {
    const depth = random(3);
    const names = Array.from({ length: depth + 1 }, () => NAMES[random(NAMES.length)] ?? "a");
    return join(root, folder, ...names);
  };
  const path = pick();
  const attempts = [
    () => write(path, random),
    () => write(path, random),
    () => rmSync(path, { recursive: true }),
    () => renameSync(path, pick()),
    () => chmodSync(path, MODES[random(MODES.length)] ?? 0o644),
    () => symlinkSync(NAMES[random(NAMES.length)] ?? "a", path),
    () => mkdirSync(path, { recursive: true }),
    () => {
      mkdirSync(join(path, ".git"), { recursive: true });
      writeFileSync(join(path, ".git", "HEAD"), "ref: refs/heads/main\n");
    },
  ];
  try {
    attempts[random(nested ? attempts.length : attempts.length - 1)]?.();
  } catch {
    // An edit that its place does not allow, such as a rename of what is not there, is none.
    return;
  }
}

function write(path: string, random: (below: number) => number): void {
  mkdirSync(join(path, ".."), { recursive: true });
  const bytes = Buffer.from(Array.from({ length: random(40) }, () => random(256)));
  writeFileSync(path, bytes);
}
