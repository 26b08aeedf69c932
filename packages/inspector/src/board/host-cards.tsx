/** The host itself: connected programs, and its health. */
import type { Connection, Health } from "@pagurus/api/types";
import { bytes, oneLine, since, visible } from "../plain-text.ts";
import { server } from "../server-calls.ts";
import { Badge, Card, Choices, Rows } from "./card.tsx";
import { usePolled } from "./polled.ts";

const EVERY_MS = 5_000;

export function ProgramsCard() {
  const { value, error, again } = usePolled((signal) => server.board.connections({ signal }), EVERY_MS);
  const open = value?.filter((each) => each.open > 0).length;
  return (
    <Card title="Programs" fact={open === undefined ? undefined : `${open} connected`} error={error}>
      <Rows
        items={value}
        keyOf={({ id }) => id}
        none="No program is connected."
        row={(program) => <ProgramRow program={program} again={again} />}
      />
    </Card>
  );
}

function ProgramRow({ program, again }: { program: Connection; again(): void }) {
  const { id, name, kind, open, usedAt } = program;
  return (
    <div class="entry">
      <div class="entry-words">
        <Badge tone={open > 0 ? "good" : "quiet"} text={open > 0 ? "connected" : "away"} />{" "}
        <strong>{oneLine(name)}</strong>
        <span class="quiet">
          {open === 0 ? "" : `${open} open`}
          {usedAt === undefined ? "" : `${open === 0 ? "" : " · "}used ${since(usedAt)}`}
        </span>
      </div>
      {kind === "token" ? (
        <Choices
          of={[
            {
              label: "Disconnect",
              name: `Disconnect ${name}: its token ends`,
              isFinal: true,
              tone: "bad",
              run: () => server.revokeToken(id),
            },
          ]}
          after={again}
        />
      ) : null}
    </div>
  );
}

export function HealthCard() {
  const { value, error } = usePolled((signal) => server.board.health({ signal }), EVERY_MS);
  return (
    <Card title="Health" fact={value && `version ${oneLine(value.version)}`} error={error}>
      {value ? <HealthFacts health={value} /> : <p class="quiet">Loading …</p>}
    </Card>
  );
}

function HealthFacts({ health }: { health: Health }) {
  const { startedAt, memoryBytes, freeBytes, captures, oldestWorkSeconds, problems } = health;
  const { isOn, bytes: used, maxBytes } = captures;
  const facts: readonly (readonly [string, string])[] = [
    ["Started", since(startedAt)],
    ["Memory", bytes(memoryBytes)],
    ...(freeBytes === undefined ? [] : [["Free disk", bytes(freeBytes)] as const]),
    [
      "Captured requests",
      isOn
        ? `${bytes(used)}${maxBytes === undefined ? "" : ` of ${bytes(maxBytes)}`}`
        : `off, ${bytes(used)}`,
    ],
    ["Oldest open work", oldestWorkSeconds === 0 ? "none" : `${Math.round(oldestWorkSeconds)} s`],
  ];
  return (
    <>
      {problems.length === 0 ? (
        <p class="note" data-tone="good">
          Nothing needs you.
        </p>
      ) : (
        problems.map((text) => (
          <p key={text} class="note" data-tone="warn">
            {visible(text)}
          </p>
        ))
      )}
      <dl class="pairs">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
