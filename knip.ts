/** Settings of knip, which finds exports, files and dependencies that nothing uses: `npm run lint -- --only unused`. */
import { readdirSync, readFileSync } from "node:fs";
import type { KnipConfig } from "knip";

interface Manifest {
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

/** The packages that a workspace's manifest names, apart from its own siblings: the published package installs them all. */
const ofWorkspaces = readdirSync("packages").flatMap((name) => {
  const manifest = JSON.parse(readFileSync(`packages/${name}/package.json`, "utf8")) as Manifest;
  return Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
});

/** Public entries: their exports are for users. */
const PUBLIC = [
  "packages/app/src/index.ts",
  "packages/client/src/index.ts",
  "packages/contract/src/index.ts",
  "packages/host/src/plugin-sdk/index.ts",
  "packages/testkit/src/index.ts",
];

/** What a package exports has to be used by another one. */
function workspace(...entry: string[]): NonNullable<KnipConfig["workspaces"]>[string] {
  return { includeEntryExports: true, entry, project: ["src/**/*.{ts,tsx}!"] };
}

const config: KnipConfig = {
  workspaces: {
    ".": {
      entry: [
        "bin/*.js!",
        "bench/lossless/child.ts",
        "bench/lossless/assemble-child.ts",
        "bench/turn/endpoint.ts",
        "bench/authority/command-endpoint.ts",
        "bench/authority/host-child.ts",
        "bench/codex/endpoint.ts",
        "bench/runtimes/endpoint.ts",
        "bench/codex/memory-child.ts",
        "bench/wire/memory-child.ts",
        "bench/wire/passthrough-gateway.ts",
        "bench/wire/passthrough-upstream.ts",
        "bench/wire/passthrough-load.ts",
        "bench/turn/usage-probe.mjs",
        "bench/*/fit.ts",
        "scripts/*.ts",
        "test/**/*.ts",
      ],
      project: ["bin/**/*.js!", "bench/**/*.ts", "scripts/**/*.ts", "test/**/*.ts"],
      ignoreDependencies: [
        "@arethetypeswrong/cli",
        "dependency-cruiser",
        "openclaw",
        "oxlint",
        "oxlint-tsgolint",
        "publint",
        ...ofWorkspaces,
      ],
    },
    "packages/*": workspace(),
    "packages/app": workspace("src/index.ts!"),
    "packages/channels": workspace("src/email/mail-parser-worker.ts!"),
    "packages/cli": workspace(
      "src/main.ts!",
      "src/context/replay-process.ts!",
      "src/engines/suite-process.ts!",
      "src/server/blocking-worker.ts!",
    ),
    "packages/core": workspace("src/config/schema-library.ts!", "src/platform/json/json-worker.ts!"),
    "packages/host": workspace(
      "src/checkpoints/checkpoint-worker.ts!",
      "src/plugin-sdk/index.ts!",
      "src/plugin/compat/sdk-required.ts!",
      "src/tool/changes/change-list.ts!",
    ),
    // Runs inside another program.
    "packages/inside": workspace(
      "src/claude-code/register.ts!",
      "src/opencode/index.ts!",
      "src/pi/index.ts!",
      "src/openclaw/index.ts!",
    ),
    "packages/inspector": workspace("src/main.tsx!", "vite.config.ts"),
    "packages/lossless": workspace("src/encoder/encoder-worker.ts!", "src/store/worker.ts!"),
    "packages/postgres": workspace("src/worker.ts!"),
    "packages/runtimes": { ...workspace(), ignore: ["src/codex/protocol/generated/**"] },
  },
  ignoreIssues: {
    ...Object.fromEntries(PUBLIC.map((file) => [file, ["exports", "types"] as const])),
    // The build imports it.
    "packages/core/src/platform/start-script.ts": ["exports"],
    // Read by name.
    "packages/host/src/plugin/compat/sdk-required.ts": ["exports"],
    "packages/inside/src/claude-code/register.ts": ["exports"],
    "packages/inside/src/opencode/index.ts": ["exports"],
    "packages/inside/src/pi/index.ts": ["exports"],
    "packages/inside/src/openclaw/index.ts": ["exports"],
    "packages/inspector/vite.config.ts": ["exports"],
    "packages/runtimes/src/codex/protocol.ts": ["types"],
  },
  ignoreExportsUsedInFile: { interface: true, type: true },
  ignoreBinaries: [
    "bwrap",
    "chattr",
    "chromium",
    "mkfifo",
    "mount",
    "perl",
    "systemd-analyze",
    "taskset",
    "umount",
    "unshare",
  ],
};

export default config;
