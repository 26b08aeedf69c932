/** The functions of the client in a program that runs plugins in Node.js or Bun, where the adapter is a folder with `place.json`. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { isAbsolute } from "node:path";
import { HostClient, type Place } from "../client/host-client.ts";

/** Time after which a request without an answer is given up, ms: it would keep a program that ends. The client waits less long. */
const LOST_MS = 15_000;

export interface NodeProgram {
  program: string;
  version: string;
  notice(line: string): void;
}

function post(socketPath: string, path: string, body: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const sent = request({ socketPath, path, method: "POST", headers }, (response) => {
      let text = "";
      response
        .setEncoding("utf8")
        .on("data", (chunk: string) => (text += chunk))
        .on("end", () => resolve({ status: response.statusCode ?? 0, text }))
        .on("error", reject);
    });
    sent.on("error", reject).end(body);
    const lost = setTimeout(() => sent.destroy(), LOST_MS).unref();
    sent.once("close", () => clearTimeout(lost));
  });
}

/** Starts the host; `env NAME=value …` before the program is taken apart, so that only a file by its path is started. */
function start(argv: readonly string[]): void {
  const words = argv[0] === "env" ? argv.slice(1) : argv;
  const at = words.findIndex((word) => isAbsolute(word));
  const [command, ...args] = words.slice(at);
  if (at < 0 || command === undefined) return;
  const variables = words.slice(0, at).map((word) => [word.split("=", 1)[0], word.replace(/^[^=]*=/, "")]);
  const env = { ...process.env, ...(Object.fromEntries(variables) as Record<string, string>) };
  spawn(command, args, { detached: true, stdio: "ignore", env })
    .on("error", () => undefined)
    .unref();
}

function placeOf(folder: URL): Place {
  return JSON.parse(readFileSync(new URL("place.json", folder), "utf8")) as Place;
}

/** Command of the MCP server of a folder's conversations; undefined where the installation names no program. */
export function mcpCommand(folder: URL, directory: string): string[] | undefined {
  const program = placeOf(folder).wake.slice(0, -1);
  return program.length === 0 ? undefined : [...program, "mcp", "serve", "--folder", directory];
}

/** Shows one line to the user of a program that offers nothing better. */
export function printNotice(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** A client for the adapter in this folder. Throws where its `place.json` is missing. */
export function nodeClient(folder: URL, { program, version, notice }: NodeProgram): HostClient {
  const place = placeOf(folder);
  return new HostClient({
    program,
    version,
    place,
    post,
    // The open request keeps the program, not the deadline.
    sleep: (ms) => new Promise((resolve) => void setTimeout(resolve, ms).unref()),
    run: start,
    notice,
  });
}
