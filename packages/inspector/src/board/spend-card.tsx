/** Costs of the last days, as bars and as sums by agent, model and program, with the limit of a day. */
import { useState } from "preact/hooks";
import type { Spend } from "@pagurus/api/types";
import { count, dollars } from "@pagurus/core/data/plain-numbers";
import { oneLine } from "../plain-text.ts";
import { server } from "../server-calls.ts";
import { Card } from "./card.tsx";
import { usePolled } from "./polled.ts";

const EVERY_MS = 15_000;
const DAYS = 14;
/** Rows of a table; others are one sum. */
const MOST_ROWS = 8;
const DAY_MS = 24 * 60 * 60_000;

const VIEWS = ["agent", "model", "program"] as const;
type View = (typeof VIEWS)[number];

const UNKNOWN: Readonly<Record<View, string>> = {
  agent: "no agent",
  model: "model not recorded",
  program: "the host itself",
};

export function SpendCard() {
  const { value, error } = usePolled((signal) => server.board.spend({ days: DAYS, signal }), EVERY_MS);
  const total = value?.days.flatMap(({ sums }) => sums).reduce((sum, { cost }) => sum + cost, 0) ?? 0;
  return (
    <Card title="Spend" fact={value && `${dollars(total)} in ${DAYS} days`} error={error}>
      {value ? <SpendBody spend={value} /> : <p class="quiet">Loading …</p>}
    </Card>
  );
}

function datesUntil(today: string): string[] {
  const end = Date.parse(`${today}T12:00:00Z`);
  return Array.from({ length: DAYS }, (_, at) =>
    new Date(end - (DAYS - 1 - at) * DAY_MS).toISOString().slice(0, 10),
  );
}

function SpendBody({ spend }: { spend: Spend }) {
  const { today, days, limits } = spend;
  const costs = new Map<string, number>();
  for (const { day, sums } of days)
    costs.set(day, (costs.get(day) ?? 0) + sums.reduce((sum, { cost }) => sum + cost, 0));
  const dates = datesUntil(today);
  const most = Math.max(limits.day ?? 0, ...costs.values());
  const ofToday = costs.get(today) ?? 0;
  const text = dates.map((day) => `${day}: ${dollars(costs.get(day) ?? 0)}`).join(", ");
  return (
    <>
      <p class="figure">
        {dollars(ofToday)} <span class="quiet">today</span>
        {limits.day === undefined ? null : <DayLimit limit={limits.day} agents={days} today={today} />}
      </p>
      <div class="day-bars" role="img" aria-label={`Costs by day. ${text}`}>
        {dates.map((day) => (
          <div key={day} class="day-bar" title={`${day}: ${dollars(costs.get(day) ?? 0)}`}>
            <div
              class="day-fill"
              style={{ height: `${most === 0 ? 0 : Math.round(((costs.get(day) ?? 0) / most) * 100)}%` }}
            />
            <span class="day-name">{day.slice(8)}</span>
          </div>
        ))}
      </div>
      <SpendTable spend={spend} />
      <p class="quiet">{limitsText(limits)} Requests without a known price are in no sum.</p>
    </>
  );
}

function limitsText({ turn, session, day }: Spend["limits"]): string {
  const set = Object.entries({ turn, session, day })
    .filter(([, limit]) => limit !== undefined)
    .map(([name, limit]) => `${dollars(limit ?? 0)} a ${name}`);
  return set.length === 0
    ? "No limit is set (agents.defaults.maxCost)."
    : `Limits of each agent: ${set.join(", ")}.`;
}

/** Of the agent that is nearest to its limit of the day. */
function DayLimit({ limit, agents, today }: { limit: number; agents: Spend["days"]; today: string }) {
  const nearest = Math.max(
    0,
    ...agents
      .filter(({ day }) => day === today)
      .map(({ sums }) => sums.reduce((sum, { cost }) => sum + cost, 0)),
  );
  return (
    <meter
      min={0}
      max={limit}
      value={nearest}
      aria-label={`${dollars(nearest)} of the limit of ${dollars(limit)} a day`}
      title={`${dollars(nearest)} of the limit of ${dollars(limit)} a day`}
    />
  );
}

interface Line {
  name: string;
  cost: number;
  requests: number;
}

function linesOf({ days }: Spend, view: View): Line[] {
  const lines = new Map<string, Line>();
  for (const { agent, sums } of days)
    for (const sum of sums) {
      const name = (view === "agent" ? agent : sum[view]) ?? UNKNOWN[view];
      const known = lines.get(name) ?? { name, cost: 0, requests: 0 };
      lines.set(name, { name, cost: known.cost + sum.cost, requests: known.requests + sum.requests });
    }
  const sorted = [...lines.values()].toSorted((a, b) => b.cost - a.cost);
  const rest = sorted.slice(MOST_ROWS);
  if (rest.length === 0) return sorted;
  const others = rest.reduce(
    (sum, { cost, requests }) => ({ ...sum, cost: sum.cost + cost, requests: sum.requests + requests }),
    { name: `${rest.length} others`, cost: 0, requests: 0 },
  );
  return [...sorted.slice(0, MOST_ROWS), others];
}

function SpendTable({ spend }: { spend: Spend }) {
  const [view, setView] = useState<View>("model");
  const lines = linesOf(spend, view);
  return (
    <>
      <div class="tabs" role="group" aria-label="Sums by">
        {VIEWS.map((name) => (
          <button key={name} type="button" aria-pressed={view === name} onClick={() => setView(name)}>
            By {name}
          </button>
        ))}
      </div>
      {lines.length === 0 ? (
        <p class="quiet">No request has cost anything in these days.</p>
      ) : (
        <table class="table">
          <thead>
            <tr>
              <th scope="col">{`${view[0]?.toUpperCase()}${view.slice(1)}`}</th>
              <th scope="col" class="number">
                Requests
              </th>
              <th scope="col" class="number">
                Cost
              </th>
            </tr>
          </thead>
          <tbody>
            {lines.map(({ name, cost, requests }) => (
              <tr key={name}>
                <th scope="row">{oneLine(name)}</th>
                <td class="number">{count(requests)}</td>
                <td class="number">{dollars(cost)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
