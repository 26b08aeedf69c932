/**
 * The parts of a home that commands and reading tools may see: toolchains, their caches of packages, and settings without keys.
 * An allow list: what is not on it is hidden. Each entry has the reason that it is here.
 */

export interface Toolchain {
  /** Folder or file below the user's home, for example ".cargo". */
  at: string;
  /** Parts of it that are shown; absent: all of it. */
  only?: readonly string[];
  /** Variable that moves it elsewhere, for example "CARGO_HOME". */
  env?: string;
  /** Parts of the shown ones that hold keys; `*` is any one name. */
  keys?: readonly string[];
  /** A settings file: shown while `holdsNoKey` says so. */
  checked?: boolean;
  why: string;
}

const words = (text: string): string[] => text.split(" ");

export const TOOLCHAINS: readonly Toolchain[] = [
  { at: "bin", why: "the user's own programs" },
  { at: ".local", only: words("bin lib pipx"), why: "programs and libraries installed for the user" },
  {
    at: ".local/share",
    env: "XDG_DATA_HOME",
    only: words("mise uv pnpm pipx rtx fnm virtualenvs claude man bash-completion fonts gem coursier"),
    why: "programs and versions that installers of toolchains keep there",
  },
  { at: ".local/state", env: "XDG_STATE_HOME", only: words("nix fnm_multishells"), why: "links to versions" },
  {
    at: ".cache",
    env: "XDG_CACHE_HOME",
    only: words(
      "pip uv go-build ms-playwright puppeteer node-gyp node yarn pnpm pre-commit deno rebar3 ccache sccache pypoetry virtualenv bazelisk zig fontconfig coursier",
    ),
    why: "packages and results of builds; other caches (browsers, mail, models with a token) stay hidden",
  },
  // JavaScript.
  {
    at: ".nvm",
    env: "NVM_DIR",
    keys: ["versions/node/*/etc/npmrc", ".npmrc"],
    why: "versions of Node.js",
  },
  { at: ".fnm", why: "versions of Node.js" },
  { at: ".nodenv", why: "versions of Node.js" },
  { at: ".n", why: "versions of Node.js" },
  { at: ".volta", env: "VOLTA_HOME", why: "versions of Node.js" },
  {
    at: ".npm",
    only: words("_cacache _npx"),
    why: "npm's cache of packages; its logs and settings are hidden",
  },
  { at: ".npm-global", keys: ["etc/npmrc"], why: "packages of `npm install -g`" },
  { at: ".npm-packages", keys: ["etc/npmrc"], why: "packages of `npm install -g`" },
  { at: ".yarn", only: words("bin cache releases berry"), why: "Yarn, its cache" },
  { at: ".config/yarn/global", why: "packages of `yarn global add`" },
  { at: ".pnpm-store", why: "pnpm's cache of packages" },
  { at: ".bun", env: "BUN_INSTALL", only: words("bin install"), why: "Bun, its cache" },
  { at: ".deno", only: words("bin"), why: "Deno" },
  // Rust, Go, C.
  {
    at: ".cargo",
    env: "CARGO_HOME",
    only: words("bin registry git"),
    why: "programs and packages of cargo",
  },
  { at: ".cargo/config.toml", checked: true, why: "linkers and targets of builds" },
  { at: ".rustup", env: "RUSTUP_HOME", why: "versions of Rust" },
  { at: "go", env: "GOPATH", only: words("bin pkg"), why: "programs and packages of Go, not sources" },
  { at: "sdk", why: "versions of Go" },
  { at: ".emsdk", why: "Emscripten" },
  { at: ".zvm", why: "versions of Zig" },
  { at: ".swiftly", why: "versions of Swift" },
  // Python, Ruby, PHP.
  { at: ".pyenv", env: "PYENV_ROOT", why: "versions of Python" },
  { at: ".rye", only: words("shims py tools self"), why: "versions of Python" },
  { at: ".poetry", only: words("bin lib venv"), why: "Poetry" },
  { at: ".pixi", only: words("bin envs"), why: "programs of pixi" },
  { at: "miniconda3", why: "environments of conda" },
  { at: "anaconda3", why: "environments of conda" },
  { at: "miniforge3", why: "environments of conda" },
  { at: "micromamba", why: "environments of conda" },
  { at: ".conda", only: words("envs pkgs"), why: "environments of conda; its tokens are elsewhere in it" },
  { at: ".rbenv", env: "RBENV_ROOT", why: "versions of Ruby" },
  { at: ".rvm", why: "versions of Ruby" },
  { at: ".gem", only: words("ruby"), why: "gems of the user" },
  { at: ".bundle", only: words("cache plugin"), why: "Bundler's cache; its settings hold passwords" },
  { at: ".composer", only: words("vendor cache"), why: "programs of Composer" },
  { at: ".config/composer", only: words("vendor"), why: "programs of Composer" },
  { at: "perl5", why: "modules of Perl" },
  // Java, .NET, Android.
  { at: ".sdkman", env: "SDKMAN_DIR", why: "versions of Java" },
  { at: ".jenv", why: "versions of Java" },
  { at: ".jdks", why: "versions of Java" },
  { at: ".m2", only: words("repository wrapper"), why: "Maven's packages; settings.xml holds passwords" },
  {
    at: ".gradle",
    only: words("caches wrapper native jdks"),
    why: "Gradle's packages; gradle.properties holds passwords",
  },
  { at: ".ivy2", only: words("cache local"), why: "Ivy's packages" },
  { at: ".sbt", only: words("boot launchers"), why: "sbt" },
  { at: ".konan", why: "Kotlin's compilers" },
  { at: ".dotnet", env: "DOTNET_ROOT", why: ".NET and its tools" },
  { at: ".nuget", only: words("packages"), why: "NuGet's packages" },
  { at: "Android/Sdk", env: "ANDROID_HOME", why: "the SDK of Android" },
  // Others.
  { at: ".asdf", env: "ASDF_DIR", why: "versions of many languages" },
  { at: ".nix-profile", why: "programs of Nix" },
  { at: ".nix-defexpr", why: "channels of Nix" },
  { at: ".guix-profile", why: "programs of Guix" },
  { at: ".linuxbrew", why: "Homebrew" },
  { at: ".opam", why: "versions and packages of OCaml" },
  { at: ".ghcup", why: "versions of Haskell" },
  { at: ".cabal", only: words("bin packages store lib"), why: "packages of Haskell" },
  { at: ".stack", only: words("programs snapshots pantry"), why: "packages of Haskell" },
  { at: ".elan", why: "versions of Lean" },
  { at: ".juliaup", why: "versions of Julia" },
  {
    at: ".julia",
    only: words("bin packages artifacts registries compiled juliaup"),
    why: "packages of Julia",
  },
  { at: ".mix", only: words("archives elixir escripts"), why: "programs of Mix" },
  { at: ".hex", only: words("packages"), why: "packages of Elixir; its settings hold keys" },
  { at: ".pub-cache", only: words("bin hosted global_packages git"), why: "packages of Dart" },
  { at: ".foundry", only: words("bin versions"), why: "programs of Foundry, not its wallets" },
  { at: ".krew", only: words("bin store"), why: "plugins of kubectl" },
  // Settings without keys.
  { at: ".gitconfig", checked: true, why: "the author's name and how git works" },
  { at: ".config/git", env: "", only: words("ignore attributes"), why: "what git leaves out" },
  { at: ".config/git/config", checked: true, why: "the author's name and how git works" },
  { at: ".gitignore", why: "what git leaves out" },
  { at: ".gitignore_global", why: "what git leaves out" },
  { at: ".gitattributes", why: "what git leaves out" },
  { at: ".editorconfig", why: "indentation" },
  { at: ".tool-versions", why: "versions of toolchains" },
  { at: ".node-version", why: "versions of toolchains" },
  { at: ".python-version", why: "versions of toolchains" },
  { at: ".ruby-version", why: "versions of toolchains" },
  { at: ".terminfo", why: "terminals" },
  { at: ".fonts", why: "fonts" },
  { at: ".config/fontconfig", why: "fonts" },
  // macOS.
  { at: "Library/pnpm", why: "programs of pnpm" },
  { at: "Library/Fonts", why: "fonts" },
  { at: "Library/Python", why: "packages of `pip install --user`" },
  { at: "Library/Android/sdk", why: "the SDK of Android" },
  {
    at: "Library/Caches",
    only: words("pip Homebrew ms-playwright go-build Yarn deno pypoetry coursier"),
    why: "packages and results of builds",
  },
];

