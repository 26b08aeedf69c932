/** The home, folder and model server of a trial, and the processes that it starts there. */
import { dirname, delimiter } from "node:path";
import type { RecordedRequest } from "../../servers/server.ts";
import { startServer, type ModelServer, type Protocol } from "../../servers/server.ts";
import { makeSetting, modelConfig, start, type Finished, type Setting } from "../../turn/setting.ts";
import { OrderModel, type OrderModelOptions } from "./order-model.ts";

/** Of one process; a program on a busy machine starts slowly. */
const PROCESS_MS = 300_000;
/** The engine compacts when it is asked to, and then keeps the newest order. */
const LOSSLESS = { trigger: 150_000, headTokens: 2_000, tailTokens: 300 };
const SHOWN_CHARS = 400;

export interface TrialPlaceOptions extends OrderModelOptions {
  protocol: Protocol;
  /** `plugins.entries` of the runtime. */
  entries?: Record<string, unknown>;
  /** Where turns of the model run. */
  agentRuntime?: { id: string; agentId?: string };
}

export class TrialPlace {
  readonly setting: Setting;
  readonly #server: ModelServer;

  private constructor(setting: Setting, server: ModelServer) {
    this.setting = setting;
    this.#server = server;
  }

  static async open({ protocol, entries, agentRuntime, ...model }: TrialPlaceOptions): Promise<TrialPlace> {
    const orders = new OrderModel(model);
    const server = await startServer({
      protocol,
      models: ["model"],
      script: (request) => orders.answer(request),
    });
    const defaults = agentRuntime === undefined ? {} : { models: { "test/model": { agentRuntime } } };
    const plugins = {
      slots: { contextEngine: "lossless" },
      entries: { lossless: { config: LOSSLESS }, ...entries },
    };
    const config = modelConfig(
      protocol,
      server.url,
      { contextWindow: 200_000 },
      { agents: { defaults }, plugins },
    );
    const setting = makeSetting(config);
    // Scripts of the programs need this Node.js, too.
    const PATH = [dirname(process.execPath), setting.env["PATH"]].join(delimiter);
    return new TrialPlace({ ...setting, env: { ...setting.env, PATH } }, server);
  }

  get url(): string {
    return this.#server.url;
  }

  get requests(): readonly RecordedRequest[] {
    return this.#server.requests;
  }

  /** Runs `pagurus <args>` to its end, in a process of its own. Throws its output when it fails. */
  async pagurus(
    args: readonly string[],
    { input = "", env = {} }: { input?: string; env?: Record<string, string> } = {},
  ): Promise<Finished> {
    const setting = { ...this.setting, env: { ...this.setting.env, ...env } };
    const { child, finished } = start(setting, args, input);
    const timer = setTimeout(() => child.kill("SIGKILL"), PROCESS_MS);
    const ended = await finished;
    clearTimeout(timer);
    if (ended.code === 0) return ended;
    const how = ended.signal ?? `code ${ended.code}`;
    throw new Error(
      `pagurus ${args.slice(0, 2).join(" ")} ended with ${how}: ${(ended.stderr + ended.stdout).trim().slice(-SHOWN_CHARS)}`,
    );
  }

  async end(): Promise<void> {
    await this.#server.close();
    this.setting.remove();
  }
}
