/**
 * The decision about one call: closed places first, then deny rules, reading inside the workspace, allow rules, and the mode. The mode
 * `sandbox` decides like `ask`, and `leavesSandbox` names the calls that the sandbox does not hold.
 */
import { isInside } from "@pagurus/core/platform/inside";
import type { PermissionConfig, PermissionMode, PermissionRule } from "@pagurus/core/config/config-types";
import { escapeGlob } from "./files/glob-pattern.ts";
import type { Access } from "./host-tool.ts";
import { inGitFolder, ruleMatches } from "./permission-rules.ts";
import type { ClosedPlaces } from "./places/closed-places.ts";
import type { StartPlace } from "./places/named-places.ts";
import { REASONS } from "./places/start-places.ts";
import { denialReason } from "./shell/shell-rule.ts";

export type Verdict = { verdict: "allow" } | { verdict: "ask" } | { verdict: "deny"; reason: string };
export type Permission = PermissionConfig & { mode: PermissionMode };
export type DecidedPlaces = (() => Pick<ClosedPlaces, "refusal" | "isSecret" | "startPlace">) | undefined;

export const HOW_TO_ALLOW =
  "The user can allow it with `--permission auto`, or with a rule in `permission.allow` of the configuration.";

export interface Decided {
  toolName: string;
  access: Access;
  root: string;
  readable?: readonly string[] | undefined;
  places?: DecidedPlaces;
  /** Set for writing to a place that programs start from. */
  start?: StartPlace | undefined;
}

export function startOf(access: Access, places: DecidedPlaces): StartPlace | undefined {
  if (access.kind !== "write" || access.harmless === true) return undefined;
  return places?.().startPlace(access.path.path);
}

/** Why no rule, mode or answer allows the call, or undefined. */
function closedReason({ access, places }: Decided): string | undefined {
  if (access.kind === "shell") return places?.().refusal("read", access.folder.path);
  if (access.kind !== "read" && access.kind !== "write") return undefined;
  return places?.().refusal(access.kind, access.path.path);
}

/** Whether a read is of a place that may hold keys. */
export function isSecretRead(access: Access, places: DecidedPlaces): boolean {
  return access.kind === "read" && places?.().isSecret(access.path.path) === true;
}

/** Whether an allow rule, or an earlier answer, covers the call. */
export function isAllowedByRule(
  permission: Permission,
  remembered: readonly PermissionRule[],
  call: Decided,
): boolean {
  const secret = isSecretRead(call.access, call.places);
  return [...(permission.allow ?? []), ...remembered].some(
    (rule) => (!secret || rule.match !== undefined) && ruleMatches(rule, "allow", call),
  );
}

export function decide(
  permission: Permission,
  remembered: readonly PermissionRule[],
  call: Decided,
): Verdict {
  const { access } = call;
  const { mode } = permission;
  const closed = closedReason(call);
  if (closed !== undefined) return { verdict: "deny", reason: closed };
  if ((permission.deny ?? []).some((rule) => ruleMatches(rule, "deny", call))) {
    return {
      verdict: "deny",
      reason: denialReason(access.kind === "shell" ? access.command : undefined),
    };
  }
  const secret = isSecretRead(access, call.places);
  if (access.kind === "read" && access.path.inside && !secret) return { verdict: "allow" };
  if (access.kind === "read" && call.readable?.some((folder) => isInside(folder, access.path.path)))
    return { verdict: "allow" };
  if (access.kind === "plugin" && access.readOnly) return { verdict: "allow" };
  if (mode === "read-only" && access.kind !== "read") {
    return { verdict: "deny", reason: `the permission mode is read-only. ${HOW_TO_ALLOW}` };
  }
  if (isAllowedByRule(permission, remembered, call)) return { verdict: "allow" };
  if (mode === "ask" || mode === "sandbox" || (mode === "auto" && call.start)) return { verdict: "ask" };
  if (mode === "auto") return inAuto(access, secret);
  return { verdict: "deny", reason: `the permission mode is ${mode}. ${HOW_TO_ALLOW}` };
}

export function startReason({ kind, names }: StartPlace): string {
  return `"${names.join("/")}": ${REASONS[kind]}, so that writing it needs a rule in \`permission.allow\` that names it (\`{tool: "write", match: "${escapeGlob(names[0] ?? "")}${names.length > 1 ? "/**" : ""}"}\`) also in mode auto.`;
}

function inAuto(access: Access, secret: boolean): Verdict {
  if (secret) {
    return {
      verdict: "deny",
      reason:
        "it is outside of what commands may see (the workspace, the system's programs, toolchains) and may hold keys, so reading it needs a rule in `permission.allow` or a place in `permission.unmask` that names it also in mode auto.",
    };
  }
  if (access.kind !== "write" || access.path.inside) return { verdict: "allow" };
  return {
    verdict: "deny",
    reason:
      "it would write outside the workspace, which needs a rule in `permission.allow` also in mode auto.",
  };
}

/**
 * Why a call does more than a command in the sandbox could do, as words after "it"; undefined for one that does not, which the mode
 * `sandbox` runs without a question.
 */
export function leavesSandbox(
  { network }: Pick<Permission, "network">,
  { access, places, start }: Pick<Decided, "access" | "places" | "start">,
): string | undefined {
  switch (access.kind) {
    case "read":
      return isSecretRead(access, places) ? "reads outside of what commands may see" : undefined;
    case "write":
      if (!access.path.inside) return "writes outside the workspace";
      if (start) return `writes where programs start (${REASONS[start.kind]})`;
      if (inGitFolder(access.path)) return "writes into git's own folder";
      return access.sends === true ? "sends data to a provider" : undefined;
    case "shell":
      if (access.unconfined === true) return "runs outside of the sandbox";
      return network === undefined && access.network ? "uses the network" : undefined;
    case "fetch":
      if (access.local) return "reaches this machine or a private network";
      return network === "on" ? undefined : "uses the network";
    case "plugin":
      return "runs outside of the sandbox";
  }
}
