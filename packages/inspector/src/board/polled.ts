/** A value of the server that is read again and again while the page is seen, and at once after an action. */
import { useEffect, useRef, useState } from "preact/hooks";
import { errorText } from "../loaded.ts";

export interface Polled<T> {
  value: T | undefined;
  /** Of the last reading. */
  error: string | undefined;
  /** Reads it now. */
  again(): void;
}

/** `everyMs`: pause between two readings. The last value stays while a reading fails. */
export function usePolled<T>(load: (signal: AbortSignal) => Promise<T>, everyMs: number): Polled<T> {
  const [value, setValue] = useState<T>();
  const [error, setError] = useState<string>();
  const look = useRef<() => void>(() => undefined);
  useEffect(() => {
    const { signal, abort } = abortable();
    const read = (): void => {
      load(signal).then(
        (found) => {
          if (signal.aborted) return;
          setValue(found);
          setError(undefined);
        },
        (failure: unknown) => signal.aborted || setError(errorText(failure)),
      );
    };
    look.current = read;
    read();
    const timer = setInterval(() => document.visibilityState === "visible" && read(), everyMs);
    return () => {
      clearInterval(timer);
      abort();
    };
  }, []);
  return { value, error, again: () => look.current() };
}

function abortable(): { signal: AbortSignal; abort(): void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
