/** Homes of agents that run in a terminal. The sources of the rules are the programs' own files. */
import { join } from "node:path";
import { childOf, inHome, named, type Env, type Program } from "./program.ts";

const LOGIN = { take: "no", what: "a login" } as const;
const SETTINGS = { take: "no", what: "a setting" } as const;
const LOGS = { take: "no", what: "a log of the program" } as const;
const CACHE = { take: "no", what: "made again by the program" } as const;

export const CLAUDE_CODE: Program = {
  id: "claude-code",
  label: "Claude Code",
  homes: (env) =>
    env["CLAUDE_CONFIG_DIR"]
      ? env["CLAUDE_CONFIG_DIR"].split(",")
      : [inHome(env, ".claude"), inHome(env, ".config", "claude")],
  known: /^(?:projects|todos|tasks|file-history|plans|paste-cache|image-cache|transcripts)\//,
  rules: [
    { files: /^\.credentials\.json$/, ...LOGIN },
    {
      files: /^projects\/[^/]+\/([^/]+)\.jsonl$/,
      take: "words",
      what: "a conversation",
      format: "claude-code",
      conversation: named,
    },
    {
      files: /^projects\/[^/]+\/([^/]+)\/subagents\/(?:.*\/)?([^/]+)\.jsonl$/,
      take: "words",
      what: "a subagent's conversation",
      format: "claude-code",
      conversation: childOf,
    },
    {
      files: /^projects\/[^/]+\/([^/]+)\/tool-results\/[^/]+$/,
      take: "words",
      what: "a large result of a tool",
      format: "text",
      conversation: named,
    },
    {
      files: /^projects\/[^/]+\/memory\/.+\.md$/,
      take: "words",
      what: "memory of a project",
      isState: true,
      format: "text",
    },
    {
      files: /^projects\/[^/]+\/sessions-index\.json$/,
      take: "raw",
      what: "the index of a project's conversations",
    },
    {
      files: /^todos\/([0-9a-f-]{36})[^/]*\.json$/,
      take: "words",
      what: "a list of tasks",
      isState: true,
      format: "json",
      conversation: named,
    },
    {
      files: /^tasks\/([^/]+)\/[^/]+\.json$/,
      take: "words",
      what: "a task",
      isState: true,
      format: "json",
      conversation: named,
    },
    {
      files: /^file-history\/([^/]+)\/[^/]+$/,
      take: "raw",
      what: "a file before a change",
      conversation: named,
    },
    { files: /^plans\/[^/]+\.md$/, take: "words", what: "a plan", isState: true, format: "text" },
    { files: /^history\.jsonl$/, take: "words", what: "the prompts of all folders", format: "prompts" },
    { files: /^(?:paste-cache|image-cache)\//, take: "raw", what: "a pasted text or image" },
    {
      files: /^(?:settings.*\.json|CLAUDE\.md|(?:agents|commands|skills|output-styles|hooks|rules)\/.*)$/,
      ...SETTINGS,
    },
    { files: /^(?:debug|logs|telemetry)\//, ...LOGS },
    {
      files: /^(?:statsig|shell-snapshots|session-env|ide|cache|plugins|local|downloads|backups)\//,
      ...CACHE,
    },
  ],
};

export const CODEX: Program = {
  id: "codex",
  label: "Codex",
  homes: (env) => [env["CODEX_HOME"] || inHome(env, ".codex")],
  known: /^(?:sessions|archived_sessions|memories)\//,
  rules: [
    { files: /^auth\.json$/, ...LOGIN },
    {
      files:
        /^(?:sessions|archived_sessions)\/(?:.*\/)?rollout-.*?([0-9a-f]{8}-[0-9a-f-]{27})\.jsonl(?:\.zst)?$/,
      take: "words",
      what: "a conversation",
      format: "codex",
      conversation: named,
    },
    {
      files: /^(?:sessions|archived_sessions)\/(?:.*\/)?rollout-.*\.json$/,
      take: "words",
      what: "a conversation of an early version",
      format: "json",
    },
    { files: /^history\.jsonl$/, take: "words", what: "the prompts of all folders", format: "prompts" },
    {
      files: /^session_index\.jsonl$/,
      take: "words",
      what: "the names of the conversations",
      isState: true,
      format: "prompts",
    },
    { files: /^memories\/.*\.md$/, take: "words", what: "memory", isState: true, format: "text" },
    {
      files: /^(?:state|logs|memories|goals)[^/]*\.sqlite$/,
      take: "words",
      what: "a database",
      format: "database",
    },
    {
      files: /^(?:sqlite\/)?[^/]*\.sqlite-(?:wal|shm)$/,
      take: "no",
      what: "a part of a database, which is kept with it",
    },
    { files: /^(?:config\.toml|AGENTS\.md|(?:prompts|skills|rules)\/.*)$/, ...SETTINGS },
    { files: /^(?:log|logs)\//, ...LOGS },
    { files: /^(?:tmp|cache|packages|shell_snapshots|models_cache\.json|version\.json|\.tmp)/, ...CACHE },
  ],
};

function dataHome(env: Env, name: string): string {
  return env["XDG_DATA_HOME"] ? join(env["XDG_DATA_HOME"], name) : inHome(env, ".local", "share", name);
}

export const OPENCODE: Program = {
  id: "opencode",
  label: "OpenCode",
  homes: (env) => [dataHome(env, "opencode")],
  known: /^(?:storage|project|tool-output)\//,
  rules: [
    { files: /^auth\.json$|^mcp-auth\.json$/, ...LOGIN },
    {
      files: /^storage\/session\/[^/]+\/([^/]+)\.json$/,
      take: "words",
      what: "a conversation's head",
      format: "opencode",
      conversation: named,
    },
    {
      files: /^storage\/message\/([^/]+)\/[^/]+\.json$/,
      take: "words",
      what: "a message",
      format: "opencode",
      conversation: named,
    },
    {
      files: /^storage\/part\/[^/]+\/[^/]+\.json$/,
      take: "words",
      what: "a part of a message",
      format: "opencode",
    },
    {
      files: /^project\/[^/]+\/storage\/session\/(?:message|part|info)\/.*\.json$/,
      take: "words",
      what: "a message of an early version",
      format: "opencode",
    },
    {
      files: /^storage\/(?:todo|session_diff|session_share|project)\//,
      take: "raw",
      what: "a list or a difference of a conversation",
    },
    { files: /^[^/]*\.db$/, take: "words", what: "a database of conversations", format: "database" },
    { files: /\.db-(?:wal|shm)$/, take: "no", what: "a part of a database, which is kept with it" },
    { files: /^tool-output\//, take: "words", what: "a large result of a tool", format: "text" },
    { files: /^log\//, ...LOGS },
    { files: /^(?:bin|snapshot|worktree|repos)\//, ...CACHE },
  ],
};

export const PI: Program = {
  id: "pi",
  label: "pi",
  homes: (env) => [env["PI_CODING_AGENT_DIR"] || inHome(env, ".pi", "agent")],
  known: /^sessions\//,
  rules: [
    { files: /^auth\.json$/, ...LOGIN },
    {
      files: /^sessions\/(?:.*\/)?(?:[^/]*_)?([^/_]+)\.jsonl$/,
      take: "words",
      what: "a conversation",
      format: "pi",
      conversation: named,
    },
    {
      files: /^(?:settings|models|keybindings|trust)\.json$|^(?:extensions|skills|prompts|themes)\//,
      ...SETTINGS,
    },
    { files: /^(?:bin|git|npm)\//, ...CACHE },
  ],
};

/** Files of a folder that Gemini CLI and Qwen Code, which began as a copy of it, name alike. */
const OF_A_FOLDER: Program["rules"] = [
  {
    files: /^tmp\/[^/]+\/(checkpoint[^/]*)\.json$/,
    take: "words",
    what: "a saved conversation",
    format: "gemini",
    conversation: named,
  },
  {
    files: /^tmp\/([^/]+)\/logs\.json$/,
    take: "words",
    what: "the prompts of a folder",
    format: "prompts",
  },
];

export const GEMINI: Program = {
  id: "gemini",
  label: "Gemini CLI",
  homes: (env) => [join(env["GEMINI_CLI_HOME"] || inHome(env), ".gemini")],
  known: /^(?:tmp|history)\/[^/]+\/(?:chats|checkpoints|logs)/,
  rules: [
    { files: /^(?:oauth_creds|google_accounts|mcp-oauth-tokens[^/]*)\.json$/, ...LOGIN },
    {
      files: /^tmp\/[^/]+\/chats\/(?:.*\/)?([^/]+)\.jsonl?$/,
      take: "words",
      what: "a conversation",
      format: "gemini",
      conversation: named,
    },
    ...OF_A_FOLDER,
    {
      files: /^tmp\/[^/]+\/tool-outputs?\//,
      take: "words",
      what: "a large result of a tool",
      format: "text",
    },
    { files: /^(?:settings\.json|GEMINI\.md|(?:commands|extensions|skills)\/.*)$/, ...SETTINGS },
    { files: /^history\//, take: "no", what: "snapshots of the user's files" },
  ],
};

export const QWEN: Program = {
  id: "qwen",
  label: "Qwen Code",
  homes: (env) => [inHome(env, ".qwen")],
  known: /^(?:tmp|projects)\/[^/]+\/chats\//,
  rules: [
    { files: /^oauth_creds\.json$/, ...LOGIN },
    {
      files: /^(?:tmp|projects)\/[^/]+\/chats\/([^/]+)\.jsonl?$/,
      take: "words",
      what: "a conversation",
      format: "gemini",
      conversation: named,
    },
    ...OF_A_FOLDER,
    {
      files: /^todos\/([^/]+)\.json$/,
      take: "words",
      what: "a list of tasks",
      isState: true,
      format: "json",
      conversation: named,
    },
    { files: /^(?:settings\.json|QWEN\.md|(?:commands|extensions|skills|agents)\/.*)$/, ...SETTINGS },
    { files: /^(?:debug|logs)\//, ...LOGS },
  ],
};

export const COPILOT: Program = {
  id: "copilot",
  label: "Copilot CLI",
  homes: (env) => [env["COPILOT_HOME"] || inHome(env, ".copilot")],
  known: /^(?:session-state|history-session-state)\//,
  rules: [
    {
      files: /^session-state\/([^/]+)\/events\.jsonl$/,
      take: "words",
      what: "a conversation",
      format: "copilot",
      conversation: named,
    },
    {
      files: /^session-state\/([^/]+)\.jsonl$/,
      take: "words",
      what: "a conversation",
      format: "copilot",
      conversation: named,
    },
    {
      files: /^history-session-state\/([^/]+)\.json$/,
      take: "words",
      what: "a conversation of an early version",
      format: "json",
      conversation: named,
    },
    {
      files: /^session-state\/([^/]+)\/(?:plan\.md|checkpoints\/.*\.md|workspace\.yaml)$/,
      take: "words",
      what: "a plan or a summary of a conversation",
      isState: true,
      format: "text",
      conversation: named,
    },
    {
      files: /^(?:session-store|data)\.db$/,
      take: "words",
      what: "a database of conversations",
      format: "database",
    },
    { files: /\.db-(?:wal|shm)$/, take: "no", what: "a part of a database, which is kept with it" },
    {
      files: /^(?:config|mcp-config|mcp-oauth-config\/.*)\.json$/,
      take: "no",
      what: "a setting, which may have a login",
    },
    { files: /^logs\//, ...LOGS },
  ],
};

export const GOOSE: Program = {
  id: "goose",
  label: "Goose",
  homes: (env) => [dataHome(env, "goose")],
  known: /^(?:sessions|projects)\//,
  rules: [
    {
      files: /^sessions\/([^/]+)\.jsonl$/,
      take: "words",
      what: "a conversation",
      format: "goose",
      conversation: named,
    },
    {
      files: /^sessions\/[^/]+\.db$/,
      take: "words",
      what: "a database of conversations",
      format: "database",
    },
    { files: /\.db-(?:wal|shm)$/, take: "no", what: "a part of a database, which is kept with it" },
    { files: /^(?:logs|telemetry)\//, ...LOGS },
  ],
};

export const DROID: Program = {
  id: "droid",
  label: "Droid",
  homes: (env) => [inHome(env, ".factory")],
  known: /^(?:sessions|projects)\//,
  rules: [
    { files: /^(?:auth|auth\.v2|credentials)[^/]*$/, ...LOGIN },
    {
      files: /^(?:sessions|projects)\/(?:.*\/)?([^/]+)\.jsonl$/,
      take: "words",
      what: "a conversation",
      format: "droid",
      conversation: named,
    },
    {
      files: /^sessions\/(?:.*\/)?([^/]+)\.settings\.json$/,
      take: "raw",
      what: "the settings and the cost of a conversation",
      conversation: named,
    },
    { files: /^history\.json$/, take: "words", what: "the prompts of all folders", format: "prompts" },
    { files: /^(?:settings|config|mcp)\.json$|^(?:droids|commands|skills|hooks)\//, ...SETTINGS },
    { files: /^logs\//, ...LOGS },
  ],
};
