/** Facts about each program's adapter for `doctor` and `status`: counts, versions and reasons, no contents. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";
import { countOf, filledString, parseRecord, recordOf } from "@pagurus/core/data/record-fields";
import { ensurePrivateDir, writeFileAtomic } from "@pagurus/core/platform/atomic-files";

export interface AdapterFacts {
  /** Version of the program at its last start with the adapter. */
  version: string;
  /** ISO 8601. */
  seenAt: string;
  compactions: number;
  /** Hooks that left their work to the program. */
  fallbacks: number;
  /** Hook and reason of the last one. */
  lastFallback?: string;
}

function factsFile(home: string): string {
  return join(home, "inside", "adapters.json");
}

/** Facts by program. */
export function adapterFacts(home: string): Map<string, AdapterFacts> {
  const read = attempt(() => parseRecord(readFileSync(factsFile(home), "utf8")));
  return new Map(
    Object.entries(read ?? {}).map(([program, value]): [string, AdapterFacts] => {
      const facts = recordOf(value);
      const lastFallback = filledString(facts["lastFallback"]);
      return [
        program,
        {
          version: filledString(facts["version"]) ?? "",
          seenAt: filledString(facts["seenAt"]) ?? "",
          compactions: countOf(facts["compactions"]) ?? 0,
          fallbacks: countOf(facts["fallbacks"]) ?? 0,
          ...(lastFallback === undefined ? {} : { lastFallback }),
        },
      ];
    }),
  );
}

export class AdapterReports {
  readonly #home: string;

  constructor(home: string) {
    this.#home = home;
  }

  seen(program: string, version: string): void {
    this.#change(program, (facts) => ({ ...facts, version, seenAt: new Date().toISOString() }));
  }

  compacted(program: string): void {
    this.#change(program, (facts) => ({ ...facts, compactions: facts.compactions + 1 }));
  }

  fellBack(program: string, hook: string, reason: string, count: number): void {
    const lastFallback = `${hook}: ${reason}`;
    this.#change(program, (facts) => ({ ...facts, fallbacks: facts.fallbacks + count, lastFallback }));
  }

  #change(program: string, work: (facts: AdapterFacts) => AdapterFacts): void {
    const all = adapterFacts(this.#home);
    const none: AdapterFacts = { version: "", seenAt: "", compactions: 0, fallbacks: 0 };
    all.set(program, work(all.get(program) ?? none));
    ensurePrivateDir(join(this.#home, "inside"));
    writeFileAtomic(factsFile(this.#home), `${JSON.stringify(Object.fromEntries(all), undefined, 2)}\n`);
  }
}
