/** Channels, how they are connected, and who may speak in them. */
import type { Channel } from "@pagurus/api/types";
import { oneLine, since, visible } from "../plain-text.ts";
import { server } from "../server-calls.ts";
import { Badge, Card, Choices, Rows, type Choice, type Tone } from "./card.tsx";
import { usePolled } from "./polled.ts";

const EVERY_MS = 5_000;

type Person = Channel["people"][number] & { channel: string };

export function ChannelsCard() {
  const { value, error, again } = usePolled((signal) => server.board.channels({ signal }), EVERY_MS);
  const people = value?.flatMap(({ id, people: all }) => all.map((each) => ({ ...each, channel: id })));
  const asking = people?.filter(({ state }) => state === "waiting") ?? [];
  const others = people?.filter(({ state }) => state !== "waiting") ?? [];
  return (
    <Card title="Channels" fact={value && `${value.length}`} error={error}>
      <Rows
        items={value}
        keyOf={({ id }) => id}
        none="No channel is configured. pagurus channels add adds one."
        row={(channel) => <ChannelRow channel={channel} />}
      />
      {asking.length === 0 ? null : (
        <>
          <h3>Ask to speak</h3>
          <PeopleRows people={asking} again={again} />
        </>
      )}
      {others.length === 0 ? null : (
        <>
          <h3>May speak</h3>
          <PeopleRows people={others} again={again} />
        </>
      )}
    </Card>
  );
}

function stateOf({ enabled, state = "" }: Channel): { tone: Tone; text: string } {
  if (!enabled) return { tone: "quiet", text: "off" };
  if (state === "") return { tone: "warn", text: "not connected yet" };
  return /^connected|^receives/i.test(state)
    ? { tone: "good", text: "connected" }
    : { tone: "warn", text: "look" };
}

function ChannelRow({ channel }: { channel: Channel }) {
  const { id, kind, state, missed, waiting } = channel;
  const { tone, text } = stateOf(channel);
  return (
    <div class="entry">
      <div class="entry-words">
        <Badge tone={tone} text={text} /> <strong>{oneLine(id)}</strong>
        <span class="quiet">
          {oneLine(kind ?? "no kind")}
          {state === undefined ? "" : `: ${visible(state)}`}
          {missed === undefined ? "" : ` ${visible(missed)}`}
          {waiting === 0 ? "" : ` ${waiting} messages wait to be sent.`}
        </span>
      </div>
    </div>
  );
}

function PeopleRows({ people, again }: { people: readonly Person[]; again(): void }) {
  return (
    <Rows
      items={people}
      keyOf={({ channel, address }) => `${channel} ${address}`}
      none=""
      row={(person) => <PersonRow person={person} again={again} />}
    />
  );
}

function PersonRow({ person, again }: { person: Person; again(): void }) {
  const { channel, address, name, state, code, askedAt } = person;
  const shown = oneLine(name === undefined ? address : `${name}, ${address}`);
  const remove = (label: string): Choice => ({
    label,
    name: `${label}: ${shown}`,
    isFinal: true,
    tone: "bad",
    run: () => server.board.remove(channel, address),
  });
  const choices: Choice[] =
    state === "waiting" && code !== undefined
      ? [
          { label: "Let in", name: `Let in: ${shown}`, tone: "main", run: () => server.board.approve(code) },
          remove("Refuse"),
        ]
      : [remove("Remove")];
  return (
    <div class="entry">
      <div class="entry-words">
        {shown}
        <span class="quiet">
          in {oneLine(channel)}
          {state === "waiting"
            ? `, asked ${since(askedAt)}${code === undefined ? "" : `, code ${oneLine(code)}`}`
            : ""}
        </span>
      </div>
      <Choices of={choices} after={again} />
    </div>
  );
}
