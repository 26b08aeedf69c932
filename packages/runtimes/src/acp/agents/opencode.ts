import { OPENCODE_FILES, OPENCODE_RUNS } from "@pagurus/core/native/folder-starts";
import { OPENCODE_VARIABLES } from "@pagurus/core/native/own-variables";
import type { KnownAgent } from "./known-agent.ts";

/** By default it asks for nothing. What is allowed here changes nothing. */
const ASKING_CONFIG = {
  "*": "ask",
  read: "allow",
  list: "allow",
  glob: "allow",
  grep: "allow",
  todoread: "allow",
  todowrite: "allow",
};

export const OPENCODE_AGENT: KnownAgent = {
  label: "OpenCode",
  program: "opencode",
  args: ["acp"],
  install: "npm install -g opencode-ai",
  modeEnv: (mode) => (mode === "auto" ? {} : { OPENCODE_PERMISSION: JSON.stringify(ASKING_CONFIG) }),
  variables: () => OPENCODE_VARIABLES,
  folder: {
    leavesOut: OPENCODE_FILES.map((name) => ({ name })),
    env: () => ({ OPENCODE_DISABLE_PROJECT_CONFIG: "1" }),
    runs: OPENCODE_RUNS,
  },
};
