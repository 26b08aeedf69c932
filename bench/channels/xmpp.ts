/** Messages over Debian's prosody, and what of their time the server itself takes to deliver one and to hand out its archive. */
import { client, xml } from "@xmpp/client";
import { XmppArchive } from "../../packages/channels/src/xmpp/xmpp-archive.ts";
import type { XmppElement } from "../../packages/channels/src/xmpp/xmpp-client.ts";
import { XmppPerson } from "../../test/real/channels/xmpp-person.ts";
import { Prosody } from "../../test/servers/prosody.ts";
import { ServeProcess } from "../../test/server/serve-setting.ts";
import { finish, makeSetting, modelConfig } from "../../test/turn/setting.ts";
import { withTarget, type BenchRow } from "../report.ts";
import { quantile, startArrivals } from "./arrivals.ts";

const WARM = 20;

/** Time until another client has a message, and until it has the archive's page with it, ms. */
async function serviceTimes(
  prosody: Prosody,
  ann: XmppPerson,
  messages: number,
): Promise<[number[], number[]]> {
  const carl = client({ service: prosody.service, domain: "localhost", username: "carl", password: "carl" });
  carl.reconnect.stop();
  let arrived: () => void = () => undefined;
  carl.on("stanza", (stanza: XmppElement) => {
    if (stanza.name === "message" && stanza.getChild("body")) arrived();
  });
  await carl.start();
  await carl.send(xml("presence"));
  const delivery: number[] = [];
  const archive: number[] = [];
  try {
    const pages = new XmppArchive(carl);
    let after = "";
    for (let index = 0; index < messages + WARM; index += 1) {
      const got = new Promise<void>((resolve) => (arrived = resolve));
      const from = performance.now();
      void ann.say(`m ${index}`, `c-${index}`, "carl@localhost");
      await got;
      const at = performance.now();
      const { messages: found } = await pages.page(after === "" ? {} : { after });
      const end = performance.now();
      after = found.at(-1)?.id ?? "";
      if (index < WARM) continue;
      delivery.push(at - from);
      archive.push(end - at);
    }
  } finally {
    await carl.stop();
  }
  return [delivery, archive];
}

export async function xmppRows(launcher: string, messages: number): Promise<BenchRow[]> {
  const prosody = await Prosody.start(["crab", "ann", "carl"]);
  const { model, of } = await startArrivals();
  const home = {
    kind: "xmpp",
    jid: "crab@localhost",
    password: "crab",
    service: prosody.service,
    allow: ["ann@localhost"],
  };
  const setting = makeSetting(
    modelConfig("openai-completions", model.url, { contextWindow: 900_000 }, { channels: { home } }),
  );
  const ann = new XmppPerson("ann", prosody.service);
  const times: number[] = [];
  let server: ServeProcess | undefined;
  try {
    await ann.connect();
    const [delivery, archive] = await serviceTimes(prosody, ann, messages);
    server = await ServeProcess.start(setting, [], launcher);
    while (!(await finish(setting, ["channels", "list"])).stdout.includes("exactly-once"));
    for (let index = 0; index < messages + WARM; index += 1) {
      const arrived = of(`message-${index}`);
      const from = performance.now();
      void ann.say(`message-${index}`, `a-${index}`);
      const time = (await arrived) - from;
      await ann.until(index + 1);
      if (index >= WARM) times.push(time);
    }
    const [all, sent, read] = [times, delivery, archive].map((of1) => quantile(of1, 0.5));
    const ms = (measure: string, value = 0): BenchRow => ({ measure, value, unit: "ms" });
    const own = (all ?? 0) - (sent ?? 0) - (read ?? 0);
    return [
      ms("a message over prosody, from its writer to the model request, p50", all),
      ms("the same, p95", quantile(times, 0.95)),
      ms("of which prosody delivers it, p50", sent),
      ms("of which prosody hands out its archive, p50", read),
      withTarget(ms("of which the rest: arrival to the model request, p50", own), "<=", 15),
    ];
  } finally {
    await server?.kill();
    await ann.end();
    await model.close();
    await prosody.end();
    setting.remove();
  }
}
