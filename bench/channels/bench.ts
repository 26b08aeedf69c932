/** `bench channels`: what a channel adds before the model is asked, and what many of them take while nothing happens. */
import { builtPackage } from "../serve/built-package.ts";
import { partRows, type BenchOptions, type BenchRow } from "../report.ts";
import { idleRows } from "./idle.ts";
import { webhookRows } from "./webhook.ts";
import { xmppRows } from "./xmpp.ts";

export const parts = ["webhook", "xmpp", "idle"];

export async function run({ quick, only, log }: BenchOptions): Promise<BenchRow[]> {
  log("build");
  const { launcher, remove } = await builtPackage();
  const messages = quick ? 40 : 300;
  const jobs: Record<string, () => Promise<BenchRow[]>> = {
    webhook: () => webhookRows(launcher, { messages, people: 20 }),
    xmpp: () => xmppRows(launcher, messages),
    idle: () => idleRows(launcher, quick ? 50 : 1_000, log),
  };
  try {
    return await partRows(jobs, { log, ...(only === undefined ? {} : { only }) });
  } finally {
    remove();
  }
}
