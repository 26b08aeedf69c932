/**
 * An instant model endpoint in its own process, so that it shares no event loop with what is measured. Answers every request
 * of the Chat Completions protocol with a few words, and counts its own time, which `GET /stats` returns.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const CHUNKS = ["The ", "tide ", "is ", "in."];

let requests = 0;
let busyMs = 0;
let firstAt = 0;
let lastBytes = 0;
let lastBody: Buffer = Buffer.alloc(0);

function frame(delta: object, finish: string | null): string {
  const choice = { index: 0, delta, finish_reason: finish };
  return `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "bench", choices: [choice] })}\n\n`;
}

const server = createServer((request, response) => {
  if (request.method === "GET" && request.url?.endsWith("/last")) {
    response.end(lastBody);
    return;
  }
  if (request.method === "GET") {
    response.end(JSON.stringify({ requests, busyMs, firstAt, lastBytes }));
    return;
  }
  // The first byte of the request, on a clock that the measuring process shares.
  if (firstAt === 0) firstAt = performance.timeOrigin + performance.now();
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const start = performance.now();
    const body = Buffer.concat(chunks);
    lastBytes = body.length;
    lastBody = body;
    const summary = !body.includes('"tools"');
    response.writeHead(200, { "content-type": "text/event-stream" });
    const words = summary ? ["Goal: measure the host. ", "Done: many short turns. "] : CHUNKS;
    for (const text of words) response.write(frame({ role: "assistant", content: text }, null));
    response.write(frame({}, "stop"));
    const usage = {
      prompt_tokens: Math.ceil(body.length / 4),
      completion_tokens: 4,
      total_tokens: Math.ceil(body.length / 4) + 4,
    };
    response.write(
      `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "bench", choices: [], usage })}\n\n`,
    );
    response.end("data: [DONE]\n\n");
    requests += 1;
    busyMs += performance.now() - start;
  });
});
server.listen(0, "127.0.0.1", () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` });
});
process.on("disconnect", () => process.exit());
