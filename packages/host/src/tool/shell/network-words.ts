/**
 * Guesses from a command's words whether it needs the network, so that the question comes before it runs. A wrong guess opens nothing: a
 * command that is taken for one without the network runs without it.
 */
import { commandsOf, nameOf, COMMAND_PREFIXES, withoutHereDocuments } from "./shell-words.ts";

const NETWORK_PROGRAMS = new Set(
  "curl wget ssh scp sftp rsync ftp telnet nc ncat ping dig nslookup host gh glab npx aws gcloud az kubectl helm psql mysql redis-cli".split(
    " ",
  ),
);

const INSTALLS = new Set(
  "install i ci add update upgrade dlx exec x publish audit outdated login view info search".split(" "),
);
/** By program, the subcommands that use the network. */
const SUBCOMMANDS: Readonly<Record<string, ReadonlySet<string>>> = {
  git: new Set("clone fetch pull push ls-remote submodule remote-update".split(" ")),
  npm: INSTALLS,
  pnpm: INSTALLS,
  yarn: INSTALLS,
  bun: INSTALLS,
  pip: new Set("install download search".split(" ")),
  pip3: new Set("install download search".split(" ")),
  uv: new Set("add sync lock pip tool python".split(" ")),
  poetry: new Set("add install update lock publish".split(" ")),
  cargo: new Set("add install update fetch publish search".split(" ")),
  go: new Set("get install mod".split(" ")),
  gem: new Set("install update fetch push".split(" ")),
  bundle: new Set("install update add".split(" ")),
  composer: new Set("install update require create-project".split(" ")),
  apt: new Set("install update upgrade".split(" ")),
  "apt-get": new Set("install update upgrade".split(" ")),
  brew: new Set("install update upgrade tap".split(" ")),
};

/** The words from the program on. */
function fromProgram(words: readonly string[]): readonly string[] {
  const at = words.findIndex(
    (word) => !/^\w+=|^-|^\d+[smhd]?$/.test(word) && !COMMAND_PREFIXES.has(nameOf(word)),
  );
  return at === -1 ? [] : words.slice(at);
}

export function usesNetwork(command: string): boolean {
  return commandsOf(withoutHereDocuments(command)).some((words) => {
    const [first = "", ...rest] = fromProgram(words);
    const program = nameOf(first);
    if (NETWORK_PROGRAMS.has(program)) return true;
    const known = Object.hasOwn(SUBCOMMANDS, program) ? SUBCOMMANDS[program] : undefined;
    const subcommand = rest.find((word, at) => !word.startsWith("-") && !/^-[cC]$/.test(rest[at - 1] ?? ""));
    return subcommand !== undefined && known?.has(subcommand) === true;
  });
}
