/** Parses the user's own arguments of Codex: which model they select, and where settings can be added. */
import { resolve } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";

/** Commands of Codex with a conversation in this terminal; the empty one is the interactive program. */
const FOLLOWED: ReadonlySet<string> = new Set(["", "exec", "e", "resume", "fork", "review"]);
const COMMANDS: ReadonlySet<string> = new Set(
  "agents exec e review login logout mcp plugin app-server remote-control completion update doctor sandbox debug apply a resume queue archive delete migrate-rollouts migrate-nfs-db unarchive fork cloud exec-server features help".split(
    " ",
  ),
);
/** Options with a value. */
const VALUED: ReadonlySet<string> = new Set(
  "-c --config --enable --disable --remote --remote-auth-token-env -i --image -m --model --local-provider -p --profile -s --sandbox -a --ask-for-approval -C --cd --add-dir --output-schema --color -o --output-last-message".split(
    " ",
  ),
);

export interface CodexArguments {
  /** `key=value` of `-c`, in order. */
  settings: string[];
  model?: string;
  profile?: string;
  cwd: string;
  /** It continues an earlier conversation. */
  resumes?: true;
}

/** Options and their values, `--name=value` included. */
function* options(args: readonly string[]): Generator<[name: string, value: string | undefined]> {
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    if (arg === "--") return;
    const equals = /^(--[\w-]+)=(.*)$/s.exec(arg);
    if (equals) yield [equals[1] ?? "", equals[2]];
    else if (VALUED.has(arg)) yield [arg, args[++at]];
    else if (/^-[cmpC]./.test(arg)) yield [arg.slice(0, 2), arg.slice(2).replace(/^=/, "")];
    else yield [arg, undefined];
  }
}

/** Throws `usage_invalid` for a command that has no conversation, and for a provider that a setting cannot replace. */
export function readArguments(args: readonly string[], cwd: string): CodexArguments {
  const found: CodexArguments = { settings: [], cwd };
  let position = 0;
  let command: string | undefined;
  for (const [name, value] of options(args)) {
    if (!name.startsWith("-")) {
      // `codex resume`, `codex exec resume`.
      const isFirst = position === 0 || (position === 1 && isExec(command));
      if (isFirst && (name === "resume" || name === "fork")) found.resumes = true;
      position += 1;
      command ??= COMMANDS.has(name) ? name : "";
    } else if (name === "-c" || name === "--config") found.settings.push(value ?? "");
    else if (name === "-m" || name === "--model") found.model = value ?? "";
    else if (name === "-p" || name === "--profile") found.profile = value ?? "";
    else if (name === "-C" || name === "--cd") found.cwd = resolve(cwd, value ?? "");
    else if (name === "--oss" || name === "--local-provider")
      throw unfit(name, "name the provider with `-c model_provider=…` instead");
    else if (name === "--remote")
      throw unfit(name, "its model is called by another program; run it without pagurus wire");
  }
  if (!FOLLOWED.has(command ?? ""))
    throw unfit(
      command ?? "",
      "it has no conversation in this terminal to follow; run it without pagurus wire",
    );
  return found;
}

function isExec(command: string | undefined): boolean {
  return command === "exec" || command === "e";
}

function unfit(what: string, advice: string): PagurusError {
  return new PagurusError("usage_invalid", `\`codex ${what}\` cannot be wrapped: ${advice}.`);
}

/** Adds our settings after all of the user's, so that ours win. */
export function withSettings(args: readonly string[], settings: Readonly<Record<string, string>>): string[] {
  const end = args.indexOf("--");
  const at = end < 0 ? args.length : end;
  const ours = Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
  return [...args.slice(0, at), ...ours, ...args.slice(at)];
}

/** A value in TOML, with inline tables. */
export function toml(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value).replaceAll("\u007f", "\\u007f");
  if (Array.isArray(value)) return `[${value.map(toml).join(", ")}]`;
  if (typeof value !== "object" || value === null) return String(value);
  const entries = Object.entries(value).filter(([, each]) => each !== null && each !== undefined);
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)} = ${toml(each)}`).join(", ")}}`;
}
