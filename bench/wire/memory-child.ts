/** A gateway in its own process, with an endpoint that answers at once; its memory is read over the channel. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import { createModelGateway } from "../../packages/gateway/src/gateway.ts";
import type { Governor } from "../../packages/gateway/src/governor/governor.ts";
import { directUpstream } from "../../packages/gateway/src/upstream/direct.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";

const EVENTS = [
  '{"choices":[{"index":0,"delta":{"role":"assistant","content":"The berth is free."},"finish_reason":null}]}',
  '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
  '{"choices":[],"usage":{"prompt_tokens":40,"completion_tokens":7}}',
  "[DONE]",
];

const endpoint = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of EVENTS) response.write(`data: ${event}\n\n`);
    response.end();
  });
});
endpoint.keepAliveTimeout = 60_000;
await new Promise<void>((resolve) => endpoint.listen(0, "127.0.0.1", resolve));
const { port } = endpoint.address() as AddressInfo;
const upstream = directUpstream({ baseUrl: `http://127.0.0.1:${port}/v1`, label: "endpoint" });

function user(text: string): AgentMessage {
  return { role: "user", content: [{ type: "text", text }] };
}

const governor: Governor = {
  main: async (request) => ({
    context: {
      messages: [user("The summary of what was before."), ...(request.items.at(-1)?.messages ?? [])],
      historyCount: 1,
    },
    isOriginal: () => false,
  }),
  compaction: async () => ({ summary: "A summary." }),
  upstream: () => upstream,
  sent: () => undefined,
  answered: () => undefined,
};
const gateway = createModelGateway({
  logger: silentLogger,
  resolve: () => {
    throw new Error("No model is asked for by name here.");
  },
});
const route = await gateway.openRoute({
  api: "openai-completions",
  governor,
  sessionKey: "main",
  runtime: "bench",
});
const say = (message: object): void => void process.send?.(message);
process.on("message", () => {
  globalThis.gc?.();
  globalThis.gc?.();
  say({ heap: process.memoryUsage().heapUsed, external: process.memoryUsage().external });
});
process.on("disconnect", () => process.exit(0));
say({ baseUrl: route.baseUrl, headers: route.headers });
