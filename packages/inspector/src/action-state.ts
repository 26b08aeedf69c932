/** An action of the user: one at a time, and a sentence about what it is doing or what became of it. */
import { useState } from "preact/hooks";
import { errorText } from "./loaded.ts";

export interface Action {
  isBusy: boolean;
  text: string;
  setText(text: string): void;
  /** `doing`: shown until the work returns its sentence, or fails with one. Returns whether it succeeded. */
  run(doing: string, work: () => Promise<string>): Promise<boolean>;
}

export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [text, setText] = useState("");
  const run = async (doing: string, work: () => Promise<string>): Promise<boolean> => {
    setBusy(true);
    setText(doing);
    try {
      setText(await work());
      return true;
    } catch (error) {
      setText(errorText(error));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, text, setText, run };
}
