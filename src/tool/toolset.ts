/** The tools of a session: catalog, fingerprint, and the one way to call them. */
import { createHash } from "node:crypto";
import { PagurusError } from "../contract/errors.ts";
import type { AskPermission } from "../contract/run.ts";
import type { ToolCallPart } from "../contract/message.ts";
import type { PluginTool } from "../contract/plugin.ts";
import type { ToolOutcome, ToolSet, ToolSpec } from "../contract/tool.ts";
import type { PermissionConfig, PermissionMode, PermissionRule } from "../config/types.ts";
import { checkArguments } from "./arguments.ts";
import { editTool } from "./edit-tool.ts";
import { globTool } from "./glob-tool.ts";
import { failedOutcome, type HostTool, type RunContext } from "./host-tool.ts";
import { createPermissions, type Permissions } from "./permission.ts";
import { argumentsPreview } from "./preview.ts";
import { readTool } from "./read-tool.ts";
import { createSandbox, type Sandbox, type SandboxReport } from "./sandbox.ts";
import { createSearchTool } from "./search-tool.ts";
import { createShellTool } from "./shell-tool.ts";
import { ToolError } from "./tool-error.ts";
import { webFetchTool } from "./web-fetch-tool.ts";
import { openWorkspace, type Workspace } from "./workspace.ts";
import { writeTool } from "./write-tool.ts";

/** A tool of a plugin; one that says `readOnly` runs without permission in every mode. */
export type ExtraTool = PluginTool & {
  readOnly?: boolean;
  /** Whose it is, where it is no plugin's. */ source?: string;
};

export interface ToolSetOptions {
  cwd: string;
  permission: PermissionConfig & { mode: PermissionMode };
  /** Absent: whatever needs an answer is denied. */
  ask?: AskPermission | undefined;
  /** Keeps an "always" beyond this set. A throw is ignored: the rule holds in this set all the same. */
  remember?: ((rule: PermissionRule) => Promise<void>) | undefined;
  /** Rules of earlier sets, which hold in this one; a rule that this set remembers is added. */
  remembered?: PermissionRule[] | undefined;
  extra?: readonly ExtraTool[] | undefined;
  context: { sessionKey: string; sessionId: string };
  /** Tools that the runtime has as its own: they are not offered and cannot be called. */
  native?: readonly string[] | undefined;
  /** Folders outside the workspace that may be read without asking; absolute, without symbolic links. */
  readable?: readonly string[] | undefined;
  onOutput?: ((toolCallId: string, chunk: string) => void) | undefined;
  /** A throw blocks the call. */
  beforeCall?:
    | ((
        call: ToolCallPart,
      ) => Promise<{ block?: boolean; blockReason?: string; params?: Record<string, unknown> } | undefined>)
    | undefined;
  /** Told after a tool has run; not for calls that were refused. A throw is ignored. */
  afterCall?: ((call: ToolCallPart, outcome: ToolOutcome, durationMs: number) => Promise<void>) | undefined;
  /** Default: `process.env`. */
  env?: Record<string, string | undefined> | undefined;
}

/** Where the model room puts arguments that were no JSON object, as text (`src/model/answer.ts`). */
const INVALID_JSON = "__invalid_json";
const QUOTED_CHARACTERS = 200;

/** The answer to a call whose arguments could not be read. */
function unreadable(call: ToolCallPart): ToolOutcome | undefined {
  const raw = call.arguments[INVALID_JSON];
  if (typeof raw !== "string") return undefined;
  const start = raw.length > QUOTED_CHARACTERS ? `${raw.slice(0, QUOTED_CHARACTERS)}…` : raw;
  return failedOutcome(
    `The arguments were not a valid JSON object: ${start}\nNothing was done. Call ${call.name} again with valid JSON.`,
  );
}

