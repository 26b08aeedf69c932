/** Messages between the command line and the process that runs a conformance suite. */
import type { NativeProgram } from "@pagurus/contract/harness/native";
import type { ApartNews } from "./apart-job.ts";
import type { CheckResult, HarnessSuiteOptions, SuiteReport } from "@pagurus/testkit/index";

type SuiteApi = NonNullable<HarnessSuiteOptions["api"]>;

interface Choice {
  only?: readonly string[];
  gaps?: Record<string, string>;
}

/** A job; plain JSON. */
export type SuiteJob = Choice & {
  /** Home of the host. */
  home: string;
} & (
    | {
        kind: "engine";
        /** Folder or file of the plugin. */
        path: string;
        /** The plugin's entry of the user's configuration. */
        entry: Record<string, unknown>;
        /** Its id. */
        plugin: string;
        /** Only this engine of the plugin. */
        engine?: string;
      }
    | {
        kind: "runtime";
        id: string;
        /** `plugins` of the configuration. */
        plugins: Record<string, unknown>;
        /** Protocol of the model; default: the first that the runtime takes. */
        api?: SuiteApi;
        /** Pattern of the program's requests beside the conversation. */
        beside?: string;
        /** Timeout of a check, ms. Default: the suite's. */
        deadlineMs?: number;
      }
    | {
        kind: "program";
        id: string;
        /** Its name or path. */
        command: string;
      }
  );

export type NamedReport = { kind: SuiteJob["kind"]; id: string } & SuiteReport;

/** The program that the runtime drove. */
export type SuiteProgram = Pick<NativeProgram, "program" | "version">;

export type SuiteNews =
  | { type: "begins"; kind: SuiteJob["kind"]; id: string }
  | { type: "program"; program: SuiteProgram }
  | { type: "result"; result: CheckResult }
  | { type: "report"; report: NamedReport }
  | ApartNews;
