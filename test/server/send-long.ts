/** Sends a long input through its door, in a session of its own. */
import type { Setting } from "../turn/setting.ts";
import { AcpSocket, postAcp } from "./acp-doors.ts";
import { send } from "./fuzz-clients.ts";
import type { LongInput } from "./long-inputs.ts";
import type { ServeProcess } from "./serve-setting.ts";

const JSON_HEADERS = { "content-type": "application/json" };

/** The status over HTTP; over a WebSocket 200 for an answer, 400 for an error, 413 if the server closed it. */
export async function sendLong(
  server: ServeProcess,
  setting: Setting,
  input: LongInput,
  number: number,
): Promise<number> {
  const body = input.body();
  if (input.how === "acp-http") return postAcp(server, body);
  if (input.how === "acp-socket")
    return sendMessage(server, setting, body as { method: unknown; params: unknown });
  const path = input.path.replace("/main/", `/long-${number}/`);
  return await send(server, {
    how: "http",
    method: "POST",
    path,
    headers: JSON_HEADERS,
    body: JSON.stringify(body),
  });
}

async function sendMessage(
  server: ServeProcess,
  setting: Setting,
  { method, params }: { method: unknown; params: unknown },
): Promise<number> {
  const client = await AcpSocket.open(server);
  try {
    const { sessionId } = (params ?? {}) as { sessionId?: unknown };
    const place = sessionId === "main" ? { sessionId: await client.newSession(setting.workspace) } : {};
    const isPlain = typeof params === "object" && params !== null && !Array.isArray(params);
    const answer = await client.ask(method, isPlain ? { ...params, ...place } : params);
    if (answer === undefined) return 413;
    return "error" in answer ? 400 : 200;
  } finally {
    client.close();
  }
}
