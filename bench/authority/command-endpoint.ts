/**
 * An instant model endpoint in its own process that calls the tool `shell`. The prompt decides: `3 true` answers with the command
 * `true` until the conversation has three results of it, then with one word.
 */
import { createServer } from "node:http";
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

/** What the model says next: a command, or nothing more. */
function nextCommand(messages: readonly Message[]): string | undefined {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const asked = messages[at];
  const [, count, command] = (asked && /(?:^|\n)(\d+) (.+)$/.exec(textOf(asked).trim())) ?? [];
  const done = messages.slice(at).filter(({ role }) => role === "tool").length;
  return done < Number(count) ? command : undefined;
}

function frame(delta: object, finish: string | null): string {
  const choice = { index: 0, delta, finish_reason: finish };
  return `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "model", choices: [choice] })}\n\n`;
}

let calls = 0;

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const { messages } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { messages: Message[] };
    const command = nextCommand(messages);
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
  });
});
server.listen(0, "127.0.0.1", () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` });
});
process.on("disconnect", () => process.exit());
