/** Settings that the services of the Chat SDK have in common, checked. */
import type { ChannelConfig } from "@pagurus/core/config/config-types";
import { PagurusError } from "@pagurus/contract/errors";
import { withVariables } from "@pagurus/core/platform/configured-secret";
import { isLoopback } from "@pagurus/core/platform/loopback";

export type Env = Readonly<Record<string, string | undefined>>;

/** Throws `config_invalid` where it is absent, `credential_missing`. */
export function secretOf(id: string, config: ChannelConfig, key: "token" | "secret", env: Env): string {
  const value = config[key];
  if (value !== undefined) return withVariables(value, `channels.${id}.${key}`, env);
  throw new PagurusError(
    "config_invalid",
    `channels.${id}.${key} is missing, and a channel of the kind ${JSON.stringify(config.kind)} needs it; set it to "\${VARIABLE}".`,
  );
}

/** Address of the service's interface, without a slash at its end. Throws `config_invalid` where a token would be readable on its way. */
export function addressOf(id: string, config: ChannelConfig, usual: string): string {
  const url = URL.parse(config.url ?? usual);
  if (url && (url.protocol === "https:" || isLoopback(url.hostname))) return url.href.replace(/\/+$/, "");
  throw new PagurusError(
    "config_invalid",
    `channels.${id}.url is ${JSON.stringify(config.url)}, which is no https address.`,
  );
}
