/**
 * Where the official packages send their calls: to a provider's own API, played by a scripted server, and to `pagurus serve` in front
 * of models of each protocol, with a token of `pagurus token create`.
 */
import { ServeProcess } from "../../server/serve-setting.ts";
import {
  startServer,
  type ModelServer,
  type Protocol,
  type RecordedRequest,
  type ReplyStep,
} from "../../servers/server.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";

/** The endpoint of one test. */
export interface Target {
  /** With the version, as OpenAI's package takes it. */
  url: string;
  key: string;
  model: string;
}

type Endpoint = Exclude<Protocol, "google">;

const PROTOCOLS: readonly Endpoint[] = ["openai-completions", "anthropic-messages", "openai-responses"];
const MODEL = { contextWindow: 100_000, maxTokens: 4_000, input: ["text", "image"] };

/** Scripted servers of each protocol, and one `pagurus serve` that has a model at each. */
export class Targets {
  readonly setting: Setting;
  readonly #servers: ReadonlyMap<Endpoint, ModelServer>;
  #server: ServeProcess | undefined;
  #key = "";
  #steps: ReplyStep[] = [];
  #asked: RecordedRequest[] = [];

  private constructor(servers: ReadonlyMap<Endpoint, ModelServer>) {
    this.#servers = servers;
    const providers = Object.fromEntries(
      [...servers].map(([api, { url }]) => [
        api,
        { api, baseUrl: url, apiKey: "key-of-the-provider", models: [{ id: "model", ...MODEL }] },
      ]),
    );
    const defaults = { model: `${PROTOCOLS[0]}/model` };
    const slots = { contextEngine: "lossless" };
    const more = { models: { providers }, agents: { defaults }, plugins: { slots } };
    this.setting = makeSetting(modelConfig("openai-completions", "", {}, more));
  }

  static async open(): Promise<Targets> {
    const servers = new Map<Endpoint, ModelServer>();
    const targets: { made?: Targets } = {};
    const script = (request: RecordedRequest): ReplyStep => targets.made?.answer(request) ?? { status: 500 };
    for (const protocol of PROTOCOLS)
      servers.set(protocol, await startServer({ protocol, script, models: ["model"] }));
    const made = (targets.made = new Targets(servers));
    try {
      await made.#begin();
    } catch (error) {
      // With these servers open the process of the test would not end.
      await made.end();
      throw error;
    }
    return made;
  }

  async #begin(): Promise<void> {
    this.#server = await ServeProcess.start(this.setting);
    const token = await finish(this.setting, ["token", "create", "--name", "packages"]);
    this.#key = token.stdout.trim();
  }

  answer(request: RecordedRequest): ReplyStep {
    this.#asked.push(request);
    return this.#steps.shift() ?? { status: 500 };
  }

  /** The answers of the models from now on. */
  script(...steps: ReplyStep[]): void {
    this.#steps = steps;
    this.#asked = [];
  }

  /** What the models were asked since the last `script`. */
  get asked(): readonly RecordedRequest[] {
    return this.#asked;
  }

  /** The provider of a protocol, or the server with a model of it. */
  target(protocol: Endpoint, isServed: boolean): Target {
    if (isServed) return { url: `${this.#server?.url}/v1`, key: this.#key, model: `${protocol}/model` };
    return { url: this.#servers.get(protocol)?.url ?? "", key: "key", model: "model" };
  }

  async end(): Promise<void> {
    await this.#server?.kill();
    for (const server of this.#servers.values()) await server.close();
    this.setting.remove();
  }
}

/** What answers the calls of a package, by name. */
export interface Place {
  name: string;
  of(targets: Targets): Target;
}

/** The places that a package of the protocol is tried against: all get the same calls, and have to give the same answers. */
export function placesOf(protocol: Endpoint): Place[] {
  const models = [protocol, ...PROTOCOLS.filter((each) => each !== protocol)];
  return [
    { name: "the provider's shape", of: (targets) => targets.target(protocol, false) },
    ...models.map((api) => ({
      name: `the server with a model of ${api}`,
      of: (targets: Targets) => targets.target(api, true),
    })),
  ];
}
