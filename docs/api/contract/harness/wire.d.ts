/**
 * The model gateway as runtimes see it: an endpoint on this machine that a harness connects to, where the host decides what the
 * model is sent. Source: the design's "The model gateway".
 */
import type { HarnessTurn, TurnContext, TurnIo } from "./harness-turn.ts";
/** Protocols that the gateway speaks with a harness. */
export declare const WIRE_APIS: readonly ["openai-responses", "anthropic-messages", "openai-completions", "google-generative-ai"];
export type WireApi = (typeof WIRE_APIS)[number];
/** The parts of a turn that the gateway needs on its route. */
export interface WireTurn extends Pick<HarnessTurn, "sessionId" | "turnId" | "hostAgentId" | "model" | "engine" | "signal">, Pick<TurnContext, "messages" | "answerCompaction" | "receipt">, Pick<TurnIo, "degrade" | "emit"> {
    /** A throw fails the harness's request with an error reply; one for a compaction is then sent unchanged. */
    assemble(request?: WireAssemble): ReturnType<TurnContext["assemble"]>;
}
/** `forCompaction`: for a compaction that the harness's provider makes, which without this context passes unchanged. */
export type WireAssemble = NonNullable<Parameters<TurnContext["assemble"]>[0]> & {
    forCompaction?: boolean;
};
/** Outcome of one request of a turn, reported when its answer has ended. */
export interface WireExchange {
    /** 0 for the first of the route. */
    request: number;
    kind: "main" | "compaction" | "other";
    /** For a compaction: who answered. */
    answeredBy?: "engine" | "upstream";
}
/** A route through the gateway for one harness session. */
export interface WireRoute {
    /** Without a slash at its end; in place of a provider's own base URL. */
    readonly baseUrl: string;
    /** Headers that each request must carry; they are secret. */
    readonly headers: Readonly<Record<string, string>>;
    /** Requests from now on belong to this turn; undefined: they are refused. Never throws. */
    serve(turn: WireTurn | undefined): void;
    /** Refuses further requests and waits for those in progress, which are aborted after 2 s. */
    close(): Promise<void>;
}
export interface WireRouteRequest {
    api: WireApi;
    sessionKey: string;
    /** For the log and for captures. */
    runtime: string;
    /** The harness's system prompt holds the base instructions alone: the engine's addition is sent with the context. */
    saysAddition?: boolean;
    /** Called after each request, a failed one too; absent: none is reported. */
    onExchange?(exchange: WireExchange): void;
}
export interface ModelGateway {
    /** Starts the server if it is not running. Throws `gateway_failed`. */
    open(request: WireRouteRequest): Promise<WireRoute>;
}
