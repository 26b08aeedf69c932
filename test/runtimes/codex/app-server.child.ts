/**
 * Plays `codex app-server` for the tests of the process layer. The first argument says how it misbehaves; what it is
 * asked with `test/say` it writes to its output as it is.
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
    // An exit by itself would lose what is still on its way out.
    process.stdout.write("", () => process.exit(101));
  } else if (id !== undefined && method === undefined) {
    // An answer of ours, told back.
    say({ method: "test/answered", params: { threadId: "t", ...message } });
  }
});
