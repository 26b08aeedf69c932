/**
 * A program of a user: one prompt of a Chat Completions client with a shell, whose conversation is a file of the folder. `client.ts <fault>
 * <prompt>`, where the fault is `none` or one of those below.
 */
import { execSync, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

interface Call {
  id: string;
  function: { name: string; arguments: string };
}
interface Message {
  role: string;
  content: string | null;
  tool_calls?: Call[];
  tool_call_id?: string;
}

const FILE = "conversation.json";
const [fault = "none", prompt = ""] = process.argv.slice(2);
const parameters = { type: "object", properties: { command: { type: "string" } } };
const tools = [{ type: "function", function: { name: "bash", description: "Runs a command.", parameters } }];
const url = `${process.env["OPENAI_BASE_URL"]}/chat/completions`;
const key = process.env["OPENAI_API_KEY"];

const messages: Message[] =
  fault !== "forgets" && existsSync(FILE) ? (JSON.parse(readFileSync(FILE, "utf8")) as Message[]) : [];
messages.push({ role: "user", content: fault === "repeats" ? `${prompt} ${prompt}` : prompt });

if (fault === "deaf") process.on("SIGINT", () => undefined);
if (fault === "leaves")
  spawn(process.execPath, ["-e", "setTimeout(() => {}, 60_000)"], {
    detached: true,
    stdio: "ignore",
  }).unref();

interface Delta {
  content?: string | null;
  tool_calls?: { index: number; id?: string; function?: { name?: string; arguments?: string } }[];
}

/** The message of a stream's deltas. */
function messageOf(stream: string): Message {
  const calls: Call[] = [];
  let content = "";
  for (const line of stream.split("\n")) {
    if (!line.startsWith("data: {")) continue;
    const { choices } = JSON.parse(line.slice("data: ".length)) as { choices: { delta: Delta }[] };
    const { content: words, tool_calls: parts = [] } = choices[0]?.delta ?? {};
    content += words ?? "";
    for (const { index, id = "", function: part } of parts) {
      const call = (calls[index] ??= { id: "", function: { name: "", arguments: "" } });
      call.id += id;
      call.function.name += part?.name ?? "";
      call.function.arguments += part?.arguments ?? "";
    }
  }
  const typed = calls.map((call) => ({ ...call, type: "function" }));
  return { role: "assistant", content, ...(calls.length === 0 ? {} : { tool_calls: typed }) };
}

async function ask(): Promise<Message> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({
      model: "m1",
      messages,
      tools,
      stream: true,
      stream_options: { include_usage: true },
    }),
  });
  const text = await response.text();
  if (response.ok) return messageOf(text);
  if (fault !== "hides") console.error(text);
  process.exit(fault === "hides" ? 0 : 1);
}

for (;;) {
  const answer = await ask();
  messages.push(answer);
  const calls = fault === "ignores" ? [] : (answer.tool_calls ?? []);
  for (const { id, function: named } of calls) {
    const { command } = JSON.parse(named.arguments) as { command: string };
    messages.push({ role: "tool", tool_call_id: id, content: execSync(command, { encoding: "utf8" }) });
  }
  if (calls.length > 0) continue;
  if (fault !== "silent") console.log(answer.content);
  break;
}
writeFileSync(FILE, JSON.stringify(messages));
