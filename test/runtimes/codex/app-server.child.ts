/**
 * Plays `codex app-server` for the tests of the process layer. The first argument names its misbehaviour; it writes the lines
 * of a `test/say` request to its output unchanged.
 */
import { createInterface } from "node:readline";

const [mode = "", ...args] = process.argv.slice(2);
const say = (message: unknown): void => {
  process.stdout.write(JSON.stringify(message) + "\n");
};

if (mode === "refuses") {
  process.stderr.write("noise\n".repeat(5_000) + "\u001b[31merror\u001b[0m: the configuration is wrong\n");
  process.exit(3);
}
if (mode === "stubborn") {
  process.on("SIGTERM", () => undefined);
  setInterval(() => undefined, 1_000);
}

interface Message {
  id?: number | string;
  method?: string;
  params?: { lines?: string[] };
  result?: unknown;
  error?: unknown;
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line) as Message;
  const { id, method } = message;
  if (method === "initialize") {
    if (mode === "silent") return;
    if (mode === "torn") process.stdout.write('{"method":"torn","par\n');
    const version = mode === "other" ? "9.9.9" : "0.169.0";
    say({ id, result: { userAgent: `pagurus/${version} (Test)`, codexHome: args.join(" ") } });
  } else if (method === "test/say") {
    for (const text of message.params?.lines ?? []) process.stdout.write(text + "\n");
    say({ id, result: {} });
  } else if (method === "test/close-output") {
    process.stdout.end();
    setInterval(() => undefined, 1_000);
  } else if (method === "test/exit") {
    process.stderr.write("a defect\n");
    // A plain exit would lose output that is not flushed yet.
    process.stdout.write("", () => process.exit(101));
  } else if (id !== undefined && method === undefined) {
    // Echoes an answer of ours.
    say({ method: "test/answered", params: { threadId: "t", ...message } });
  }
});
