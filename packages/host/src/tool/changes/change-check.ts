/**
 * The one check of what a command changed: compares two looks at the workspace, and finds the places that programs start from
 * and that are new or other than before. A folder that can no longer be listed counts as one.
 */
import { basename, dirname, resolve } from "node:path";
import { isHarmlessSettings } from "../places/git-settings.ts";
import { sameProjectFile } from "../places/project-files.ts";
import type { PlaceKind } from "../places/start-places.ts";
import type { Manifest, Placed } from "./manifest.ts";

export interface Finding {
  /** Absolute; text of single bytes. */
  path: string;
  kind: PlaceKind;
  /** The place as it was; undefined for a new one. */
  before: Placed | undefined;
}

function isSame(before: Placed, now: Placed): boolean {
  if (before.type !== now.type || before.mode !== now.mode) return false;
  if (now.type === "link") return before.link === now.link;
  if (before.content && now.content) return before.content.equals(now.content);
  return before.ino === now.ino && before.ctimeMs === now.ctimeMs && before.size === now.size;
}

/** A folder `.git`, or those of its working trees and submodules: each is looked at by its own rules. */
const LOOKED_AT = /\/\.git(?:\/(?:worktrees\/[^/]+|modules\/.+))?$/;

function leadsToLookedAt(root: string, from: string, written: string): boolean {
  const target = resolve(from, written.trim());
  return target.startsWith(`${root}/`) && LOOKED_AT.test(target);
}

/** Whether a changed place is harmless by its content. */
function isHarmless(root: string, path: string, now: Placed, before: Placed | undefined): boolean {
  if (now.kind === "git-hook" || now.kind === "settings" || now.kind === "instructions") return false;
  const text = now.type === "file" ? now.content?.toString("latin1") : undefined;
  if (text === undefined) return false;
  const folder = dirname(path);
  switch (now.kind) {
    case "git-settings":
      return isHarmlessSettings(text, (tree) => `${resolve(folder, tree)}/`.startsWith(`${root}/`));
    case "git-common":
      return leadsToLookedAt(root, folder, text);
    case "git-entry": {
      if (path.endsWith("/gitdir")) return /\/worktrees\/[^/]+\/gitdir$/.test(path);
      const named = /^gitdir: (.+)\n?$/.exec(text)?.[1];
      return named !== undefined && leadsToLookedAt(root, folder, named);
    }
    case "git-todo":
      return !/^\s*(?:x|exec)\b/m.test(text);
    case "package":
      return sameProjectFile(
        basename(path),
        before?.content?.toString("utf8"),
        now.content?.toString("utf8") ?? "",
      );
    default:
      return false;
  }
}

/** The outermost new folder above a new place in which everything is a place, or the place itself. */
function outermost(before: Manifest, after: Manifest, path: string): string {
  let found = path;
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const known = after.folders.get(folder);
    if (!known || before.folders.has(folder)) return found;
    if (known.zone !== "start" && known.zone !== "programs") return found;
    found = folder;
  }
}

function newFolders(before: Manifest, after: Manifest): string[] {
  return [...after.folders.keys()].filter(
    (path) => !before.folders.has(path) && before.folders.has(dirname(path)),
  );
}

/** `root`: text of single bytes, as all paths. Beyond the limits of a look every new folder is a finding. */
export function findingsOf(
  root: string,
  before: Manifest,
  after: Manifest,
  isAllowed: (path: string) => boolean,
): Finding[] {
  const found = new Map<string, Finding>();
  for (const [path, now] of after.placed) {
    const old = before.placed.get(path);
    if (old && isSame(old, now)) continue;
    // The place that names it is a finding itself.
    if (now.namedAs !== undefined && !before.named.has(now.namedAs)) continue;
    if (isHarmless(root, path, now, old) || (!now.kind.startsWith("git-") && isAllowed(path))) continue;
    const outer = old ? path : outermost(before, after, path);
    found.set(outer, { path: outer, kind: now.kind, before: old });
  }
  for (const [path, { ino, ctimeMs }] of after.unread) {
    const old = before.unread.get(path);
    if (old?.ino === ino && old.ctimeMs === ctimeMs) continue;
    found.set(path, { path, kind: "settings", before: undefined });
  }
  if (after.full)
    for (const path of newFolders(before, after))
      found.set(path, { path, kind: "settings", before: undefined });
  // A place in a folder that is held itself goes with it.
  return [...found.values()].filter(({ path }) => !isBelowOther(path, found));
}

function isBelowOther(path: string, found: ReadonlyMap<string, Finding>): boolean {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder))
    if (found.has(folder)) return true;
  return false;
}
