/** `pagurus serve` in front of a local provider of direct surfaces, and requests to it as a client sends them. */
import { SURFACE_KEY, startSurfaceServer, type SurfaceServer } from "../servers/surface-server.ts";
import { finish, makeSetting, type Setting } from "../turn/setting.ts";
import { ServeProcess } from "./serve-setting.ts";

/** The provider `lab`, with a model of each surface and one that talks. */
export function surfaceProviders(url: string): Record<string, unknown> {
  return {
    lab: {
      api: "openai-completions",
      baseUrl: url,
      apiKey: SURFACE_KEY,
      models: [
        { id: "talks", cost: { input: 1, output: 1 } },
        { id: "embeds", surfaces: ["embeddings"], cost: { input: 1_000, output: 0 } },
        { id: "paints", surfaces: ["images"], unitCost: { image: 0.04 } },
        { id: "speaks", surfaces: ["speech"], unitCost: { millionCharacters: 15 } },
        { id: "writes", surfaces: ["transcription"], unitCost: { minute: 0.006 } },
        { id: "unpriced", surfaces: ["embeddings"] },
      ],
    },
    other: { api: "anthropic-messages", baseUrl: url, apiKey: SURFACE_KEY, models: [{ id: "m" }] },
  };
}

export interface Posted {
  status: number;
  type: string;
  bytes: Buffer;
  json: Record<string, unknown>;
  /** The sentence of an error. */
  message: string;
  code: unknown;
}

export class SurfaceSetting {
  readonly provider: SurfaceServer;
  readonly setting: Setting;
  readonly server: ServeProcess;

  private constructor(provider: SurfaceServer, setting: Setting, server: ServeProcess) {
    this.provider = provider;
    this.setting = setting;
    this.server = server;
  }

  static async start(more: { defaults?: object; server?: object } = {}): Promise<SurfaceSetting> {
    const provider = await startSurfaceServer();
    const setting = makeSetting({
      models: { providers: surfaceProviders(provider.url) },
      agents: { defaults: { model: "lab/talks", ...more.defaults }, list: [{ id: "helper" }] },
      ...(more.server ? { server: more.server } : {}),
    });
    return new SurfaceSetting(provider, setting, await ServeProcess.start(setting));
  }

  async close(): Promise<void> {
    await this.server.kill();
    await this.provider.close();
    this.setting.remove();
  }

  async token(...args: readonly string[]): Promise<string> {
    const { stdout } = await finish(this.setting, ["token", "create", ...args]);
    return stdout.trim();
  }

  /** Posts JSON, or a form. `token`: default the key of this user's own commands. */
  async post(
    path: string,
    body: object,
    { token = this.server.key, headers = {} }: { token?: string; headers?: Record<string, string> } = {},
  ): Promise<Posted> {
    const isForm = body instanceof FormData;
    const answer = await fetch(`${this.server.url}/v1${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        ...(isForm ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: isForm ? body : JSON.stringify(body),
    });
    return postedOf(answer);
  }
}

export async function postedOf(answer: Response): Promise<Posted> {
  const bytes = Buffer.from(await answer.arrayBuffer());
  const text = bytes.toString("utf8");
  const json = text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : {};
  const { message = "", code } = (json["error"] ?? {}) as { message?: string; code?: unknown };
  const type = answer.headers.get("content-type") ?? "";
  return { status: answer.status, type, bytes, json, message, code };
}

export function soundForm(model: string, more: Record<string, string> = {}, bytes = 16_000): FormData {
  const form = new FormData();
  // As some clients do, the file comes before the field that names the model.
  form.append("file", new File([Buffer.alloc(bytes, 7)], "sound.mp3"));
  for (const [name, value] of Object.entries(more)) form.append(name, value);
  form.append("model", model);
  return form;
}
