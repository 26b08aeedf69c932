/** An MCP server whose tools ask the person: `form` for values, `link` to open an address. The result is the answer. */
import { createInterface } from "node:readline";

type Message = {
  id?: number | string;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: unknown;
};

const FORM = {
  type: "object",
  properties: {
    name: { type: "string", title: "Your name" },
    age: { type: "integer", default: 30, minimum: 0 },
    colour: { type: "string", enum: ["red", "blue"], default: "red" },
    ready: { type: "boolean", default: true },
  },
  required: ["name"],
};
const QUESTIONS: Record<string, object> = {
  form: { message: "Who are you?", requestedSchema: FORM },
  defaults: { message: "Go on?", requestedSchema: { ...FORM, required: [] } },
  link: { mode: "url", message: "Pay here.", url: "https://pay.example/1", elicitationId: "e1" },
};

const calls = new Map<string, Message["id"]>();
let asked = 0;

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function answer(message: Message): void {
  const id = calls.get(String(message.id));
  const text = JSON.stringify(message.result ?? message.error);
  send({ id, result: { content: [{ type: "text", text }] } });
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line) as Message;
  const { id, method, params } = message;
  if (method === "initialize")
    send({
      id,
      result: {
        protocolVersion: params?.["protocolVersion"],
        capabilities: { tools: {} },
        serverInfo: { name: "asking", version: "1" },
      },
    });
  else if (method === "tools/list")
    send({
      id,
      result: { tools: Object.keys(QUESTIONS).map((name) => ({ name, inputSchema: { type: "object" } })) },
    });
  else if (method === "tools/call") {
    const question = `q${++asked}`;
    calls.set(question, id);
    send({ id: question, method: "elicitation/create", params: QUESTIONS[String(params?.["name"])] });
  } else if (method === undefined) answer(message);
});
