/** Homes of agents in editors, of assistants and of agents that write into the user's folders. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";
import { inHome, named, type Env, type Program } from "./program.ts";

const DATABASE_PART = {
  files: /(?:-wal|-shm|-journal)$/,
  take: "no",
  what: "a part of a database, which is kept with it",
} as const;

/** Folders where editors of the family of VS Code keep the data of extensions. */
function extensionData(env: Env, extension: string): string[] {
  const config = env["XDG_CONFIG_HOME"] || inHome(env, ".config");
  const editors = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];
  const support = inHome(env, "Library", "Application Support");
  const users = [
    ...editors.flatMap((editor) => [join(config, editor, "User"), join(support, editor, "User")]),
    ...[".vscode-server", ".cursor-server", ".windsurf-server"].map((server) =>
      inHome(env, server, "data", "User"),
    ),
  ];
  return users.map((user) => join(user, "globalStorage", extension));
}

const TASKS: Pick<Program, "known" | "rules"> = {
  known: /^(?:tasks|sessions)\//,
  rules: [
    {
      files: /^sessions\/([^/]+)\/[^/]+\.messages\.json$/,
      take: "words",
      what: "a conversation",
      format: "cline",
      conversation: named,
    },
    {
      files: /^sessions\/([^/]+)\/[^/]+\.json$/,
      take: "words",
      what: "facts about a conversation",
      isState: true,
      format: "json",
      conversation: named,
    },
    {
      files: /^tasks\/([^/]+)\/api_conversation_history\.json$/,
      take: "words",
      what: "a conversation",
      format: "cline",
      conversation: named,
    },
    {
      files: /^tasks\/([^/]+)\/ui_messages\.json$/,
      take: "words",
      what: "a conversation as it was shown",
      isState: true,
      format: "json",
      conversation: named,
    },
    {
      files: /^tasks\/([^/]+)\/(?:task_metadata|history_item)\.json$/,
      take: "raw",
      what: "facts about a conversation",
      conversation: named,
    },
    { files: /^tasks\/([^/]+)\/checkpoints\//, take: "no", what: "snapshots of the user's files" },
    { files: /^checkpoints\//, take: "no", what: "snapshots of the user's files" },
    { files: /^settings\//, take: "no", what: "a setting" },
  ],
};

export const CLINE: Program = {
  id: "cline",
  label: "Cline",
  homes: (env) => [...extensionData(env, "saoudrizwan.claude-dev"), inHome(env, ".cline", "data")],
  ...TASKS,
};

export const ROO: Program = {
  id: "roo",
  label: "Roo Code",
  homes: (env) => extensionData(env, "rooveterinaryinc.roo-cline"),
  ...TASKS,
};

export const OPENCLAW: Program = {
  id: "openclaw",
  label: "OpenClaw",
  homes: (env) =>
    env["OPENCLAW_STATE_DIR"]
      ? [env["OPENCLAW_STATE_DIR"]]
      : [".openclaw", ".clawdbot", ".moltbot"].map((name) => inHome(env, name)),
  known: /^agents\/[^/]+\/(?:sessions|agent)\/|^sessions\//,
  rules: [
    {
      files: /(?:^|\/)(?:credentials|auth[^/]*\.json|oauth[^/]*\.json)(?:\/|$)/,
      take: "no",
      what: "a login",
    },
    {
      files: /^(?:agents\/[^/]+\/)?sessions\/([^/]+?)\.jsonl(?:\.(?:reset|deleted|bak)[^/]*)?$/,
      take: "words",
      what: "a conversation",
      format: "pi",
      conversation: named,
    },
    {
      files: /^agents\/[^/]+\/sessions\/sessions\.json$/,
      take: "raw",
      what: "the index of an agent's conversations",
    },
    {
      files: /^agents\/[^/]+\/(?:agent|sessions)\/[^/]+\.(?:sqlite|db)$/,
      take: "words",
      what: "a database of conversations",
      format: "database",
    },
    {
      files: /^(?:lcm|memory\/[^/]+|state\/[^/]+)\.(?:sqlite|db)$/,
      take: "words",
      what: "a database of words",
      format: "database",
    },
    DATABASE_PART,
    {
      files: /^workspace[^/]*\/(?:MEMORY\.md|memory\/.*\.md)$/,
      take: "words",
      what: "memory",
      isState: true,
      format: "text",
    },
    { files: /^logs\//, take: "no", what: "a log of the program" },
  ],
};

export const ZED: Program = {
  id: "zed",
  label: "Zed",
  homes: (env) => [
    env["XDG_DATA_HOME"] ? join(env["XDG_DATA_HOME"], "zed") : inHome(env, ".local", "share", "zed"),
    inHome(env, "Library", "Application Support", "Zed"),
  ],
  known: /^(?:threads|conversations)\//,
  rules: [
    {
      files: /^threads\/threads[^/]*\.db$/,
      take: "words",
      what: "a database of conversations",
      format: "database",
    },
    {
      files: /^conversations\/[^/]+\.json$/,
      take: "words",
      what: "a conversation of an early version",
      format: "json",
    },
    DATABASE_PART,
  ],
};

export const CURSOR: Program = {
  id: "cursor",
  label: "Cursor",
  homes: (env) => [
    inHome(env, ".cursor"),
    join(env["XDG_CONFIG_HOME"] || inHome(env, ".config"), "Cursor", "User"),
    inHome(env, "Library", "Application Support", "Cursor", "User"),
  ],
  known: /^(?:chats|projects\/[^/]+\/agent-transcripts)\//,
  rules: [
    {
      files: /^projects\/[^/]+\/agent-transcripts\/(?:.*\/)?([^/]+)\.jsonl$/,
      take: "words",
      what: "a conversation",
      format: "droid",
      conversation: named,
    },
    {
      files: /^projects\/[^/]+\/agent-transcripts\/(?:.*\/)?([^/]+)\.txt$/,
      take: "words",
      what: "a conversation",
      format: "text",
      conversation: named,
    },
    {
      files: /^chats\/[^/]+\/([^/]+)\/store\.db$/,
      take: "words",
      what: "a database of a conversation",
      format: "database",
      conversation: named,
    },
    {
      files: /^(?:globalStorage|workspaceStorage\/[^/]+)\/state\.vscdb$/,
      take: "words",
      what: "a database of conversations",
      format: "database",
    },
    DATABASE_PART,
  ],
};

const AIDER_FILE = /^\.aider\.(?:chat\.history\.md|input\.history|llm\.history)$/;

/** Aider keeps its files in the folders where it runs; those in the user's home, and one folder below, are found. */
export const AIDER: Program = {
  id: "aider",
  label: "Aider",
  homes: (env) => {
    const home = inHome(env);
    const below = attempt(() => readdirSync(home, { withFileTypes: true })) ?? [];
    const folders = below.filter((entry) => entry.isDirectory() && !entry.name.startsWith("."));
    return [home, ...folders.map(({ name }) => join(home, name))].filter((folder) =>
      (attempt(() => readdirSync(folder)) ?? []).some((name) => AIDER_FILE.test(name)),
    );
  },
  known: /^\.aider\.chat\.history/,
  depth: 0,
  rules: [
    {
      files: /^\.aider\.chat\.history\.md$/,
      take: "words",
      what: "conversations of a folder",
      format: "aider",
    },
    { files: /^\.aider\.(?:input|llm)\.history$/, take: "raw", what: "prompts of a folder" },
  ],
};
