import { PROGRAMS } from "./all-programs.ts";
import { takenOf, type Env, type Taken } from "./program.ts";

/** What is done with a file at a path, as its program's home names it; also for a home that is no longer there. */
export function takenAt(agent: string, path: string, env: Env): Taken {
  const program = PROGRAMS.find(({ id }) => id === agent);
  if (!program) return { take: "unknown", what: "a file of a program that this version does not know" };
  const homes = program.homes(env).filter((home) => path.startsWith(`${home}/`));
  for (const home of homes) {
    const taken = takenOf(program, path.slice(home.length + 1));
    if (taken.isUnnamed !== true) return taken;
  }
  // Kept with other variables of the environment: each end of the path is tried as a path in the home.
  const names = path.split("/").filter((name) => name !== "");
  for (let from = 1; from < names.length; from += 1) {
    const taken = takenOf(program, names.slice(from).join("/"));
    if (taken.isUnnamed !== true && taken.take === "words") return taken;
  }
  return { take: "unknown", what: "a file that this version does not know" };
}
