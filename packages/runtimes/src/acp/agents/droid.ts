import { DROID_RUNS } from "@pagurus/core/native/folder-starts";
import { DROID_VARIABLES } from "@pagurus/core/native/own-variables";
import { always, type KnownAgent } from "./known-agent.ts";

/** Its models are in its own configuration; `model: "custom:…"` in the agent's settings selects one of the user's. */
export const DROID_AGENT: KnownAgent = {
  label: "Droid",
  program: "droid",
  args: ["exec", "--output-format", "acp"],
  install: "npm install -g droid",
  modes: always("normal"),
  keepsPast: true,
  connectsLate: true,
  variables: () => DROID_VARIABLES,
  folder: { runs: DROID_RUNS },
  keys: { "factory-api-key": "FACTORY_API_KEY" },
};
