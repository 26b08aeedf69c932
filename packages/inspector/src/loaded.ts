/** Values that are loaded for a place of the page, and abandoned when the place changes. */
import { useEffect, useState } from "preact/hooks";

export interface Loaded<T> {
  value?: T;
  error?: string;
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Loads again when one of `keys` changes. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, keys: readonly unknown[]): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({});
  useEffect(() => {
    const controller = new AbortController();
    setLoaded({});
    load(controller.signal).then(
      (value) => !controller.signal.aborted && setLoaded({ value }),
      (error: unknown) => !controller.signal.aborted && setLoaded({ error: errorText(error) }),
    );
    return () => controller.abort();
  }, keys);
  return loaded;
}

/** All pages of a list, at most 1,000 items each; `onPage` gets what there is after each. */
export async function allPages<T>(
  read: (from: number) => Promise<{ items: T[]; next?: number }>,
  onPage: (all: readonly T[]) => void,
): Promise<T[]> {
  const all: T[] = [];
  for (let from: number | undefined = 0; from !== undefined;) {
    const { items, next }: { items: T[]; next?: number } = await read(from);
    all.push(...items);
    onPage([...all]);
    from = next;
  }
  return all;
}
