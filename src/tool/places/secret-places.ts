/** Files and folders of a user's home with keys, cookies and shell history. */
import { existsSync } from "node:fs";
import { join } from "node:path";

const IN_HOME = [
  ".ssh",
  ".gnupg",
  ".password-store",
  ".netrc",
  "_netrc",
  ".git-credentials",
  // Clouds and clusters.
  ".aws",
  ".azure",
  ".kube",
  ".docker",
  ".s3cfg",
  ".boto",
  ".vault-token",
  ".terraform.d",
  ".terraformrc",
  ".oci",
  ".fly",
  ".databrickscfg",
  // Registries of packages.
  ".npmrc",
  ".yarnrc",
  ".yarnrc.yml",
  ".pypirc",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".gem/credentials",
  ".m2/settings.xml",
  ".gradle/gradle.properties",
  ".nuget/NuGet/NuGet.Config",
  ".composer/auth.json",
  // Databases.
  ".pgpass",
  ".my.cnf",
  ".mylogin.cnf",
  // Other agents.
  ".claude/.credentials.json",
  ".claude.json",
  ".codex/auth.json",
  ".gemini/oauth_creds.json",
  ".openclaw",
  // Browsers, mail, key rings.
  ".mozilla",
  ".thunderbird",
  ".local/share/keyrings",
  ".local/share/kwalletd",
  ".1password",
  "Library/Keychains",
  "Library/Cookies",
  "Library/Application Support/Google/Chrome",
  "Library/Application Support/Firefox",
  "Library/Application Support/BraveSoftware",
  "Library/Application Support/Microsoft Edge",
  // Shell history.
  ".bash_history",
  ".zsh_history",
  ".python_history",
  ".node_repl_history",
  ".psql_history",
  ".mysql_history",
  ".local/share/fish/fish_history",
];

const IN_CONFIG = [
  "gh",
  "glab-cli",
  "hub",
  "git/credentials",
  "gcloud",
  "doctl",
  "op",
  "rclone",
  "sops",
  "age",
  "containers/auth.json",
  "composer/auth.json",
  "github-copilot",
  "google-chrome",
  "chromium",
  "BraveSoftware",
  "microsoft-edge",
  "vivaldi",
  "opera",
];

/** Those that exist, by their own names: absolute, links not followed. `home` is the user's. */
export function secretPlaces(home: string, env: Record<string, string | undefined>): string[] {
  const config = env["XDG_CONFIG_HOME"];
  const configs = [join(home, ".config"), ...(config?.startsWith("/") ? [config] : [])];
  const named = [
    ...IN_HOME.map((name) => join(home, name)),
    ...configs.flatMap((folder) => IN_CONFIG.map((name) => join(folder, name))),
  ];
  return [...new Set(named)].filter((path) => existsSync(path)).sort();
}
