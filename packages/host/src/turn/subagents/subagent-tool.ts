import type { PluginTool } from "@pagurus/contract/host/plugin";

interface SpawnAsked {
  task: string;
  contextMode: "isolated" | "fork";
  model: string | undefined;
}

const SUBAGENT_PARAMETERS = {
  type: "object",
  properties: {
    task: { type: "string" },
    context: {
      type: "string",
      enum: ["isolated", "fork"],
      description: "isolated (default): knows only the task; fork: also the conversation before this turn",
    },
    model: { type: "string", description: "Default this one" },
  },
  required: ["task"],
  additionalProperties: false,
};

/** `spawn_agent`. It can do no more than a turn of the same agent, which has its own permission prompts. */
export function spawnTool(spawn: (asked: SpawnAsked) => Promise<string>): PluginTool & { readOnly: true } {
  return {
    name: "spawn_agent",
    description: "Start a subagent on a task; returns at once, its answer comes as a message in this turn.",
    parameters: SUBAGENT_PARAMETERS,
    readOnly: true,
    execute: async (params) => {
      const { task, context, model } = params;
      const key = await spawn({
        task: typeof task === "string" ? task : "",
        contextMode: context === "fork" ? "fork" : "isolated",
        model: typeof model === "string" && model !== "" ? model : undefined,
      });
      const text = `Started the subagent ${key}. Its result arrives as a message in this turn.`;
      return { content: [{ type: "text", text }], isError: false, details: { childSessionKey: key } };
    },
  };
}
