import { PI_VARIABLES } from "@pagurus/core/native/own-variables";
import type { KnownAgent } from "./known-agent.ts";

/** Its provider and model are in its own configuration (`~/.pi/agent/models.json`); its modes are levels of thinking. */
export const PI_AGENT: KnownAgent = {
  label: "pi",
  program: "pi-acp",
  args: [],
  install: "npm install -g pi-acp @earendil-works/pi-coding-agent",
  asks: false,
  takesTools: false,
  variables: () => PI_VARIABLES,
};
