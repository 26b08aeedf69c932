/** Arguments, settings and environment of Claude Code, without its own features and the user's configuration. */
import type { HarnessTurn } from "@pagurus/contract/harness/harness";
import { claudeVariables } from "@pagurus/core/native/own-variables";
import { childEnvironment } from "@pagurus/core/platform/child-environment";
import type { ModelInfo } from "@pagurus/contract/model";
import { SERVER } from "./claude-history.ts";
import type { Endpoint } from "./claude-options.ts";
import { defined } from "@pagurus/core/data/defined";

/** Its own tools in a session; `--bare` leaves the first three. */
const TOOLS = ["Bash", "Read", "Edit", "Write", "Glob", "Grep"];
/** A window that no context reaches, tokens. */
const NO_WINDOW = 100_000_000;
/** As many calls in total as our own loop makes. */
const MOST_RETRIES = 4;
/** Variables of a user's shell that would redirect it, and of a Claude Code that we run in. */
const THEIRS = /^(?:ANTHROPIC_|CLAUDE_|CLAUDECODE$|AWS_BEARER_TOKEN_BEDROCK$|MAX_THINKING_TOKENS$|MCP_)/;

/** The settings that come closest to `--bare` without it. */
const WITHOUT_BARE = {
  CLAUDE_CODE_DISABLE_ATTACHMENTS: "1",
  CLAUDE_CODE_DISABLE_CLAUDE_MDS: "1",
  CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS: "1",
  CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1",
};

/** Setup of each shell command: removes the key and the endpoint, which no command needs, and restores the user's cache folders. */
export const SHELL_SETUP = `if [ -n "\${PAGURUS_CACHE_HOME+x}" ]; then XDG_CACHE_HOME=$PAGURUS_CACHE_HOME; else unset XDG_CACHE_HOME; fi
unset ANTHROPIC_API_KEY ANTHROPIC_BASE_URL ANTHROPIC_CUSTOM_HEADERS CLAUDE_CONFIG_DIR CLAUDE_CODE_TMPDIR CLAUDE_ENV_FILE PAGURUS_CACHE_HOME
`;

export interface SessionFiles {
  /** `CLAUDE_CONFIG_DIR`. */
  configDir: string;
  /**
   * For this session alone: logs of the host's tools with the text of failed calls, and temporary files of commands;
   * otherwise they would be in the user's home and the system's temporary folder.
   */
  scratch: string;
  /** File with `SHELL_SETUP`. */
  shellSetup: string;
  systemPrompt: string;
  /** The session file to resume, if any. */
  resumes: string | undefined;
}

export interface LaunchOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** Names of further variables for Claude Code and its commands. */
  passedOn?: readonly string[] | undefined;
  model: ModelInfo;
  sessionId: string;
  files: SessionFiles;
  /** Undefined: Claude Code's own login. */
  endpoint:
    | (Pick<Endpoint, "baseUrl" | "apiKey"> & { headers: Readonly<Record<string, string>> })
    | undefined;
  thinking: HarnessTurn["thinking"];
  maxSteps: number;
  /** An engine governs: Claude Code neither compacts nor rejects long contexts. */
  governs: boolean;
  /** The host's tools. */
  server: { command: string; args: string[]; env: Record<string, string> } | undefined;
  /** Text that continues a session file which ends with results. */
  continuation: string | undefined;
}

