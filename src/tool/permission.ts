/**
 * Who may do what. Reading inside the workspace is always allowed; deny rules win over everything else; then the
 * mode decides. A shell rule is matched against text: it is a guard rail, the sandbox is the wall.
 */
import { homedir } from "node:os";
import { isAbsolute } from "node:path";
import type { AskPermission } from "../contract/run.ts";
import type { PermissionConfig, PermissionMode, PermissionRule } from "../config/types.ts";
import { escapeGlob, globMatcher } from "./glob-pattern.ts";
import type { Access, ToolPlan } from "./host-tool.ts";
import { ToolError } from "./tool-error.ts";
import { isInside, type WorkspacePath } from "./workspace.ts";

export interface PermissionOptions {
  permission: PermissionConfig & { mode: PermissionMode };
  /** Absolute, without symbolic links. */
  root: string;
  /** Folders outside of it that may be read without asking; absolute, without symbolic links. */
  readable?: readonly string[] | undefined;
  ask?: AskPermission | undefined;
  remember?: ((rule: PermissionRule) => Promise<void>) | undefined;
  /** Rules of earlier answers, consulted and added to; the caller may share one list between tool sets. */
  remembered?: PermissionRule[] | undefined;
}

export interface Permissions {
  /** Why the call must not run, or undefined when it may. Never throws. */
  refusal(
    toolName: string,
    plan: Pick<ToolPlan, "access" | "preview">,
    signal: AbortSignal,
    toolCallId?: string,
  ): Promise<string | undefined>;
  /** True when a deny rule for `read` or for this tool covers the file; absolute path. */
  hidden(toolName: string, path: string): boolean;
}

type Verdict = { verdict: "allow" } | { verdict: "ask" } | { verdict: "deny"; reason: string };

/** Signs that a command line is more than one simple command; quoted ones count too, to be on the safe side. */
const COMPOUND = /[;&|<>`(){}\n\r]|\$\(/;
const SEPARATORS = /[;&|`(){}\n\r]+/;
const ASSIGNMENTS = /^(?:\s*[A-Za-z_]\w*=\S*\s+)*/;

function hasPrefix(command: string, prefix: string): boolean {
  return command === prefix || command.startsWith(`${prefix} `);
}

function shellMatches(match: string, command: string, effect: "allow" | "deny"): boolean {
  const line = command.trim();
  if (line === match.trim()) return true;
  if (!match.endsWith(" *")) return false;
  const prefix = match.slice(0, -2).trim();
  if (effect === "allow") return !COMPOUND.test(line) && hasPrefix(line, prefix);
  return line.split(SEPARATORS).some((part) =>
    hasPrefix(
      part
        .replace(ASSIGNMENTS, "")
        .trim()
        .replace(/^\$\s*/, ""),
      prefix,
    ),
  );
}

function urlMatches(match: string, url: URL): boolean {
  if (url.href === match || url.origin === match) return true;
  return match.endsWith("/") ? url.href.startsWith(match) : url.href.startsWith(`${match}/`);
}

