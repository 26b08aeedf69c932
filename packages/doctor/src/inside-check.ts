/** The adapters that `pagurus install` has put into other programs. */
import { brokenFiles, installedPrograms } from "@pagurus/inside/install/install-record";
import { adapterFacts } from "@pagurus/inside/service/adapter-reports";
import type { Finding } from "./finding.ts";

/** Nothing about programs without an adapter. */
export function checkInside(home: string): Finding[] {
  const facts = adapterFacts(home);
  return [...installedPrograms(home).keys()].map((id): Finding => {
    const broken = brokenFiles(home, id);
    const [first] = broken;
    if (first !== undefined)
      return {
        level: "warn",
        check: "programs",
        detail: `The adapter in ${id} is not as it was installed: ${first}${broken.length > 1 ? ` and ${broken.length - 1} more` : ""}.`,
        fix: `Run pagurus install ${id} again, or pagurus uninstall ${id}.`,
      };
    const seen = facts.get(id);
    if (!seen)
      return { level: "info", check: "programs", detail: `The adapter in ${id} has not been used yet.` };
    const { version, compactions, fallbacks, lastFallback } = seen;
    const detail = `The adapter in ${id} ${version} answered ${compactions} compactions and left ${fallbacks} hooks to the program${lastFallback === undefined ? "" : ` (last: ${lastFallback})`}.`;
    return { level: "ok", check: "programs", detail };
  });
}
