/** Configured values that name environment variables, so that no secret is in the configuration. */
import { PagurusError } from "@pagurus/contract/errors";

/**
 * Replaces each `${NAME}` of a value by the environment's. `key` is where it is configured. Throws `credential_missing` for a variable that
 * is not set or empty: never an empty secret.
 */
export function withVariables(
  value: string,
  key: string,
  env: Readonly<Record<string, string | undefined>>,
): string {
  return value.replaceAll(/\$\{([A-Za-z_]\w*)\}/g, (_whole, name: string) => {
    const found = env[name];
    if (found !== undefined && found !== "") return found;
    throw new PagurusError(
      "credential_missing",
      `${key} refers to the environment variable ${name}, which is not set; set it.`,
      { details: { missing: name } },
    );
  });
}
