/** Command `/recall`: the passages of the conversation that answer some words best, as the model's search finds them. */
import type { PluginApi, ToolContext } from "@pagurus/contract/host/plugin";
import { recallTools } from "../recall/recall-tools.ts";
import type { LosslessStore } from "../store/lossless-store.ts";

interface RecallHome {
  /** The store of a running engine that knows the session. */
  store(context: ToolContext): LosslessStore | undefined;
  /** The agent's store, opened for one command. */
  open(agentId: string): Promise<LosslessStore>;
}

export function registerRecallCommand(api: PluginApi, home: RecallHome): void {
  api.registerCommand({
    name: "recall",
    usage: "<words>",
    summary: "Show the passages of this conversation that answer some words best.",
    reach: "session",
    async run(args, { sessionId, sessionKey, cwd, agentId, signal }) {
      if (args.trim() === "") return "Usage: /recall <words>";
      if (sessionId === undefined) return "The session has no messages yet, so there is nothing to find.";
      const context = { sessionKey, sessionId, cwd, signal };
      const known = home.store(context);
      const opened = known ? undefined : await home.open(agentId);
      try {
        const [search] = recallTools(() => known ?? opened);
        const found = await search?.execute({ query: args }, context);
        return (found?.content ?? []).map((part) => (part.type === "text" ? part.text : "")).join("\n");
      } finally {
        await opened?.close();
      }
    },
  });
}