/** Variables that name a toolchain as a whole. */
export const TOOLCHAIN_VARIABLES = words(
  "JAVA_HOME GOROOT PNPM_HOME VIRTUAL_ENV CONDA_PREFIX ANDROID_SDK_ROOT",
);

const WITH_KEY =
  /:\/\/[^/\s@]+@|token|secret|pass|bearer|authorization|extraheader|cookie|api[-_]?key|private[-_]?key/i;

/** Whether a settings file (git's, cargo's) has no line that looks like it holds a key. In doubt it has one. */
export function holdsNoKey(text: string): boolean {
  return !WITH_KEY.test(text);
}

/** Top-level and other places of the system that hold programs and their data, not those of people or services. */
export const SYSTEM_PLACES: Readonly<Record<"linux" | "darwin", readonly string[]>> = {
  linux: [
    ..."/usr /bin /sbin /lib /lib32 /lib64 /libx32 /opt /nix /gnu /snap /etc".split(" "),
    "/home/linuxbrew/.linuxbrew",
    // Databases of installed packages.
    ..."/var/lib/dpkg /var/lib/rpm /var/lib/pacman /var/lib/alternatives".split(" "),
    ..."/run/current-system /run/wrappers /run/opengl-driver".split(" "),
    // Processors and limits, without serial numbers, firmware variables, tracing.
    ..."/sys/devices/system /sys/fs/cgroup".split(" "),
  ],
  darwin: [
    ..."/usr /bin /sbin /opt /nix /System /Library /Applications /Developer /private/etc /private/var/db".split(
      " ",
    ),
    "/private/var/select",
  ],
};
