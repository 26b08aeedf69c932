/** Routes for a client that works like a terminal: the folder's conversation, whole records, the state of a transcript. */
import type { Claimed, TranscriptState } from "@pagurus/api/types";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import type { CustomCommandReport, ExpandedCommand } from "@pagurus/contract/host/skill";
import type { CallOptions, HttpRequests } from "./http-requests.ts";

export interface PlaceOptions extends CallOptions {
  agent?: string | undefined;
  cwd?: string | undefined;
}

export class TerminalCalls {
  readonly #http: HttpRequests;

  constructor(http: HttpRequests) {
    this.#http = http;
  }

  /** Key of the folder's last conversation, or the one that its first would get. */
  async sessionKey({ agent, cwd, signal }: PlaceOptions = {}): Promise<string> {
    const query = { agent, cwd };
    return (await this.#http.json<{ key: string }>({ method: "GET", path: "/session-key", query, signal }))
      .key;
  }

  claim({
    signal,
    ...body
  }: PlaceOptions & {
    session?: string | undefined;
    how?: "continue" | "last" | "new" | undefined;
  } = {}): Promise<Claimed> {
    return this.#http.json({ method: "POST", path: "/claims", body, signal });
  }

  /** Every generation, last used first; with `key` the current one, with `folder` those made for it. */
  async records({
    agent,
    key,
    folder,
    signal,
  }: CallOptions & { agent?: string; key?: string; folder?: string } = {}): Promise<SessionRecord[]> {
    const call = { method: "GET", path: "/records", query: { agent, key, folder } } as const;
    return (await this.#http.json<{ records: SessionRecord[] }>({ ...call, signal })).records;
  }

  /** Custom slash commands of a folder and of the user. */
  commandFiles({ agent, cwd, signal }: PlaceOptions = {}): Promise<CustomCommandReport> {
    return this.#http.json({ method: "GET", path: "/command-files", query: { agent, cwd }, signal });
  }

  /** The prompt of one; undefined where no file of this name is offered. */
  async expandCommandFile({
    signal,
    ...body
  }: PlaceOptions & { name: string; args?: string | undefined }): Promise<ExpandedCommand | undefined> {
    const call = { method: "POST", path: "/command-files/expand", body } as const;
    return (await this.#http.json<{ expanded?: ExpandedCommand }>({ ...call, signal })).expanded;
  }

  /** `id`: of a generation; default: the current one. */
  state(
    key: string,
    { agent, id, signal }: CallOptions & { agent?: string; id?: string } = {},
  ): Promise<TranscriptState> {
    const path = `/sessions/${encodeURIComponent(key)}/state`;
    return this.#http.json({ method: "GET", path, query: { agent, id }, signal });
  }
}
