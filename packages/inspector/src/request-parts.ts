/** The parts of a request, read page by page. */
import { useEffect, useState } from "preact/hooks";
import type { InspectedPart } from "@pagurus/api/types";
import { allPages, errorText } from "./loaded.ts";
import type { RequestPlace } from "./request-place.ts";
import { server } from "./server-calls.ts";

/** The first parts are shown before the others are read. */
const FIRST_PAGE = 500;
const PAGE = 5_000;

interface Parts {
  parts: readonly InspectedPart[];
  error?: string | undefined;
}

/** The parts so far; none for a place without a request. */
export function useParts({ agent, sessionKey, request }: Partial<RequestPlace>): Parts {
  const [parts, setParts] = useState<readonly InspectedPart[]>([]);
  const [error, setError] = useState<string>();
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    setParts([]);
    setError(undefined);
    if (sessionKey === undefined || request === undefined) return undefined;
    const read = async (from: number): Promise<{ items: InspectedPart[]; next?: number }> => {
      const page = await server.inspect.parts(sessionKey, request, {
        agent,
        from,
        limit: from === 0 ? FIRST_PAGE : PAGE,
        signal,
      });
      return { items: page.parts, ...(page.next === undefined ? {} : { next: page.next }) };
    };
    allPages(read, (all) => signal.aborted || setParts(all)).catch(
      (failure: unknown) => signal.aborted || setError(errorText(failure)),
    );
    return () => controller.abort();
  }, [agent, sessionKey, request]);
  return { parts, error };
}
