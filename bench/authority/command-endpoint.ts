/**
 * An instant model endpoint in its own process that calls the tool `shell`. The prompt decides: `3 true` answers with the command
 * `true` until the conversation has three results of it, then with one word. `after 400 ms: 3 true`: each answer begins after that time.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface Message {
  role: string;
  content?: unknown;
}

function textOf({ content }: Message): string {
  if (typeof content === "string") return content;
  return Array.isArray(content)
    ? content.map((part: { text?: unknown }) => (typeof part.text === "string" ? part.text : "")).join("")
    : "";
}

/** The model's next answer: a command, or nothing more, and the time before it in ms. */
function nextAnswer(messages: readonly Message[]): { command: string | undefined; delay: number } {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const asked = messages[at];
  const [, delay = 0, count, command] =
    (asked && /(?:^|\n)(?:after (\d+) ms: )?(\d+) (.+)$/.exec(textOf(asked).trim())) ?? [];
  const done = messages.slice(at).filter(({ role }) => role === "tool").length;
  return { command: done < Number(count) ? command : undefined, delay: Number(delay) };
}

function frame(delta: object, finish: string | null): string {
  const choice = { index: 0, delta, finish_reason: finish };
  return `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "model", choices: [choice] })}\n\n`;
}

let calls = 0;

function answer(response: ServerResponse, command: string | undefined): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  if (command === undefined) {
    response.write(frame({ role: "assistant", content: "Done." }, null));
    response.write(frame({}, "stop"));
  } else {
    calls += 1;
    const call = { name: "shell", arguments: JSON.stringify({ command }) };
    const tool_calls = [{ index: 0, id: `call-${calls}`, type: "function", function: call }];
    response.write(frame({ role: "assistant", content: null, tool_calls }, null));
    response.write(frame({}, "tool_calls"));
  }
  response.end("data: [DONE]\n\n");
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    // Questions about the server itself.
    if (request.url?.endsWith("/chat/completions") !== true) return void response.writeHead(404).end();
    const { messages } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { messages: Message[] };
    const { command, delay } = nextAnswer(messages);
    if (delay === 0) answer(response, command);
    else setTimeout(answer, delay, response, command);
  });
});
server.listen(0, "127.0.0.1", () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` });
});
process.on("disconnect", () => process.exit());
