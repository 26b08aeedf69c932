/** Comparing authorities: whether one allows a value, and that one made from another never has more. */
import { realpathSync } from "node:fs";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { OWNER, SCOPES, type Authority, type Scope } from "@pagurus/contract/host/authority";
import { PERMISSION_MODES, type PermissionMode } from "@pagurus/contract/host/permission-modes";
import { matchesWildcard } from "../data/wildcard.ts";

/** Whether a scope includes another. */
export function allowsScope(scope: Scope, needed: Scope): boolean {
  return SCOPES.indexOf(scope) >= SCOPES.indexOf(needed);
}

/**
 * Whether a pattern matches a whole text; `*` matches any characters. A text that is a pattern itself is matched only where each text
 * that it matches is: only a `*` of the pattern matches its `*`, for example `fam-*` matches `fam-r*` and not `*`.
 */
export function matches(pattern: string, text: string): boolean {
  return matchesWildcard(pattern, text);
}

export function allowsSession({ sessions }: Pick<Authority, "sessions">, sessionKey: string): boolean {
  return matches(sessions, sessionKey);
}

export function allowsAgent({ agents }: Pick<Authority, "agents">, agentId: string): boolean {
  return matches(agents, agentId);
}

/** Whether its holder sees every session of every agent. */
export function isUnlimited({ sessions, agents }: Pick<Authority, "sessions" | "agents">): boolean {
  return sessions === "*" && agents === "*";
}

function isNarrower(one: PermissionMode, other: PermissionMode): boolean {
  return PERMISSION_MODES.indexOf(one) < PERMISSION_MODES.indexOf(other);
}

/** The narrower of two modes. */
export function narrowerMode(one: PermissionMode, other: PermissionMode): PermissionMode {
  return isNarrower(one, other) ? one : other;
}

/** The most permissive mode of a turn of an agent, from its configured mode; undefined: any. */
export function mostOf(
  { mode }: Pick<Authority, "mode">,
  configured: PermissionMode,
): PermissionMode | undefined {
  return mode === "any" ? undefined : narrowerMode(mode, configured);
}

/** The real path of a folder as the system follows it, links before `..`, also of one whose last parts do not exist. */
function realFolder(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : join(realFolder(above), relative(above, path));
  }
}

/** Whether a path is a folder or below it, both by their real paths. */
function isBelow(path: string, folder: string): boolean {
  const way = relative(realFolder(folder), realFolder(path));
  return way === "" || (!isAbsolute(way) && way !== ".." && !way.startsWith(`..${sep}`));
}

/** Whether a request may name a folder. `own`: folders of its session and its agent. */
export function allowsFolder(
  { folders }: Pick<Authority, "folders">,
  path: string,
  own: readonly string[],
): boolean {
  return folders === "any" || [...folders, ...own].some((folder) => isBelow(path, folder));
}

/** The wider of two audiences. */
export function widerAudience(
  one: Authority["audience"],
  other: Authority["audience"],
): Authority["audience"] {
  if (one === "strangers" || other === "strangers") return "strangers";
  return one ?? other;
}

/** A refusal; `what` completes "The caller may not …". */
export function beyond(what: string, remedy: string): PagurusError {
  return new PagurusError("token_invalid", `The caller may not ${what}; ${remedy}.`);
}

const SHOWS = "pagurus token list shows what each token may do";

/** Throws `token_invalid`, as the ones below. */
export function checkScope({ scope }: Authority, needed: Scope, what: string): void {
  if (!allowsScope(scope, needed))
    throw beyond(what, `it needs a token of scope ${needed}, and this one has ${scope}`);
}

export function checkAgent(authority: Authority, agentId: string): void {
  if (!allowsAgent(authority, agentId)) throw beyond(`use the agent ${JSON.stringify(agentId)}`, SHOWS);
}

export function checkSession(authority: Authority, sessionKey: string): void {
  if (!allowsSession(authority, sessionKey))
    throw beyond(`use the session ${JSON.stringify(sessionKey)}`, SHOWS);
}

export function checkUnlimited(authority: Authority, what: string): void {
  if (!isUnlimited(authority)) throw beyond(what, "it needs a token for all sessions and agents");
}

/** Throws `token_invalid` where a new authority would have more than the one that makes it, in any dimension. */
export function checkNarrower(parent: Authority, child: Authority): void {
  const refused = (what: string): never => {
    throw beyond(`create a token with ${what}`, "a token never has more than the one that creates it");
  };
  if (!allowsScope(parent.scope, child.scope)) refused(`the scope ${child.scope}`);
  if (!matches(parent.sessions, child.sessions)) refused(`the sessions ${JSON.stringify(child.sessions)}`);
  if (!matches(parent.agents, child.agents)) refused(`the agents ${JSON.stringify(child.agents)}`);
  if (!hasFolders(parent, child)) refused("these folders");
  if (parent.mode !== "any" && (child.mode === "any" || isNarrower(parent.mode, child.mode)))
    refused(`the mode ${child.mode}`);
  if (widerAudience(parent.audience, child.audience) !== child.audience)
    refused("turns that read other sessions");
  if (child.mayStartPrograms && !parent.mayStartPrograms) refused("the right to start programs");
  if (child.mayRemember && !parent.mayRemember) refused("the right to save rules");
  if (parent.until !== undefined && (child.until === undefined || child.until > parent.until))
    refused("a later end than its own");
}

function hasFolders(parent: Authority, child: Authority): boolean {
  if (parent.folders === "any") return true;
  return child.folders !== "any" && child.folders.every((each) => allowsFolder(parent, each, []));
}

/**
 * What two authorities allow both, held by the second: the authority of a caller of a caller. Throws `token_invalid` where neither
 * pattern of sessions or agents is within the other.
 */
export function bothOf(outer: Authority, inner: Authority): Authority {
  if (outer === OWNER) return inner;
  const folders =
    outer.folders === "any"
      ? inner.folders
      : inner.folders === "any"
        ? outer.folders
        : inner.folders.filter((each) => allowsFolder(outer, each, []));
  const until = Math.min(outer.until ?? Infinity, inner.until ?? Infinity);
  return {
    ...inner,
    scope: allowsScope(outer.scope, inner.scope) ? inner.scope : outer.scope,
    sessions: commonPattern(outer.sessions, inner.sessions),
    agents: commonPattern(outer.agents, inner.agents),
    folders,
    mode:
      outer.mode === "any"
        ? inner.mode
        : inner.mode === "any"
          ? outer.mode
          : narrowerMode(outer.mode, inner.mode),
    mayStartPrograms: outer.mayStartPrograms && inner.mayStartPrograms,
    mayRemember: outer.mayRemember && inner.mayRemember,
    audience: widerAudience(outer.audience, inner.audience),
    until: until === Infinity ? undefined : until,
  };
}

function commonPattern(one: string, other: string): string {
  if (matches(one, other)) return other;
  if (matches(other, one)) return one;
  throw beyond(`use what both ${JSON.stringify(one)} and ${JSON.stringify(other)} match`, SHOWS);
}

/** Whether its holder may use a session of an agent. */
export function sees(
  authority: Pick<Authority, "sessions" | "agents">,
  place: { agentId: string; sessionKey: string },
): boolean {
  return allowsSession(authority, place.sessionKey) && allowsAgent(authority, place.agentId);
}

/** Throws `token_invalid` for a session that the holder may not use. */
export function checkPlace(authority: Authority, place: { agentId: string; sessionKey: string }): void {
  checkAgent(authority, place.agentId);
  checkSession(authority, place.sessionKey);
}
