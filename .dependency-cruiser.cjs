// Layer rules of docs/architecture/layers.md. Needs dependency-cruiser 18 and @swc/core 1: without a parser for
// TypeScript it cruises 0 modules and succeeds, so scripts/lint.ts checks summary.totalCruised.
// The files at the root (app.ts and the public entries index.ts, contract.ts, plugin-sdk/) may import any room.
// Every room may import data/.
const only = (room, allowed) => ({
  name: `${room.replace(/\W+/g, "-")}-imports`,
  severity: "error",
  from: { path: `^src/${room}/` },
  to: { path: "^src/", pathNot: [`^src/${room}/`, "^src/data/", ...allowed.map((name) => `^src/${name}/`)] },
});

const LAYERS =
  "data contract platform tokens protocols native rpc config session importers compaction model tool mcp skill engines memories runtimes programs plugin turn doctor command gateway acp-server testkit cli plugin-sdk".split(
    " ",
  );

module.exports = {
  forbidden: [
    only("data", []),
    only("contract", []),
    only("platform", ["contract"]),
    only("tokens", ["contract"]),
    only("protocols", ["contract"]),
    only("native", ["contract"]),
    only("rpc", ["contract", "platform"]),
    only("config", ["contract", "platform"]),
    only("session", ["contract", "platform", "tokens"]),
    only("importers", ["contract", "platform", "tokens", "protocols", "config", "session"]),
    only("compaction", ["contract", "platform", "tokens"]),
    only("model", ["contract", "platform", "tokens", "config", "compaction"]),
    only("tool", ["contract", "platform", "tokens", "config"]),
    only("mcp", ["contract", "platform", "tokens", "config"]),
    only("skill", ["contract", "platform", "tokens", "config"]),
    only("engines/legacy", ["contract", "platform", "tokens", "compaction"]),
    only("engines/lossless", ["contract", "platform", "tokens", "compaction"]),
    only("memories/files", ["contract", "platform", "tokens"]),
    only("programs", ["contract", "platform", "native", "config"]),
    only("runtimes/embedded", ["contract", "platform", "tokens", "model", "tool", "compaction"]),
    only("runtimes/thread", ["contract"]),
    only("runtimes/codex", [
      "contract",
      "platform",
      "tokens",
      "protocols",
      "native",
      "rpc",
      "runtimes/thread",
    ]),
    only("runtimes/claude", [
      "contract",
      "platform",
      "tokens",
      "protocols",
      "native",
      "rpc",
      "mcp",
      "runtimes/thread",
    ]),
    only("runtimes/acp", ["contract", "platform", "tokens", "native", "rpc", "mcp", "runtimes/thread"]),
    only("plugin", ["contract", "platform", "config"]),
    only("turn", [
      "contract",
      "platform",
      "tokens",
      "config",
      "session",
      "model",
      "tool",
      "skill",
      "compaction",
      "plugin",
    ]),
    only("doctor", ["contract", "platform", "config", "session", "importers", "model", "plugin"]),
    only("command", ["contract", "platform", "config", "session", "turn", "doctor", "plugin"]),
    only("gateway", [
      "contract",
      "platform",
      "tokens",
      "compaction",
      "protocols",
      "rpc",
      "config",
      "session",
      "model",
      "turn",
      "command",
    ]),
    only("acp-server", [
      "contract",
      "platform",
      "tokens",
      "rpc",
      "config",
      "session",
      "model",
      "turn",
      "command",
    ]),
    only("testkit", ["contract", "platform", "tokens", "plugin"]),
    // The command line is a client of app.ts: it never reaches into sessions and turns by itself.
    {
      ...only("cli", []),
      to: {
        path: "^src/",
        pathNot: [
          "^src/(cli|data|contract|platform|config|model|tool|plugin|importers|command|doctor|testkit|gateway|acp-server)/",
          "^src/app\\.ts$",
        ],
      },
    },
    {
      name: "implementations-stay-apart",
      comment:
        "Also for a folder that has no rule of its own yet. What runtimes with native threads share is runtimes/thread.",
      severity: "error",
      from: { path: "^src/(engines|runtimes|memories)/([^/]+)/" },
      to: {
        path: "^src/(engines|runtimes|memories|turn|session|command|gateway|acp-server|doctor|plugin)/",
        pathNot: ["^src/$1/$2/", "^src/runtimes/thread/"],
      },
    },
    {
      name: "every-room-has-a-rule",
      severity: "error",
      from: { path: "^src/[^/]+/", pathNot: `^src/(${LAYERS.join("|")})/` },
      to: { path: "^src/" },
    },
    {
      name: "root-files-are-the-top",
      severity: "error",
      from: { path: "^src/[^/]+/", pathNot: "^src/(cli|plugin-sdk)/" },
      to: { path: "^src/([^/]+\\.ts$|plugin-sdk/)" },
    },
    {
      name: "no-development-packages",
      comment:
        "An import that the installed package lacks. gpt-tokenizer is an optional peer, loaded when asked for.",
      severity: "error",
      from: { path: "^src/" },
      to: {
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"],
        dependencyTypesNot: ["type-only"],
        pathNot: "node_modules/gpt-tokenizer/",
      },
    },
    {
      name: "internal-stays-internal",
      severity: "error",
      from: { path: "^src/([^/]+)/" },
      to: { path: "^src/([^/]+)/internal/", pathNot: "^src/$1/" },
    },
    {
      name: "only-app-knows-implementations",
      severity: "error",
      from: { path: "^src/", pathNot: ["^src/(app|bundled)\\.ts$", "^src/(engines|runtimes|memories)/"] },
      to: { path: "^src/(engines|runtimes|memories)/" },
    },
    {
      name: "importers-are-loaded-when-asked-for",
      comment: "No turn needs them. What imports them statically is itself loaded by its command.",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/(importers|doctor|cli/doctor)/" },
      to: { path: "^src/importers/", dynamic: false },
    },
    {
      name: "nobody-imports-the-command-line",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/cli/" },
      to: { path: "^src/cli/" },
    },
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    {
      name: "not-to-test",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^(test|bench|inspector)/" },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    parser: "swc",
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: { extensions: [".ts", ".js"] },
  },
};
