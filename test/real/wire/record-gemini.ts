/**
 * Records Gemini CLI's requests to a model server: `node test/real/wire/record-gemini.ts GEMINI.JS FOLDER [SCENE…]` writes each request
 * to the folder, with neutral paths and short texts. The fixtures in `test/gateway/recorded` are some of these.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { recordOf, recordsOf, stringOf } from "../../../packages/core/src/data/record-fields.ts";

type Part = Record<string, unknown>;

/** Prompts of one session; the first word selects the answers. */
const SCENES: Readonly<Record<string, readonly string[]>> = {
  look: ["LOOK at the quay", "Which one takes a ship of forty metres?", "LOOK again, LONG"],
  image: ["PICTURE please"],
  empty: ["EMPTY one", "SILENT look"],
  loop: ["LOOP now"],
  agent: ["AGENT look"],
  search: ["SEARCH it"],
};
/** Functions that stay in the recorded requests; the others are left out. */
const KEPT = new Set(["list_directory", "read_file", "complete_task"]);
const MOST_CHARACTERS = 450;
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const call = (name: string, args: object): Part => ({ functionCall: { name, args } });
const LOOKS = [
  { text: "I look around." },
  { ...call("list_directory", { dir_path: "." }), thoughtSignature: "c2lnbmVkIGJ5IHRoZSBtb2RlbA==" },
  call("read_file", { file_path: "quay.txt" }),
  call("read_file", { file_path: "quay.txt" }),
];
/** The parts of the first answer to a prompt, by its first word. */
const FIRST: Readonly<Record<string, readonly Part[]>> = {
  LOOK: LOOKS,
  PICTURE: [call("read_file", { file_path: "pier.png" })],
  EMPTY: [],
  SILENT: [call("list_directory", { dir_path: "." })],
  LOOP: [call("list_directory", { dir_path: "." })],
  AGENT: [call("invoke_agent", { agent_name: "codebase_investigator", prompt: "Look at the quay." })],
  SEARCH: [call("google_web_search", { query: "berths of the harbour" })],
};
const REPORT = { SummaryOfFindings: "Done.", ExplorationTrace: ["a"], RelevantLocations: [] };

/** The parts of the answer to a request. */
function answerTo(body: Part): readonly Part[] {
  const contents = recordsOf(body["contents"]);
  const last = recordsOf(contents.at(-1)?.["parts"]);
  const text = last.map((part) => stringOf(part["text"])).join("\n");
  if (text.includes("First, reason in your scratchpad."))
    return [{ text: "<state_snapshot>\nLook after the quay.\n</state_snapshot>" }];
  if (text.startsWith("Critically evaluate"))
    return [{ text: "<state_snapshot>\nLook after the quay, checked.\n</state_snapshot>" }];
  if (JSON.stringify(body["tools"]).includes("complete_task"))
    return [call("complete_task", { report: REPORT })];
  const prompts = JSON.stringify(contents).match(
    /\b(?:LOOK|PICTURE|EMPTY|SILENT|LOOP|AGENT|SEARCH|Which)\b/g,
  );
  const prompt = prompts?.at(-1) ?? "";
  const isAsked = !last.some((part) => part["functionResponse"]) && !text.includes("[System: ");
  if (isAsked || (prompt === "LOOP" && !text.includes("Potential loop")))
    return FIRST[prompt] ?? [{ text: "The ninth." }];
  return prompt === "SILENT" && !text.includes("[System: ")
    ? [{ text: "Hm.", thought: true }]
    : [{ text: "The ninth berth is free." }];
}

