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

/** Files without a dot that agents, editors and shells read on their own; compared in lower case. */
export const START_FILES =
  /^(?:(?:opencode|crush|pagurus|openclaw|mcp|gemini-extension)\.jsonc?|desktop\.ini|autorun\.inf|lefthook(?:-local)?\.(?:ya?ml|toml|jsonc?)|(?:mise|bunfig)(?:\.[\w-]+)*\.toml|devbox\.json|devenv\.(?:nix|ya?ml)|flake\.nix|shell\.nix|default\.nix|(?:sitecustomize|usercustomize)\.py|pyvenv\.cfg|.+\.(?:mcp\.json|code-workspace|sublime-project|desktop|lnk|scf|url|pth)|[\w.-]+\.config\.[cm]?[jt]s|gdbinit|_vimrc|_netrc)$/;

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
