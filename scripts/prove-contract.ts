/** The claims about the engine contract. */

import { tests, type Proof } from "./proof.ts";

/** Steps of `contract.10`. */
const CONTRACT_10: Proof["steps"] = [
  tests(
    "direct surfaces",
    "test/server/surfaces.process.test.ts",
    "test/server/surface-costs.process.test.ts",
    "test/server/authority/surface-matrix.process.test.ts",
    "test/model/surfaces/",
    "test/model-api/surfaces/",
  ),
  tests("tools for images and sound", "test/tool/surfaces/"),
  tests(
    "middleware around tools",
    "test/turn/tool-middleware.test.ts",
    "test/plugin/compat/middleware.test.ts",
  ),
  tests("middleware on the real Codex", "test/real/codex/middleware.process.test.ts"),
  tests("decision tree", "test/skill/decision-tree.test.ts"),
  tests(
    "images in the projection",
    "test/native/projected-images.test.ts",
    "test/runtimes/acp/images.process.test.ts",
  ),
  tests("images in the projection on the real Codex", "test/real/codex/projection.process.test.ts"),
  tests("ageing of old tool results", "test/compaction/ageing.test.ts", "test/turn/ageing.test.ts"),
  tests("the package openai at the direct surfaces", "test/real/libraries/openai-surfaces"),
];

export const CONTRACT: Record<string, Proof> = {
  "contract.1": {
    claim: "Every member and field of the engine contract is called, set or read, and a test shows it.",
    steps: [{ title: "npm run contract", args: ["scripts/contract.ts"] }],
  },
  "contract.2": {
    claim: "The engine's flags, the mode, the provider and the lane decide who handles a compaction.",
    steps: [tests("lanes", "test/turn/lanes/"), tests("planning", "test/compaction/")],
  },
  "contract.3": {
    claim:
      "Whatever an interceptor or a summarizing model does wrong, the history stays and the session continues.",
    steps: [
      tests(
        "faults",
        ...["interception", "hooks", "compact", "model", "successor", "maintenance"].map(
          (name) => `test/turn/faults/${name}.test.ts`,
        ),
      ),
    ],
  },
  "contract.4": {
    claim:
      "2,000 turns through compactions of each lane, and one turn of 600 rounds, stay within the window.",
    steps: [tests("long runs", "test/turn/long/")],
  },
  "contract.5": {
    claim: "kill -9 in a compaction, rewrite, rotation, commit or spawn leaves a consistent session.",
    steps: [
      tests("kill -9 around commits", "test/turn/faults/kill-commit"),
      tests("kill -9 inside compactions", "test/turn/faults/kill-compaction"),
      tests("kill -9 inside rotations and rewrites", "test/turn/faults/kill-rewrite"),
      tests("kill -9 inside subagent spawns", "test/turn/faults/kill-subagent"),
      tests("kills of the store", "test/stores/files/"),
      tests("subagents", "test/turn/subagents/"),
    ],
  },
  "contract.6": {
    claim:
      "The contract is OpenClaw's by its own types, a planted drift fails by its name, and calls in their form work.",
    steps: [
      { title: "OpenClaw's types", args: ["scripts/setup-openclaw.ts"] },
      tests("types, drifts, probes", "test/real/openclaw/"),
    ],
  },
  "contract.7": {
    claim:
      "On Codex, instructions that change with each turn are bounded and counted, and the conversation is never compacted for them.",
    steps: [
      tests("rules", "test/runtimes/codex/shown-instructions.test.ts"),
      tests("40 turns in a window of 64k", "test/real/codex/replaced-instructions"),
    ],
  },
  "contract.8": {
    claim:
      "Codex, Claude Code, pi, opencode, acpx, codex-acp and claude-agent-acp pass 10 turns with tools, a compaction, a resume in a new process and conformance, pinned and newest.",
    steps: [
      tests("notes on versions", "test/platform/version-notes.test.ts", "test/cli/program-version.test.ts"),
      tests("signed thinking after changed messages", "test/gateway/bound-thinking.test.ts"),
      tests("signed thinking of the real Claude Code", "test/real/wire/thinking-claude.process.test.ts"),
      tests("faults that the suite of programs finds", "test/testkit/program/"),
      { title: "npm run newest -- --all", args: ["scripts/newest.ts", "--all", "--jobs", "2"] },
    ],
  },
  "contract.9": {
    claim: "Changed arguments, names, errors and entries are found by the suites and reported by the host.",
    steps: [
      tests("suites", "test/testkit/planted-faults.test.ts"),
      tests("host", "test/turn/changed-entries.test.ts"),
      tests("plugins that are not built", "test/plugin/load.test.ts", "test/turn/check-plugins.test.ts"),
    ],
  },
  "contract.10": {
    claim:
      "Each sentence of the documents about direct surfaces, middleware, the decision tree, images in projections and ageing has its test.",
    steps: CONTRACT_10,
  },
  "contract.11": {
    claim:
      "A home of the newest OpenClaw with two agents, jobs and tool calls is migrated and opened whole, or each part is named.",
    steps: [
      tests("the whole home", "test/cli/migrate-newest"),
      tests("parts", "test/importers/openclaw/", "test/cli/migrate.process.test.ts"),
    ],
  },
};
