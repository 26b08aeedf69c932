/**
 * Plays `claude -p` without a model: it answers what it is told with "Answer <n>." and writes down how it was started and what
 * it read, a line of JSON each, to the file in PLAYED. What a user says may ask for more: "die" ends it with words on standard
 * error, "wait" answers half and waits for an interrupt.
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

function answer(words: string, isWhole: boolean): void {
  const id = `msg_${answers}`;
  stream({ type: "message_start", message: { id, usage: { input_tokens: 10, output_tokens: 1 } } });
  stream({ type: "content_block_start", content_block: { type: "text", text: "" } });
  stream({ type: "content_block_delta", delta: { type: "text_delta", text: words } });
  if (!isWhole) return;
  say({ type: "assistant", message: { id, content: [{ type: "text", text: words }] } });
  stream({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 3 } });
  stream({ type: "message_stop" });
}

function told({ message }: Line): void {
  const words = (message?.content ?? []).map(({ text }) => text).join("\n");
  say({ type: "system", subtype: "init", claude_code_version: "2.1.330", mcp_servers: [] });
  if (words.endsWith("die")) {
    process.stderr.write("There is no floor here.\n");
    process.exit(3);
  }
  const waits = words.endsWith("wait");
  answer(waits ? "Half of" : `Answer ${answers}.`, !waits);
  answers += 1;
  const end = (): void => say({ type: "result", subtype: "success", is_error: false });
  if (waits) ending = end;
  else end();
}

const resumed = after("--resume");
note({
  started: process.pid,
  args,
  key: process.env["ANTHROPIC_API_KEY"],
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
  note({ told: line });
  if (line.type === "user") told(line);
  if (line.request?.subtype === "interrupt") {
    say({
      type: "control_response",
      response: { subtype: "success", request_id: line.request_id, response: {} },
    });
    ending?.();
  }
}
