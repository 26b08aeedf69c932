/**
 * `/metrics` in the text format of Prometheus: what runs and waits, how work ended, the process. Counters begin with this process;
 * with a shared store the work, the questions and what ended are of all hosts: take them from one. No text of a conversation, no key of a session.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { isUnlimited } from "@pagurus/core/authority/authority";
import type { Caller } from "./access/caller.ts";
import type { MountedApi } from "./http-server.ts";
import { refuse } from "./refusal.ts";
import type { ServerParts } from "./server-parts.ts";

const PATH = "/metrics";

interface Metric {
  name: string;
  type: "counter" | "gauge";
  help: string;
  /** Values by their label. */
  values: readonly (readonly [label: string, value: number])[];
}

function shown({ name, type, help, values }: Metric): string {
  const lines = values.map(([label, value]) => `${name}${label === "" ? "" : `{${label}}`} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join("\n");
}

/** Counts what this host ends, from its start on. */
export class MetricsPage implements MountedApi {
  readonly #parts: ServerParts;
  readonly #stopping = new AbortController();
  readonly #ended = new Map<string, number>();

  constructor(parts: ServerParts) {
    this.#parts = parts;
  }

  /** Counts until `close`. Throws `store_read_failed`: then the counters stay as they are. */
  async count(): Promise<void> {
    const { events } = this.#parts;
    for await (const { type, data } of events.follow(await events.newest(), {}, this.#stopping.signal)) {
      if (type !== "work.ended") continue;
      const { outcome = "failed" } = data as { outcome?: string };
      this.#ended.set(outcome, (this.#ended.get(outcome) ?? 0) + 1);
    }
  }

  close(): void {
    this.#stopping.abort();
  }

  handles(path: string): boolean {
    return path === PATH;
  }

  async serve(_request: IncomingMessage, response: ServerResponse, caller: Caller): Promise<void> {
    if (!isUnlimited(caller))
      return refuse(response, PATH, {
        status: 403,
        code: "token_invalid",
        message:
          "The metrics are of all sessions, and this token may not use them all; take one without a pattern.",
      });
    const text = (await this.#metrics()).map(shown).join("\n");
    response.writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" }).end(`${text}\n`);
  }

  async #metrics(): Promise<Metric[]> {
    const { inbox, approvals, dispatcher, streams, facts } = this.#parts;
    const [open, questions] = await Promise.all([inbox.open(), approvals.open()]);
    const states = ["waiting", "running", "steering"] as const;
    const { rss, heapUsed } = process.memoryUsage();
    const gauge = (name: string, help: string, value: number): Metric => ({
      name,
      type: "gauge",
      help,
      values: [["", value]],
    });
    return [
      {
        name: "pagurus_work_open",
        type: "gauge",
        help: "Work of the inbox that has not ended.",
        values: states.map((state) => [
          `state="${state}"`,
          open.filter((work) => work.state === state).length,
        ]),
      },
      {
        name: "pagurus_work_ended_total",
        type: "counter",
        help: "Work that ended since this process began, as far as its event log shows.",
        values: [...this.#ended].map(([outcome, count]) => [`outcome="${outcome}"`, count]),
      },
      gauge("pagurus_turns_running", "Work that this host runs.", dispatcher.running.length),
      gauge("pagurus_approvals_open", "Permission questions that wait for an answer.", questions.length),
      gauge("pagurus_streams_open", "Event streams of clients.", streams.count),
      gauge("pagurus_oldest_work_seconds", "Age of the oldest open work.", ageOf(open[0]?.postedAt)),
      gauge("process_resident_memory_bytes", "Resident memory of the process.", rss),
      gauge("process_heap_bytes", "Memory that JavaScript uses.", heapUsed),
      gauge(
        "process_start_time_seconds",
        "Start of the process, since the epoch.",
        Date.parse(facts.startedAt) / 1_000,
      ),
    ];
  }
}

/** Seconds; 0 where there is none. */
function ageOf(postedAt: number | undefined): number {
  return postedAt === undefined ? 0 : Math.max(0, (Date.now() - postedAt) / 1_000);
}
