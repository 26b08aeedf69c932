/** Lines that a fuzz prints: requests by door and status, and the server's figures after each part. */
import type { FuzzPart } from "./fuzz-run.ts";

export const PART_HEAD: readonly string[] = [
  "| part | requests | longest /health, ms | without waiting for a processor, ms | longest work, ms of CPU | heap, MB | resident, MB |",
  "| --- | --- | --- | --- | --- | --- | --- |",
];

function sum(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => one + other, 0);
}

export function requestsOf({ answers }: FuzzPart): number {
  return sum(Object.values(answers).flatMap((statuses) => Object.values(statuses)));
}

export function partLine(part: FuzzPart): string {
  const { healthMs, ownMs, loopMs, heapMb, residentMb } = part;
  const cells = [healthMs, ownMs, loopMs, heapMb, residentMb].map((figure) => figure.toFixed(0));
  return `| ${[part.part, requestsOf(part), ...cells].join(" | ")} |`;
}

export function answerLines(parts: readonly FuzzPart[]): string[] {
  const doors = [...new Set(parts.flatMap(({ answers }) => Object.keys(answers)))].toSorted();
  return [
    "| door | requests | statuses |",
    "| --- | --- | --- |",
    ...doors.map((door) => {
      const all = parts.map(({ answers }) => answers[door] ?? {});
      const statuses = [...new Set(all.flatMap((each) => Object.keys(each)))].toSorted();
      const counts = statuses.map((status) => [status, sum(all.map((each) => each[status] ?? 0))] as const);
      return `| ${door} | ${sum(counts.map(([, count]) => count))} | ${counts.map((each) => each.join(": ")).join(", ")} |`;
    }),
  ];
}
