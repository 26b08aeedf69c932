/** OpenClaw's default agent: it runs jobs that name no agent, and keeps the home's first workspace. */
import { filledString, listOf, recordOf, type Fields } from "@pagurus/core/data/record-fields";

/**
 * Id of the default agent in lower case: the agent with `default: true`, else `main` if it is listed, else the first one. Newer versions
 * have agents by id in `agents.entries`, earlier ones have them in `agents.list`. Without any agent: `main`.
 */
export function defaultAgentOf(config: unknown): string {
  const { list, entries } = recordOf(recordOf(config)["agents"]);
  const all: readonly Fields[] = [
    ...listOf(list).map(recordOf),
    ...Object.entries(recordOf(entries)).map(([id, entry]) => ({ ...recordOf(entry), id })),
  ];
  const agents = all.flatMap((agent) => {
    const id = filledString(agent["id"])?.toLowerCase();
    return id === undefined ? [] : [{ id, isMarked: agent["default"] === true }];
  });
  const marked = agents.find(({ isMarked }) => isMarked);
  const main = agents.find(({ id }) => id === "main");
  return (marked ?? main ?? agents[0])?.id ?? "main";
}
