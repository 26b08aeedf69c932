/**
 * Plays `claude -p` without a model: it answers each input with "Answer <n>." and logs how it was started and what it read, a
 * line of JSON each, to the file in PLAYED. A user message may ask for more: "die" ends it with text on standard error,
 * "wait" answers half and waits for an interrupt, "long" answers half and runs out of tokens. When it was started with
 * headers of its own it calls the endpoint once before it answers, without text of the conversation.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

interface Line {
  type: string;
  request_id?: string;
  request?: { subtype: string };
  message?: { content: { text?: string }[] };
  uuid?: string;
}

const args = process.argv.slice(2);
const log = process.env["PLAYED"] ?? "";
let answers = 0;
let isInterrupted = false;
let ending: (() => void) | undefined;

function note(what: object): void {
  appendFileSync(log, `${JSON.stringify(what)}\n`);
}

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function stream(event: object): void {
  say({ type: "stream_event", parent_tool_use_id: null, event });
}

function after(flag: string): string | undefined {
  const at = args.indexOf(flag);
  return at === -1 ? undefined : args[at + 1];
}

function answer(words: string, isWhole: boolean, reason = "end_turn"): void {
  const id = `msg_${answers}`;
  stream({ type: "message_start", message: { id, usage: { input_tokens: 10, output_tokens: 1 } } });
  stream({ type: "content_block_start", content_block: { type: "text", text: "" } });
  stream({ type: "content_block_delta", delta: { type: "text_delta", text: words } });
  if (!isWhole) return;
  say({ type: "assistant", message: { id, content: [{ type: "text", text: words }] } });
  stream({ type: "message_delta", delta: { stop_reason: reason }, usage: { output_tokens: 3 } });
  stream({ type: "message_stop" });
}

/** Status and text of the endpoint's answer; undefined when it is not called. Retries a failure, as Claude Code does. */
async function asked(): Promise<{ status: number; words: string } | undefined> {
  const headers = process.env["ANTHROPIC_CUSTOM_HEADERS"];
  if (headers === undefined) return undefined;
  const named = headers.split("\n").map((line): [string, string] => {
    const mark = line.indexOf(": ");
    return [line.slice(0, mark), line.slice(mark + 2)];
  });
  const url = `${process.env["ANTHROPIC_BASE_URL"]}/v1/messages`;
  for (;;) {
    const response = await fetch(url, { method: "POST", headers: named, body: "{}" });
    const words = await response.text();
    if (response.status < 500 || isInterrupted) return { status: response.status, words };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function input({ message }: Line): Promise<void> {
  const words = (message?.content ?? []).map(({ text }) => text).join("\n");
  say({ type: "system", subtype: "init", claude_code_version: "2.1.330", mcp_servers: [] });
  if (words.endsWith("die")) {
    process.stderr.write("There is no floor here.\n");
    process.exit(3);
  }
  const upstream = await asked();
  note({ upstream });
  if (upstream && upstream.status >= 400) {
    const { status, words: result } = upstream;
    return say({ type: "result", subtype: "success", is_error: true, api_error_status: status, result });
  }
  const waits = words.endsWith("wait");
  const isLong = words.endsWith("long");
  if (isLong) answer("Half of", true, "max_tokens");
  else answer(waits ? "Half of" : `Answer ${answers}.`, !waits);
  answers += 1;
  const end = (): void => say({ type: "result", subtype: "success", is_error: false });
  if (waits || isLong) ending = end;
  else end();
}

const resumed = after("--resume");
note({
  started: process.pid,
  args,
  key: process.env["ANTHROPIC_API_KEY"],
  baseUrl: process.env["ANTHROPIC_BASE_URL"],
  system: readFileSync(after("--system-prompt-file") ?? "", "utf8"),
  history:
    resumed === undefined
      ? []
      : readFileSync(resumed, "utf8")
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line) as object),
});
process.stdout.write("This is no message.\n");
for await (const text of createInterface({ input: process.stdin })) {
  const line = JSON.parse(text) as Line;
  note({ input: line });
  if (line.type === "user") void input(line);
  if (line.request?.subtype === "interrupt") {
    say({
      type: "control_response",
      response: { subtype: "success", request_id: line.request_id, response: {} },
    });
    isInterrupted = true;
    ending?.();
  }
}
