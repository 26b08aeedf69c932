/** The tools of a session: catalog, fingerprint, and the function that calls them. */
import { errorText } from "@pagurus/core/data/error-text";
import { PagurusError } from "@pagurus/contract/errors";
import type { AskPermission } from "@pagurus/contract/host/run";
import type { ToolCallPart } from "@pagurus/contract/message";
import type { PluginTool, ToolContext } from "@pagurus/contract/host/plugin";
import type { ToolOutcome, ToolSet } from "@pagurus/contract/harness/tool";
import type { PermissionConfig, PermissionMode, PermissionRule } from "@pagurus/core/config/config-types";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { plainText } from "@pagurus/core/data/plain-text";
import { meantTool } from "@pagurus/core/data/tool-names";
import {
  argumentsProblem,
  boundedArguments,
  INVALID_JSON,
  REFUSED_ARGUMENTS,
} from "@pagurus/core/platform/call-arguments";
import { checkArguments } from "./arguments.ts";
import { createCallOrder, type CallOrder } from "./call-order.ts";
import { closedPlaces, type ClosedPlaces } from "./places/closed-places.ts";
import { editTool } from "./files/edit-tool.ts";
import { globTool } from "./files/glob-tool.ts";
import { failedOutcome, type HostTool, type RunContext } from "./host-tool.ts";
import { createPermissions, type Permissions } from "./tool-permission.ts";
import { argumentsPreview } from "./files/change-preview.ts";
import { readTool } from "./files/read-tool.ts";
import type { Sandbox, SandboxOptions, SandboxReport } from "./shell/sandbox.ts";
import { createSearchTool } from "./files/search-tool.ts";
import { createShellTool, type ShellOptions } from "./shell/shell-tool.ts";
import { canonicalJson } from "@pagurus/core/data/canonical-json";
import { AllowedDefinitions } from "./tool-definition.ts";
import type { ManifestCache } from "./changes/change-guard.ts";
import { guarding } from "./changes/guard-loading.ts";
import { ToolError } from "./tool-error.ts";
import { fingerprintOf, plainSchema } from "./tool-fingerprint.ts";
import { webFetchTool } from "./web/web-fetch-tool.ts";
import { openWorkspace, type Workspace } from "./places/workspace-boundary.ts";
import { writeTool } from "./files/write-tool.ts";
import { currentEnv } from "@pagurus/core/platform/surroundings";

/** A tool of a plugin or of a server. */
export type ExtraTool = Omit<PluginTool, "execute"> & {
  /** `ask`: shows a question of the tool's owner to the person; only with a `source`, and where a person can answer. */
  execute(
    params: Record<string, unknown>,
    context: ToolContext & { ask?: RunContext["ask"] },
  ): Promise<ToolOutcome>;
  /** Its owner declares it read-only: its calls run in parallel, with permission like any other. */
  sideBySide?: boolean;
  /** Its owner, where that is not a plugin. */
  source?: string;
};

