/** Checks of what is received: senders, ids, order, and what a cut or a full disk may cost. */
import { must, shown } from "../../conformance-check.ts";
import type { ChannelCheck } from "../channel-check.ts";
import type { ChannelStage } from "../channel-stage.ts";

const SOME_TEXTS = ["one", "two", "three", "four", "five"];

async function sayAll(made: ChannelStage, texts: readonly string[]): Promise<void> {
  for (const text of texts) await made.service.say("ann", text);
}

function mustHave(made: ChannelStage, texts: readonly string[], sentence: string): void {
  const got = made.texts;
  must(
    JSON.stringify(got) === JSON.stringify(texts),
    `${sentence}: ${shown(got)} instead of ${shown(texts)}.`,
  );
}

export const receiveChecks: readonly ChannelCheck[] = [
  {
    id: "receive.order",
    title: "Messages are received once, whole and in order, one call after the other.",
    async run({ stage }) {
      const made = await stage();
      await made.connect();
      const texts = [...SOME_TEXTS, "Größe: 10 € 🦀"];
      await sayAll(made, texts);
      await made.untilReceived(texts.at(-1) ?? "");
      mustHave(made, texts, "Other messages are received");
    },
  },
  {
    id: "receive.id",
    title: "Each message has an id of its own, also when the text is the same.",
    async run({ stage }) {
      const made = await stage();
      await made.connect();
      await sayAll(made, ["again", "again", "last"]);
      const ids = (await made.untilReceived("last")).map(({ id }) => id);
      must(!ids.includes(""), "A message has no id.");
      must(new Set(ids).size === 3, `3 messages have the ids ${shown(ids)}.`);
    },
  },
  {
    id: "receive.sender",
    title: "A message has the address of who wrote it, and the group where it was written, if any.",
    async run({ stage }) {
      const made = await stage();
      await made.connect();
      await made.service.say("ann", "of ann");
      await made.untilReceived("of ann");
      await made.service.say("eve", "of eve");
      await made.untilReceived("of eve");
      const from = made.received.map((message) => message.from);
      const wanted = [made.service.addressOf("ann"), made.service.addressOf("eve")];
      must(
        JSON.stringify(from) === JSON.stringify(wanted),
        `The senders are ${shown(from)} instead of ${shown(wanted)}.`,
      );
      const groups = made.received.map(({ group }) => group);
      const places = (["ann", "eve"] as const).map((peer) => made.service.placeOf?.(peer).group);
      must(
        groups.every((group, at) => group === places[at]),
        `The groups are ${shown(groups)} instead of ${shown(places)}.`,
      );
    },
  },
  {
    id: "receive.pretended",
    title: "A sender who shows another's name has another address.",
    needs: "pretend",
    async run({ stage }) {
      const made = await stage();
      await made.connect();
      await made.service.pretend?.("I am ann");
      await made.service.say("ann", "of ann");
      await made.untilReceived("of ann");
      const ann = made.service.addressOf("ann");
      const wrong = made.received.find(({ text, from }) => text === "I am ann" && from === ann);
      must(!wrong, `A message that eve wrote has the address ${ann}.`);
    },
  },
  {
    id: "receive.failed",
    title:
      "A message that the host could not write is received again, with the same id, before those after it.",
    async run({ stage }) {
      const made = await stage();
      const connection = await made.connect();
      made.onlyReceiving(connection, "exactly-once", "at-least-once");
      await sayAll(made, ["one"]);
      await made.untilReceived("one");
      made.unwritable.add("two");
      await sayAll(made, ["two", "three"]);
      // A service that sends a message until it is taken needs no other connection for that.
      await Promise.race([connection.ended, made.untilReceived("three")]);
      await connection.close();
      await made.connect();
      await made.untilReceived("three");
      mustHave(made, ["one", "two", "three"], "Other messages are received after a failed write");
    },
  },
  {
    id: "receive.cursor",
    title:
      "The cursor with a message is its place: a host that has kept it receives those after it, each with the same id.",
    async run({ stage }) {
      const made = await stage();
      const connection = await made.connect();
      made.onlyReceiving(connection, "exactly-once", "at-least-once");
      await sayAll(made, SOME_TEXTS);
      await made.untilReceived("five");
      await connection.close();
      const before = [...made.received];
      must(
        before.every(({ cursor }) => cursor !== undefined),
        "A message has no cursor.",
      );
      // As a host that has lost what came after the second message.
      made.cursor = before[1]?.cursor;
      made.received.length = 0;
      await made.connect();
      await made.untilReceived("five");
      mustHave(made, SOME_TEXTS.slice(2), "The cursor of the second message leads elsewhere");
      const ids = made.received.map(({ id }) => id);
      const same = before.slice(2).map(({ id }) => id);
      must(
        JSON.stringify(ids) === JSON.stringify(same),
        "A message has another id when it is received again.",
      );
    },
  },
  {
    id: "receive.away",
    title:
      "What was written while the host was away is received at the next connection, or reported as missed.",
    async run({ stage }) {
      const made = await stage();
      const connection = await made.connect();
      await sayAll(made, ["one"]);
      await made.untilReceived("one");
      await connection.close();
      await sayAll(made, ["two", "three"]);
      const { inbound } = (await made.connect()).capabilities;
      await sayAll(made, ["four"]);
      await made.untilReceived("four");
      if (inbound === "at-most-once" && !made.texts.includes("two"))
        must(made.missed.length > 0, "What was lost while the host was away is not reported.");
      else mustHave(made, ["one", "two", "three", "four"], "Messages of the time away differ");
    },
  },
  {
    id: "receive.cut",
    title: "A cut while messages arrive loses none of them and repeats none that the host has kept.",
    async run({ stage }) {
      const made = await stage();
      const connection = await made.connect();
      made.onlyReceiving(connection, "exactly-once", "at-least-once");
      const texts = Array.from({ length: 20 }, (_each, at) => `message ${at}`);
      await sayAll(made, texts.slice(0, 10));
      await made.service.cut();
      await sayAll(made, texts.slice(10));
      await connection.ended;
      await connection.close();
      await made.connect();
      await made.untilReceived(texts.at(-1) ?? "");
      mustHave(made, texts, "Messages around a cut differ");
    },
  },
  {
    id: "receive.restart",
    title: "A restart of the service loses nothing that it had taken.",
    async run({ stage }) {
      const made = await stage();
      const connection = await made.connect();
      made.onlyReceiving(connection, "exactly-once", "at-least-once");
      await sayAll(made, ["one"]);
      await made.untilReceived("one");
      await connection.close();
      await sayAll(made, ["two"]);
      await made.service.stop();
      await made.service.start();
      await sayAll(made, ["three"]);
      await made.connect();
      await made.untilReceived("three");
      mustHave(made, ["one", "two", "three"], "Messages around a restart differ");
    },
  },
];