/** A relative pattern is read from the workspace; without a slash it may match at any depth. */
function pathMatches(match: string, root: string, path: string): boolean {
  if (isAbsolute(match)) return globMatcher(match)(path);
  if (match.startsWith("~/")) return globMatcher(`${escapeGlob(homedir())}${match.slice(1)}`)(path);
  const pattern = match.includes("/") ? match.replace(/^\.\//, "") : `**/${match}`;
  return globMatcher(`${escapeGlob(root)}/${pattern}`)(path);
}

/** What git keeps there can be run by the next git command; only a rule that names the path opens it. */
function inGitFolder(at: WorkspacePath): boolean {
  return at.path.split("/").includes(".git");
}

function placeOf(access: Access, root: string): string {
  return access.kind === "shell" ? access.folder.path : root;
}

/** `*` stands for any characters, so that one rule is for all tools of a server. */
function nameMatches(pattern: string, name: string): boolean {
  const parts = pattern.split("*");
  const [first = "", ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length)
    return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= name.length - last.length;
}

function ruleMatches(
  rule: PermissionRule,
  effect: "allow" | "deny",
  call: { toolName: string; access: Access; root: string },
): boolean {
  const { access, root } = call;
  if (!nameMatches(rule.tool, call.toolName)) return false;
  if (rule.cwd !== undefined) {
    const place = placeOf(access, root);
    // A remembered command was allowed in one folder; the same words elsewhere do something else.
    const exact = effect === "allow" && access.kind === "shell" && rule.match?.endsWith(" *") === false;
    if (exact ? place !== rule.cwd : !isInside(rule.cwd, place)) return false;
  }
  if (rule.match === undefined) {
    if (effect === "deny") return true;
    if (access.kind === "write" && inGitFolder(access.path)) return false;
    if (access.kind === "read" || access.kind === "write") return access.path.inside;
    return access.kind !== "fetch" || !access.local;
  }
  if (access.kind === "shell") return shellMatches(rule.match, access.command, effect);
  if (access.kind === "fetch") return urlMatches(rule.match, access.url);
  // Nothing of a plugin's call can be matched: who denies a part of a tool is not left with none of it denied.
  if (access.kind === "plugin") return effect === "deny" && rule.tool !== "*";
  return pathMatches(rule.match, root, access.path.path);
}

const HOW_TO_ALLOW =
  "The user can allow it with `--permission auto`, or with a rule in `permission.allow` of the configuration.";

function decide(
  permission: PermissionConfig & { mode: PermissionMode },
  remembered: readonly PermissionRule[],
  call: { toolName: string; access: Access; root: string; readable?: readonly string[] | undefined },
): Verdict {
  const { access } = call;
  const { mode } = permission;
  if ((permission.deny ?? []).some((rule) => ruleMatches(rule, "deny", call))) {
    return {
      verdict: "deny",
      reason: "a deny rule of the configuration forbids it. Do not try another way.",
    };
  }
  if (access.kind === "read" && access.path.inside) return { verdict: "allow" };
  if (access.kind === "read" && call.readable?.some((folder) => isInside(folder, access.path.path)))
    return { verdict: "allow" };
  if (access.kind === "plugin" && access.readOnly) return { verdict: "allow" };
  if (mode === "read-only" && access.kind !== "read") {
    return { verdict: "deny", reason: `the permission mode is read-only. ${HOW_TO_ALLOW}` };
  }
  const allowed = [...(permission.allow ?? []), ...remembered];
  if (allowed.some((rule) => ruleMatches(rule, "allow", call))) return { verdict: "allow" };
  if (mode === "ask") return { verdict: "ask" };
  if (mode === "auto") {
    if (access.kind !== "write" || access.path.inside) return { verdict: "allow" };
    return {
      verdict: "deny",
      reason:
        "it would write outside the workspace, which needs a rule in `permission.allow` also in mode auto.",
    };
  }
  return { verdict: "deny", reason: `the permission mode is ${mode}. ${HOW_TO_ALLOW}` };
}

/** Control and direction characters could show a person another command than the one that runs. */
function visible(text: string): string {
  return text.replaceAll(
    /[\0-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function summaryOf(toolName: string, access: Access): string {
  if (access.kind === "shell") return access.command;
  if (access.kind === "fetch") return `GET ${access.url.href}`;
  if (access.kind === "plugin") return `run a tool of ${access.source ?? "a plugin"}`;
  const place = access.path.inside ? "" : " (outside the workspace)";
  const verb = access.kind === "write" && toolName === "edit" ? "edit" : access.kind;
  return `${verb} ${access.path.shown}${place}`;
}

/** A rule of `ruleFor` as a person would say it. */
function ruleText({ tool, match, cwd }: PermissionRule, access: Access): string {
  const where = `in ${cwd ?? "every folder"}`;
  if (access.kind === "shell") return `${tool}: exactly this command ${where}`;
  if (access.kind === "fetch") return `${tool} from ${match ?? "everywhere"} ${where}`;
  if (access.kind === "plugin") return `${tool} with any arguments ${where}`;
  return match === undefined
    ? `${tool} anywhere ${where}`
    : `${tool}: only ${access.path.path}, from ${cwd ?? "everywhere"}`;
}

/** A preview that cannot be made leaves the question as it is. */
async function previewOf(plan: Pick<ToolPlan, "preview">): Promise<string | undefined> {
  try {
    const preview = await plan.preview?.();
    return preview === undefined ? undefined : visible(preview);
  } catch {
    // The call itself will say what is wrong with the file.
    return undefined;
  }
}

/** The narrowest rule that spares the same question. */
function ruleFor(toolName: string, access: Access, root: string): PermissionRule {
  const rule: PermissionRule = { tool: toolName, cwd: placeOf(access, root) };
  if (access.kind === "shell") return { ...rule, match: access.command.trim() };
  if (access.kind === "fetch") return { ...rule, match: access.url.origin };
  if (access.kind === "plugin") return rule;
  if (access.path.inside && !(access.kind === "write" && inGitFolder(access.path))) return rule;
  return { ...rule, match: escapeGlob(access.path.path) };
}

/** Rejects when the turn is aborted, also where the asker does not look at the signal. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(new ToolError("aborted"));
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** Permissions of one tool set; an answer `always` is added to `remembered` at once and handed to `remember`. */
export function createPermissions(options: PermissionOptions): Permissions {
  const { permission, root, readable, ask, remember } = options;
  const remembered = options.remembered ?? [];
  // One question at a time: an "always" may answer the ones that wait.
  let questions: Promise<unknown> = Promise.resolve();

  async function question(
    toolName: string,
    plan: Pick<ToolPlan, "access" | "preview">,
    signal: AbortSignal,
    toolCallId: string | undefined,
  ): Promise<string | undefined> {
    const { access } = plan;
    if (decide(permission, remembered, { toolName, access, root, readable }).verdict === "allow")
      return undefined;
    if (!ask) return `Permission denied: nobody can be asked here. ${HOW_TO_ALLOW}`;
    if (signal.aborted) return "Permission denied: the turn was aborted before the user answered.";
    let answer: "once" | "always" | "deny";
    const saved = ruleFor(toolName, access, root);
    const summary = visible(summaryOf(toolName, access));
    const rule = visible(ruleText(saved, access));
    const preview = await previewOf(plan);
    try {
      const cwd = placeOf(access, root);
      const asked = ask({
        toolName,
        summary,
        rule,
        cwd,
        signal,
        ...(preview === undefined ? {} : { preview }),
        ...(toolCallId === undefined ? {} : { toolCallId }),
      });
      answer = await untilAborted(asked, signal);
    } catch {
      return "Permission denied: the question to the user was not answered.";
    }
    if (answer === "once") return undefined;
    if (answer !== "always") return "Permission denied: the user said no. Ask what to do instead.";
    remembered.push(saved);
    try {
      await remember?.(saved);
    } catch {
      // A configuration that cannot be written costs the same question next time, not this call.
      return undefined;
    }
    return undefined;
  }

  return {
    async refusal(toolName, plan, signal, toolCallId) {
      const { access } = plan;
      const decision = decide(permission, remembered, { toolName, access, root, readable });
      if (decision.verdict === "allow") return undefined;
      if (decision.verdict === "deny") return `Permission denied for ${toolName}: ${decision.reason}`;
      const answer = questions.then(() => question(toolName, plan, signal, toolCallId));
      questions = answer;
      return await answer;
    },
    hidden(toolName, path) {
      const access: Access = { kind: "read", path: { path, shown: path, inside: isInside(root, path) } };
      return (permission.deny ?? []).some(
        (rule) =>
          rule.match !== undefined &&
          [toolName, "read"].some((name) => ruleMatches(rule, "deny", { toolName: name, access, root })),
      );
    },
  };
}
