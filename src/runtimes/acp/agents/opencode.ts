import { OPENCODE_VARIABLES } from "../../../native/own-variables.ts";
import type { KnownAgent } from "./known-agent.ts";

export const OPENCODE: KnownAgent = {
  label: "OpenCode",
  program: "opencode",
  args: ["acp"],
  install: "npm install -g opencode-ai",
  variables: () => OPENCODE_VARIABLES,
};
