/** The plugin kit for code that reads its members instead of importing them by name: a missing member throws with its name when called. */
import * as sdk from "./sdk.ts";
import { missingName } from "./sdk-stubs.ts";

/** Read by module loaders and by `await`. */
const OF_LOADERS = new Set(["then", "module.exports", "toJSON", "constructor"]);

/** `specifier`: for the sentence. */
export function kitFor(specifier: string): object {
  const kit: object = new Proxy(Object.create(null) as object, {
    get: (_, name) => {
      // Compiled code copies the members of any other module.
      if (name === "__esModule") return true;
      if (name === "default") return kit;
      if (name in sdk) return (sdk as Record<string | symbol, unknown>)[name];
      return typeof name === "symbol" || OF_LOADERS.has(name) ? undefined : missingName(specifier, name);
    },
    has: (_, name) => name in sdk,
    ownKeys: () => Object.keys(sdk),
    getOwnPropertyDescriptor: (_, name) =>
      name in sdk
        ? { value: (sdk as Record<string | symbol, unknown>)[name], enumerable: true, configurable: true }
        : undefined,
  });
  return kit;
}
