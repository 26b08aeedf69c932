/** Pool of a host's agent processes: one for each agent and endpoint, started on first use. */
import { errorText } from "@pagurus/core/data/error-text";
import { PagurusError } from "@pagurus/contract/errors";
import type { ModelInfo } from "@pagurus/contract/model";
import { listOf, recordOf } from "@pagurus/core/data/record-fields";
import { orAborted } from "@pagurus/core/platform/deadline";
import { environmentOf, routedAccess, type Access } from "./acp-access.ts";
import { AgentProcess } from "./acp-process.ts";
import type { Agent } from "./agents.ts";
import type { AcpOptions } from "./acp-options.ts";
import { leave, SETTING_MS, type Place } from "./acp-sessions.ts";
import { NotRouted } from "./acp-wire.ts";

/** Limit of idle processes; each takes about 300 MB. */
const MOST_IDLE_PROCESSES = 2;

export class Agents {
  readonly #options: AcpOptions & { clientVersion: string };
  readonly #places = new Map<string, Promise<Place>>();
  readonly #all = new Set<Place>();
  /** By agent: resolves when the newest start of its program has finished. */
  readonly #starts = new Map<string, Promise<unknown>>();
  /** Processes whose first caller has not received them yet. */
  readonly #fresh = new WeakSet<Place>();
  readonly #disposed = new AbortController();

  constructor(options: AcpOptions & { clientVersion: string }) {
    this.#options = options;
  }

  /**
   * The agent's process, started if need be. A start that others wait for continues when one of them is aborted. The caller
   * must `release` it. Throws `runtime_failed`, `model_auth`, `turn_aborted`.
   */
  async get(agent: Agent, access: Access, signal: AbortSignal): Promise<Place> {
    const key = `${agent.id}\n${access.key}`;
    for (;;) {
      const begun = this.#places.get(key);
      const current = begun ?? this.#start(key, agent, access);
      const place = await orAborted(current, signal).catch((error: unknown) => {
        // No caller is left for it.
        void current.then(
          (late) => this.#fresh.delete(late) && this.release(late),
          () => undefined,
        );
        throw error;
      });
      if (place.process.isAlive) {
        if (this.#fresh.delete(place)) return place;
        place.turns += 1;
        return place;
      }
      if (this.#places.get(key) === current) this.#places.delete(key);
      // One that exits right after its handshake would be restarted forever.
      if (!begun) throw await place.process.gone;
    }
  }

  #start(key: string, agent: Agent, access: Access): Promise<Place> {
    const started = this.#launch(agent, access);
    this.#places.set(key, started);
    started.catch(() => {
      if (this.#places.get(key) === started) this.#places.delete(key);
    });
    return started;
  }

  async #launch(agent: Agent, wanted: Access): Promise<Place> {
    const route = await wanted.wire?.open();
    const access = route ? routedAccess(agent, wanted, route, this.#options.env) : wanted;
    const process = await this.#introduced(agent, access).catch(async (error: unknown) => {
      await route?.close();
      throw error;
    });
    const place: Place = { process, sessions: new Map(), route, turns: 1 };
    this.#all.add(place);
    this.#fresh.add(place);
    void process.gone.then(async () => {
      this.#all.delete(place);
      await Promise.all([closeServed(place), route?.close()]);
    });
    if (access.isAsked) await setProvider(place, access);
    return place;
  }

  /** Starts one at a time: some agents fail when two of them start in one folder at the same time. */
  async #introduced(agent: Agent, access: Access): Promise<AgentProcess> {
    const before = this.#starts.get(agent.id);
    const started = (before ?? Promise.resolve()).then(() => this.#program(agent, access));
    const over = started.catch(() => undefined);
    this.#starts.set(agent.id, over);
    return started;
  }

  #program(agent: Agent, access: Access): Promise<AgentProcess> {
    const { env, passedOn, clientVersion, log } = this.#options;
    return AgentProcess.start({
      agent,
      env: environmentOf(agent, access, { env, passedOn }),
      clientVersion,
      signal: this.#disposed.signal,
      warn: (sentence, details = {}) => log.warn("acp agent", { ...details, sentence }),
    });
  }

  /** Takes a released process back for the same turn. */
  hold(place: Place): void {
    place.turns += 1;
  }

  /** The process that has a session open, held for the caller, who must `release` it. */
  holding(sessionId: string): Place | undefined {
    const place = [...this.#all].find(({ process, sessions }) => process.isAlive && sessions.has(sessionId));
    if (place) this.hold(place);
    return place;
  }

  /** Forgets the session in every process of this host. */
  leave(sessionId: string): void {
    for (const place of this.#all) {
      const session = place.sessions.get(sessionId);
      if (session && !session.user) leave(place, session);
    }
  }

  /** Releases the process after a turn. Of the idle ones, the most recently used stay. */
  release(place: Place): void {
    place.turns -= 1;
    if (!this.#all.delete(place)) return;
    this.#all.add(place);
    const idle = [...this.#all].filter(({ turns }) => turns === 0);
    for (const { process } of idle.slice(0, Math.max(0, idle.length - MOST_IDLE_PROCESSES)))
      void process.end(
        new PagurusError(
          "runtime_failed",
          `${process.agent.label} was ended to free memory for another agent.`,
        ),
      );
  }

  async dispose(): Promise<void> {
    this.#disposed.abort();
    const starting = [...this.#places.values()];
    this.#places.clear();
    await Promise.all(
      [...this.#all].map(async (place) => {
        const { process } = place;
        const ended = process.end(
          new PagurusError("runtime_failed", `${process.agent.label} was ended together with its host.`),
        );
        await closeServed(place);
        await ended;
      }),
    );
    await Promise.allSettled(starting);
  }
}

async function closeServed({ sessions }: Place): Promise<void> {
  for (const { served } of sessions.values()) await served?.close();
}

/** ACP's names of model protocols. */
const PROTOCOLS: Partial<Record<ModelInfo["api"], string>> = {
  "anthropic-messages": "anthropic",
  "openai-responses": "openai",
  "openai-completions": "openai",
};

/** Sets the endpoint. An agent that cannot take one keeps its own. Throws `runtime_failed` when it can and refuses ours. */
async function setProvider({ process, route }: Place, { endpoint, api }: Access): Promise<void> {
  const protocol = PROTOCOLS[api];
  const cannot = async (): Promise<void> => {
    if (!route) return;
    const refused = new NotRouted(`${process.agent.label} does not support endpoints for ${api}`);
    await process.end(refused);
    throw refused;
  };
  if (!endpoint || protocol === undefined || !process.traits.takesProviders) return cannot();
  try {
    const { providers } = await process.ask("providers/list", {}, { deadlineMs: SETTING_MS });
    const provider = listOf(providers)
      .map(recordOf)
      .find(({ supported }) => listOf(supported).includes(protocol));
    if (!provider) return await cannot();
    const baseUrl = protocol === "anthropic" ? endpoint.baseUrl.replace(/\/v1\/?$/, "") : endpoint.baseUrl;
    const params = {
      providerId: provider["providerId"],
      apiType: protocol,
      baseUrl,
      headers: endpoint.headers,
    };
    await process.ask("providers/set", params, { deadlineMs: SETTING_MS });
  } catch (error) {
    if (error instanceof NotRouted) throw error;
    const why = errorText(error);
    const failure = new PagurusError(
      "runtime_failed",
      `${process.agent.label} rejects the model's endpoint (${why}); correct the \`baseUrl\` of its provider, or set login: "own" for the agent.`,
      { cause: error },
    );
    await process.end(failure);
    throw failure;
  }
}