export interface ToolSetOptions {
  cwd: string;
  permission: PermissionConfig & { mode: PermissionMode };
  /** Absent: calls that need an answer are denied. */
  ask?: AskPermission | undefined;
  /** Stores an "always" beyond this set. A throw is ignored: the rule still applies in this set. */
  remember?: ((rule: PermissionRule) => Promise<void>) | undefined;
  /** Rules of earlier sets, which apply in this one; rules remembered here are added. */
  remembered?: PermissionRule[] | undefined;
  extra?: readonly ExtraTool[] | undefined;
  /** Tools of the host that not every session has. */
  more?: readonly HostTool[] | undefined;
  context: Omit<ToolContext, "cwd" | "signal">;
  /** Home of Pagurus, closed to every tool; default from `env`. Absolute. */
  home?: string | undefined;
  /** Further files closed to every tool: the configuration in use, key files. Absolute. */
  closedFiles?: readonly string[] | undefined;
  /** Tools that the runtime has as its own: not offered and not callable. */
  native?: readonly string[] | undefined;
  /** Folders outside the workspace that may be read without a permission prompt; absolute, without symbolic links. */
  readable?: readonly string[] | undefined;
  /** Last looks at workspaces, shared between tool sets of one host: the next command looks only at what changed. */
  looks?: ManifestCache | undefined;
  /** Called with a sentence for the user, such as a file of a command that was held back. A throw is ignored. */
  onNotice?: ((detail: string) => void) | undefined;
  onOutput?: ((toolCallId: string, chunk: string) => void) | undefined;
  /** A throw blocks the call. */
  beforeCall?:
    | ((
        call: ToolCallPart,
      ) => Promise<{ block?: boolean; blockReason?: string; params?: Record<string, unknown> } | undefined>)
    | undefined;
  /** Awaited before a permitted call that may change something runs, or before the runtime may make one; never rejects. */
  beforeChange?: ((call: ToolCallPart, signal: AbortSignal) => Promise<void>) | undefined;
  /** Called when a permitted call that may change something is about to run. A throw leaves the call out. */
  onRun?: ((call: ToolCallPart) => void) | undefined;
  /** Called in place of a permitted call, with its checked arguments; `run` never throws. */
  around?:
    | ((call: ToolCallPart, run: () => Promise<ToolOutcome>, signal: AbortSignal) => Promise<ToolOutcome>)
    | undefined;
  /** Called after a tool has run, not for refused calls; may return another outcome. A throw is ignored. */
  afterCall?:
    | ((call: ToolCallPart, outcome: ToolOutcome, durationMs: number) => Promise<ToolOutcome | void>)
    | undefined;
  /** Default: `process.env`. */
  env?: Record<string, string | undefined> | undefined;
}

/** Maximum concurrent calls of one turn. */
const MOST_AT_ONCE = 8;
const QUOTED_CHARACTERS = 200;

/** The answer to a call with unreadable arguments. */
function unreadable(call: ToolCallPart): ToolOutcome | undefined {
  const refused = boundedArguments(call.arguments)[REFUSED_ARGUMENTS];
  if (typeof refused === "string") {
    return failedOutcome(`The arguments ${refused}. Nothing was done. Call ${call.name} again with less.`);
  }
  const raw = call.arguments[INVALID_JSON];
  if (typeof raw !== "string") return undefined;
  const start = raw.length > QUOTED_CHARACTERS ? `${raw.slice(0, QUOTED_CHARACTERS)}…` : raw;
  return failedOutcome(
    `The arguments were not a valid JSON object: ${start}\nNothing was done. Call ${call.name} again with valid JSON.`,
  );
}

function pluginTool(tool: ExtraTool, options: ToolSetOptions): HostTool {
  const { source } = tool;
  const description = plainText(tool.description);
  const parameters = plainSchema(tool.parameters);
  const definition = { source, description, parameters };
  return {
    onlyReads: tool.readOnly === true || tool.sideBySide === true,
    name: tool.name,
    description,
    parameters,
    plan: (params, workspace) => ({
      access: { kind: "plugin", readOnly: tool.readOnly === true, source, definition },
      preview: () => argumentsPreview(params),
      run: ({ signal, ask }) =>
        tool.execute(params, {
          ...options.context,
          cwd: workspace.root,
          signal,
          ...(source !== undefined && ask ? { ask } : {}),
        }),
    }),
  };
}

function sandboxRequired({ sandbox, network }: PermissionConfig): string | undefined {
  if (sandbox === "require") return "requires a sandbox";
  return network === "off" ? "allows commands no network, which takes a sandbox" : undefined;
}

function collectTools(
  options: ToolSetOptions,
  around: Pick<ShellOptions, "sandbox" | "guard" | "takeBack">,
): Map<string, HostTool> {
  const env = options.env ?? currentEnv();
  const { permission } = options;
  const shell = createShellTool({
    env,
    shellEnv: permission.shellEnv ?? [],
    ...around,
    sandboxRequired: sandboxRequired(permission),
  });
  const always = [readTool, writeTool, editTool, globTool, createSearchTool(env), shell, webFetchTool];
  const own = [...always, ...(options.more ?? [])];
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
  order: CallOrder;
  ask: AskPermission | undefined;
}