export function launchArguments(options: LaunchOptions): string[] {
  const { model, files, endpoint, thinking, governs, server, sessionId } = options;
  const mcp = { mcpServers: server ? { [SERVER]: { type: "stdio", ...server } } : {} };
  const permissions = {
    // The host decides on each call of Claude Code's own tools; its own tools check permission when they are called.
    ask: TOOLS,
    allow: [`mcp__${SERVER}`],
  };
  return [
    "-p",
    // `--bare` accepts only the key: a login of the user's own needs the other way.
    ...(endpoint ? ["--bare"] : []),
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--include-partial-messages",
    "--replay-user-messages",
    ...(files.resumes === undefined ? ["--session-id", sessionId] : ["--resume", files.resumes]),
    "--model",
    model.id,
    "--system-prompt-file",
    files.systemPrompt,
    "--system-prompt-snapshot",
    "off",
    "--tools",
    TOOLS.join(","),
    "--permission-prompt-tool",
    "stdio",
    "--strict-mcp-config",
    "--mcp-config",
    JSON.stringify(mcp),
    "--setting-sources",
    "",
    "--settings",
    JSON.stringify({ permissions, includeCoAuthoredBy: false }),
    "--max-turns",
    String(options.maxSteps),
    // Each context is written again, so no session needs to stay on disk.
    ...(governs ? ["--disable-slash-commands", "--no-session-persistence"] : []),
    ...(thinking === undefined || thinking === "off" ? [] : ["--effort", thinking]),
  ];
}

export function launchEnvironment(options: LaunchOptions): Record<string, string | undefined> {
  const { env, passedOn = [], model, files, endpoint, thinking, governs, continuation } = options;
  const seen = childEnvironment(env, [...claudeVariables(env), ...passedOn]);
  const kept = endpoint
    ? Object.fromEntries(Object.entries(seen).filter(([name]) => !THEIRS.test(name)))
    : seen;
  return {
    ...kept,
    ...(endpoint ? servedEndpoint(endpoint, files, env["XDG_CACHE_HOME"]) : WITHOUT_BARE),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_ERROR_REPORTING: "1",
    DISABLE_AUTOUPDATER: "1",
    CLAUDE_CODE_DISABLE_TERMINAL_TITLE: "1",
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
    CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK: "1",
    CLAUDE_CODE_DISABLE_REFUSAL_RETRY: "1",
    CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK: "1",
    // Otherwise it retries a rejected request without them, and gateways may not support them.
    CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS: "1",
    CLAUDE_CODE_MAX_RETRIES: String(MOST_RETRIES),
    CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(model.maxTokens),
    // Tools of the host are in the request from the start.
    ENABLE_TOOL_SEARCH: "false",
    MCP_CONNECTION_NONBLOCKING: "false",
    ...(thinking === "off" ? { CLAUDE_CODE_DISABLE_THINKING: "1" } : {}),
    ...(governs
      ? { DISABLE_AUTO_COMPACT: "1", DISABLE_COMPACT: "1", CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(NO_WINDOW) }
      : { CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(model.contextWindow) }),
    ...(continuation === undefined
      ? {}
      : {
          CLAUDE_CODE_RESUME_INTERRUPTED_TURN: "1",
          ...(continuation === "" ? {} : { CLAUDE_CODE_RESUME_PROMPT: continuation }),
        }),
  };
}

function servedEndpoint(
  { baseUrl, headers, apiKey }: NonNullable<LaunchOptions["endpoint"]>,
  { configDir, scratch, shellSetup }: SessionFiles,
  cacheHome: string | undefined,
): Record<string, string | undefined> {
  const named = (name: string): string | undefined =>
    Object.entries(headers).find((header) => header[0].toLowerCase() === name)?.[1];
  const bearer = named("authorization")?.replace(/^Bearer /i, "");
  const own = Object.entries(headers).filter(
    ([name]) => !/^x-api-key$/i.test(name) && (apiKey === undefined || !/^authorization$/i.test(name)),
  );
  return {
    CLAUDE_CONFIG_DIR: configDir,
    CLAUDE_ENV_FILE: shellSetup,
    XDG_CACHE_HOME: scratch,
    CLAUDE_CODE_TMPDIR: scratch,
    ...defined({ PAGURUS_CACHE_HOME: cacheHome }),
    ANTHROPIC_BASE_URL: baseUrl.replace(/\/v1\/?$/, ""),
    // Needed for an endpoint with a header alone: Claude Code does not start without a key.
    ANTHROPIC_API_KEY: apiKey ?? named("x-api-key") ?? bearer ?? "none",
    ...(own.length > 0
      ? { ANTHROPIC_CUSTOM_HEADERS: own.map(([name, value]) => `${name}: ${value}`).join("\n") }
      : {}),
  };
}
