/** Mounts the model API below `/v1`. Its code is loaded at the first request, or at the start if conversations of clients are stored. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { allowsAgent, allowsScope, allowsSession } from "@pagurus/core/authority/authority";
import { PagurusError } from "@pagurus/contract/errors";
import type { ModelApi } from "./model-api/model-api.ts";
import type { Caller } from "./access/caller.ts";
import { TOKEN_ENDED } from "./access/open-requests.ts";
import type { MountedApi } from "./http-server.ts";
import { refuse, refuseSocket } from "./refusal.ts";

export class ModelApiMount implements MountedApi {
  readonly #make: () => Promise<ModelApi>;
  readonly #folder: string;
  readonly #ready = Promise.withResolvers<void>();
  #api: Promise<ModelApi> | undefined;
  #isClosed = false;

  /** `folder`: workspace of its sessions. */
  constructor(make: () => Promise<ModelApi>, folder: string) {
    this.#make = make;
    this.#folder = folder;
  }

  handles(path: string): boolean {
    return path.startsWith("/v1/");
  }

  /** Callers may use the sessions of their token's pattern. */
  async serve(
    request: IncomingMessage,
    response: ServerResponse,
    caller: Caller,
    ended: AbortSignal,
  ): Promise<void> {
    const { tokenId, scope } = caller;
    const url = request.url ?? "";
    const refused = (status: 401 | 403, message: string): void =>
      refuse(response, url, { status, code: "token_invalid", message });
    if (!allowsScope(scope, "chat"))
      return refused(403, `The model API needs a token of scope chat, and this one has ${scope}.`);
    const api = await this.load();
    // Both may have happened while the code was loaded.
    if (response.destroyed) return undefined;
    if (ended.aborted) return refused(401, TOKEN_ENDED);
    return api.serve(request, response, {
      tokenId,
      ended,
      folder: this.#folder,
      allowsSession: (key) => allowsSession(caller, key),
      allowsAgent: (agentId) => allowsAgent(caller, agentId),
    });
  }

  upgrade(request: IncomingMessage, socket: Duplex): boolean {
    refuseSocket(socket, (request.url ?? "").split("?", 1)[0] ?? "");
    return true;
  }

  /** Also finds the background responses that an earlier process did not end; they can be followed and cancelled. Throws SQLite's errors. */
  load(): Promise<ModelApi> {
    this.#api ??= this.#loaded().catch((error: unknown) => {
      // The next request tries again.
      this.#api = undefined;
      throw error;
    });
    return this.#api;
  }

  async #loaded(): Promise<ModelApi> {
    if (this.#isClosed)
      throw new PagurusError("server_failed", "The server is stopping; send the request again when it runs.");
    const api = await this.#make();
    api.resume(this.#ready.promise);
    return api;
  }

  /** Lets background responses of an earlier process run, and removes what is known of sessions that are gone. Throws SQLite's errors. */
  async begin(): Promise<void> {
    this.#ready.resolve();
    await this.forget();
  }

  /** Throws SQLite's errors. */
  async forget(sessionKey?: string): Promise<void> {
    await this.#whenLoaded((api) => api.forget(sessionKey));
  }

  /** Throws SQLite's errors. */
  async prune(): Promise<void> {
    await this.#whenLoaded((api) => api.prune());
  }

  /** Does nothing before the code is loaded: until then no conversation is stored. */
  async #whenLoaded(work: (api: ModelApi) => Promise<void> | void): Promise<void> {
    // The request that loads reports a failure to load.
    const api = await this.#api?.catch(() => undefined);
    if (api) await work(api);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#whenLoaded((api) => api.close());
  }
}
