/**
 * Permission checks of tool calls, with the questions to the user and the rules that their answers save. `permission-decision.ts` decides.
 * A shell rule is matched against text: it is a guard rail, the sandbox is the wall.
 */
import { isInside } from "@pagurus/core/platform/inside";
import type { AskPermission, PermissionAnswer } from "@pagurus/contract/host/run";
import type { PermissionMode, PermissionRule } from "@pagurus/core/config/config-types";
import { escapedUnseen } from "@pagurus/core/data/plain-text";
import { escapeGlob } from "./files/glob-pattern.ts";
import type { Access, ToolPlan } from "./host-tool.ts";
import {
  definitionChange,
  definitionHash,
  type AllowedDefinitions,
  type DefinitionChange,
} from "./tool-definition.ts";
import {
  decide,
  HOW_TO_ALLOW,
  isAllowedByRule,
  isSecretRead,
  leavesSandbox,
  startOf,
  startReason,
  type Decided,
  type DecidedPlaces,
  type Permission,
} from "./permission-decision.ts";
import { definitionOf, inGitFolder, placeOf, ruleMatches } from "./permission-rules.ts";
import { ToolError } from "./tool-error.ts";
import { shellPattern } from "./shell/shell-pattern.ts";
import { isOpen } from "./shell/shell-rule.ts";
import { defined } from "@pagurus/core/data/defined";

export interface PermissionOptions {
  permission: Permission;
  /** Whether a sandbox is around commands here; called only if the mode `sandbox` needs to know. Absent: none is. */
  confines?: (() => Promise<boolean>) | undefined;
  /** Absolute, without symbolic links. */
  root: string;
  /** Places that are closed regardless of rules; created at the first decision. Absent: none. */
  places?: DecidedPlaces;
  /** Folders outside of it that may be read without a permission prompt; absolute, without symbolic links. */
  readable?: readonly string[] | undefined;
  ask?: AskPermission | undefined;
  remember?: ((rule: PermissionRule) => Promise<void>) | undefined;
  /** Rules of earlier answers, read and extended; the caller may share one list between tool sets. */
  remembered?: PermissionRule[] | undefined;
  /** Definitions of tools that were always allowed, to show what has changed. Absent: none is kept. */
  definitions?: Pick<AllowedDefinitions, "keep" | "find"> | undefined;
}

export interface Permissions {
  /** Why the call must not run, or undefined when it may. Never throws. */
  refusal(
    toolName: string,
    plan: Pick<ToolPlan, "access" | "preview">,
    signal: AbortSignal,
    toolCallId?: string,
  ): Promise<string | undefined>;
  /** True for closed places, key places, and paths that a deny rule for `read` or for this tool covers; absolute path. */
  hidden(toolName: string, path: string): boolean;
  /** The network of a permitted command; undefined: as configured. In the mode `sandbox` an allowed command has it. */
  network(toolName: string, access: Access): "on" | "off" | undefined;
  /** Whether an allow rule for `write` names this place; absolute path. */
  allowsPlace(path: string): boolean;
  /** Asks whether the places that a command changed are kept. False where no question is possible. Never throws. */
  keep(
    toolName: string,
    left: { places: readonly string[]; preview: string },
    signal: AbortSignal,
    toolCallId?: string,
  ): Promise<boolean>;
}

function summaryOf(toolName: string, access: Access, { mode, network }: Permission): string {
  if (access.kind === "shell")
    return mode === "sandbox" && access.network && network === undefined
      ? `${access.command} (with the network)`
      : access.command;
  if (access.kind === "fetch") return `GET ${access.url.href}`;
  if (access.kind === "plugin") return `run a tool of ${access.source ?? "a plugin"}`;
  const place = access.path.inside ? "" : " (outside the workspace)";
  const verb = access.kind === "write" && toolName === "edit" ? "edit" : access.kind;
  return `${verb} ${access.path.shown}${place}`;
}

/** Text of a rule of `ruleFor`. */
function ruleText(rule: PermissionRule | undefined, access: Access): string {
  if (rule === undefined)
    return "only this once, as a rule that ends in ` *` would allow more than this command";
  const { tool, match, cwd } = rule;
  const where = `in ${cwd ?? "every folder"}`;
  if (access.kind === "shell") return `${tool}: exactly this command ${where}`;
  if (access.kind === "fetch") return `${tool} from ${match ?? "everywhere"} ${where}`;
  if (access.kind === "plugin")
    return `${tool} with any arguments ${where}${rule.definition === undefined ? "" : ", until its definition changes"}`;
  return match === undefined
    ? `${tool} anywhere ${where}`
    : `${tool}: only ${access.path.path}, from ${cwd ?? "everywhere"}`;
}