/** JSON with the keys of every object sorted. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    typeof item === "object" && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}

// A tool's schema is one object for the whole process; a set is made for each turn.
const schemas = new WeakMap<object, string>();

function canonicalSchema(parameters: ToolSpec["parameters"]): string {
  const known = schemas.get(parameters) ?? canonicalJson(parameters);
  schemas.set(parameters, known);
  return known;
}

function fingerprintOf(specs: readonly ToolSpec[]): string {
  const sorted = specs.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const digest = createHash("sha256");
  for (const { name, description, parameters } of sorted)
    digest.update(JSON.stringify([name, description, canonicalSchema(parameters)]));
  return digest.digest("hex");
}

function pluginTool(tool: ExtraTool, options: ToolSetOptions): HostTool {
  return {
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters,
    plan: (params, workspace) => ({
      access: { kind: "plugin", readOnly: tool.readOnly === true, source: tool.source },
      preview: () => argumentsPreview(params),
      run: ({ signal }) => tool.execute(params, { ...options.context, cwd: workspace.root, signal }),
    }),
  };
}

/** Runs works of one key one after the other. */
function createQueue(): RunContext["exclusive"] {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const mine = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (last.get(key) === mine) last.delete(key);
    }
  };
}

function collectTools(options: ToolSetOptions, sandbox: () => Sandbox): Map<string, HostTool> {
  const env = options.env ?? process.env;
  const { permission } = options;
  const shell = createShellTool({
    env,
    shellEnv: permission.shellEnv ?? [],
    sandbox,
    sandboxRequired: permission.sandbox === "require",
  });
  const own = [readTool, writeTool, editTool, globTool, createSearchTool(env), shell, webFetchTool];
  const extra = (options.extra ?? [])
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((tool) => pluginTool(tool, options));
  const tools = new Map<string, HostTool>();
  for (const tool of [...own, ...extra]) {
    if (tools.has(tool.name)) {
      throw new PagurusError(
        "plugin_duplicate_id",
        `A plugin registers a tool "${tool.name}" that exists already; disable one of the two.`,
      );
    }
    tools.set(tool.name, tool);
  }
  return tools;
}

interface CallFrame {
  options: ToolSetOptions;
  workspace: Workspace;
  permissions: Permissions;
  exclusive: RunContext["exclusive"];
}

/** Hook, arguments, permission: what runs in the end, or the outcome that says why nothing does. */
async function prepareCall(
  frame: CallFrame,
  tool: HostTool,
  call: ToolCallPart,
  signal: AbortSignal,
): Promise<
  { params: Record<string, unknown>; run(context: RunContext): Promise<ToolOutcome> } | ToolOutcome
> {
  let params: unknown = call.arguments;
  const check = (): { params: Record<string, unknown> } | ToolOutcome => {
    const checked = checkArguments(tool.parameters, params);
    if ("params" in checked) return checked;
    return failedOutcome(
      `Invalid arguments for ${tool.name}: ${checked.problem}. Call it again with these corrected.`,
    );
  };
  let checked = check();
  if ("content" in checked) return checked;
  if (frame.options.beforeCall) {
    const verdict = await frame.options.beforeCall({ ...call, arguments: checked.params });
    if (verdict?.block)
      return failedOutcome(`Blocked: ${verdict.blockReason ?? "a plugin forbids this call"}.`);
    if (verdict?.params) {
      params = verdict.params;
      checked = check();
      if ("content" in checked) return checked;
    }
  }
  const plan = await tool.plan(checked.params, frame.workspace);
  const refusal = await frame.permissions.refusal(tool.name, plan, signal, call.id);
  if (refusal !== undefined) return failedOutcome(refusal, { denied: true });
  return { params: checked.params, run: (context) => plan.run(context) };
}

/** Why a call that the runtime itself is about to make must not be made. */
async function refusalOf(
  frame: CallFrame,
  tool: HostTool,
  call: ToolCallPart,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const prepared = await prepareCall(frame, tool, call, signal);
    if ("params" in prepared) {
      if (canonicalJson(prepared.params) === canonicalJson(call.arguments)) return undefined;
      return "A hook would change this call, which the runtime makes itself; make it as the hook wants it.";
    }
    return prepared.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  } catch (error) {
    return failureOf(error, tool.name, signal)
      .content.map((part) => (part.type === "text" ? part.text : ""))
      .join("\n");
  }
}

