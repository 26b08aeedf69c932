/** The questions of setup: on a full terminal, or in lines. */

export interface FormRow {
  /** Chooses the row. */
  key: string;
  label: string;
  detail?: string;
}

export interface SetupForm {
  /** A secret can be typed without being shown. */
  readonly hides: boolean;
  print(line?: string): void;
  /** Index of the chosen row, the first one by Enter; undefined when the person leaves. */
  pick(title: string, rows: readonly FormRow[]): Promise<number | undefined>;
  /** A text that is not shown; undefined when the person leaves. */
  secret(title: string): Promise<string | undefined>;
  /** Gives the terminal back after the last question. */
  close(): Promise<void>;
  /** Replaces the line of progress; undefined ends it. The form is closed. */
  progress(line: string | undefined): void;
}
