/** Sessions that each have a channel of their own, with its own connection to Debian's ngircd, once all is quiet. */
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { IrcPerson } from "../../test/real/channels/irc-person.ts";
import { Ngircd } from "../../test/servers/ngircd.ts";
import { startServer } from "../../test/servers/server.ts";
import { ServeProcess } from "../../test/server/serve-setting.ts";
import { makeSetting, modelConfig, type Setting } from "../../test/turn/setting.ts";
import { withTarget, type BenchRow } from "../report.ts";

const LOOK_MS = 500;
/** Looks in a row without less memory after which the process counts as idle. */
const QUIET = 10;

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024;
}

async function idleMb(server: ServeProcess): Promise<number> {
  const pid = server.child.pid ?? 0;
  let least = residentMb(pid);
  for (let quiet = 0; quiet < QUIET; quiet += 1) {
    await pause(LOOK_MS);
    const now = residentMb(pid);
    if (now < least - 1) quiet = 0;
    least = Math.min(least, now);
  }
  return least;
}

async function bare(setting: Setting, launcher: string): Promise<number> {
  const server = await ServeProcess.start(setting, [], launcher);
  try {
    return await idleMb(server);
  } finally {
    await server.kill();
  }
}

export async function idleRows(
  launcher: string,
  sessions: number,
  log: (line: string) => void,
): Promise<BenchRow[]> {
  const ngircd = await Ngircd.start();
  const model = await startServer({ protocol: "openai-completions", script: () => ({ text: "ok" }) });
  const nicks = Array.from({ length: sessions }, (_, index) => `crab${index}`);
  const one = {
    kind: "irc",
    service: ngircd.service,
    serverPassword: Ngircd.password,
    allow: ["ann!~ann@127.0.0.1"],
  };
  const channels = Object.fromEntries(nicks.map((nick) => [nick, { ...one, nick }]));
  const config = (more: Record<string, unknown>) => modelConfig("openai-completions", model.url, {}, more);
  const empty = makeSetting(config({}));
  const setting = makeSetting(config({ channels }));
  const ann = new IrcPerson("ann", ngircd);
  let server: ServeProcess | undefined;
  try {
    const idle = await bare(empty, launcher);
    server = await ServeProcess.start(setting, [], launcher);
    await ann.connect();
    for (const nick of nicks) await ann.sees(nick);
    log(`${sessions} connections`);
    const connected = (await idleMb(server)) - idle;
    for (const [index, nick] of nicks.entries()) {
      ann.say(nick, "hello");
      if (index % 20 === 19) await ann.until(nick, 1);
    }
    for (const nick of nicks) await ann.until(nick, 1);
    log(`${sessions} answers`);
    const used = (await idleMb(server)) - idle;
    const of1 = `${sessions} sessions with a channel each`;
    return [
      { measure: "an idle server", value: idle, unit: "MB" },
      { measure: `${of1}, connected and not used so far, over it`, value: connected, unit: "MB" },
      withTarget(
        { measure: `${of1}, idle after a turn in each, over it`, value: used, unit: "MB" },
        "<=",
        200,
      ),
    ];
  } finally {
    await server?.kill();
    await ann.end();
    await model.close();
    await ngircd.end();
    setting.remove();
    empty.remove();
  }
}