/** A failing preview leaves the question without one. */
async function previewOf(plan: Pick<ToolPlan, "preview">): Promise<string | undefined> {
  try {
    const preview = await plan.preview?.();
    return preview === undefined ? undefined : escapedUnseen(preview);
  } catch {
    // The call itself reports the file's problem.
    return undefined;
  }
}

/** The narrowest rule that avoids the same question; undefined if none is as narrow as the call. */
function ruleFor(
  toolName: string,
  access: Access,
  root: string,
  secret: boolean,
): PermissionRule | undefined {
  const rule: PermissionRule = { tool: toolName, cwd: placeOf(access, root) };
  if (access.kind === "shell") {
    const match = access.command.trim();
    return isOpen(match) ? undefined : { ...rule, match };
  }
  if (access.kind === "fetch") return { ...rule, match: access.url.origin };
  if (access.kind === "plugin") {
    const { definition } = access;
    return definition ? { ...rule, definition: definitionHash(definition) } : rule;
  }
  if (access.path.inside && !secret && !(access.kind === "write" && inGitFolder(access.path))) return rule;
  return { ...rule, match: escapeGlob(access.path.path) };
}

/** The rule for all calls like this one, and its text for a person. */
function similarTo(toolName: string, access: Access): { rule: PermissionRule; text: string } | undefined {
  const pattern = access.kind === "shell" ? shellPattern(access.command) : undefined;
  if (access.kind !== "shell" || pattern === undefined) return undefined;
  const cwd = access.folder.path;
  return {
    rule: { tool: toolName, cwd, match: `${pattern} *` },
    text: escapedUnseen(`any \`${pattern} …\` in ${cwd}`),
  };
}

/** What has changed in a tool that a rule would allow but for its definition. */
function changeOf(
  rules: readonly PermissionRule[],
  call: Decided,
  definitions: PermissionOptions["definitions"],
): DefinitionChange | undefined {
  const definition = definitionOf(call.access);
  if (!definition) return undefined;
  const earlier = rules.findLast(
    ({ definition: hash, ...rule }) => hash !== undefined && ruleMatches(rule, "allow", call),
  );
  return earlier && definitionChange(definitions?.find(earlier.definition ?? ""), definition);
}

/** The rule that an answer saves, none for `once`; a denial as the sentence for the model. */
function outcomeOf(
  answer: PermissionAnswer,
  rules: { exact: PermissionRule | undefined; similar: PermissionRule | undefined },
): { rule?: PermissionRule | undefined } | string {
  if (answer === "once") return {};
  if (answer === "always") return { rule: rules.exact };
  if (answer === "similar" && rules.similar) return { rule: rules.similar };
  if (answer === "unasked") return `${UNASKED}, or none answered in time. ${HOW_TO_ALLOW}`;
  if (typeof answer === "object" && "deny" in answer && answer.deny.trim() !== "")
    return `Permission denied: the user said no, with these words: ${answer.deny.trim()}`;
  return "Permission denied: the user said no. Ask what to do instead.";
}

/** Rejects when the turn is aborted, even where the prompt ignores the signal. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(new ToolError("aborted"));
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

const UNASKED = "Permission denied: no person can be asked here";
/** Modes with questions. */
const MAY_ASK: ReadonlySet<PermissionMode> = new Set<PermissionMode>(["ask", "sandbox"]);

/** Whether the mode lets the sandbox decide, and the sandbox holds the call. The sandbox is tested here at the latest. */
async function isHeld({ permission, confines }: PermissionOptions, call: Decided): Promise<boolean> {
  if (permission.mode !== "sandbox" || leavesSandbox(permission, call) !== undefined) return false;
  return (await confines?.()) === true;
}

/** The question whether the places that a command changed are kept. */
async function askToKeep(
  { ask, root, permission }: PermissionOptions,
  toolName: string,
  { places, preview }: { places: readonly string[]; preview: string },
  { signal, toolCallId }: { signal: AbortSignal; toolCallId: string | undefined },
): Promise<boolean> {
  if (!ask || signal.aborted || !MAY_ASK.has(permission.mode)) return false;
  const asked = ask({
    toolName,
    summary: escapedUnseen(`keep what the command left in ${places.join(", ")}`),
    preview: escapedUnseen(preview),
    rule: 'only this once; a rule `{tool: "write", match: …}` that names a place keeps it always',
    cwd: root,
    signal,
    ...defined({ toolCallId }),
  });
  try {
    const answer = await untilAborted(asked, signal);
    return answer === "once" || answer === "always" || answer === "similar";
  } catch {
    // An unanswered question keeps nothing.
    return false;
  }
}

function allowsPlace(
  { permission, root, places }: PermissionOptions,
  remembered: readonly PermissionRule[],
  path: string,
): boolean {
  const access: Access = { kind: "write", path: { path, shown: path, inside: isInside(root, path) } };
  const start = startOf(access, places);
  return [...(permission.allow ?? []), ...remembered].some(
    (rule) =>
      rule.match !== undefined &&
      start !== undefined &&
      ruleMatches(rule, "allow", { toolName: "write", access, root, start }),
  );
}

