/** The APIs of `serve` as clients of strange servers: many answers at once, each found by the id in its prompt. */
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { WireApi } from "../../../packages/contract/src/harness/wire.ts";
import { readerOf } from "../../../packages/core/src/protocols/reader-of.ts";
import type { StrangeResult } from "../../../packages/testkit/src/index.ts";
import type { StrangeAnswer } from "../../../packages/testkit/src/strange-servers/strange-answer.ts";
import { mustBeRight } from "../../../packages/testkit/src/strange-servers/strange-suite.ts";
import { ApiBench } from "../../model-api/setting.ts";
import { addressOf } from "./loop-client.ts";
import { resultOf } from "./reading.ts";

interface Config {
  agents: { defaults: Record<string, unknown> };
  models: { providers: { test: Record<string, unknown> } };
}

const PARAMETERS = { type: "object", properties: { k: { type: "string" } } };
const NAMES = ["probe", "nothing"];
/** Answers that are asked for at once: most of the time is spent in pauses before retries. */
const AT_ONCE = 8;
const PROMPT = /Say hello for ([\w.-]+)\./;

/** Path and body of a request of an API of the server. */
interface ServeApi {
  api: WireApi;
  path: string;
  bodyOf(prompt: string): object;
}

/** All APIs of the server that a model is asked through. The server has no API of Gemini's protocol. */
export const SERVE_APIS: readonly ServeApi[] = [
  {
    api: "anthropic-messages",
    path: "/messages",
    bodyOf: (content) => ({
      model: "test/model",
      max_tokens: 1_000,
      stream: true,
      messages: [{ role: "user", content }],
      tools: NAMES.map((name) => ({ name, input_schema: PARAMETERS })),
    }),
  },
  {
    api: "openai-responses",
    path: "/responses",
    bodyOf: (input) => ({
      model: "test/model",
      stream: true,
      input,
      tools: NAMES.map((name) => ({ type: "function", name, parameters: PARAMETERS })),
    }),
  },
  {
    api: "openai-completions",
    path: "/chat/completions",
    bodyOf: (content) => ({
      model: "test/model",
      stream: true,
      messages: [{ role: "user", content }],
      tools: NAMES.map((name) => ({ type: "function", function: { name, parameters: PARAMETERS } })),
    }),
  },
];

/** A model server that gives each prompt the answer whose id it contains. */
async function openAnswering(
  answers: readonly StrangeAnswer[],
): Promise<{ url: string; close: () => Promise<void> }> {
  const byId = new Map(answers.map((answer) => [answer.id, answer]));
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.once("end", () => {
      const id = PROMPT.exec(Buffer.concat(pieces).toString("utf8"))?.[1] ?? "";
      const answer = byId.get(id);
      response.writeHead(answer?.status ?? 404, answer?.headers).end(answer?.body);
    });
  });
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** A server whose model is at the address. */
async function opened(
  Bench: Pick<typeof ApiBench, "open">,
  protocol: StrangeAnswer["protocol"],
  baseUrl: string,
): Promise<ApiBench> {
  const bench = await Bench.open(protocol, []);
  await bench.stop();
  const file = join(bench.setting.home, "pagurus.json");
  const config = JSON.parse(readFileSync(file, "utf8")) as Config;
  config.models.providers.test["baseUrl"] = baseUrl;
  config.agents.defaults["retry"] = { maxElapsedSeconds: 1 };
  writeFileSync(file, JSON.stringify(config));
  await bench.start();
  return bench;
}

async function asked(
  bench: Pick<ApiBench, "url">,
  { api, path, bodyOf }: ServeApi,
  id: string,
): Promise<StrangeResult> {
  const response = await fetch(`${bench.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer one" },
    body: JSON.stringify(bodyOf(`Say hello for ${id}.`)),
  });
  const headers = Object.fromEntries(response.headers);
  const reader = await readerOf(api, { status: response.status, headers });
  reader.take(new Uint8Array(await response.arrayBuffer()));
  const { thinking: _thinking, usage: _usage, ...result } = resultOf(reader.end());
  return result;
}

/** One sentence for each of the answers, all of one protocol, whose result is wrong at the API. `Bench`: that of another checkout. */
export async function serveProblems(
  api: ServeApi,
  answers: readonly StrangeAnswer[],
  Bench: Pick<typeof ApiBench, "open"> = ApiBench,
): Promise<string[]> {
  const [first] = answers;
  if (!first) return [];
  const { protocol } = first;
  const model = await openAnswering(answers);
  const bench = await opened(Bench, protocol, addressOf({ baseUrl: model.url, protocol }));
  const left = [...answers];
  const problems: string[] = [];
  const askNext = async (): Promise<void> => {
    for (let answer = left.shift(); answer; answer = left.shift()) {
      try {
        mustBeRight(answer.right, await asked(bench, api, answer.id));
      } catch (error) {
        problems.push(`${answer.id}: ${String(error)}`);
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, askNext));
  } finally {
    await bench.end();
    await model.close();
  }
  return problems.sort();
}
