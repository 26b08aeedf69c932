/** `mcp serve`: the kept conversations for an MCP client that starts this program. */
import { Writable, type Readable } from "node:stream";
import { DEFAULT_AGENT_ID } from "@pagurus/core/config/agent-settings";
import { resolveHome } from "@pagurus/core/config/config-paths";
import { keeperPlace } from "@pagurus/keeper/keeper-place";
import { VisibleWords } from "@pagurus/keeper/words/visible-words";
import { serveMemory } from "@pagurus/mcp-server/memory-server";
import { VisibleSessions } from "@pagurus/mcp-server/visible-sessions";
import { newestLeftOut } from "@pagurus/server/inspect/newest-left-out";
import { withPagurus, written, type Cli } from "../cli.ts";
import { EXIT_DONE, usageError } from "../cli-failure.ts";
import { workspace } from "../cli-workspace.ts";

export interface McpServeOptions {
  folder?: string;
  all?: boolean;
  agent?: string;
}

/** Standard output as a stream: a slow client slows the answers down. */
function outputOf(cli: Cli): Writable {
  return new Writable({
    write: (chunk: Uint8Array, _encoding, done) => void written(cli.stdout, chunk).then(() => done()),
  });
}

/** Runs until standard input ends, or an interrupt. Throws `usage_invalid` on a terminal and for a folder that is none. */
export function mcpServe(
  cli: Cli,
  { folder, all, agent = DEFAULT_AGENT_ID }: McpServeOptions,
): Promise<number> {
  if (cli.stdin.isTTY === true)
    throw usageError(
      "pagurus mcp serve talks to an MCP client over standard input, and this is a terminal; name it as a command of a server in the client, for example with claude mcp add pagurus -- pagurus mcp serve.",
    );
  if (all === true && folder !== undefined)
    throw usageError("--all and --folder exclude each other; leave one of them out.");
  const visible = all === true ? undefined : workspace(cli, folder, agent);
  return withPagurus(
    cli,
    async (pagurus) => {
      const home = resolveHome(cli.env);
      const store = pagurus.sessions(agent);
      const stopped = new AbortController();
      const stop = cli.onInterrupt(() => stopped.abort());
      try {
        await serveMemory(
          {
            sessions: new VisibleSessions(store, visible),
            kept: new VisibleWords(keeperPlace(home).folder, cli.env, visible),
            leftOut: (sessionKey) => newestLeftOut({ home, agentId: agent, sessionKey, store }),
          },
          { input: cli.stdin as Readable, output: outputOf(cli), signal: stopped.signal },
        );
      } finally {
        stop();
      }
      return EXIT_DONE;
    },
    { onlyLook: true },
  );
}
