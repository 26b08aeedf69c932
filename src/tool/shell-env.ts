/** The environment of shell commands: what programs need to run, and no keys. */

const ALWAYS = [
  "PATH",
  "HOME",
  "LANG",
  "LANGUAGE",
  "TERM",
  "TMPDIR",
  "TZ",
  "USER",
  "LOGNAME",
  "SHELL",
  "LC_*",
];
const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** `extra`: names of the configuration's `permission.shellEnv`; `*` at the end is a prefix. */
export function shellEnvironment(
  env: Record<string, string | undefined>,
  extra: readonly string[] = [],
): Record<string, string> {
  const wanted = [...ALWAYS, ...extra];
  const allowed = (name: string): boolean =>
    wanted.some((item) => (item.endsWith("*") ? name.startsWith(item.slice(0, -1)) : name === item));
  const kept: Record<string, string> = { PATH: DEFAULT_PATH };
  for (const name of Object.keys(env).sort()) {
    const value = env[name];
    if (value !== undefined && allowed(name)) kept[name] = value;
  }
  return kept;
}
