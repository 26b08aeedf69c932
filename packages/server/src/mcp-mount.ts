/** Mounts the kept conversations as an MCP server at `/mcp`; its code is loaded at the first client. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { PagurusHost } from "@pagurus/contract/host/pagurus-host";
import { DEFAULT_AGENT_ID } from "@pagurus/core/config/agent-settings";
import { allowsFolder } from "@pagurus/core/authority/authority";
import { loadOnce } from "@pagurus/core/platform/load-once";
import { keeperPlace } from "@pagurus/keeper/keeper-place";
import type { MemoryPlace } from "@pagurus/mcp-server/memory-place";
import type { Caller } from "./access/caller.ts";
import type { MountedApi } from "./http-server.ts";
import { refuse } from "./refusal.ts";

const PATH = "/mcp";
const QUERY_PARAMETERS = ["agent", "folder"];

/** `?agent=`, default `main`; `?folder=`, the folder whose conversations the client sees, default all that the token may see. */
function askedOf(url: string): { agentId: string; folder?: string } {
  const { searchParams } = new URL(url, "http://localhost");
  const unknown = [...searchParams.keys()].find((name) => !QUERY_PARAMETERS.includes(name));
  if (unknown !== undefined)
    throw new PagurusError(
      "usage_invalid",
      `${PATH} has no parameter ${JSON.stringify(unknown)}; there are agent and folder.`,
    );
  const folder = searchParams.get("folder");
  const agentId = searchParams.get("agent") ?? DEFAULT_AGENT_ID;
  return folder === null || folder === "" ? { agentId } : { agentId, folder };
}

/** The conversations of other agents are for callers that may do all, in the folders that they may name. */
function maySeeKept(caller: Caller, folder: string | undefined): boolean {
  const { scope, sessions, agents, folders, audience } = caller;
  if (scope !== "admin" || sessions !== "*" || agents !== "*" || audience !== undefined) return false;
  return folders === "any" || (folder !== undefined && allowsFolder(caller, folder, []));
}

export class McpMount implements MountedApi {
  readonly #host: PagurusHost;
  readonly #home: string;
  readonly #env: Record<string, string | undefined>;
  readonly #load = loadOnce(async () => ({
    ...(await import("@pagurus/mcp-server/memory-server")),
    ...(await import("@pagurus/mcp-server/visible-sessions")),
    ...(await import("@pagurus/keeper/words/visible-words")),
    ...(await import("./inspect/newest-left-out.ts")),
  }));

  constructor(host: PagurusHost, home: string, env: Record<string, string | undefined>) {
    this.#host = host;
    this.#home = home;
    this.#env = env;
  }

  handles(path: string): boolean {
    return path === PATH;
  }

  async serve(request: IncomingMessage, response: ServerResponse, caller: Caller): Promise<void> {
    let place: MemoryPlace;
    const { answerMemory } = await this.#load();
    try {
      place = await this.#placeOf(request.url ?? "", caller);
    } catch (error) {
      const { code, message } = toPagurusError(error);
      return refuse(response, PATH, { status: code === "token_invalid" ? 403 : 400, code, message });
    }
    const listener = getRequestListener((asked) => answerMemory(place, asked), {
      overrideGlobalObjects: false,
      autoCleanupIncoming: false,
    });
    return listener(request, response);
  }

  async #placeOf(url: string, caller: Caller): Promise<MemoryPlace> {
    const { agentId, folder } = askedOf(url);
    const { VisibleSessions, VisibleWords, newestLeftOut } = await this.#load();
    const store = this.#host.as(caller).sessions(agentId);
    return {
      sessions: new VisibleSessions(store, folder),
      ...(maySeeKept(caller, folder) && {
        kept: new VisibleWords(keeperPlace(this.#home).folder, this.#env, folder),
      }),
      leftOut: (sessionKey) => newestLeftOut({ home: this.#home, agentId, sessionKey, store }),
    };
  }
}
