/** The embedded loop as a client of strange servers: a host of its own for each answer, with two tools. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PluginTool } from "../../../packages/contract/src/host/plugin.ts";
import type { AssistantMessage } from "../../../packages/contract/src/message.ts";
import type { createPagurus } from "../../../packages/app/src/index.ts";
import type { StrangeClient, StrangeRequest, StrangeResult } from "../../../packages/testkit/src/index.ts";
import { apiOf } from "./reading.ts";

/** Version path that the loop's addresses of a protocol begin with. */
export function addressOf({ baseUrl, protocol }: Pick<StrangeRequest, "baseUrl" | "protocol">): string {
  return `${baseUrl}${protocol === "google" ? "/v1beta" : "/v1"}`;
}

/** The loop of a checkout. */
export function loopClientOf(create: typeof createPagurus): StrangeClient {
  return (request) => asked(create, request);
}

async function asked(create: typeof createPagurus, request: StrangeRequest): Promise<StrangeResult> {
  const folder = await mkdtemp(join(tmpdir(), "strange-"));
  const provider = {
    api: apiOf(request.protocol),
    baseUrl: addressOf(request),
    apiKey: "k",
    models: [{ id: "m" }],
  };
  const pagurus = await create({
    home: join(folder, "home"),
    config: {
      agents: { defaults: { model: "strange/m", retry: { maxElapsedSeconds: 1 } } },
      models: { providers: { strange: provider } },
    },
  });
  const calls: { name: string; arguments: Record<string, unknown> }[] = [];
  const tools = request.tools.map(({ name, description, parameters }): PluginTool => ({
    name,
    description,
    parameters,
    readOnly: true,
    execute: async (args) => {
      calls.push({ name, arguments: args });
      return { isError: false, content: [{ type: "text", text: "done" }] };
    },
  }));
  // In the form that earlier commits take too.
  const caller = { forTurn: () => Promise.resolve({ tools, problems: [] }) };
  try {
    const messages: AssistantMessage[] = [];
    let error: string | undefined;
    for await (const event of pagurus.run({ prompt: request.prompt, cwd: folder, tools: caller })) {
      if (event.type === "message" && event.message.role === "assistant") messages.push(event.message);
      if (event.type === "turn.failed") error = event.error.message;
    }
    return { ...resultOf(messages[0]), calls, ...(error === undefined ? {} : { error }) };
  } finally {
    await pagurus.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function resultOf(message: AssistantMessage | undefined): StrangeResult {
  const content = message?.content ?? [];
  const usage = message?.usage;
  return {
    text: content.map((part) => (part.type === "text" ? part.text : "")).join(""),
    thinking: content.map((part) => (part.type === "thinking" ? part.thinking : "")).join(""),
    ...(usage ? { usage: { input: usage.input, output: usage.output } } : {}),
  };
}
