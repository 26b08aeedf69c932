/** `serve` and the suite of strange servers: each API of the server in front of models of each protocol. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { WireApi } from "../../../src/contract/harness/wire.ts";
import { readerOf } from "../../../src/protocols/reader-of.ts";
import { strangeAnswers, type StrangeResult } from "../../../src/testkit/index.ts";
import {
  STRANGE_PROTOCOLS,
  type StrangeAnswer,
} from "../../../src/testkit/strange-servers/strange-answer.ts";
import { StrangeEndpoint } from "../../../src/testkit/strange-servers/strange-endpoint.ts";
import { mustBeRight } from "../../../src/testkit/strange-servers/strange-suite.ts";
import { ApiBench } from "../../model-api/setting.ts";
import { everyNth } from "../../runner/short-form.ts";
import { addressOf } from "./loop-client.ts";
import { resultOf } from "./reading.ts";

interface Config {
  agents: { defaults: Record<string, unknown> };
  models: { providers: { test: Record<string, unknown> } };
}

const PARAMETERS = { type: "object", properties: { k: { type: "string" } } };
const NAMES = ["probe", "nothing"];

/** Path and body of a request of each API of the server. */
const APIS: readonly [WireApi, string, (prompt: string) => object][] = [
  [
    "anthropic-messages",
    "/messages",
    (content) => ({
      model: "test/model",
      max_tokens: 1_000,
      stream: true,
      messages: [{ role: "user", content }],
      tools: NAMES.map((name) => ({ name, input_schema: PARAMETERS })),
    }),
  ],
  [
    "openai-responses",
    "/responses",
    (input) => ({
      model: "test/model",
      stream: true,
      input,
      tools: NAMES.map((name) => ({ type: "function", name, parameters: PARAMETERS })),
    }),
  ],
  [
    "openai-completions",
    "/chat/completions",
    (content) => ({
      model: "test/model",
      stream: true,
      messages: [{ role: "user", content }],
      tools: NAMES.map((name) => ({ type: "function", function: { name, parameters: PARAMETERS } })),
    }),
  ],
];

/** A server whose model is at the address. */
async function opened(protocol: StrangeAnswer["protocol"], baseUrl: string): Promise<ApiBench> {
  const bench = await ApiBench.open(protocol, []);
  await bench.stop();
  const file = join(bench.setting.home, "pagurus.json");
  const config = JSON.parse(readFileSync(file, "utf8")) as Config;
  config.models.providers.test["baseUrl"] = baseUrl;
  config.agents.defaults["retry"] = { maxElapsedSeconds: 1 };
  writeFileSync(file, JSON.stringify(config));
  await bench.start();
  return bench;
}

async function asked(bench: ApiBench, api: WireApi, path: string, body: object): Promise<StrangeResult> {
  const response = await fetch(`${bench.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer one" },
    body: JSON.stringify(body),
  });
  const headers = Object.fromEntries(response.headers);
  const reader = await readerOf(api, { status: response.status, headers });
  reader.take(new Uint8Array(await response.arrayBuffer()));
  const { thinking: _thinking, usage: _usage, ...result } = resultOf(reader.end());
  return result;
}

for (const protocol of STRANGE_PROTOCOLS)
  for (const [api, path, bodyOf] of APIS)
    describe(`the API ${api} in front of a strange server of ${protocol}`, () => {
      it("gives each answer its right result", async () => {
        const endpoint = new StrangeEndpoint();
        const bench = await opened(protocol, addressOf({ baseUrl: await endpoint.open(), protocol }));
        const problems: string[] = [];
        const answers = strangeAnswers().filter((answer) => answer.protocol === protocol);
        try {
          for (const answer of everyNth(answers, 23)) {
            endpoint.answerWith(answer);
            try {
              const result = await asked(bench, api, path, bodyOf(`Say hello for ${answer.id}.`));
              mustBeRight(answer.right, result);
            } catch (error) {
              problems.push(`${answer.id}: ${String(error)}`);
            }
          }
        } finally {
          await bench.end();
          await endpoint.close();
        }
        assert.deepEqual(problems, []);
      });
    });
