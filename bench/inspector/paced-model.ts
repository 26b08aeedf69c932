/** A Chat Completions endpoint that writes an answer piece by piece, each with a name that occurs once in a turn. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

/** Of one turn: so many requests, each answered with so many pieces of text and, but for the last, a tool call. */
export interface PacedTurn {
  requests: number;
  pieces: number;
  /** Between two pieces, ms. */
  everyMs: number;
}

export interface PacedModel {
  url: string;
  /** Answers the requests from now on as this turn; the words of request 2 are `w2.0`, `w2.1`. */
  begin(turn: PacedTurn): void;
  close(): Promise<void>;
}

function frame(delta: object, finish: string | null = null): string {
  const head = { id: "c", object: "chat.completion.chunk", created: 1, model: "model" };
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ ...head, choices })}\n\n`;
}

/** Of another file each time. */
function call(number: number): object {
  const read = { name: "read", arguments: JSON.stringify({ path: `note-${number}.txt` }) };
  return { index: 0, id: `call_${number}`, type: "function", function: read };
}

export async function startPacedModel(): Promise<PacedModel> {
  let turn: PacedTurn = { requests: 1, pieces: 1, everyMs: 0 };
  let count = 0;
  const answer = async (response: ServerResponse): Promise<void> => {
    const number = count++;
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (let piece = 0; piece < turn.pieces; piece++) {
      await pause(turn.everyMs);
      response.write(frame({ role: "assistant", content: `w${number}.${piece} ` }));
    }
    const isLast = number >= turn.requests - 1;
    if (!isLast) response.write(frame({ tool_calls: [call(number)] }));
    response.write(frame({}, isLast ? "stop" : "tool_calls"));
    response.end("data: [DONE]\n\n");
  };
  const server = createServer((request, response) => {
    request.resume().once("end", () => void answer(response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    begin(next) {
      [turn, count] = [next, 0];
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
