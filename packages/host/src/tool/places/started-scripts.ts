/**
 * Scripts of the workspace that settings in it start without being asked: the hook of an agent, an MCP server, a task of an editor, a line
 * of `.envrc` or of a hook of husky. What only a person starts by its name (a test, a build) is no such script.
 */
import { basename } from "node:path";

/** Settings of services that run on other machines, and of what an editor starts when a person asks for it. */
const ELSEWHERE =
  /(?:^|\/)(?:\.(?:github|gitlab|circleci|buildkite|woodpecker|forgejo|gitea)\/|\.[\w-]*ci\.ya?ml$|\.(?:travis|drone|appveyor)\.ya?ml$|launch\.json$)/i;
const SHELL = /(?:^|\/)(?:\.envrc(?:\.local)?|\.husky\/[^/]+|[^/]+\.(?:ba|z)?sh)$/;
const STRUCTURED = /\.(?:jsonc?|json5|ya?ml|toml)$/i;
/** Members with a command or its arguments, with their value: a text, a list in brackets, or a list of lines with a dash. */
const COMMANDS =
  /["']?\b([\w-]*command[\w-]*|args|arguments|cmd|run|entry|exec\w*|script)["']?[ \t]*[:=][ \t]*(\[[^\]]*\]|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|(?:\r?\n[ \t]+- [^\n]*)+|[^\n]+)/gi;
/** The folder of the workspace as a variable: `$CLAUDE_PROJECT_DIR/`, `${workspaceFolder}/`, `"$PWD"/`. */
const WORKSPACE_VARIABLE = /(?:\\?")?\$\{?\w+(?::[\w-]*)?\}?(?:\\?")?[\\/]+/g;
const BETWEEN = /[\s"'=;|&!()<>`$,[\]{}\\]+/;
const WITH_FOLDER = /^\/?[\w.@+-]+(?:\/[\w.@+-]+)+$/;
const SCRIPT = /^[\w@+-][\w.@+-]*\.(?:sh|bash|zsh|fish|py|rb|pl|php|lua|ps1|[cm]?[jt]s)$/;

function wordsOf(text: string): string[] {
  const words = text.replaceAll(WORKSPACE_VARIABLE, " ").split(BETWEEN);
  return words.filter((word) => WITH_FOLDER.test(word) || SCRIPT.test(word));
}

/** Paths that the settings in a file name to be started, as written; `path`: the file's. */
export function scriptsNamedIn(path: string, text: string): string[] {
  if (ELSEWHERE.test(path)) return [];
  if (SHELL.test(path)) return wordsOf(text);
  if (!STRUCTURED.test(basename(path))) return [];
  return [...text.matchAll(COMMANDS)].flatMap(([, , value = ""]) => wordsOf(value));
}
