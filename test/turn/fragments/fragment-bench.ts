/** A host over a local endpoint that speaks the Responses protocol, and its requests as `role:text` lines. */
import assert from "node:assert/strict";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { AdditionalContext, FragmentKind } from "../../../packages/contract/src/fragment.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { PluginApi } from "../../../packages/contract/src/host/plugin.ts";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import { startServer, type RecordedRequest, type ReplyScript } from "../../servers/server.ts";
import { Bench } from "../in-process.ts";
import { modelConfig, type ModelOptions } from "../setting.ts";

/** `{key: [kind, value]}` as a map of additional context. */
export function context(entries: Record<string, [FragmentKind, string]>): AdditionalContext {
  return Object.fromEntries(Object.entries(entries).map(([key, [kind, value]]) => [key, { kind, value }]));
}

export class FragmentBench extends Bench {
  static async open(
    script: ReplyScript = (_request, index) => ({ text: `answer ${index}` }),
  ): Promise<FragmentBench> {
    return new FragmentBench(await startServer({ protocol: "openai-responses", script }));
  }

  async start(
    engine: "legacy" | "lossless",
    how: {
      plugin?: (api: PluginApi) => void;
      model?: ModelOptions;
      defaults?: Record<string, unknown>;
      engineConfig?: Record<string, unknown>;
    } = {},
  ): Promise<Pagurus> {
    const { plugin, model, defaults, engineConfig } = how;
    const config = modelConfig("openai-responses", this.server.url, model, {
      agents: { defaults: defaults ?? {} },
      logging: { level: "silent" },
      plugins: {
        slots: { contextEngine: engine },
        ...(engineConfig ? { entries: { [engine]: { config: engineConfig } } } : {}),
      },
    });
    return this.host({ ...(plugin ? { plugin } : {}), more: { config } });
  }

  say(
    pagurus: Pagurus,
    prompt: string,
    additionalContext?: AdditionalContext | null,
    sessionKey = "main",
  ): Promise<TurnEvent[]> {
    const given = additionalContext === undefined ? {} : { additionalContext };
    return this.ask(pagurus, prompt, { ...given, sessionKey });
  }

  /** The items of a request after the system prompt; requests for a summary do not count. */
  items(index: number): string[] {
    return this.requests().at(index) ?? assert.fail(`request ${index}`);
  }

  requests(): string[][] {
    return this.server.requests.flatMap((request) => {
      const items = itemsOf(request);
      return items ? [items] : [];
    });
  }

  /** Each request begins with all of the one before it. */
  assertGrows(from: number, to: number): void {
    for (let index = from + 1; index <= to; index += 1) {
      const [before, now] = [this.items(index - 1), this.items(index)];
      assert.deepEqual(
        now.slice(0, before.length),
        before,
        `request ${index} begins with request ${index - 1}`,
      );
    }
  }

  async entries(pagurus: Pagurus, sessionKey = "main"): Promise<TranscriptEntry[]> {
    const reader = pagurus.sessions().openReader(sessionKey);
    const entries: TranscriptEntry[] = [];
    for await (const entry of reader.cursor.forward()) entries.push(entry);
    reader.close();
    return entries;
  }
}

/** The items of a request after the system prompt; undefined for a request for a summary. */
export function itemsOf({ body }: RecordedRequest): string[] | undefined {
  const input = body["input"] as Record<string, unknown>[];
  const items = input.slice(1).map((item) => {
    if (typeof item["role"] !== "string") return String(item["type"]);
    return `${item["role"]}:${textOf(item["content"])}`;
  });
  return items.some((item) => item.startsWith("user:<transcript>")) ? undefined : items;
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  const parts = content as { text?: string }[];
  return parts.map(({ text }) => text ?? "").join("");
}
