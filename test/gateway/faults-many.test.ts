/** Thousands of requests of all kinds leak nothing: no memory, connection, timer, or log line with content. */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Governor } from "../../packages/gateway/src/governor/governor.ts";
import { summing, SECRET_WORDS, SUMMARY } from "./faults-setting.ts";
import {
  headerOf,
  RawClient,
  withSetting,
  type RawAnswer,
  type RawRequest,
  type Setting,
} from "./passthrough-setting.ts";
import { APIS, atPort, eventsOf, sized, TURNS } from "./passthrough-traffic.ts";
import { chunk, LAST_CHUNK, STREAM_HEAD } from "./server/support.ts";
import { byLength } from "../runner/short-form.ts";
import { firstOf } from "../runner/long-tests.ts";
import { until } from "../runner/until.ts";
import { turns } from "../runner/loop-turns.ts";

/** For each dialect: 5,100 in all in the full form. */
const REQUESTS = byLength(1_700, 340, 85);
const WARM_UP = byLength(500, 170, 85);
const AT_ONCE = 8;
const LIMIT_MB = 4;
/** Each takes a tenth of a second or more. */
const MOST_MEASUREMENTS = 100;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

async function keptMb(): Promise<number> {
  for (let time = 0; time < 3; time++) {
    await turns();
    collect();
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}

/** Answers by the number in the request. */
function answerOf(api: Setting["api"]) {
  const events = eventsOf(api);
  const whole = Buffer.concat([Buffer.from(STREAM_HEAD), ...events.map(chunk), Buffer.from(LAST_CHUNK)]);
  const half = Buffer.concat([Buffer.from(STREAM_HEAD), ...events.slice(0, 5).map(chunk)]);
  const refusal = Buffer.from(
    "HTTP/1.1 400 X\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
  );
  return (socket: Socket, { headers }: { headers: readonly string[] }): void => {
    const way = headers[headers.indexOf("X-Way") + 1];
    if (way === "cut") return void socket.end(half);
    if (way === "no answer") return void socket.resetAndDestroy();
    return void socket.write(way === "refused" ? refusal : way === "leave" ? half : whole);
  };
}

const WAYS = [
  "whole",
  "cut",
  "no json",
  "wrong token",
  "refused",
  "leave",
  "half a body",
  "no answer",
  "governor fails",
  "whole",
];

const governor: Pick<Governor, "main" | "compaction"> = {
  ...summing,
  main: (read, call) =>
    read.model === "fails"
      ? Promise.reject(new Error("It broke at SECRET-WORDS."))
      : summing.main(read, call),
};

function requestOf(made: Setting, way: string): RawRequest {
  const turn = atPort(TURNS[made.api], made.port);
  const text = turn.body.toString();
  const body =
    way === "no json"
      ? Buffer.from("no json")
      : way === "half a body"
        ? turn.body.subarray(0, turn.body.length / 2)
        : way === "governor fails"
          ? Buffer.from(text.replace(/"model":"[^"]*"/, '"model":"fails"'))
          : turn.body;
  const token = way === "wrong token" ? "wrong" : made.token;
  // Google's requests name their model in the path.
  const path = way === "governor fails" ? turn.path.replace("mock-model", "fails") : turn.path;
  return sized({ ...turn, path, body, headers: [...turn.headers, "X-Way", way] }, token);
}

const STATUS: Readonly<Record<string, number>> = {
  "wrong token": 401,
  refused: 400,
  "no answer": 502,
  "governor fails": 500,
};

async function one(made: Setting, client: RawClient, way: string): Promise<RawClient> {
  const request = requestOf(made, way);
  if (way === "leave") {
    // Nothing reads the half that comes.
    const asked = client.ask(request).catch(() => undefined);
    void turns().then(() => client.end());
    await asked;
    return new RawClient(made.port);
  }
  const answer: RawAnswer = await client.ask(request);
  assert.equal(answer.status, STATUS[way] ?? 200, way);
  if (answer.isWhole && headerOf(answer.headers, "connection") !== "close") return client;
  client.end();
  return new RawClient(made.port);
}

async function serve(made: Setting, count: number): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    let client = new RawClient(made.port);
    while (next < count) client = await one(made, client, WAYS[next++ % WAYS.length] ?? "whole");
    client.end();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

for (const api of firstOf(APIS, 2))
  test(`${REQUESTS} requests of ${api}, valid and invalid, leak nothing`, { timeout: 300_000 }, async (t) => {
    const handles = process.getActiveResourcesInfo().length;
    await withSetting({ api, answer: answerOf(api), governor }, async (made) => {
      const counts = { sent: 0, answered: 0, lines: 0 };
      /** Clears the test's own storage. */
      const empty = (): void => {
        if (made.log.lines.length > 0)
          made.log.assertWithout([made.token, SUMMARY, "SECRET-WORDS", ...SECRET_WORDS]);
        counts.lines += made.log.lines.splice(0).length;
        for (const { what } of made.seenCalls.splice(0)) counts[what] += 1;
        made.facts.length = 0;
        made.endpoint.asked.length = 0;
      };
      await serve(made, WARM_UP);
      empty();
      const before = await keptMb();
      for (let part = 0; part < 10; part++) {
        await serve(made, REQUESTS / 10);
        empty();
      }
      await until(() => {
        empty();
        return counts.sent === counts.answered;
      });
      assert.ok(counts.sent > REQUESTS / 2);
      // On a busy machine connections are still being closed; what leaks stays.
      let grown = Infinity;
      for (let time = 0; time < MOST_MEASUREMENTS && grown >= LIMIT_MB; time++)
        grown = (await keptMb()) - before;
      t.diagnostic(`${grown.toFixed(2)} MB, ${counts.lines} lines of log, ${counts.sent} sent and ended`);
      assert.ok(grown < LIMIT_MB, `${grown.toFixed(1)} MB stayed behind`);
    });
    await until(() => process.getActiveResourcesInfo().length <= handles + 2);
  });
