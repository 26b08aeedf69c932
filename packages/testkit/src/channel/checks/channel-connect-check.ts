/** Checks of connecting, of what a connection declares, and of its end. */
import type { Delivery } from "@pagurus/contract/channel/channel";
import { must, shown } from "../../conformance-check.ts";
import type { ChannelCheck } from "../channel-check.ts";

const DELIVERIES: readonly Delivery[] = ["exactly-once", "at-least-once", "at-most-once"];

export const connectChecks: readonly ChannelCheck[] = [
  {
    id: "connect.capabilities",
    title: "A connection declares what exists, and exactly-once only with a way to look a message up.",
    async run({ stage }) {
      const connection = await (await stage()).connect();
      const { inbound, outbound, maxChars } = connection.capabilities;
      for (const delivery of [inbound, outbound])
        must(DELIVERIES.includes(delivery), `${shown(delivery)} is no delivery.`);
      must(Number.isInteger(maxChars) && maxChars >= 1, `maxChars is ${shown(maxChars)}.`);
      must(
        outbound !== "exactly-once" || typeof connection.wasSent === "function",
        "The channel declares to send exactly-once, and has no wasSent().",
      );
    },
  },
  {
    id: "connect.first",
    title: "What was written before the first connection is not received.",
    async run({ stage }) {
      const made = await stage();
      await made.service.say("ann", "long before");
      await made.connect();
      await made.service.say("ann", "first");
      await made.untilReceived("first");
      must(!made.texts.includes("long before"), "A message of before the first connection is received.");
    },
  },
  {
    id: "connect.refused",
    title: "Connecting to a service that is not there throws channel_failed.",
    async run({ stage }) {
      const made = await stage();
      await made.service.stop();
      await made.mustFail("connect()", () => made.connectOnce());
    },
  },
  {
    id: "connect.aborted",
    title: "The signal ends a connection, and one that is aborted already is none.",
    async run({ stage }) {
      const made = await stage();
      const stopping = new AbortController();
      const connection = await made.connectOnce(stopping.signal);
      stopping.abort();
      must(typeof (await connection.ended) === "string", "The end has no reason.");
      const late = await made.connectOnce(stopping.signal).then(
        (other) => other.ended,
        () => "refused",
      );
      must(typeof late === "string", "The end has no reason.");
    },
  },
  {
    id: "end.close",
    title:
      "close() may be called twice, never throws, and ends the connection; after it nothing is received.",
    async run({ stage }) {
      const made = await stage();
      const connection = await made.connect();
      await connection.close();
      await connection.close();
      must((await connection.ended) !== "", "The end has no reason.");
      await made.service.say("ann", "too late for this connection");
      const other = await made.connect();
      await made.service.say("ann", "for the next one");
      await made.untilReceived("for the next one");
      await other.close();
      const times = made.texts.filter((text) => text === "for the next one").length;
      must(times === 1, `A message is received by ${times} connections, one of them closed.`);
    },
  },
  {
    id: "end.cut",
    title:
      "A cut connection ends with a reason, sending throws channel_failed, and closing it does not throw.",
    async run({ stage }) {
      const made = await stage();
      const connection = await made.connect();
      await made.service.cut();
      await made.mustFail("send() over a cut connection", () => connection.send(made.outgoing("ann", "cut")));
      const reason = await connection.ended;
      must(typeof reason === "string" && reason !== "", "The end has no reason.");
      await connection.close();
    },
  },
  {
    id: "end.stopped",
    title: "A connection ends when the service stops, and the next one works.",
    async run({ stage }) {
      const made = await stage();
      const connection = await made.connect();
      await made.service.stop();
      must((await connection.ended) !== "", "The end has no reason.");
      await made.service.start();
      await made.connect();
      await made.service.say("ann", "after the restart");
      await made.untilReceived("after the restart");
    },
  },
];
