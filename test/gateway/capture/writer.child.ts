/** Captures requests until it is killed. Arguments: home, session key, how many (0: without end). */
import { CaptureLog } from "../../../packages/gateway/src/capture/capture.ts";
import { facts } from "./setting.ts";

const [home = "", key = "", wanted = "0"] = process.argv.slice(2);
const logger = { warn: (message: string) => void process.stderr.write(`${message}\n`) };
const log = new CaptureLog({ home, logger, maxBytes: 2 ** 30 });
const many = Number(wanted);
for (let request = 0; many === 0 || request < many; request++) {
  const body = Buffer.alloc(200_000, `${request},`);
  const captured = log.begin(facts(body, { key, request, runtime: String(process.pid) }));
  captured.sent("up", [body, Buffer.from("!")], { replaced: true });
  captured.answered({ status: 200, rawHeaders: [] });
  for (let piece = 0; piece < 20; piece++) captured.chunk(Buffer.alloc(1_000, `${piece};`));
  captured.end({ cut: false, left: false, answeredBy: "upstream" });
  await log.settled();
  process.stdout.write(`${request}\n`);
}
