/** Messages to `/hooks/<channel>`, where no service is between: what the host itself takes until it asks the model. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { signedHeaders } from "../../packages/channels/src/webhook/webhook-routes.ts";
import { ServeProcess } from "../../test/server/serve-setting.ts";
import { makeSetting, modelConfig } from "../../test/turn/setting.ts";
import { withTarget, type BenchRow } from "../report.ts";
import { quantile, startArrivals } from "./arrivals.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
/** Messages that warm up the process. */
const WARM = 20;

export async function webhookRows(
  launcher: string,
  { messages, people }: { messages: number; people: number },
): Promise<BenchRow[]> {
  const { model, of } = await startArrivals();
  let answered = Promise.withResolvers<void>();
  const receiver = createServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(200).end();
      answered.resolve();
    });
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const allow = Array.from({ length: people }, (_, index) => `p${index}`);
  const channels = { ci: { kind: "webhook", secret: SECRET, url, allow } };
  const setting = makeSetting(
    modelConfig("openai-completions", model.url, { contextWindow: 900_000 }, { channels }),
  );
  const server = await ServeProcess.start(setting, [], launcher);
  const times: number[] = [];
  const accepted: number[] = [];
  try {
    for (let index = 0; index < messages + WARM; index += 1) {
      const text = `message-${index}`;
      const body = JSON.stringify({ from: allow[index % people], text });
      const headers = signedHeaders(SECRET, text, body, Date.now());
      const arrived = of(text);
      const from = performance.now();
      const { status } = await fetch(`${server.url}/hooks/ci`, { method: "POST", headers, body });
      if (status !== 202) throw new Error(`the webhook answers ${status}`);
      const atAcceptance = performance.now() - from;
      const time = (await arrived) - from;
      await answered.promise;
      answered = Promise.withResolvers();
      if (index < WARM) continue;
      accepted.push(atAcceptance);
      times.push(time);
    }
  } finally {
    await server.kill();
    receiver.closeAllConnections();
    receiver.close();
    await model.close();
    setting.remove();
  }
  const of1 = `a webhook's arrival to the model request, ${people} sessions`;
  return [
    withTarget({ measure: `${of1}, p50`, value: quantile(times, 0.5), unit: "ms" }, "<=", 15),
    { measure: `${of1}, p95`, value: quantile(times, 0.95), unit: "ms" },
    {
      measure: "of which until it is on disk and acknowledged, p50",
      value: quantile(accepted, 0.5),
      unit: "ms",
    },
  ];
}
