/** Table that a fuzz prints: requests by door and status, and the server's figures after each part. */
import type { FuzzRequest } from "./fuzz-requests.ts";

interface FuzzLap {
  /** Requests up to here. */
  sent: number;
  /** Longest answer of `/health` since the last lap. */
  healthMs: number;
  /** CPU time of the longest work of the event loop since the last lap. */
  loopMs: number;
  /** After a collection. */
  heapMb: number;
  residentMb: number;
}

function doorOf({ how, path }: FuzzRequest): string {
  if (path.startsWith("/acp")) return `/acp ${how}`;
  return path.startsWith("/v1") ? "/v1" : "/api/v1";
}

export class FuzzTable {
  readonly laps: FuzzLap[] = [];
  /** Numbers of answers by door, then by status. */
  readonly #answers = new Map<string, Map<number, number>>();
  readonly #began = performance.now();

  count(request: FuzzRequest, status: number): void {
    const door = doorOf(request);
    const statuses = this.#answers.get(door) ?? new Map<number, number>();
    this.#answers.set(door, statuses.set(status, (statuses.get(status) ?? 0) + 1));
  }

  lap(lap: FuzzLap): void {
    this.laps.push(lap);
  }

  lines(): string[] {
    const doors = [...this.#answers].map(([door, statuses]) => {
      const sum = [...statuses.values()].reduce((one, other) => one + other, 0);
      const each = [...statuses].toSorted(([one], [other]) => one - other);
      return `| ${door} | ${sum} | ${each.map(([status, count]) => `${status}: ${count}`).join(", ")} |`;
    });
    const laps = this.laps.map(({ sent, healthMs, loopMs, heapMb, residentMb }) => {
      const cells = [healthMs, loopMs, heapMb, residentMb].map((figure) => figure.toFixed(0));
      return `| ${[sent, ...cells].join(" | ")} |`;
    });
    return [
      "| door | requests | statuses |",
      "| --- | --- | --- |",
      ...doors.toSorted(),
      "| requests | longest /health, ms | longest work, ms of CPU | heap, MB | resident, MB |",
      "| --- | --- | --- | --- | --- |",
      ...laps,
      `${((performance.now() - this.#began) / 1_000).toFixed(0)} s`,
    ];
  }
}
