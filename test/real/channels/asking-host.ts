/** A host whose model uses two tools, one after the other, each of which is asked for; an answer that counts leaves a file. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ServeProcess } from "../../server/serve-setting.ts";
import { startServer, type ModelServer } from "../../servers/server.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";

/** Begins the turn that asks. */
export const TIDY = "tidy up";
const CALLS = ["first", "second"] as const;

export class AskingHost {
  readonly #model: ModelServer;
  readonly #setting: Setting;
  readonly #served: ServeProcess;

  private constructor(model: ModelServer, setting: Setting, served: ServeProcess) {
    this.#model = model;
    this.#setting = setting;
    this.#served = served;
  }

  static async start(
    channel: Record<string, unknown>,
    env: Readonly<Record<string, string>>,
    connected: string,
  ): Promise<AskingHost> {
    const model = await startServer({
      protocol: "openai-completions",
      script: ({ body }) => {
        const messages = body["messages"] as { role: string; content: unknown }[];
        const asked = messages.findLastIndex(
          ({ role, content }) => role === "user" && JSON.stringify(content).includes(TIDY),
        );
        const last = messages.findLastIndex(({ role }) => role === "user");
        const done = messages.slice(last).filter(({ role }) => role === "tool").length;
        const name = asked === last ? CALLS[done] : undefined;
        if (name === undefined) return { text: "Fine." };
        const call = { id: `c-${name}`, name: "shell", arguments: { command: `touch ${name}.txt` } };
        return { text: "", toolCalls: [call] };
      },
    });
    const home = { permission: "ask", ...channel };
    const setting = makeSetting(modelConfig("openai-completions", model.url, {}, { channels: { home } }));
    Object.assign(setting.env, env);
    const served = await ServeProcess.start(setting);
    const host = new AskingHost(model, setting, served);
    while (!(await host.list()).includes(connected));
    return host;
  }

  async list(): Promise<string> {
    return (await finish(this.#setting, ["channels", "list"])).stdout;
  }

  /** Whether the tool of a call has run. */
  hasRun(name: (typeof CALLS)[number]): boolean {
    return existsSync(join(this.#setting.workspace, `${name}.txt`));
  }

  get pid(): number {
    return this.#served.child.pid ?? 0;
  }

  async end(): Promise<void> {
    await this.#served.kill();
    await this.#model.close();
    this.#setting.remove();
  }
}

/** Number that a question shows. */
export function codeIn(question: string): string {
  return /This is question (\d+)/.exec(question)?.[1] ?? "";
}
