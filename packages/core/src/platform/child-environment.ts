/**
 * Environment of the programs that the host starts: shell commands, agents (Codex, Claude Code, ACP), MCP servers. One
 * allow list for all, so that no child sees a key that is not its own.
 */

import { safePath } from "./executables.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Variables that programs need to run at all, to reach the network and to find their tools. Names ending in `*` are prefixes.
 */
const ALWAYS_PASSED = [
  ..."PATH HOME LANG LANGUAGE LC_* TERM COLORTERM NO_COLOR FORCE_COLOR TMPDIR TZ USER LOGNAME SHELL CI".split(
    " ",
  ),
  ..."XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME".split(" "),
  ..."HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy".split(" "),
  ..."NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO".split(
    " ",
  ),
  ..."JAVA_HOME GOPATH GOROOT CARGO_HOME RUSTUP_HOME NVM_DIR PNPM_HOME BUN_INSTALL VOLTA_HOME ANDROID_HOME".split(
    " ",
  ),
  ..."VIRTUAL_ENV CONDA_PREFIX PYENV_ROOT RBENV_ROOT ASDF_DIR SDKMAN_DIR DOTNET_ROOT NIX_PATH NIX_PROFILES".split(
    " ",
  ),
];
/** The same on Windows, where names have no case. */
const ON_WINDOWS =
  "SYSTEMROOT WINDIR COMSPEC PATHEXT APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES USERPROFILE USERNAME HOMEDRIVE HOMEPATH TEMP TMP".split(
    " ",
  );
const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * The environment of a program that runs outside of the sandbox of shell commands: its PATH has no folder in which a command could put
 * a program. `extra`: further names, those of a program's own settings and of `permission.shellEnv`.
 */
export function childEnvironment(env: Environment, extra: readonly string[] = []): Record<string, string> {
  const kept = shellEnvironment(env, extra);
  return { ...kept, PATH: safePath({ env, path: kept["PATH"] }) };
}

/** The same for a shell command, with the user's whole PATH. */
export function shellEnvironment(env: Environment, extra: readonly string[] = []): Record<string, string> {
  const isWindows = process.platform === "win32";
  const plain = (name: string): string => (isWindows ? name.toUpperCase() : name);
  const wanted = [...ALWAYS_PASSED, ...(isWindows ? ON_WINDOWS : []), ...extra].map(plain);
  const names = new Set(wanted.filter((item) => !item.endsWith("*")));
  const prefixes = wanted.filter((item) => item.endsWith("*")).map((item) => item.slice(0, -1));
  const kept: Record<string, string> = { PATH: DEFAULT_PATH };
  for (const name of Object.keys(env).sort()) {
    const value = env[name];
    const known = plain(name);
    if (value === undefined) continue;
    if (names.has(known) || prefixes.some((prefix) => known.startsWith(prefix))) kept[name] = value;
  }
  return kept;
}
