/**
 * Programs of the user that `pagurus wire` wraps: what each was set to ask, and what points it to the model gateway instead.
 * One implementation a program, beside the runtime that knows it.
 */
import type { WireApi } from "./wire.ts";
export interface WrapRequest {
    /** The program as the user named it: a name, or a path. */
    command: string;
    /** Behind the program, as the user gave them. */
    args: readonly string[];
    env: Readonly<Record<string, string | undefined>>;
    cwd: string;
    /** Of the host, for files that the program is to read; made when needed. */
    folder: string;
}
/** Where the program's own configuration sends its model requests. */
export interface WrapProvider {
    /** As in a model ref. */
    id: string;
    /** With the version's path. */
    baseUrl: string;
    /** Environment variable with the key, where one has it; else the key is the program's own affair. */
    keyEnv?: string;
    /** Headers that the program is set to send; of secret ones a value is `${NAME}`. */
    headers?: Readonly<Record<string, string>>;
}
/** A way through the gateway, as a program is to be pointed to it. */
export interface WrapRoute {
    baseUrl: string;
    /** Secret: never on a command line. */
    headers: Readonly<Record<string, string>>;
    /** An engine owns the context: the program neither compacts by itself nor refuses a long history. */
    governs: boolean;
    /** The engine compacts: the program is kept from it, whatever its user has set. */
    compacts?: boolean;
    /** The gateway answers with a model and a key of ours: the program needs no login. */
    answersAll: boolean;
    /** The engine's tools, which the program's model is to have beside its own; absent where it has none. */
    tools?: WrapTools;
}
/** A stdio MCP server that the program starts. Holds no secret. */
export interface WrapTools {
    /** The program is to know it by this name. */
    name: string;
    command: string;
    args: readonly string[];
    env: Readonly<Record<string, string>>;
}
export interface WrapLaunch {
    command: string;
    args: string[];
    env: Record<string, string | undefined>;
    /** Made for this run alone, to be removed behind it. */
    files?: string[];
}
export interface WrapRefusal {
    /** `login`: a subscription, which only the program itself may use; `place`: its requests go where no gateway stands. */
    kind: "login" | "place";
    /** One sentence. */
    reason: string;
}
/** A program as the user has set it up. */
export interface WrappedProgram {
    readonly provider: WrapProvider;
    /** Where it works. */
    readonly cwd: string;
    /** Ids of the models that it is set to use, as far as they are known. */
    readonly models: readonly string[];
    /** Tokens of the window that the user has chosen, where the program lets one choose. */
    readonly contextWindow?: number;
    /** Tokens of a chosen window that the engine is to leave free, where the program would compact by itself in them. */
    readonly spareTokens?: (contextWindow: number) => number;
    /** Why its requests cannot be governed; absent where they can. */
    readonly refusal?: WrapRefusal;
    launch(route: WrapRoute): Promise<WrapLaunch>;
}
export interface ProgramWrap {
    /** Base name of the program. */
    readonly id: string;
    readonly label: string;
    readonly api: WireApi;
    /** Reads how the program is set up; may start it for that. Throws `runtime_failed`, `usage_invalid`. */
    survey(request: WrapRequest): Promise<WrappedProgram>;
}