interface Prepared {
  params: Record<string, unknown>;
  run(context: RunContext): Promise<ToolOutcome>;
}

/** Runs hook, argument check and permission; returns the call to run, or the outcome that explains the refusal. */
async function prepareCall(
  frame: CallFrame,
  tool: HostTool,
  call: ToolCallPart,
  signal: AbortSignal,
  /** The runtime makes the call itself. */
  isForeign = false,
): Promise<Prepared | ToolOutcome> {
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
  const { permissions, workspace } = frame;
  const plan = await tool.plan(checked.params, workspace);
  const { access } = plan;
  if (isForeign && access.kind === "shell") access.unconfined = true;
  const refusal = await permissions.refusal(tool.name, plan, signal, call.id);
  if (refusal !== undefined) return failedOutcome(refusal, { denied: true });
  const network = permissions.network(tool.name, access);
  return { params: checked.params, run: (context) => plan.run({ ...context, network }) };
}

/** Why a call that the runtime itself is about to make is refused. */
async function refusalOf(
  frame: CallFrame,
  tool: HostTool,
  call: ToolCallPart,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const prepared = await prepareCall(frame, tool, call, signal, true);
    if ("params" in prepared) {
      if (!tool.onlyReads) await frame.options.beforeChange?.(call, signal);
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
  const reason = errorText(error);
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

function tell(options: ToolSetOptions, detail: string): void {
  try {
    options.onNotice?.(detail);
  } catch {
    // The tool's result has the same sentence.
    return;
  }
}

async function callTool(
  frame: CallFrame,
  tool: HostTool,
  call: ToolCallPart,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  try {
    return await frame.order.run(tool.onlyReads ? "beside" : "alone", signal, () =>
      callInTurn(frame, tool, call, signal),
    );
  } catch {
    // Rejects only for a call that was aborted while queued.
    return failedOutcome("Aborted before the tool was started.", { aborted: true });
  }
}

async function callInTurn(
  frame: CallFrame,
  tool: HostTool,
  call: ToolCallPart,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  let prepared;
  try {
    prepared = await prepareCall(frame, tool, call, signal);
    if ("content" in prepared) return prepared;
    if (!tool.onlyReads) await frame.options.beforeChange?.(call, signal);
    // What a call does must not come before its record: else the turn's next host runs it again.
    if (!tool.onlyReads) frame.options.onRun?.(call);
    signal.throwIfAborted();
  } catch (error) {
    return failureOf(error, tool.name, signal);
  }
  const { options } = frame;
  const started = performance.now();
  const { params, run } = prepared;
  const ran = { ...call, arguments: params };
  const ownRun = async (): Promise<ToolOutcome> => {
    try {
      return await run(runContext(frame, tool, call, signal));
    } catch (error) {
      return failureOf(error, tool.name, signal);
    }
  };
  const outcome = await (options.around?.(ran, ownRun, signal) ?? ownRun());
  try {
    return (await options.afterCall?.(ran, outcome, performance.now() - started)) ?? outcome;
  } catch {
    // The tool has run; a failing watcher cannot change that.
    return outcome;
  }
}

function runContext(frame: CallFrame, tool: HostTool, call: ToolCallPart, signal: AbortSignal): RunContext {
  const { options, permissions } = frame;
  return {
    signal,
    output: (chunk) => showOutput(options, call.id, chunk),
    hidden: (path) => permissions.hidden(tool.name, path),
    keep: (places, preview) => permissions.keep(tool.name, { places, preview }, signal, call.id),
    notice: (detail) => tell(options, detail),
    ask: askFor(frame, tool.name, call.id),
  };
}

/** Undefined where no person can answer, or nothing may be asked. */
function askFor(
  { ask, options, workspace }: CallFrame,
  toolName: string,
  toolCallId: string,
): RunContext["ask"] {
  if (!ask || options.permission.mode === "deny") return undefined;
  return (question) => ask({ ...question, toolName, toolCallId, cwd: workspace.root });
}

async function sandboxOf(
  { sandbox = "auto", mode, network }: ToolSetOptions["permission"],
  at: Pick<SandboxOptions, "root" | "places" | "env">,
): Promise<Sandbox> {
  const { createSandbox } = await import("./shell/sandbox.ts");
  const usual = mode === "sandbox" ? "asked" : "on";
  return createSandbox({ setting: sandbox, network: network ?? usual, ...at });
}

/** Throws `usage_invalid`. */
function enteredWorkspace(cwd: string): Workspace {
  try {
    return openWorkspace(cwd);
  } catch (cause) {
    const message = `The folder "${cwd}" cannot be entered; give another --cwd.`;
    throw new PagurusError("usage_invalid", message, { cause });
  }
}

/**
 * Creates the tools of a session. Throws `plugin_duplicate_id`, `usage_invalid` (`cwd` cannot be entered). The first
 * call of `sandbox` tests the sandbox.
 */
export function createToolSet(options: ToolSetOptions): ToolSet & { sandbox(): Promise<SandboxReport> } {
  const workspace = enteredWorkspace(options.cwd);
  const { permission, ask: asker, remember, remembered } = options;
  const { sessionKey } = options.context;
  const ask: AskPermission | undefined = asker && ((question) => asker({ ...question, sessionKey }));
  const env = options.env ?? currentEnv();
  const { root } = workspace;
  const home = options.home ?? resolveHome(env);
  let known: ClosedPlaces | undefined;
  const places = (): ClosedPlaces =>
    (known ??= closedPlaces({
      root,
      home,
      files: options.closedFiles ?? [],
      readable: options.readable ?? [],
      unmask: permission.unmask ?? [],
      env,
    }));
  let found: Promise<Sandbox> | undefined;
  const sandbox = (): Promise<Sandbox> => (found ??= sandboxOf(permission, { root, places: places(), env }));
  const permissions = createPermissions({
    permission,
    confines: async () => {
      const { kind, keepsNetwork } = (await sandbox()).report;
      return kind !== "none" && keepsNetwork !== true;
    },
    root,
    places,
    readable: options.readable,
    ask,
    remember,
    remembered,
    definitions: new AllowedDefinitions(home),
  });
  const cache: ManifestCache = options.looks ?? new Map();
  const guards = guarding({ root, env, home, cache, places, permissions: () => permissions, sandbox });
  const tools = collectTools(options, { sandbox, ...guards });
  const native = new Set(options.native);
  const offered = [...tools.values()].filter(({ name }) => !native.has(name));
  const specs = offered.map(({ name, description, parameters }) => ({ name, description, parameters }));
  const frame: CallFrame = {
    options,
    workspace,
    permissions,
    order: createCallOrder(MOST_AT_ONCE),
    ask,
  };
  /** A model that uses tools is likely to run commands later. The command itself reports what fails. */
  const ahead = (): void => {
    if (offered.some(({ name }) => name === "shell")) void guards.ahead().catch(() => undefined);
  };
  let fingerprint: string | undefined;
  return {
    specs,
    // Not every harness asks for it.
    get fingerprint() {
      return (fingerprint ??= fingerprintOf(specs));
    },
    async sandbox() {
      return (await sandbox()).report;
    },
    async call(call, signal) {
      const broken = unreadable(call);
      if (broken) return broken;
      const names = specs.map(({ name }) => name);
      const name = native.has(call.name) ? undefined : meantTool(call.name, names);
      const tool = name === undefined ? undefined : tools.get(name);
      if (!tool) return failedOutcome(`There is no tool "${call.name}". Tools: ${names.join(", ")}.`);
      // Before a command itself it would be too late.
      if (tool.name !== "shell") ahead();
      return await callTool(frame, tool, { ...call, name: tool.name }, signal);
    },
    expect: ahead,
    async permits(call, signal) {
      const problem = argumentsProblem(call.arguments);
      if (problem !== undefined) return `The arguments ${problem}; nothing was done.`;
      const tool = tools.get(call.name);
      if (!tool) return `There is no rule for "${call.name}".`;
      return refusalOf(frame, tool, call, signal);
    },
  };
}
