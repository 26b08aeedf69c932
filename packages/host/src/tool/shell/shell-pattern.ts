/**
 * The wider rule offered for a shell command: `npm test *` for `npm test -- a`. Only for programs whose first words determine
 * the effect; never where a further word could be any program (`npx`, `docker run`, `uv run`) or change what later commands run
 * (`git config`, `npm install`).
 */
import { isRiskyGit } from "./git-words.ts";

/** Programs identified with their subcommand: `git status`, `npm test`. */
const WITH_SUBCOMMAND = new Set(
  "npm pnpm yarn bun deno gh cargo go make just mvn gradle dotnet pip uv poetry bundle rake mix swift terraform docker kubectl".split(
    " ",
  ),
);
/**
 * Git subcommands that qualify: most others run a program that an argument names, or hooks (`git grep -O`, `git fetch
 * --upload-pack`).
 */
const OF_GIT = new Set("status diff show branch".split(" "));
/** Programs whose `run` names a script of the project. */
const WITH_SCRIPTS = new Set(["npm", "pnpm", "yarn", "bun"]);
/** Programs that only check or list, with any arguments. */
const ALONE = new Set("ls wc pytest jest vitest tsc mypy ruff eslint oxlint".split(" "));
/** Subcommands that run any program, fetch code, or change what others run. */
const OPEN_ENDED = new Set(
  "run exec x dlx eval repl shell config set install i add ci update upgrade publish login alias remote api extension apply cp get".split(
    " ",
  ),
);
/** More than one command, a redirection, a substitution. */
const COMPOUND = /[;&|<>`$(){}\n\r\\]/;
const PLAIN_WORD = /^[a-z][a-z0-9:_-]*$/;

/** The prefix for the rule; undefined where no wider rule is offered. */
export function shellPattern(command: string): string | undefined {
  if (COMPOUND.test(command)) return undefined;
  const [program = "", first = "", second = ""] = command.trim().split(/[ \t]+/);
  if (ALONE.has(program)) return program;
  if (program === "git")
    return OF_GIT.has(first) && !isRiskyGit(["git", first], command.trim().slice(`git ${first}`.length))
      ? `git ${first}`
      : undefined;
  if (!WITH_SUBCOMMAND.has(program) || !PLAIN_WORD.test(first)) return undefined;
  if (first === "run" && WITH_SCRIPTS.has(program))
    return PLAIN_WORD.test(second) ? `${program} run ${second}` : undefined;
  return OPEN_ENDED.has(first) ? undefined : `${program} ${first}`;
}