/** A permission question as it is shown, and the rules that its answers save. */
async function questionOf(
  { permission, root, places, definitions }: PermissionOptions,
  remembered: readonly PermissionRule[],
  {
    toolName,
    plan,
    start,
  }: { toolName: string; plan: Pick<ToolPlan, "access" | "preview">; start: ReturnType<typeof startOf> },
) {
  const { access } = plan;
  const secret = isSecretRead(access, places);
  const saved = ruleFor(toolName, access, root, secret || start !== undefined);
  const rules = [...(permission.allow ?? []), ...remembered];
  const change = changeOf(rules, { toolName, access, root }, definitions);
  const does = summaryOf(toolName, access, permission);
  const similar = similarTo(toolName, access);
  const before = await previewOf(plan);
  const preview = change ? [escapedUnseen(change.preview), before].filter(Boolean).join("\n") : before;
  const shown = {
    toolName,
    summary: escapedUnseen(change ? `${does}, ${change.summary}` : does),
    rule: escapedUnseen(ruleText(saved, access)),
    cwd: placeOf(access, root),
    ...defined({ similar: similar?.text, preview }),
  };
  return { saved, similar, shown };
}

/** Permissions of one tool set; an answer `always` is added to `remembered` at once and passed to `remember`. */
export function createPermissions(options: PermissionOptions): Permissions {
  const { permission, root, readable, places, ask, remember } = options;
  const remembered = options.remembered ?? [];
  // One question at a time: an "always" may answer the queued ones.
  let questions: Promise<unknown> = Promise.resolve();

  async function question(
    toolName: string,
    plan: Pick<ToolPlan, "access" | "preview">,
    signal: AbortSignal,
    toolCallId: string | undefined,
  ): Promise<string | undefined> {
    const { access } = plan;
    const start = startOf(access, places);
    const call = { toolName, access, root, readable, places, start };
    if (decide(permission, remembered, call).verdict === "allow") return undefined;
    if (!ask) {
      const leaves = permission.mode === "sandbox" ? leavesSandbox(permission, call) : undefined;
      const why = leaves === undefined ? "" : `, and it ${leaves}`;
      return `${UNASKED}${why}. ${start ? startReason(start) : HOW_TO_ALLOW}`;
    }
    if (signal.aborted) return "Permission denied: the turn was aborted before the user answered.";
    let answer: PermissionAnswer;
    const { saved, similar, shown } = await questionOf(options, remembered, { toolName, plan, start });
    try {
      const id = toolCallId === undefined ? {} : { toolCallId };
      answer = await untilAborted(ask({ ...shown, signal, ...id }), signal);
    } catch {
      return "Permission denied: the question to the user was not answered.";
    }
    const outcome = outcomeOf(answer, { exact: saved, similar: similar?.rule });
    if (typeof outcome === "string") return outcome;
    if (!outcome.rule) return undefined;
    remembered.push(outcome.rule);
    const definition = definitionOf(access);
    if (definition) options.definitions?.keep(definition);
    try {
      await remember?.(outcome.rule);
    } catch {
      // A read-only configuration repeats the question next time, but allows this call.
      return undefined;
    }
    return undefined;
  }

  return {
    network(toolName, access) {
      if (permission.mode !== "sandbox" || permission.network !== undefined || access.kind !== "shell")
        return undefined;
      const isOpen = access.network || isAllowedByRule(permission, remembered, { toolName, access, root });
      return isOpen ? "on" : "off";
    },
    allowsPlace: (path) => allowsPlace(options, remembered, path),
    keep(toolName, left, signal, toolCallId) {
      const answer = questions.then(() => askToKeep(options, toolName, left, { signal, toolCallId }));
      questions = answer;
      return answer;
    },
    async refusal(toolName, plan, signal, toolCallId) {
      const { access } = plan;
      const start = startOf(access, places);
      const call = { toolName, access, root, readable, places, start };
      const decision = decide(permission, remembered, call);
      if (decision.verdict === "allow") return undefined;
      if (decision.verdict === "deny") return `Permission denied for ${toolName}: ${decision.reason}`;
      if (await isHeld(options, call)) return undefined;
      const answer = questions.then(() => question(toolName, plan, signal, toolCallId));
      questions = answer;
      return await answer;
    },
    hidden(toolName, path) {
      const access: Access = { kind: "read", path: { path, shown: path, inside: isInside(root, path) } };
      const { refusal, isSecret } = places?.() ?? {};
      if (refusal?.("read", path) !== undefined || isSecret?.(path)) return true;
      return (permission.deny ?? []).some(
        (rule) =>
          rule.match !== undefined &&
          [toolName, "read"].some((name) => ruleMatches(rule, "deny", { toolName: name, access, root })),
      );
    },
  };
}
