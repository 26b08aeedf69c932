/** Whether a permission rule covers a call: by the tool's name, the folder, and what the call would access. */
import { isInside } from "@pagurus/core/platform/inside";
import { homedir } from "node:os";
import { isAbsolute } from "node:path";
import type { PermissionRule } from "@pagurus/core/config/config-types";
import { matchesWildcard } from "@pagurus/core/data/wildcard";
import { escapeGlob, globMatcher } from "./files/glob-pattern.ts";
import type { Access } from "./host-tool.ts";
import { namesPlace, type StartPlace } from "./places/named-places.ts";
import type { WorkspacePath } from "./places/workspace-boundary.ts";
import { isOpen, shellMatches } from "./shell/shell-rule.ts";
import { coversDefinition, type ToolDefinition } from "./tool-definition.ts";

function urlMatches(match: string, url: URL): boolean {
  if (url.href === match || url.origin === match) return true;
  return match.endsWith("/") ? url.href.startsWith(match) : url.href.startsWith(`${match}/`);
}

/** A relative pattern starts at the workspace; without a slash it matches at any depth. */
function pathMatcher(match: string, root: string): PathTest {
  if (isAbsolute(match)) return globMatcher(match);
  if (match.startsWith("~/")) return globMatcher(`${escapeGlob(homedir())}${match.slice(1)}`);
  const pattern = match.includes("/") ? match.replace(/^\.\//, "") : `**/${match}`;
  return globMatcher(`${escapeGlob(root)}/${pattern}`);
}

type PathTest = (path: string) => boolean;

// Cached, since a rule is checked for each file of a search.
const matchers = new WeakMap<PermissionRule, { root: string; test: PathTest }>();

function pathMatches(rule: PermissionRule, match: string, root: string, path: string): boolean {
  let known = matchers.get(rule);
  if (known?.root !== root) {
    known = { root, test: pathMatcher(match, root) };
    matchers.set(rule, known);
  }
  return known.test(path);
}

/** The next git command may run a file there; only a rule that names the path opens it. */
export function inGitFolder(at: WorkspacePath): boolean {
  return at.path.split("/").includes(".git");
}

export function placeOf(access: Access, root: string): string {
  return access.kind === "shell" ? access.folder.path : root;
}

export function definitionOf(access: Access): ToolDefinition | undefined {
  return access.kind === "plugin" ? access.definition : undefined;
}

export function ruleMatches(
  rule: PermissionRule,
  effect: "allow" | "deny",
  call: { toolName: string; access: Access; root: string; start?: StartPlace | undefined },
): boolean {
  const { access, root } = call;
  // With a `*` one rule covers all tools of a server.
  if (!matchesWildcard(rule.tool, call.toolName)) return false;
  if (effect === "allow" && !coversDefinition(rule, definitionOf(access))) return false;
  if (rule.cwd !== undefined) {
    const place = placeOf(access, root);
    // A remembered command was allowed in one folder; elsewhere the same text does something else.
    const exact =
      effect === "allow" && access.kind === "shell" && rule.match !== undefined && !isOpen(rule.match);
    if (exact ? place !== rule.cwd : !isInside(rule.cwd, place)) return false;
  }
  if (rule.match === undefined) {
    if (effect === "deny") return true;
    if (access.kind === "write" && (call.start || inGitFolder(access.path))) return false;
    if (access.kind === "read" || access.kind === "write") return access.path.inside;
    return access.kind !== "fetch" || !access.local;
  }
  if (access.kind === "shell") return shellMatches(rule.match, access.command, effect);
  if (access.kind === "fetch") return urlMatches(rule.match, access.url);
  // Nothing of a plugin's call can be matched, so a deny rule for a part of a tool denies all of it.
  if (access.kind === "plugin") return effect === "deny" && rule.tool !== "*";
  if (effect === "allow" && call.start && !namesPlace(rule.match, call.start.names)) return false;
  return pathMatches(rule, rule.match, root, access.path.path);
}
