/**
 * A model's endpoint in its own process. `?paced=<events>` is answered with events at a steady rate, `?full=<events>` as
 * fast as they are read. It implements HTTP itself instead of `node:http`, to leave the machine to what is measured.
 */
import { createServer, type AddressInfo, type Socket } from "node:net";

/** Interval between two events of a stream, ms. */
const EVERY_MS = 5;
const END = Buffer.from("0\r\n\r\n");
const HEAD = Buffer.from(
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
);

function eventFrame(): Buffer {
  const data = JSON.stringify({
    type: "response.output_text.delta",
    item_id: "msg_0123456789abcdef0123456789abcdef",
    output_index: 0,
    content_index: 0,
    delta: " tide",
    sequence_number: 100,
  });
  const event = `event: response.output_text.delta\ndata: ${data}\n\n`;
  return Buffer.from(`${event.length.toString(16)}\r\n${event}\r\n`);
}

const EVENT = eventFrame();

interface Stream {
  socket: Socket;
  begun: number;
  sent: number;
  events: number;
}

const streams = new Set<Stream>();

function tick(): void {
  const now = performance.now();
  for (const stream of streams) {
    const due = Math.min(stream.events, Math.floor((now - stream.begun) / EVERY_MS) + 1);
    for (; stream.sent < due; stream.sent++) stream.socket.write(EVENT);
    if (stream.sent < stream.events) continue;
    streams.delete(stream);
    stream.socket.write(END);
  }
}

function fill(socket: Socket, left: number): void {
  for (let rest = left; rest > 0; rest--) {
    if (socket.write(EVENT)) continue;
    socket.once("drain", () => fill(socket, rest - 1));
    return;
  }
  socket.write(END);
}

function answer(socket: Socket, head: string): void {
  const [, way, count] = /\?(paced|full)=(\d+)/.exec(head) ?? [];
  socket.write(HEAD);
  const events = Number(count);
  if (way === "full") return fill(socket, events);
  const stream = { socket, begun: performance.now(), sent: 1, events };
  socket.write(EVENT);
  streams.add(stream);
  return undefined;
}

const server = createServer({ noDelay: true }, (socket) => {
  let head = "";
  let missing = -1;
  socket.on("error", () => socket.destroy());
  socket.on("close", () => {
    for (const stream of streams) if (stream.socket === socket) streams.delete(stream);
  });
  socket.on("data", (piece) => {
    if (missing < 0) {
      head += piece.toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end === -1) return;
      missing = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0) - (head.length - end - 4);
    } else missing -= piece.length;
    if (missing > 0) return;
    answer(socket, head);
    head = "";
    missing = -1;
  });
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => {
  process.send?.({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
setInterval(tick, 1);
process.on("disconnect", () => process.exit());