function reply(response: ServerResponse, url: string, body: Part): void {
  const isStream = url.includes("alt=sse");
  response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
  if (url.includes(":countTokens")) return void response.end('{"totalTokens":1000}');
  // A prompt that nearly fills the window makes the program compact before its next request.
  const isLong = JSON.stringify(recordsOf(body["contents"]).at(-1)).includes("LONG");
  const usageMetadata = { promptTokenCount: isLong ? 900_000 : 300, candidatesTokenCount: 10 };
  const candidate = { content: { role: "model", parts: answerTo(body) }, finishReason: "STOP", index: 0 };
  const chunk = JSON.stringify({ candidates: [candidate], usageMetadata });
  return void response.end(isStream ? `data: ${chunk}\r\n\r\n` : chunk);
}

function shorter(key: string, value: unknown): unknown {
  if (key === "functionDeclarations") return recordsOf(value).filter(({ name }) => KEPT.has(stringOf(name)));
  if (typeof value !== "string") return value;
  if (key === "description" && value.length > 80) return `${value.slice(0, 60)}…`;
  if (key !== "text" || value.length <= MOST_CHARACTERS) return value;
  return `${value.slice(0, 150)} […] ${value.slice(-100)}`;
}

function neutral(request: IncomingMessage, source: string, root: string): string {
  const body = JSON.parse(source) as unknown;
  if (JSON.stringify(body) !== source)
    throw new Error("Gemini CLI does not write JSON as JSON.stringify does");
  const clean = (text: string): string =>
    text
      .replaceAll(`${root}/work`, "/home/user/project")
      .replaceAll(root, "/home/user")
      .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "11111111-2222-4333-8444-555555555555")
      .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:8080");
  const short = clean(JSON.stringify(body, shorter));
  const lines = request.rawHeaders.flatMap((name, at) => {
    if (at % 2 === 1) return [];
    const isLength = name.toLowerCase() === "content-length";
    return [`${name}: ${isLength ? Buffer.byteLength(short) : clean(request.rawHeaders[at + 1] ?? "")}`];
  });
  return [`${request.method} ${request.url} HTTP/1.1`, ...lines, "", short].join("\n");
}

async function play(program: string, folder: string, scene: string): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), "gemini-"));
  mkdirSync(join(root, "work"));
  mkdirSync(join(root, ".gemini"));
  writeFileSync(join(root, "work", "quay.txt"), "The third and the ninth berth are free.\n");
  writeFileSync(join(root, "work", "pier.png"), Buffer.from(PIXEL, "base64"));
  const settings = {
    security: { auth: { selectedType: "gemini-api-key" } },
    privacy: { usageStatisticsEnabled: false },
  };
  writeFileSync(join(root, ".gemini", "settings.json"), JSON.stringify(settings));
  let count = 0;
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const source = Buffer.concat(chunks).toString();
      writeFileSync(join(folder, `${scene}-${count++}.http`), neutral(request, source, root));
      reply(response, request.url ?? "", recordOf(JSON.parse(source)));
    })();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as { port: number };
  const env = {
    PATH: process.env["PATH"],
    HOME: root,
    TERM: "xterm",
    CI: "1",
    GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${port}`,
    GEMINI_API_KEY: "test-key",
    GEMINI_CLI_TRUST_WORKSPACE: "true",
  };
  for (const [index, prompt] of (SCENES[scene] ?? []).entries()) {
    const args = [
      program,
      "-m",
      "gemini-3-pro-preview",
      "--yolo",
      ...(index > 0 ? ["--resume", "latest"] : []),
    ];
    const child = spawn(process.execPath, [...args, "-p", prompt], {
      cwd: join(root, "work"),
      env,
      stdio: "ignore",
    });
    await once(child, "exit");
  }
  server.close();
  server.closeAllConnections();
  rmSync(root, { recursive: true, force: true });
}

const [program, folder, ...scenes] = process.argv.slice(2);
if (program === undefined || folder === undefined)
  throw new Error("usage: record-gemini.ts GEMINI.JS FOLDER [SCENE…]");
mkdirSync(folder, { recursive: true });
for (const scene of scenes.length > 0 ? scenes : Object.keys(SCENES)) await play(program, folder, scene);
