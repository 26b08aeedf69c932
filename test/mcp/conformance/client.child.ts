/**
 * The client that the conformance package tests: our MCP client, with a browser that agrees to each login. Arguments: the server's address.
 * Lists the tools, calls each, and logs in as often as a sentence asks for it, at most three times.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { McpOAuthConfig, McpServerConfig } from "../../../packages/core/src/config/config-types.ts";
import { McpServers, type McpTool } from "../../../packages/host/src/mcp/client/mcp-servers.ts";
import { silent } from "../client/hosted.ts";

const MOST_LOGINS = 3;
const CLIENT_METADATA = "https://conformance-test.local/client-metadata.json";

const url = process.argv.at(-1) ?? "";
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const given = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as Record<
  string,
  string | undefined
>;
const home = mkdtempSync(join(tmpdir(), "pagurus-conformance-"));
const { signal } = new AbortController();

/** What a user of such a server configures. */
function oauth(): McpOAuthConfig {
  const { client_id: clientId, client_secret: clientSecret, private_key_pem: pem } = given;
  const keyFile = join(home, "key.pem");
  if (pem !== undefined) writeFileSync(keyFile, pem);
  return {
    ...(clientId === undefined ? {} : { clientId }),
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...(pem === undefined ? {} : { privateKey: { file: keyFile } }),
    ...(given["signing_algorithm"] === undefined ? {} : { algorithm: given["signing_algorithm"] }),
    ...(scenario.includes("client-credentials") ? { grant: "client_credentials" as const } : {}),
    ...(scenario.includes("cimd") ? { clientMetadataUrl: CLIENT_METADATA } : {}),
  };
}

const config: McpServerConfig = { url, oauth: oauth(), timeoutMs: 10_000 };

async function withServers<T>(work: (servers: McpServers) => Promise<T>): Promise<T> {
  const servers = new McpServers({
    config: { mcp: { servers: { it: config } } },
    home,
    env: process.env,
    logger: silent,
    logins: true,
  });
  try {
    return await work(servers);
  } finally {
    await servers.close();
  }
}

async function called(tool: McpTool): Promise<string> {
  // The person accepts what is shown.
  const ask = async (): Promise<"once"> => "once";
  const { content } = await tool.execute({ a: 5, b: 3 }, { sessionKey: "main", signal, ask });
  return content.map((part) => (part.type === "text" ? part.text : part.mimeType)).join(" ");
}

/** All sentences of a round: problems, and the results of the calls. */
function round(): Promise<string[]> {
  return withServers(async (servers) => {
    const { tools, problems } = await servers.forTurn(signal);
    const sentences = [...problems];
    for (const tool of tools) sentences.push(await called(tool));
    return sentences;
  });
}

async function logIn(): Promise<void> {
  await withServers(async (servers) => {
    // The pages of the package send the browser back at once.
    const browse = (address: URL): void => void fetch(address).catch(() => undefined);
    await servers.logIn("it", { signal, show: ({ address }) => browse(address) });
  });
}

try {
  let sentences = await round();
  for (let login = 0; login < MOST_LOGINS; login++) {
    if (!sentences.some((sentence) => sentence.includes("run pagurus mcp login"))) break;
    await logIn();
    sentences = await round();
  }
  console.log(sentences.join("\n"));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  rmSync(home, { recursive: true, force: true });
}
