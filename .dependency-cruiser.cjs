// Import rules inside the packages: docs/architecture/layers.md. Between packages Node.js itself refuses an import that a
// package does not export, and scripts/package-places.ts one that the manifest does not name.
// Needs dependency-cruiser 18 and @swc/core 1: without a parser for TypeScript it cruises 0 modules and succeeds, so
// scripts/lint.ts checks summary.totalCruised.

/** Folders of src/turn below its stages, the lowest first: each imports those before it. */
const TURN_LAYERS =
  "fragments receipts cost guard record engine agent selection context compaction state".split(" ");
/** The stages import the layers, and no other stage. */
const TURN_STAGES = "admit prepare open run settle".split(" ");
/** Folders that use the stages, the lower one first. */
const TURN_USERS = ["subagents", "sessions"];

/**
 * For a folder of a package with layers: its folders, and which of their neighbours each imports. The files beside the folders are
 * the top: they import all, and no folder imports them.
 */
const LAYERED = {
  "core/src": {
    data: [],
    highlight: [],
    platform: ["data"],
    tokens: ["data"],
    protocols: ["data"],
    native: ["data", "tokens"],
    rpc: ["data", "platform"],
    config: ["data", "platform"],
    authority: ["data", "platform", "config"],
    compaction: ["data", "platform", "tokens"],
    model: ["data", "platform", "tokens", "protocols", "config", "compaction"],
  },
  "host/src": {
    "stores/files": [],
    tool: [],
    checkpoints: ["tool"],
    mcp: [],
    skill: [],
    telemetry: [],
    "engines/legacy": [],
    "memories/files": [],
    "runtimes/embedded": ["tool"],
    plugin: [],
    "plugin-sdk": ["plugin"],
    turn: ["stores/files", "tool", "checkpoints", "skill", "plugin"],
    command: ["stores/files", "turn", "plugin"],
  },
  "host/src/turn": Object.fromEntries([
    ...TURN_LAYERS.map((folder, index) => [folder, TURN_LAYERS.slice(0, index)]),
    ...TURN_STAGES.map((folder) => [folder, TURN_LAYERS]),
    ...TURN_USERS.map((folder, index) => [
      folder,
      [...TURN_LAYERS, ...TURN_STAGES, ...TURN_USERS.slice(0, index)],
    ]),
  ]),
  "runtimes/src": { thread: [], codex: ["thread"], claude: ["thread"], acp: ["thread"] },
  "gateway/src": { programs: [] },
  "server/src": { "model-api": [], inspect: [] },
  "keeper/src": {
    archive: [],
    programs: [],
    formats: ["programs"],
    watch: ["archive", "programs", "formats"],
    words: ["archive", "programs", "formats"],
    rescue: [],
    native: ["archive"],
  },
  // All but the last two run inside other programs.
  "inside/src": {
    client: [],
    node: ["client"],
    "claude-code": ["client"],
    opencode: ["client", "node"],
    pi: ["client", "node"],
    openclaw: ["client", "node"],
    service: [],
    install: [],
  },
};

const layers = Object.entries(LAYERED).flatMap(([parent, folders]) =>
  Object.entries(folders).map(([folder, allowed]) => ({
    name: `${parent.replace("/src", "").replace("/", "-")}-${folder.replace("/", "-")}-imports`,
    severity: "error",
    from: { path: `^packages/${parent}/${folder}/` },
    to: {
      path: `^packages/${parent}/`,
      pathNot: [folder, ...allowed].map((name) => `^packages/${parent}/${name}/`),
    },
  })),
);

module.exports = {
  forbidden: [
    ...layers,
    {
      name: "inspector-imports",
      comment:
        "The page knows the server by its client and the types of the API, and shares the words of numbers.",
      severity: "error",
      from: { path: "^packages/inspector/" },
      to: {
        path: "^packages/",
        pathNot: [
          "^packages/inspector/",
          "^packages/client/",
          "^packages/api/src/(?:types|request-facts)\\.ts$",
          "^packages/contract/src/(?:message|session/transcript)\\.ts$",
          "^packages/core/src/data/(?:plain-numbers|record-fields)\\.ts$",
          "^packages/core/src/highlight/",
          "^packages/host/src/command/file-changes\\.ts$",
          "^packages/host/src/command/context-gauge\\.ts$",
        ],
      },
    },
    {
      name: "client-runs-in-browsers",
      severity: "error",
      from: { path: "^packages/client/" },
      to: {
        path: "^packages/",
        pathNot: ["^packages/(?:client|api|contract)/", "^packages/core/src/data/"],
      },
    },
    {
      name: "importers-are-loaded-when-asked-for",
      comment: "No turn needs them. What imports them statically is itself loaded by its command.",
      severity: "error",
      from: { path: "^packages/", pathNot: "^packages/(?:importers|doctor|cli/src/doctor)/" },
      to: { path: "^packages/importers/", dynamic: false },
    },
    {
      name: "no-development-packages",
      comment:
        "An import that the installed package lacks. highlight.js is bundled; gpt-tokenizer, the sentence encoder, OpenTelemetry and the libraries of e-mail and services are optional peers, loaded when asked for.",
      severity: "error",
      from: { path: "^packages/", pathNot: "^packages/inspector/" },
      to: {
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"],
        dependencyTypesNot: ["type-only"],
        pathNot: [
          "node_modules/gpt-tokenizer/",
          "node_modules/@energetic-ai/",
          "node_modules/@opentelemetry/",
          "node_modules/(imapflow|mailparser|nodemailer)/",
          "node_modules/(@chat-adapter|chat)/",
        ],
      },
    },
    {
      name: "internal-stays-internal",
      severity: "error",
      from: { path: "^packages/[^/]+/src/(.+)/[^/]+$" },
      to: { path: "/internal/", pathNot: "^packages/[^/]+/src/$1/" },
    },
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    {
      name: "not-to-test",
      severity: "error",
      from: { path: "^packages/" },
      to: { path: "^(test|bench|scripts)/" },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    parser: "swc",
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: {
      extensions: [".ts", ".tsx", ".js"],
      exportsFields: ["exports"],
      conditionNames: ["import", "types", "node", "default"],
    },
  },
};
