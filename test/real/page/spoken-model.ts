/** A Chat Completions endpoint whose answers a test writes piece by piece while they are read. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request to the model that waits for its answer. */
export interface SpokenAnswer {
  /** Words of the last message of the request. */
  asked: string;
  say(words: string): void;
  /** Calls the tool `shell` and ends the answer. */
  call(command: string): void;
  end(): void;
}

export interface SpokenModel {
  url: string;
  /** The next request, once it is here. */
  next(): Promise<SpokenAnswer>;
  close(): Promise<void>;
}

function frame(delta: object, finish: string | null = null): string {
  const head = { id: "c", object: "chat.completion.chunk", created: 1, model: "model" };
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ ...head, choices })}\n\n`;
}

async function lastWords(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
  const { messages } = JSON.parse(text) as { messages: { content: unknown }[] };
  const content = messages.at(-1)?.content;
  return typeof content === "string" ? content : JSON.stringify(content);
}

function answerTo(asked: string, response: ServerResponse, number: number): SpokenAnswer {
  const answer: SpokenAnswer = {
    asked,
    say: (words) => void response.write(frame({ role: "assistant", content: words })),
    call(command) {
      const shell = { name: "shell", arguments: JSON.stringify({ command }) };
      response.write(
        frame({ tool_calls: [{ index: 0, id: `call_${number}`, type: "function", function: shell }] }),
      );
      response.write(frame({}, "tool_calls"));
      response.end("data: [DONE]\n\n");
    },
    end() {
      response.write(frame({}, "stop"));
      response.end("data: [DONE]\n\n");
    },
  };
  // Who asked may leave at any time.
  response.on("error", () => response.destroy());
  return answer;
}

export async function startSpokenModel(): Promise<SpokenModel> {
  const asked: SpokenAnswer[] = [];
  const waiting: ((answer: SpokenAnswer) => void)[] = [];
  let count = 0;
  const server = createServer((request, response) => {
    if (request.method === "GET") {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ object: "list", data: [] }));
      return;
    }
    const take = async (): Promise<void> => {
      const words = await lastWords(request);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
      count += 1;
      const answer = answerTo(words, response, count);
      const taker = waiting.shift();
      if (taker) taker(answer);
      else asked.push(answer);
    };
    take().catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    next: () => {
      const answer = asked.shift();
      return answer ? Promise.resolve(answer) : new Promise((resolve) => waiting.push(resolve));
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
