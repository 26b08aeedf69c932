/** Where other agents keep their login and their conversations. A login is only looked for: its file is never opened. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";
import { TRIED } from "@pagurus/core/data/tried-programs";
import { findProgram } from "@pagurus/core/platform/executables";

type Env = Readonly<Record<string, string | undefined>>;

interface AgentPlaces {
  /** Name of the program. */
  id: keyof typeof TRIED;
  /** Its own folder. */
  folder(env: Env): string;
  /** Files in that folder, one of which exists after a login. Absent: it is not known where the agent keeps it. */
  logins?: readonly string[];
  /** Command of the agent that logs in. */
  login?: string;
  /** Folder of conversations that can be imported, in its own folder, and the names of their files. */
  conversations?: { folder: string; files: RegExp };
}

const inHome =
  (...path: string[]) =>
  (env: Env): string =>
    join(env["HOME"] || homedir(), ...path);

const AGENTS: readonly AgentPlaces[] = [
  {
    id: "codex",
    folder: (env) => env["CODEX_HOME"] || inHome(".codex")(env),
    logins: ["auth.json"],
    login: "codex login",
    conversations: { folder: "sessions", files: /^rollout-.*\.jsonl$/ },
  },
  {
    id: "claude",
    folder: (env) => env["CLAUDE_CONFIG_DIR"] || inHome(".claude")(env),
    logins: [".credentials.json"],
    login: "claude, and /login in it",
    conversations: { folder: "projects", files: /\.jsonl$/ },
  },
  {
    id: "opencode",
    folder: (env) => join(env["XDG_DATA_HOME"] || inHome(".local", "share")(env), "opencode"),
    logins: ["auth.json"],
    login: "opencode auth login",
  },
  { id: "gemini", folder: inHome(".gemini"), logins: ["oauth_creds.json"], login: "gemini" },
  { id: "qwen", folder: inHome(".qwen"), logins: ["oauth_creds.json"], login: "qwen" },
  {
    id: "pi",
    folder: (env) => env["PI_CODING_AGENT_DIR"] || inHome(".pi", "agent")(env),
    logins: ["auth.json"],
    login: "pi, and /login in it",
    conversations: { folder: "sessions", files: /\.jsonl$/ },
  },
  { id: "copilot", folder: inHome(".copilot") },
  { id: "droid", folder: inHome(".factory") },
];

export interface InstalledAgent {
  /** Name of the program, for example `codex`. */
  id: string;
  label: string;
  /** Absolute path. */
  file: string;
  /** Undefined: not known. */
  isLoggedIn: boolean | undefined;
  /** How to log in. */
  login: string | undefined;
}

export interface Conversations {
  agent: string;
  label: string;
  folder: string;
  /** Newest first. */
  files: readonly string[];
  bytes: number;
}

/** On macOS Claude Code keeps its login in the keychain, and only the account's name in `~/.claude.json`. */
function isInKeychain(id: string, env: Env): boolean {
  return id === "claude" && process.platform === "darwin" && existsSync(inHome(".claude.json")(env));
}

export function installedAgents(env: Env): InstalledAgent[] {
  return AGENTS.flatMap(({ id, folder, logins, login }) => {
    const { file } = findProgram(id, { env });
    if (file === undefined) return [];
    const isLoggedIn = logins
      ? logins.some((name) => existsSync(join(folder(env), name))) || isInKeychain(id, env)
      : undefined;
    return [{ id, label: TRIED[id].label, file, isLoggedIn, login }];
  });
}

/** Conversations of agents, also of those that are not installed any more. Reads no file. */
export function foundConversations(env: Env): Conversations[] {
  return AGENTS.flatMap(({ id, folder, conversations }) => {
    if (!conversations) return [];
    const at = join(folder(env), conversations.folder);
    const entries = attempt(() => readdirSync(at, { recursive: true, withFileTypes: true })) ?? [];
    const files = entries
      .filter((entry) => entry.isFile() && conversations.files.test(entry.name))
      .flatMap((entry) => {
        const path = join(entry.parentPath, entry.name);
        const stat = attempt(() => statSync(path));
        return stat && stat.size > 0 ? [{ path, size: stat.size, at: stat.mtimeMs }] : [];
      })
      .toSorted((one, other) => other.at - one.at);
    if (files.length === 0) return [];
    return [
      {
        agent: id,
        label: TRIED[id].label,
        folder: at,
        files: files.map(({ path }) => path),
        bytes: files.reduce((sum, { size }) => sum + size, 0),
      },
    ];
  });
}

/** Home of OpenClaw, for `pagurus migrate`; undefined if it does not exist. */
export function openclawHome(env: Env): string | undefined {
  const home = env["OPENCLAW_STATE_DIR"] || inHome(".openclaw")(env);
  return existsSync(home) ? home : undefined;
}
