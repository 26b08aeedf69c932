/** Options that commands share, as arguments of `Command.option`. */

export const JSON_OPTION = ["--json", "print JSON"] as const;
export const AGENT_OPTION = ["-a, --agent <id>", "agent (default: main)"] as const;
export const SESSION_OPTION = ["-s, --session <key>", "conversation (default: the folder's last)"] as const;
export const CWD_OPTION = ["-C, --cwd <dir>", "workspace folder (default: the current one)"] as const;
