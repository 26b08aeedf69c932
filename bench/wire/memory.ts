/** `bench wire --only memory`: memory that a gateway keeps after requests, well-formed and not. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { withTarget, type BenchOptions, type BenchRow } from "../report.ts";

const REQUESTS = 50_000;
const WARM_UP = 5_000;
const AT_ONCE = 16;
/** Maximum growth, MB. */
const LIMIT_MB = 8;

interface Door {
  baseUrl: string;
  headers: Record<string, string>;
}

interface Kept {
  heap: number;
  external: number;
}

const WORDS = "The keeper of the quay wrote down which ships had come. ".repeat(20);
const BODY = Buffer.from(
  JSON.stringify({
    model: "m",
    stream: true,
    messages: [
      { role: "system", content: WORDS },
      ...Array.from({ length: 20 }, (_, turn) => ({
        role: turn % 2 === 0 ? "user" : "assistant",
        content: `${turn} ${WORDS}`,
      })),
      { role: "user", content: "And now?" },
    ],
  }),
);

/** One in ten fails, each in its own way. */
function send({ baseUrl, headers }: Door, agent: Agent, index: number): Promise<void> {
  const fault = index % 10 === 0 ? (index / 10) % 4 : undefined;
  const given = fault === 0 ? { ...headers, "x-pagurus-token": "wrong" } : headers;
  const body = fault === 1 ? BODY.subarray(0, BODY.length / 2) : fault === 2 ? Buffer.from("no json") : BODY;
  return new Promise((resolve, reject) => {
    const sent = request(
      `${baseUrl}/chat/completions`,
      { method: "POST", agent, headers: { "content-type": "application/json", ...given } },
      (response) => {
        // A client that disconnects in the middle of the answer.
        if (fault === 3) return void response.destroy();
        response.resume();
        response.on("end", resolve);
      },
    );
    sent.on("error", fault === 3 ? () => resolve() : reject);
    sent.on("close", resolve);
    sent.end(body);
  });
}

async function serve(door: Door, agent: Agent, count: number): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await send(door, agent, next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function answered<T>(child: ChildProcess): Promise<T> {
  const [message] = (await once(child, "message")) as [T];
  return message;
}

async function kept(child: ChildProcess): Promise<number> {
  child.send("count");
  const { heap, external } = await answered<Kept>(child);
  return (heap + external) / 1e6;
}

export async function memoryRows({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  const requests = quick ? WARM_UP * 2 : REQUESTS;
  const child = fork(join(import.meta.dirname, "memory-child.ts"), { execArgv: ["--expose-gc"] });
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  try {
    const door = await answered<Door>(child);
    log(`memory: ${WARM_UP} requests that do not count`);
    await serve(door, agent, WARM_UP);
    const before = await kept(child);
    log(`memory: ${requests - WARM_UP} requests`);
    const began = performance.now();
    await serve(door, agent, requests - WARM_UP);
    const seconds = (performance.now() - began) / 1000;
    const grown = (await kept(child)) - before;
    return [
      { measure: `memory of a gateway after ${WARM_UP} requests`, value: before, unit: "MB" },
      withTarget(
        { measure: `memory growth after ${requests} requests`, value: grown, unit: "MB" },
        "<=",
        LIMIT_MB,
      ),
      { measure: "requests of 26 kB a second, replaced", value: (requests - WARM_UP) / seconds, unit: "1/s" },
    ];
  } finally {
    agent.destroy();
    child.disconnect();
  }
}
