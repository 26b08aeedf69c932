/**
 * A model endpoint that speaks the Responses API, in its own process, so that it shares no event loop with what is measured.
 * Under `/v1` it answers at once, under `/slow/v1` after `SLOW_MS`. `GET /stats` returns the number of requests and the
 * maximum that were open at once, and resets the counters.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Latency of a quick model, ms. */
const SLOW_MS = 400;
const WORDS = ["The ", "tide ", "is ", "in."];

let requests = 0;
let open = 0;
let most = 0;

function frame(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

function answer(response: ServerResponse, index: number, requestBytes: number): void {
  const id = `msg_${index}`;
  const text = WORDS.join("");
  const item = { id, type: "message", role: "assistant", status: "completed" };
  const done = { ...item, content: [{ type: "output_text", text, annotations: [] }] };
  const input = Math.ceil(requestBytes / 4);
  const usage = { input_tokens: input, output_tokens: WORDS.length, total_tokens: input + WORDS.length };
  const of = { id: `resp_${index}`, object: "response", model: "bench" };
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(frame("response.created", { response: { ...of, status: "in_progress", output: [] } }));
  response.write(
    frame("response.output_item.added", {
      output_index: 0,
      item: { ...item, status: "in_progress", content: [] },
    }),
  );
  for (const delta of WORDS)
    response.write(
      frame("response.output_text.delta", { item_id: id, output_index: 0, content_index: 0, delta }),
    );
  response.write(frame("response.output_item.done", { output_index: 0, item: done }));
  response.end(
    frame("response.completed", { response: { ...of, status: "completed", output: [done], usage } }),
  );
}

const server = createServer((request, response) => {
  if (request.method === "GET") {
    response.end(JSON.stringify({ requests, most }));
    requests = 0;
    most = open;
    return;
  }
  requests += 1;
  const index = requests;
  open += 1;
  most = Math.max(most, open);
  response.on("close", () => {
    open -= 1;
  });
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
  });
  request.on("end", () => {
    if (request.url?.startsWith("/slow/")) setTimeout(() => answer(response, index, bytes), SLOW_MS);
    else answer(response, index, bytes);
  });
});
server.listen(0, "127.0.0.1", () => {
  process.send?.({ origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on("disconnect", () => process.exit());
