/** Bodies in chunks of one byte: they take the memory of their bytes, not that of an object for each. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { startServer } from "../servers/server.ts";
import { makeSetting, modelConfig } from "../turn/setting.ts";
import { MeasuredServer } from "./measured-server.ts";

const CHUNKS = 1_000_000;
const AT_ONCE = 50_000;
/** An object for each chunk would be 250 to 600 MB. */
const MOST_MB = 150;

test("a body in a million chunks of one byte takes little memory, at each kind of door", async (t) => {
  const model = await startServer({ protocol: "openai-completions", script: () => ({ text: "ok" }) });
  const setting = makeSetting(modelConfig("openai-completions", model.url));
  const measured = await MeasuredServer.start(setting);
  t.after(async () => {
    await measured.process.kill();
    await model.close();
    setting.remove();
  });
  const { port, key } = measured.process;
  const block = Buffer.from("1\r\n \r\n".repeat(AT_ONCE));
  for (const path of ["/v1/chat/completions", "/api/v1/sessions/main/turns", "/acp"]) {
    const before = measured.residentMb();
    const socket = connect(port, "127.0.0.1");
    t.after(() => socket.destroy());
    const answered = once(socket, "data");
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n`,
    );
    let most = before;
    for (let sent = 0; sent < CHUNKS; sent += AT_ONCE) {
      if (!socket.write(block)) await once(socket, "drain");
      most = Math.max(most, measured.residentMb());
    }
    // No session, model or method is named: the body is read, and refused.
    socket.write("2\r\n{}\r\n0\r\n\r\n");
    assert.match(String((await answered)[0]), /^HTTP\/1\.1 400/, path);
    most = Math.max(most, measured.residentMb());
    assert.ok(most - before < MOST_MB, `${path}: ${(most - before).toFixed(0)} MB more`);
  }
});
