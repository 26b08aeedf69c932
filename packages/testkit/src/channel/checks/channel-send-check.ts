/** Checks of what is sent: whole, in order, and looked up rightly before it is sent again. */
import { must, onlyIf } from "../../conformance-check.ts";
import type { ChannelCheck } from "../channel-check.ts";

/** What a service could take for its own: line ends, markup, control characters, halves of characters. */
const ODD = [
  "<b>&amp;</b>",
  "first\r\nQUIT\r\nsecond",
  "/me does",
  "\u0007bell\u0000",
  "half \uD83E of one",
  "🦀 crab",
];

export const sendChecks: readonly ChannelCheck[] = [
  {
    id: "send.order",
    title: "Messages arrive once and in order.",
    async run({ stage }) {
      const made = await stage();
      const connection = await made.connect();
      const texts = ["one", "two", "two", "three"];
      for (const text of texts) await connection.send(made.outgoing("ann", text));
      await made.mustArrive(connection, "ann", texts, "Other messages arrive");
    },
  },
  {
    id: "send.address",
    title: "A message arrives at the person to whom it is sent, and at no other.",
    async run({ stage }) {
      const made = await stage();
      const connection = await made.connect();
      await connection.send(made.outgoing("eve", "for eve alone"));
      await made.mustArrive(connection, "eve", ["for eve alone"], "Eve gets other messages");
      await made.mustArrive(connection, "ann", [], "Ann gets a message for eve");
    },
  },
  {
    id: "send.longest",
    title: "A message of maxChars characters arrives whole, and none of its characters is cut.",
    async run({ stage }) {
      const made = await stage();
      const connection = await made.connect();
      const { maxChars } = connection.capabilities;
      const sentence = "Größe 🦀 and 深い海. ";
      const length = Math.min(maxChars, 100_000);
      const text = sentence
        .repeat(Math.ceil(length / sentence.length))
        .slice(0, length)
        .toWellFormed();
      await connection.send(made.outgoing("ann", text));
      await made.mustArrive(
        connection,
        "ann",
        [text],
        "A message of maxChars characters does not arrive whole",
      );
    },
  },
  {
    id: "send.odd",
    title: "Odd characters in a message end no connection and send nothing else.",
    async run({ stage }) {
      const made = await stage();
      const connection = await made.connect();
      for (const text of ODD) await connection.send(made.outgoing("ann", text));
      await connection.send(made.outgoing("ann", "after them"));
      let got = "";
      await made.until(async () => {
        got = (await made.service.got("ann")).join(" ");
        return got.includes("after them");
      });
      for (const word of ["QUIT", "second", "crab"])
        must(got.includes(word), `The text ${word} does not arrive.`);
    },
  },
  {
    id: "send.known",
    title: "A message that the service has is found by the next connection, also one after others.",
    async run({ stage }) {
      const made = await stage();
      const connection = await made.connect();
      onlyIf(connection.wasSent, "The channel cannot look up what was sent.");
      const first = made.outgoing("ann", "first");
      await connection.send(first);
      const second = made.outgoing("ann", "second", first.id);
      await connection.send(second);
      await made.service.cut();
      await connection.close();
      const next = await made.connect();
      must(await next.wasSent?.(second), "wasSent() is false for a message that has arrived.");
      must(await next.wasSent?.(first), "wasSent() is false for a message with another one after it.");
    },
  },
  {
    id: "send.unknown",
    title: "A message that was never sent is not found, also one with the text of another.",
    async run({ stage }) {
      const made = await stage();
      const connection = await made.connect();
      onlyIf(connection.wasSent, "The channel cannot look up what was sent.");
      const first = made.outgoing("ann", "the same");
      must(
        (await connection.wasSent(first)) === false,
        "wasSent() is true for the first message, which was not sent.",
      );
      await connection.send(first);
      const second = made.outgoing("ann", "the same", first.id);
      must(
        (await connection.wasSent(second)) === false,
        "wasSent() is true for a message that was not sent.",
      );
      const other = made.outgoing("eve", "the same");
      must((await connection.wasSent(other)) === false, "wasSent() is true for a message to another person.");
    },
  },
  {
    id: "send.lookup-dead",
    title: "Looking up a message over a cut connection throws channel_failed instead of an answer.",
    async run({ stage }) {
      const made = await stage();
      const connection = await made.connect();
      onlyIf(connection.wasSent, "The channel cannot look up what was sent.");
      const message = made.outgoing("ann", "before the cut");
      await connection.send(message);
      await made.service.cut();
      await made.mustFail("wasSent() over a cut connection", async () => connection.wasSent?.(message));
    },
  },
];
