/** Completion at the cursor: a command at the beginning, a file after an @. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Command } from "@pagurus/api/types";
import { server } from "../server-calls.ts";

export interface Offer {
  /** Put in place of what was typed. */
  put: string;
  label: string;
  hint: string;
}

export interface Completion {
  /** Place of the typed text that an offer replaces. */
  from: number;
  to: number;
  offers: readonly Offer[];
}

const MOST = 12;
const TYPED_MS = 80;

/** Commands that the page does itself, in place of a line to the server. */
const OWN: readonly Command[] = [
  { name: "new", usage: "", summary: "Begin a new conversation." },
  { name: "stop", usage: "", summary: "End the turn that runs." },
];

interface Where {
  agent: string;
  cwd: string | undefined;
}

async function commandsFor(typed: string, { agent, cwd }: Where, signal: AbortSignal): Promise<Offer[]> {
  const listed = await server.slashCommands({ agent, cwd, signal });
  const own = new Set(OWN.map(({ name }) => name));
  return [...OWN, ...listed.filter(({ name }) => !own.has(name))]
    .filter(({ name }) => name.includes(typed))
    .toSorted((one, other) => Number(other.name.startsWith(typed)) - Number(one.name.startsWith(typed)))
    .slice(0, MOST)
    .map(({ name, usage, summary }) => ({
      put: `/${name} `,
      label: `/${name} ${usage}`.trim(),
      hint: summary,
    }));
}

async function filesFor(typed: string, { agent, cwd }: Where, signal: AbortSignal): Promise<Offer[]> {
  const paths = await server.files(typed, { agent, cwd, limit: MOST, signal });
  return paths.map((path) => ({
    put: /\s/.test(path) ? `@"${path}" ` : path.endsWith("/") ? `@${path}` : `@${path} `,
    label: path,
    hint: "",
  }));
}

/** Looked up while the user types; `before`: the text up to the cursor. */
export function useCompletion(
  before: string,
  where: Where,
): { found: Completion | undefined; close(): void } {
  const [found, setFound] = useState<Completion>();
  const closed = useRef("");
  useEffect(() => {
    const [, command] = /^\/(\S*)$/.exec(before) ?? [];
    const [, reference] = /(?:^|[\s([{,;])(@(?:"[^"\n]*|[^\s"@]*))$/.exec(before) ?? [];
    if ((command === undefined && reference === undefined) || closed.current === before) {
      setFound(undefined);
      return undefined;
    }
    const controller = new AbortController();
    const timer = setTimeout(() => {
      const { signal } = controller;
      const offers =
        command === undefined
          ? filesFor((reference ?? "").replace(/^@"?/, ""), where, signal)
          : commandsFor(command.toLowerCase(), where, signal);
      offers.then(
        (all) => {
          const from = before.length - (reference ?? `/${command ?? ""}`).length;
          if (!signal.aborted)
            setFound(all.length === 0 ? undefined : { from, to: before.length, offers: all });
        },
        // Without offers the user types on.
        () => setFound(undefined),
      );
    }, TYPED_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [before, where.agent, where.cwd]);
  const close = (): void => {
    closed.current = before;
    setFound(undefined);
  };
  return { found, close };
}
