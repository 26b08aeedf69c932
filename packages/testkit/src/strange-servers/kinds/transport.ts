/** Streams that are framed in another way, and bodies in place of streams. */
import type { Frame, Protocol } from "../../endpoint/script.ts";
import { wholeAnswer } from "../../endpoint/whole-answer.ts";
import {
  eventText,
  JSON_BODY,
  ofKind,
  plainFrames,
  rightOf,
  REPLIES,
  STREAM,
  streamText,
  type ReplyName,
  type StrangeAnswer,
} from "../strange-answer.ts";

const SOME_REPLIES: readonly ReplyName[] = ["text", "calls", "thinking"];

interface Framing {
  name: string;
  title: string;
  headers?: Record<string, string>;
  write(frames: readonly Frame[]): string;
}

function joined(frames: readonly Frame[], write: (frame: Frame) => string): string {
  return frames.map(write).join("");
}

const FRAMINGS: readonly Framing[] = [
  {
    name: "crlf",
    title: "ends its lines with CRLF",
    write: (all) => joined(all, (one) => eventText(one, "\r\n")),
  },
  { name: "cr", title: "ends its lines with CR", write: (all) => joined(all, (one) => eventText(one, "\r")) },
  { name: "mark", title: "begins with a byte order mark", write: (all) => `\uFEFF${streamText(all)}` },
  {
    name: "comments",
    title: "sends comments between its events",
    write: (all) => joined(all, (one) => `: PROCESSING\n\n${eventText(one)}`),
  },
  {
    name: "no-space",
    title: "leaves out the space after a field's colon",
    write: (all) => streamText(all).replaceAll(/^(event|data): /gm, "$1:"),
  },
  {
    name: "ids",
    title: "sends ids and retry times of events",
    write: (all) => all.map((one, index) => `id: ${index}\nretry: 3000\n${eventText(one)}`).join(""),
  },
  {
    name: "no-last-line",
    title: "leaves out the empty line after its last event",
    write: (all) => streamText(all).slice(0, -1),
  },
  {
    name: "no-line-end",
    title: "leaves out the end of its last line",
    write: (all) => streamText(all).slice(0, -2),
  },
  {
    name: "empty-data",
    title: "sends events without data",
    write: (all) => joined(all, (one) => `data:\n\n${eventText(one)}data: \n\n`),
  },
  {
    name: "lines",
    title: "writes an event's object over several lines of data",
    write: (all) =>
      joined(all, ({ event, data }) => {
        const text = data.startsWith("{") ? JSON.stringify(JSON.parse(data), undefined, 1) : data;
        const lines = text.split("\n").map((line) => `data: ${line}\n`);
        return `${event === undefined ? "" : `event: ${event}\n`}${lines.join("")}\n`;
      }),
  },
  { name: "no-type", title: "sends a stream without a content type", headers: {}, write: streamText },
  { name: "json-type", title: "declares its stream as JSON", headers: JSON_BODY, write: streamText },
  {
    name: "text-type",
    title: "declares its stream as plain text",
    headers: { "content-type": "text/plain" },
    write: streamText,
  },
  {
    name: "charset",
    title: "declares a character set with its stream",
    headers: { "content-type": "text/event-stream;charset=UTF-8" },
    write: streamText,
  },
  {
    name: "spaces",
    title: "puts white space around the objects of its events",
    write: (all) =>
      joined(all, ({ event, data }) => eventText({ ...(event ? { event } : {}), data: ` ${data}  ` })),
  },
];

export function transportAnswers(protocol: Protocol): StrangeAnswer[] {
  return FRAMINGS.flatMap(({ name, title, headers = STREAM, write }) =>
    ofKind(
      "transport",
      protocol,
      SOME_REPLIES.map((reply) => ({
        name: `${name}-${reply}`,
        title,
        headers,
        body: write(plainFrames(protocol, REPLIES[reply])),
        right: rightOf(REPLIES[reply]),
      })),
    ),
  );
}

const TYPES: readonly (readonly [name: string, title: string, headers: Record<string, string>])[] = [
  ["json", "one JSON body", JSON_BODY],
  ["stream", "one JSON body that it declares as a stream", STREAM],
  ["none", "one JSON body without a content type", {}],
];

/** One body in place of the stream that was asked for. */
export function bodyAnswers(protocol: Protocol): StrangeAnswer[] {
  return SOME_REPLIES.flatMap((reply) => {
    const whole = wholeAnswer(protocol, plainFrames(protocol, REPLIES[reply]));
    const right = rightOf(REPLIES[reply]);
    const variants = TYPES.map(([name, what, headers]) => ({
      name: `${name}-${reply}`,
      title: `answers a request for a stream with ${what}`,
      headers,
      body: JSON.stringify(whole),
      right,
    }));
    const pretty = {
      name: `pretty-${reply}`,
      title: "answers a request for a stream with one JSON body over several lines",
      headers: JSON_BODY,
      body: `\n${JSON.stringify(whole, undefined, 2)}\n`,
      right,
    };
    return ofKind("body", protocol, [...variants, pretty]);
  });
}
