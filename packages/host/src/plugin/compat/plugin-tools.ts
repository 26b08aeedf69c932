/** Adapts OpenClaw's tools and commands to the host. */
import { PagurusError } from "@pagurus/contract/errors";
import type { ImagePart, TextPart } from "@pagurus/contract/message";
import type { PluginCommand, PluginTool, ToolContext } from "@pagurus/contract/host/plugin";
import type { ToolOutcome } from "@pagurus/contract/harness/tool";
import { RecentMap } from "@pagurus/core/data/recent-map";
import { isRecord, recordOf } from "@pagurus/core/data/record-fields";

/** Context in which an OpenClaw tool is created for a session; absent members are unknown during registration. */
export interface OpenClawToolContext {
  config: unknown;
  sessionKey?: string;
  sessionId?: string;
  workspaceDir?: string;
}

export interface OpenClawTool {
  name: string;
  label?: string;
  description?: string;
  parameters?: unknown;
  execute(
    toolCallId: string,
    params: Record<string, unknown>,
    signal?: AbortSignal,
    onUpdate?: (partial: unknown) => void,
  ): unknown;
}

/** Creates the tools of a session; `null` for none. */
export type OpenClawToolFactory = (
  context: OpenClawToolContext,
) => OpenClawTool | OpenClawTool[] | null | undefined;

/** Number of sessions whose tools are cached, oldest dropped first. */
const KEPT_SESSIONS = 64;

/**
 * The tools that a plugin registers. A factory is called for the catalog, without a session or, if it then returns nothing or
 * throws, for `main`; and once for each session in which one of its tools is called. Throws the factory's errors.
 */
export function hostTools(
  given: OpenClawTool | OpenClawToolFactory,
  pluginId: string,
  config: unknown,
): PluginTool[] {
  if (typeof given !== "function") return [hostTool(given, () => given)];
  const ofSession = new RecentMap<string, OpenClawTool[]>(KEPT_SESSIONS);
  const specs = withoutSession(given, config);
  const known = specs.length > 0 ? specs : listOf(given({ config, sessionKey: "main", sessionId: "main" }));
  return known.map((spec) =>
    hostTool(spec, ({ sessionKey, sessionId, cwd }) => {
      const made = ofSession.of(sessionId, () =>
        listOf(given({ config, sessionKey, sessionId, workspaceDir: cwd })),
      );
      const tool = made.find(({ name }) => name === spec.name);
      if (tool) return tool;
      throw new PagurusError(
        "tool_unknown",
        `The plugin ${pluginId} makes no tool ${spec.name} for this session; do without it here.`,
      );
    }),
  );
}

/** Empty where the factory needs a session. */
function withoutSession(factory: OpenClawToolFactory, config: unknown): OpenClawTool[] {
  try {
    return listOf(factory({ config }));
  } catch {
    // Called again with a session; its error is reported then.
    return [];
  }
}

let calls = 0;

function hostTool(spec: OpenClawTool, ofSession: (context: ToolContext) => OpenClawTool): PluginTool {
  return {
    name: spec.name,
    description: spec.description ?? spec.label ?? spec.name,
    // Schema libraries leave symbols and methods on their schemas; a model gets plain JSON.
    parameters: JSON.parse(JSON.stringify(spec.parameters ?? { type: "object", properties: {} })) as Record<
      string,
      unknown
    >,
    execute: async (params, context) =>
      outcomeOf(await ofSession(context).execute(`call-${++calls}`, params, context.signal)),
  };
}

function outcomeOf(answer: unknown): ToolOutcome {
  const { content, details, isError } = recordOf(answer);
  const parts = typeof answer === "string" ? [{ type: "text", text: answer }] : content;
  const kept = (Array.isArray(parts) ? parts : []).filter(isPart);
  return {
    // A plain value is the tool's only answer.
    content: kept.length > 0 ? kept : [{ type: "text", text: JSON.stringify(answer) ?? "" }],
    isError: isError === true,
    ...(isRecord(details) && { details }),
  };
}

function isPart(value: unknown): value is TextPart | ImagePart {
  const { type, text, data } = recordOf(value);
  return (type === "text" && typeof text === "string") || (type === "image" && typeof data === "string");
}

export interface OpenClawCommand {
  name: string;
  description?: string;
  acceptsArgs?: boolean;
  /** Names that channels show: `default`, or per channel. */
  nativeNames?: Readonly<Record<string, unknown>>;
  handler(context: Record<string, unknown>): unknown;
}

/** An OpenClaw command; every sender is allowed, since this host's channels are the user's own. */
export function hostCommand(
  command: OpenClawCommand,
  config: unknown,
  further: readonly string[],
): PluginCommand {
  // The host's command names are lower-case.
  const clean = (name: string): string => name.trim().replace(/^\//, "").toLowerCase();
  const name = clean(command.name);
  const native = Object.values(command.nativeNames ?? {}).filter((each) => typeof each === "string");
  const aliases = new Set([...further, ...native, name.replaceAll("_", "-")].map(clean));
  aliases.delete(name);
  return {
    name,
    aliases: [...aliases],
    usage: command.acceptsArgs === true ? "[arguments]" : "",
    summary: command.description ?? command.name,
    run: async (args, { sessionKey, sessionId, agentId, signal }) => {
      const answer = await command.handler({
        args,
        commandBody: `/${command.name}${args === "" ? "" : ` ${args}`}`,
        channel: "pagurus",
        isAuthorizedSender: true,
        senderIsOwner: true,
        config,
        sessionKey,
        sessionId,
        agentId,
        signal,
      });
      const { text } = recordOf(answer);
      return typeof answer === "string" ? answer : typeof text === "string" ? text : "";
    },
  };
}

function listOf(made: OpenClawTool | OpenClawTool[] | null | undefined): OpenClawTool[] {
  if (!made) return [];
  return Array.isArray(made) ? made : [made];
}
