/**
 * What arrives from a server, within limits. The library's parser throws at an entity that it does not know, in the middle of an event
 * of the socket, which would end the process; it keeps an element that never ends, and cuts letters at the edges of packets.
 */
import { errorText } from "@pagurus/core/data/error-text";
import { StringDecoder } from "node:string_decoder";
import type { Client } from "@xmpp/client";

/** Longest stanza, characters; most servers take 256 or 512 kB. */
const MOST_CHARS = 2 * 1024 * 1024;

interface Internals {
  _onData(data: Buffer): void;
  parser: { write(text: string): void } | null;
  socket: Destroyable | null;
}

interface Destroyable {
  destroy?(): void;
  /** Of a wrapper around a socket with TLS. */
  socket?: { destroy(): void } | null;
}

/** Before the connection begins. Whatever is wrong in the input ends the connection with an `error`. */
export function guardInput(xmpp: Client): void {
  const internals = xmpp as unknown as Internals;
  const decoder = new StringDecoder("utf8");
  let open = 0;
  let isOver = false;
  xmpp.on("element", () => (open = 0));
  const end = (error: Error): void => {
    isOver = true;
    const { socket } = internals;
    if (socket?.destroy) socket.destroy();
    else socket?.socket?.destroy();
    xmpp.emit("error", error);
  };
  internals._onData = (data) => {
    if (isOver) return;
    const text = decoder.write(data);
    open += text.length;
    if (open > MOST_CHARS) {
      end(new Error(`the server sent a stanza of more than ${MOST_CHARS} characters`));
      return;
    }
    try {
      internals.parser?.write(text);
    } catch (error) {
      const why = errorText(error);
      end(new Error(`the server sent what cannot be read: ${why.slice(0, 200)}`));
    }
  };
}
