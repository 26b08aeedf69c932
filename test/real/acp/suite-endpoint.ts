/**
 * A proxy between the conformance suite's model and an agent that names the host's tools after their MCP server: a tool with
 * `mcp__pagurus` in the name that the agent's model sees and calls has its plain name at the suite.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { Pagurus, PagurusOptions } from "../../../packages/contract/src/host/host.ts";

const NAMESPACE = "mcp__pagurus";

type Tool = Record<string, unknown> & { name?: string; tools?: Tool[] };

function flattened(body: string): { body: string; names: string[] } {
  const request = JSON.parse(body) as { tools?: Tool[] };
  const ours = request.tools?.find(({ name }) => name === NAMESPACE)?.tools ?? [];
  const tools = [...(request.tools ?? []).filter(({ name }) => name !== NAMESPACE), ...ours];
  return { body: JSON.stringify({ ...request, tools }), names: ours.map(({ name = "" }) => name) };
}

async function serve(to: string): Promise<Server> {
  const server = createServer((incoming, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const text = Buffer.concat(chunks).toString();
      const { body, names } = text === "" ? { body: undefined, names: [] } : flattened(text);
      const left = new AbortController();
      response.on("close", () => left.abort());
      const { authorization = "" } = incoming.headers;
      const answer = await fetch(to + (incoming.url ?? "").replace(/^\/v1/, ""), {
        method: incoming.method ?? "GET",
        headers: { authorization, "content-type": "application/json" },
        signal: left.signal,
        ...(body === undefined ? {} : { body }),
      });
      response.writeHead(answer.status, {
        "content-type": answer.headers.get("content-type") ?? "text/plain",
      });
      response.flushHeaders();
      let rest = "";
      for await (const chunk of answer.body ?? []) {
        const frames = (rest + Buffer.from(chunk).toString()).split("\n\n");
        rest = frames.pop() ?? "";
        for (const frame of frames) response.write(`${named(frame, names)}\n\n`);
      }
      response.end(rest);
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return server;
}

function named(frame: string, names: readonly string[]): string {
  return names.reduce(
    (all, name) => all.replaceAll(`"name":"${name}"`, `"name":"${name}","namespace":"${NAMESPACE}"`),
    frame,
  );
}

/** By the suite's endpoint, which stays the same when a check restarts its host. */
const servers: Record<string, Promise<Server>> = {};

interface SuiteConfig {
  models: { providers: { suite: { baseUrl: string } } };
}

/** A host whose model is reached through the translation. */
export async function openTranslated(options: PagurusOptions): Promise<Pagurus> {
  const config = structuredClone(options.config) as SuiteConfig;
  const { suite } = config.models.providers;
  const server = await (servers[suite.baseUrl] ??= serve(suite.baseUrl));
  suite.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return createPagurus({ ...options, config });
}
