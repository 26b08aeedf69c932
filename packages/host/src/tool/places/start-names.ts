/**
 * The one list of names that `start-places.ts` uses. Everything that starts with a dot is a place that programs start from; here are
 * the exceptions, and the places without a dot.
 */

/** Files with a dot that hold data, by the form of their name: `.gitignore`, `.nvmrc`, `.env.example`. */
export const DATA_FILES =
  /^\.(?:\w*ignore|git(?:keep|attributes|modules)|\w*keep|editorconfig|mailmap|browserslistrc|nojekyll|nvmrc|[\w-]+-version|ds_store|coverage|\w*cache|\w*_history|tsbuildinfo|package-lock\.json|modules\.yaml|yarn-integrity|yarn-state\.yml|.+\.(?:example|sample|template|dist|swp|swo|tmp|map|log))$/;

/** Folders with a dot whose content is data: caches and the output of builds. */
export const DATA_FOLDERS = new Set(
  ".cache .next .nuxt .output .svelte-kit .turbo .parcel-cache .pytest_cache .mypy_cache .ruff_cache .hypothesis .nyc_output .ipynb_checkpoints .gradle .dart_tool .angular .expo .docusaurus .vite .vitest .rollup.cache .sass-cache .eggs .pnpm .pnpm-store .npm .svn .trash .prisma".split(
    " ",
  ),
);

/** Folders with a dot that hold a Python environment when they contain `pyvenv.cfg`. */
export const ENVIRONMENT = /^\.?(?:v|virtual)?env[\w.-]*$/;

/** Parts of a folder with a dot that are data, although the rest is not. */
export const DATA_INSIDE: Readonly<Record<string, readonly string[]>> = {
  ".yarn": ["cache", "unplugged", "install-state.gz", "build-state.yml"],
  ".hg": ["store", "cache", "wcache", "dirstate", "branch", "undo.dirstate", "last-message.txt"],
  ".jj": ["working_copy"],
  ".cargo": ["registry", "git"],
};

/** Upper-case Markdown files that are documentation; any other (`AGENTS.md`) is read by agents as instructions. */
export const DOCUMENTATION = new Set(
  "README CHANGELOG CHANGES CONTRIBUTING LICENSE LICENCE NOTICE SECURITY AUTHORS CONTRIBUTORS CODEOWNERS MAINTAINERS HISTORY TODO ROADMAP ARCHITECTURE DESIGN SUPPORT GOVERNANCE RELEASE RELEASES RELEASING INSTALL USAGE FAQ UPGRADING MIGRATION BUILD BUILDING TESTING DEVELOPMENT DEPLOYMENT HACKING API NOTES PLAN SPEC SUMMARY REPORT ANALYSIS RESULTS COPYING INDEX OVERVIEW GLOSSARY THANKS CREDITS BACKLOG STATUS STYLE".split(
    " ",
  ),
);

/** Markdown files of agents in the spelling `AGENTS.md`, `CLAUDE.local.md`; compared in lower case. */
export const INSTRUCTIONS =
  /^(?:agents|claude|gemini|qwen|copilot|context|memory|skill|soul|identity|tools|user|heartbeat|bootstrap)(?:\.(?:local|override))?\.md$/;

const AGENT_SETTINGS =
  /^(?:opencode|crush|pagurus|openclaw|mcp|gemini-extension|.+\.mcp|lefthook(?:-local)?|devbox|nx|lerna|rush|nodemon|deno|(?:babel|jest|vitest|eslint|stylelint|playwright|release|commitlint)\.config)$/;
const YAML_SETTINGS = /^(?:lefthook(?:-local)?|devenv|pnpm-workspace|package)$/;
const CODE_SETTINGS = /^(?:[\w.-]+\.conf(?:ig)?|pnpmfile)$/;
const ANY = /./;

/**
 * Files that do not begin with a dot and that agents, editors, shells and package managers read on their own: names before the last dot,
 * by what follows it, for example `pnpm-workspace` by `yaml`; compared in lower case.
 */
export const START_FILES: ReadonlyMap<string, RegExp> = new Map(
  Object.entries({
    "": /^(?:gdbinit|_vimrc|_netrc)$/,
    json: AGENT_SETTINGS,
    jsonc: AGENT_SETTINGS,
    json5: /^package$/,
    yml: YAML_SETTINGS,
    yaml: YAML_SETTINGS,
    toml: /^(?:lefthook(?:-local)?|(?:mise|bunfig)(?:\.[\w-]+)*)$/,
    nix: /^(?:devenv|flake|shell|default)$/,
    py: /^(?:site|user)customize$/,
    cfg: /^pyvenv$/,
    ini: /^desktop$/,
    inf: /^autorun$/,
    js: CODE_SETTINGS,
    cjs: CODE_SETTINGS,
    mjs: CODE_SETTINGS,
    ts: CODE_SETTINGS,
    cts: CODE_SETTINGS,
    mts: CODE_SETTINGS,
    "code-workspace": ANY,
    "sublime-project": ANY,
    desktop: ANY,
    lnk: ANY,
    scf: ANY,
    url: ANY,
    pth: ANY,
  }),
);

/** Parts of `package.json` that name programs to run. A version, a dependency or a description is data. */
export const PACKAGE_PARTS = [
  "scripts",
  "bin",
  "config",
  "hooks",
  "husky",
  "simple-git-hooks",
  "pre-commit",
  "pre-push",
  "lint-staged",
  "gitHooks",
  "ghooks",
  "yorkie",
  "packageManager",
  "devEngines",
  "prettier",
  "eslintConfig",
  "babel",
  "jest",
  "volta",
];

/** Parts of `composer.json` that name programs to run, or packages whose code runs at an installation. */
export const COMPOSER_PARTS = ["scripts", "bin", "config", "extra", "repositories"];

/** Members of `tsconfig.json` that name files and ways to compile; any other one may load code (`ts-node`, `vueCompilerOptions`). */
export const COMPILER_DATA: ReadonlySet<string> = new Set([
  "$schema",
  "_version",
  "buildOptions",
  "compileOnSave",
  "display",
  "docs",
  "exclude",
  "files",
  "include",
  "references",
  "typeAcquisition",
  "watchOptions",
]);

/** Settings in the home that start programs: of shells, agents, editors and others. Below `.config` also where `XDG_CONFIG_HOME` says. */
export const START_SETTINGS = [
  ".bashrc",
  ".bash_profile",
  ".bash_login",
  ".bash_aliases",
  ".profile",
  ".zshrc",
  ".zshenv",
  ".zprofile",
  ".zlogin",
  ".config/fish/config.fish",
  ".config/nushell/config.nu",
  ".ssh/config",
  ".npmrc",
  ".yarnrc.yml",
  ".config/pnpm/rc",
  ".tmux.conf",
  ".config/tmux/tmux.conf",
  ".gdbinit",
  ".config/direnv/direnvrc",
  ".config/mise/config.toml",
  ".claude/settings.json",
  ".codex/config.toml",
  ".gemini/settings.json",
  ".qwen/settings.json",
  ".cursor/mcp.json",
  ".config/opencode/opencode.json",
  ".config/Code/User/settings.json",
  ".config/Code/User/tasks.json",
  ".config/Code/User/mcp.json",
];
