/** Mounts the Agent Client Protocol at `/acp`; its code is loaded at the first client. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { AskPermission, PermissionAnswer } from "@pagurus/contract/host/run";
import type { AcpApi } from "./acp-api.ts";
import { allowsScope } from "@pagurus/core/authority/authority";
import type { Caller } from "./access/caller.ts";
import type { MountedApi } from "./http-server.ts";
import { refuse } from "./refusal.ts";

const PATH = "/acp";

/** Why a caller may not use it, as a sentence: an ACP client sees all sessions of its agent. */
function problemOf({ scope, sessions }: Caller): string | undefined {
  if (!allowsScope(scope, "chat")) return `${PATH} needs a token of scope chat, and this one has ${scope}.`;
  if (sessions === "*") return undefined;
  return `${PATH} needs a token for all sessions, since its clients list and open any of them.`;
}

export class AcpMount implements MountedApi {
  readonly #load: () => Promise<AcpApi>;
  #api: Promise<AcpApi> | undefined;

  constructor(load: () => Promise<AcpApi>) {
    this.#load = load;
  }

  handles(path: string): boolean {
    return path === PATH;
  }

  async serve(request: IncomingMessage, response: ServerResponse, caller: Caller): Promise<void> {
    const message = problemOf(caller);
    if (message === undefined) (await this.#loaded()).serve(request, response, caller);
    else refuse(response, PATH, { status: 403, code: "token_invalid", message });
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, caller: Caller): boolean {
    if (problemOf(caller) !== undefined) return false;
    void this.#loaded().then(
      (api) => api.upgrade(request, socket, head, caller),
      () => socket.destroy(),
    );
    return true;
  }

  /** Permission questions of turns that ACP clients run. */
  readonly askPermission: AskPermission = async (question): Promise<PermissionAnswer> =>
    (await this.#api)?.askPermission(question) ?? "unasked";

  async close(): Promise<void> {
    await (await this.#api)?.close();
  }

  #loaded(): Promise<AcpApi> {
    return (this.#api ??= this.#load());
  }
}
