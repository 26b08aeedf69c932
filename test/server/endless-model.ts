/** A server of the Chat Completions protocol whose answers never end: words every few milliseconds, or nothing for a request without a stream. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

const WORD_MS = 20;

export interface EndlessModel {
  url: string;
  /** Answers that are not over. */
  readonly open: number;
  close(): void;
}

export async function startEndlessModel(): Promise<EndlessModel> {
  const open = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    if (request.method !== "POST") return void response.writeHead(404).end();
    open.add(response);
    response.once("close", () => open.delete(response));
    void answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    get open() {
      return open.size;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += String(chunk);
  if ((JSON.parse(body) as { stream?: boolean }).stream !== true) return;
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (let at = 0; !response.destroyed; at += 1) {
    const choice = { index: 0, delta: { role: "assistant", content: `word${at} ` }, finish_reason: null };
    response.write(
      `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "model", choices: [choice] })}\n\n`,
    );
    await pause(WORD_MS);
  }
}
