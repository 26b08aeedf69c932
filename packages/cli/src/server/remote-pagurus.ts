/** A host that is a server: what the commands use of a host, over the server's API. */
import { FILES_AT_SERVER, filesUnchanged } from "@pagurus/contract/host/checkpoints";
import { defined } from "@pagurus/core/data/defined";
import { recallIn } from "@pagurus/contract/engine/recall-block";
import type { CompactionReport } from "@pagurus/contract/host/reports";
import type { ServerEvent, Work } from "@pagurus/api/types";
import { createClient } from "@pagurus/client/index";
import type { PagurusClient } from "@pagurus/client/client";
import type { ComparingHost } from "@pagurus/host/command/receipt-diff";
import { PagurusError } from "@pagurus/contract/errors";
import type { Pagurus, PagurusOptions } from "@pagurus/contract/host/host";
import type { RunRequest, TurnRun } from "@pagurus/contract/host/run";
import type { StatusRequest } from "@pagurus/contract/host/status";
import type { SessionStore } from "@pagurus/contract/session/store";
import { attempt } from "@pagurus/core/data/attempt";
import { BlockingCalls } from "./blocking-calls.ts";
import { RemoteRun } from "./remote-run.ts";
import { notThere, RemoteSessions } from "./remote-sessions.ts";
import { tokenOption, type ServerSecret } from "./server-secret.ts";

export interface Connection {
  url: string;
  secret: ServerSecret;
  /** Whether the server works in this machine's home, so that folders mean the same to it. */
  isHere: boolean;
}

/** A server that restarts is waited for while a turn is followed, ms; otherwise it must be there. */
const TURN_RETRY_MS = 60_000;
const CALL_RETRY_MS = 1_000;
const MAIN = "main";

interface Place {
  sessionKey?: string | undefined;
  agentId?: string | undefined;
  cwd?: string | undefined;
}

export class RemotePagurus implements Pagurus, ComparingHost {
  readonly #client: PagurusClient;
  readonly #turns: PagurusClient;
  readonly #calls: BlockingCalls;
  readonly #isHere: boolean;
  readonly #ask: PagurusOptions["askPermission"];

  constructor({ url, secret, isHere }: Connection, { askPermission }: PagurusOptions) {
    const token = tokenOption(secret);
    this.#client = createClient({ url, token, retryMs: CALL_RETRY_MS });
    this.#turns = createClient({ url, token, retryMs: TURN_RETRY_MS });
    this.#calls = new BlockingCalls({ url, secret, retryMs: CALL_RETRY_MS });
    this.#isHere = isHere;
    this.#ask = askPermission;
  }

