/** A home whose configuration asks for a resident host, its commands as programs, and its model. */
import { existsSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { residentFiles, runningResident } from "../../../packages/server/src/resident-place.ts";
import { until } from "../../runner/until.ts";
import { startServer, type ModelServer, type ReplyStep } from "../../servers/server.ts";
import {
  makeSetting,
  modelConfig,
  start,
  type Finished,
  type Running,
  type Setting,
} from "../../turn/setting.ts";
import { readBody } from "../../turn/wire-bodies.ts";

/** A model that answers with the last message, fails at "fail", and stops in the middle of its answer at a message that ends with "wait". */
function reply(text: string): ReplyStep {
  if (text.includes("fail")) return { status: 400, error: { message: "No." } } as unknown as ReplyStep;
  return { text: `You said: ${text}`, ...(text.endsWith("wait") ? { hangAfterChunks: 2 } : {}) };
}

export class Resident {
  readonly setting: Setting;
  readonly model: ModelServer;

  private constructor(setting: Setting, model: ModelServer) {
    this.setting = setting;
    this.model = model;
  }

  static async make(
    server: Record<string, unknown> = {},
    more: Record<string, unknown> = {},
  ): Promise<Resident> {
    const model = await startServer({
      protocol: "openai-completions",
      script: (request) => {
        const { messages } = readBody("openai-completions", request);
        return reply(messages.findLast(({ role }) => role === "user")?.text ?? "");
      },
    });
    const config = { server: { resident: true, ...server }, session: { scope: "folder" }, ...more };
    return new Resident(makeSetting(modelConfig("openai-completions", model.url, {}, config)), model);
  }

  get files(): ReturnType<typeof residentFiles> {
    return residentFiles(this.setting.home);
  }

  /** Process id of the host; undefined while none takes commands. */
  get pid(): number | undefined {
    return existsSync(this.files.key) ? runningResident(this.setting.home)?.pid : undefined;
  }

  /** The first command runs by itself, and starts the host. */
  async warm(): Promise<number> {
    await this.command("status");
    await until(() => this.pid !== undefined, "no resident host was started");
    return this.pid ?? 0;
  }

  begin(args: readonly string[], input?: string, shell?: string): Running {
    return start(this.setting, args, input, shell);
  }

  command(...args: string[]): Promise<Finished> {
    return this.begin(args).finished;
  }

  /** The same command in a process of its own, as without a host. */
  alone(...args: string[]): Promise<Finished> {
    return this.withoutHost(() => this.command(...args));
  }

  async withoutHost(work: () => Promise<Finished>): Promise<Finished> {
    const { key } = this.files;
    renameSync(key, `${key}.aside`);
    try {
      return await work();
    } finally {
      renameSync(`${key}.aside`, key);
    }
  }

  /** The log of the home, which has the start and the end of its host. */
  log(): string {
    const file = join(this.setting.home, "logs", "pagurus.log");
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  }

  async close(): Promise<void> {
    const pid = runningResident(this.setting.home)?.pid;
    if (pid !== undefined) process.kill(pid, "SIGKILL");
    await this.model.close();
    await until(() => runningResident(this.setting.home) === undefined);
    this.setting.remove();
  }
}
