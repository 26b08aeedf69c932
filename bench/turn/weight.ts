/** Size of the installed program: cold starts, processor time, memory, disk, first request. */
import { join, resolve } from "node:path";
import { withPeer, withTarget, type BenchOptions, type BenchRow } from "../report.ts";
import { installPackage } from "../../scripts/installed-package.ts";
import { countExact } from "../../packages/core/src/tokens/exact.ts";
import { startEndpoint, makePlace, type Endpoint, type Place, configure } from "./place.ts";
import { oneShot, type OneShot } from "./one-shot.ts";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const REPO = resolve(import.meta.dirname, "../..");
const INCUMBENT = "openclaw 2026.9.6";

/** Value, unit, our bound where there is one, and the incumbent's figure. */
type Figure = readonly [
  measure: string,
  value: number,
  unit: string,
  most: number | undefined,
  incumbent: number,
];

/** The figures of the installed tarball; with `quick` of the checkout, and without the size. */
export async function weigh(options: BenchOptions): Promise<BenchRow[]> {
  const endpoint = await startEndpoint();
  const place = makePlace(endpoint.url);
  try {
    if (!options.quick) options.log("packing and installing the tarball");
    const installed = options.quick ? undefined : await installPackage(REPO, place.root);
    const launcher = installed?.launcher ?? join(REPO, "bin/pagurus.js");
    options.log("measuring cold starts");
    const version = await best(5, () => oneShot(launcher, place, ["--version"]));
    const turns = await coldTurns(launcher, place, options.quick ? 3 : 7);
    const p50 = (pick: (run: (typeof turns)[number]) => number): number => median(turns.map(pick));
    const first = await firstRequestTokens(launcher, place);
    const figures: Figure[] = [
      ["--version, p50", median(version.map((run) => run.wallMs)), "ms", undefined, 175],
      ["run, start to first byte at the endpoint, p50", p50((run) => run.firstByteMs), "ms", 500, 12_000],
      ["one-shot turn, user CPU, p50", p50((run) => run.userCpuS), "s", undefined, 15.6],
      ["one-shot turn, peak memory, p50", p50((run) => run.peakMb), "MB", 150, 1_060],
      ["first request, system prompt and tools, o200k", first, "tokens", 3_000, 14_700],
    ];
    if (installed) {
      figures.push(["installed tarball with production dependencies", installed.megabytes, "MB", 80, 647]);
    }
    return figures.map(figureRow);
  } finally {
    endpoint.close();
    place.remove();
  }
}

function figureRow([measure, value, unit, most, incumbent]: Figure): BenchRow {
  const row = withPeer({ measure, value, unit }, INCUMBENT, incumbent);
  return most === undefined ? row : withTarget(row, "<=", most);
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

async function best(count: number, work: () => Promise<OneShot>): Promise<OneShot[]> {
  await work();
  const runs: OneShot[] = [];
  for (let index = 0; index < count; index++) runs.push(await work());
  return runs;
}

/** Each against its own endpoint, whose first byte is timed. The first run warms the caches. */
async function coldTurns(
  launcher: string,
  place: Place,
  count: number,
): Promise<(OneShot & { firstByteMs: number })[]> {
  const runs: (OneShot & { firstByteMs: number })[] = [];
  for (let index = 0; index <= count; index++) {
    const endpoint: Endpoint = await startEndpoint();
    configure(place.home, endpoint.url);
    const result = await oneShot(launcher, place, ["run", "--session", `cold-${index}`, "Hello"]);
    const { firstAt } = await endpoint.stats();
    endpoint.close();
    if (result.code !== 0) throw new Error(`a one-shot turn ended with ${result.code}`);
    if (index > 0) runs.push({ ...result, firstByteMs: firstAt - result.startedAt });
  }
  return runs;
}

/** Tokens of everything before the user's first message: the request's body without the one message. */
async function firstRequestTokens(launcher: string, place: Place): Promise<number> {
  let body = "";
  const server = createServer((request, response) => {
    request.setEncoding("utf8").on("data", (chunk: string) => {
      body += chunk;
    });
    request.on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(
        'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
      );
    });
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  configure(place.home, `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
  await oneShot(launcher, place, ["run", "--session", "first", "Hello"]);
  server.close();
  const sent = JSON.parse(body) as { messages: { role: string; content: unknown }[]; tools: unknown };
  const system = sent.messages
    .filter((message) => message.role === "system")
    .map((message) => JSON.stringify(message.content));
  return (await countExact(`${system.join("\n")}${JSON.stringify(sent.tools)}`)) ?? 0;
}