  #cwd(cwd: string | undefined): { cwd?: string } {
    return cwd === undefined || !this.#isHere ? {} : { cwd };
  }

  async #key({ sessionKey, agentId = MAIN, cwd }: Place): Promise<string> {
    return sessionKey ?? this.#client.terminal.sessionKey({ agent: agentId, ...this.#cwd(cwd) });
  }

  run({ cwd, ...request }: RunRequest): TurnRun {
    const { agentId = MAIN } = request;
    const sessionKey = request.sessionKey ?? this.sessionKey({ agentId, cwd });
    return new RemoteRun({
      client: this.#turns,
      request: { ...request, ...this.#cwd(cwd), agentId, sessionKey },
      ask: this.#ask,
    });
  }

  sessions(agentId = MAIN): SessionStore {
    return new RemoteSessions({ client: this.#client, calls: this.#calls, agent: agentId });
  }

  /** The server checks what it is sent. */
  readonly checkInput: Pagurus["checkInput"] = () => Promise.resolve();

  readonly context: Pagurus["context"] = {
    preview: async ({ prompt, budget, exact, ...place }) =>
      this.#client.preview(
        await this.#key(place),
        { prompt, budget, exact, ...this.#cwd(place.cwd) },
        { agent: place.agentId },
      ),
    recall: async (request) => recallIn((await this.context.preview(request)).messages),
    receipts: async ({ turnId, ...place }) =>
      this.#client.receipts(await this.#key(place), { agent: place.agentId, turn: turnId }),
  };

  receiptDiff: ComparingHost["receiptDiff"] = ({ sessionKey, agentId }, names) =>
    this.#client.diff(sessionKey, { agent: agentId, ...names });

  claim: Pagurus["claim"] = async ({ sessionKey, agentId, cwd, how } = {}) => {
    const place = { session: sessionKey, agent: agentId, how, ...this.#cwd(cwd) };
    const { key, ...claimed } = await this.#client.terminal.claim(place);
    return { sessionKey: key, ...defined(claimed), release: () => undefined };
  };

  sessionKey: Pagurus["sessionKey"] = ({ sessionKey, agentId, cwd } = {}) => {
    if (sessionKey !== undefined) return sessionKey;
    const query = { agent: agentId, ...this.#cwd(cwd) };
    return this.#calls.json<{ key: string }>({ method: "GET", path: "/session-key", query }).key;
  };

  async compact({ focus, signal, ...place }: Parameters<Pagurus["compact"]>[0]): Promise<CompactionReport> {
    const request = { focus, ...this.#cwd(place.cwd) };
    const work = await this.#turns.compact(await this.#key(place), request, { agent: place.agentId });
    let report: CompactionReport | undefined;
    for await (const event of this.#followed(work, { what: "compaction", signal }))
      if (event.type === "compaction.report") {
        const { type: _, ...rest } = event;
        report = rest;
      }
    return report ?? notThere("report the compaction");
  }

  /** Events of work to its end. Throws its error where it has not completed. */
  async *#followed(
    { id }: Work,
    { what, signal }: { what: string; signal: AbortSignal | undefined },
  ): AsyncGenerator<ServerEvent["event"]> {
    const stop = (): void => void this.#turns.stopWork(id).catch(() => undefined);
    if (signal?.aborted === true) stop();
    else signal?.addEventListener("abort", stop, { once: true });
    try {
      for await (const { event } of this.#turns.followWork(id)) {
        yield event;
        if (event.type !== "work.ended" || event.outcome === "completed") continue;
        const { code, message } = event.error ?? {
          code: "turn_aborted",
          message: `The ${what} was aborted.`,
        };
        throw new PagurusError(code as PagurusError["code"], message);
      }
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  async status({ model, runtime, ...place }: StatusRequest = {}): ReturnType<Pagurus["status"]> {
    const { agentId: agent, cwd } = place;
    return this.#client.sessionStatus(await this.#key(place), { agent, model, runtime, ...this.#cwd(cwd) });
  }

  async renew({ reason, ...place }: Parameters<Pagurus["renew"]>[0]): ReturnType<Pagurus["renew"]> {
    const { agentId, cwd } = place;
    const key = await this.#key(place);
    await this.#client.renew(key, { agent: agentId, reason, ...this.#cwd(cwd) });
    return this.sessions(agentId).find(key) ?? notThere("show the new session");
  }

  deleteSession: Pagurus["deleteSession"] = ({ sessionKey, agentId }) =>
    this.#client.deleteSession(sessionKey, { agent: agentId });

  readonly running: Pagurus["running"] = {
    steer: async ({ text, ...place }) =>
      this.#client.steer(await this.#key(place), text, { agent: place.agentId }),
    stop: async (place) => this.#client.stop(await this.#key(place), { agent: place.agentId }),
  };

  commands: Pagurus["commands"] = () => {
    const call = { method: "GET", path: "/commands" } as const;
    // Without an answer no plugin's command is known; what needs the server next has the error.
    const listed = attempt(() => this.#calls.json<{ commands: ReturnType<Pagurus["commands"]> }>(call));
    return listed?.commands ?? [];
  };

  async command({ name, args, signal, ...place }: Parameters<Pagurus["command"]>[0]): Promise<string> {
    const request = { name, args, ...this.#cwd(place.cwd) };
    const work = await this.#turns.runCommand(await this.#key(place), request, { agent: place.agentId });
    let text = "";
    for await (const event of this.#followed(work, { what: `command /${name}`, signal }))
      if (event.type === "command.output") text = event.text;
    return text;
  }

  readonly customCommands: Pagurus["customCommands"] = {
    list: ({ agentId: agent, cwd } = {}) => this.#client.terminal.commandFiles({ agent, ...this.#cwd(cwd) }),
    expand: ({ agentId: agent, cwd, name, args }) =>
      this.#client.terminal.expandCommandFile({ agent, ...this.#cwd(cwd), name, args }),
  };

  rewindFiles: Pagurus["rewindFiles"] = () => Promise.resolve(filesUnchanged(FILES_AT_SERVER));

  maintain(): never {
    return notThere("run maintenance");
  }
  skills(): never {
    return notThere("list skills");
  }
  spawn(): never {
    return notThere("start subagents");
  }
  reload(): never {
    return notThere("reload its configuration");
  }
  get runtimes(): never {
    return notThere("list its runtimes");
  }
  get native(): never {
    return notThere("list native threads");
  }
  get plugins(): never {
    return notThere("list its plugins");
  }

  close(): Promise<void> {
    return this.#calls.close();
  }
}
