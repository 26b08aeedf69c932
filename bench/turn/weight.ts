/** What the installed program weighs: cold starts, processor time, memory, size, first request. */
import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { withPeer, withTarget, type BenchOptions, type BenchRow } from "../report.ts";
import { countExact } from "../../src/tokens/exact.ts";
import { startEndpoint, makePlace, type Endpoint, type Place } from "./place.ts";
import { oneShot, type OneShot } from "./one-shot.ts";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const REPO = resolve(import.meta.dirname, "../..");
const INCUMBENT = "openclaw 2026.9.6";

/** The figures of the installed tarball; with `quick` of the checkout, and without the size. */
export async function weigh(options: BenchOptions): Promise<BenchRow[]> {
  const endpoint = await startEndpoint();
  const place = makePlace(endpoint.url);
  try {
    const installed = options.quick ? undefined : install(place, options);
    const launcher = installed?.launcher ?? join(REPO, "bin/pagurus.js");
    options.log("measuring cold starts");
    const version = await best(5, () => oneShot(launcher, place, ["--version"]));
    const turns = await coldTurns(launcher, place, options.quick ? 3 : 7);
    const rows: BenchRow[] = [
      withPeer(
        { measure: "--version, p50", value: median(version.map((run) => run.wallMs)), unit: "ms" },
        `${INCUMBENT}, warm`,
        175,
      ),
      withPeer(
        withTarget(
          {
            measure: "run, start to first byte at the endpoint, p50",
            value: median(turns.map((run) => run.firstByteMs)),
            unit: "ms",
          },
          "<=",
          500,
        ),
        INCUMBENT,
        12_000,
      ),
      withPeer(
        {
          measure: "one-shot turn, user CPU, p50",
          value: median(turns.map((run) => run.userCpuS)),
          unit: "s",
        },
        INCUMBENT,
        15.6,
      ),
      withPeer(
        withTarget(
          {
            measure: "one-shot turn, peak memory, p50",
            value: median(turns.map((run) => run.peakMb)),
            unit: "MB",
          },
          "<=",
          150,
        ),
        INCUMBENT,
        1_060,
      ),
      withPeer(
        withTarget(
          {
            measure: "first request, system prompt and tools, o200k",
            value: await firstRequestTokens(launcher, place),
            unit: "tokens",
          },
          "<=",
          3_000,
        ),
        INCUMBENT,
        14_700,
      ),
    ];
    if (installed)
      rows.push(
        withPeer(
          withTarget(
            {
              measure: "installed tarball with production dependencies",
              value: installed.megabytes,
              unit: "MB",
            },
            "<=",
            80,
          ),
          INCUMBENT,
          647,
        ),
      );
    return rows;
  } finally {
    endpoint.close();
    place.remove();
  }
}

function install(place: Place, options: BenchOptions): { launcher: string; megabytes: number } {
  options.log("packing and installing the tarball");
  execFileSync("npm", ["run", "build"], { cwd: REPO, stdio: "ignore" });
  execFileSync("npm", ["pack", "--pack-destination", place.root], { cwd: REPO, stdio: "ignore" });
  const tarball = readdirSync(place.root).find((name) => name.endsWith(".tgz"));
  if (tarball === undefined) throw new Error("npm pack made no tarball");
  const target = join(place.root, "installed");
  mkdirSync(target);
  writeFileSync(join(target, "package.json"), '{ "private": true }\n');
  execFileSync(
    "npm",
    [
      "install",
      "--omit=dev",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--prefer-offline",
      join(place.root, tarball),
    ],
    { cwd: target, stdio: "ignore" },
  );
  return {
    launcher: join(target, "node_modules/pagurus/bin/pagurus.js"),
    megabytes: size(join(target, "node_modules")) / 1e6,
  };
}

function size(path: string): number {
  if (!existsSync(path)) return 0;
  const stat = lstatSync(path);
  if (!stat.isDirectory()) return stat.size;
  return readdirSync(path).reduce((sum, name) => sum + size(join(path, name)), 0);
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

/** Each against an endpoint of its own, whose first byte is the one that is timed. The first run warms the caches. */
async function coldTurns(
  launcher: string,
  place: Place,
  count: number,
): Promise<(OneShot & { firstByteMs: number })[]> {
  const runs: (OneShot & { firstByteMs: number })[] = [];
  for (let index = 0; index <= count; index++) {
    const endpoint: Endpoint = await startEndpoint();
    configure(place, endpoint.url);
    const result = await oneShot(launcher, place, ["run", "--session", `cold-${index}`, "Hello"]);
    const { firstAt } = await endpoint.stats();
    endpoint.close();
    if (result.code !== 0) throw new Error(`a one-shot turn ended with ${result.code}`);
    if (index > 0) runs.push({ ...result, firstByteMs: firstAt - result.startedAt });
  }
  return runs;
}

function configure(place: Place, url: string): void {
  const config = {
    models: {
      providers: {
        bench: {
          api: "openai-completions",
          baseUrl: url,
          models: [{ id: "model", contextWindow: 64_000, maxTokens: 4_000 }],
        },
      },
    },
    agents: { defaults: { model: "bench/model", permission: { mode: "auto" } } },
  };
  writeFileSync(join(place.home, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
}

/** Tokens of everything before the user's first word: the request's body without the one message. */
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
  configure(place, `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
  await oneShot(launcher, place, ["run", "--session", "first", "Hello"]);
  server.close();
  const sent = JSON.parse(body) as { messages: { role: string; content: unknown }[]; tools: unknown };
  const system = sent.messages
    .filter((message) => message.role === "system")
    .map((message) => JSON.stringify(message.content));
  return (await countExact(`${system.join("\n")}${JSON.stringify(sent.tools)}`)) ?? 0;
}