function failureOf(error: unknown, toolName: string, signal: AbortSignal): ToolOutcome {
  if (signal.aborted) return failedOutcome("Aborted before the tool had finished.", { aborted: true });
  if (error instanceof ToolError) return failedOutcome(error.message);
  const reason = error instanceof Error ? error.message : String(error);
  return failedOutcome(`${toolName} failed: ${reason}`);
}

/** Called from a stream's event, where a throw would end the process. */
function showOutput(options: ToolSetOptions, toolCallId: string, chunk: string): void {
  try {
    options.onOutput?.(toolCallId, chunk);
  } catch {
    // Output that cannot be shown is still in the tool's result.
    return;
  }
}

async function callTool(
  frame: CallFrame,
  tool: HostTool,
  call: ToolCallPart,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  if (signal.aborted) return failedOutcome("Aborted before the tool was started.", { aborted: true });
  let prepared;
  try {
    prepared = await prepareCall(frame, tool, call, signal);
  } catch (error) {
    return failureOf(error, tool.name, signal);
  }
  if ("content" in prepared) return prepared;
  const { options, permissions, exclusive } = frame;
  const started = performance.now();
  let outcome: ToolOutcome;
  try {
    outcome = await prepared.run({
      signal,
      output: (chunk) => showOutput(options, call.id, chunk),
      hidden: (path) => permissions.hidden(tool.name, path),
      exclusive,
    });
  } catch (error) {
    outcome = failureOf(error, tool.name, signal);
  }
  try {
    await options.afterCall?.({ ...call, arguments: prepared.params }, outcome, performance.now() - started);
  } catch {
    // The tool has run; what a watcher makes of it cannot change that.
    return outcome;
  }
  return outcome;
}

/**
 * Makes the tools of a session. Throws `plugin_duplicate_id`, `usage_invalid` (`cwd` cannot be entered).
 * `sandbox` tries the sandbox out when it is first read.
 */
export function createToolSet(options: ToolSetOptions): ToolSet & { readonly sandbox: SandboxReport } {
  let workspace: Workspace;
  try {
    workspace = openWorkspace(options.cwd);
  } catch (error) {
    throw new PagurusError(
      "usage_invalid",
      `The folder "${options.cwd}" cannot be entered; give another --cwd.`,
      {
        cause: error,
      },
    );
  }
  const { permission, ask: asker, remember, remembered } = options;
  const { sessionKey } = options.context;
  const ask: AskPermission | undefined = asker && ((question) => asker({ ...question, sessionKey }));
  let found: Sandbox | undefined;
  const sandbox = (): Sandbox =>
    (found ??= createSandbox({
      setting: permission.sandbox ?? "auto",
      root: workspace.root,
      env: options.env ?? process.env,
    }));
  const tools = collectTools(options, sandbox);
  const native = new Set(options.native);
  const offered = [...tools.values()].filter(({ name }) => !native.has(name));
  const specs = offered.map(({ name, description, parameters }) => ({ name, description, parameters }));
  const frame: CallFrame = {
    options,
    workspace,
    permissions: createPermissions({
      permission,
      root: workspace.root,
      readable: options.readable,
      ask,
      remember,
      remembered,
    }),
    exclusive: createQueue(),
  };
  return {
    specs,
    fingerprint: fingerprintOf(specs),
    get sandbox() {
      return sandbox().report;
    },
    async call(call, signal) {
      const broken = unreadable(call);
      if (broken) return broken;
      const tool = native.has(call.name) ? undefined : tools.get(call.name);
      if (!tool) {
        const names = specs.map(({ name }) => name).join(", ");
        return failedOutcome(`There is no tool "${call.name}". Tools: ${names}.`);
      }
      return await callTool(frame, tool, call, signal);
    },
    async permits(call, signal) {
      const tool = tools.get(call.name);
      if (!tool) return `There is no rule for "${call.name}".`;
      return refusalOf(frame, tool, call, signal);
    },
  };
}
