/**
 * The model gateway as runtimes see it: an endpoint on this machine that a harness is pointed to, behind which the host
 * decides what the model is sent. Source: the design's "The model gateway".
 */
import type { HarnessTurn } from "./harness.ts";
/** Protocols that the gateway speaks with a harness. */
export type WireApi = "openai-responses" | "anthropic-messages" | "openai-completions";
/** What the gateway asks of the turn that runs on a route. */
export interface WireTurn extends Pick<HarnessTurn, "sessionId" | "turnId" | "hostAgentId" | "model" | "engine" | "said" | "answerCompaction" | "receipt" | "degrade" | "emit" | "signal"> {
    assemble(request?: WireAssemble): ReturnType<HarnessTurn["assemble"]>;
}
/** `forCompaction`: for one that the harness's provider is to make, which without this context passes as it is. */
export type WireAssemble = NonNullable<Parameters<HarnessTurn["assemble"]>[0]> & {
    forCompaction?: boolean;
};
/** What one request of a turn came to, told when its answer has ended. */
export interface WireExchange {
    /** 0 for the first of the route. */
    request: number;
    kind: "main" | "compaction" | "other";
    /** Of a compaction: who answered. */
    answeredBy?: "engine" | "upstream";
}
/** A way through the gateway for one harness session. */
export interface WireRoute {
    /** Without a slash at its end; what a provider's own base URL would be. */
    readonly baseUrl: string;
    /** Headers that each request must carry; they are secret. */
    readonly headers: Readonly<Record<string, string>>;
    /** Requests from now on belong to this turn; undefined: to none, and they are refused. */
    serve(turn: WireTurn | undefined): void;
    close(): Promise<void>;
}
export interface WireRouteRequest {
    api: WireApi;
    sessionKey: string;
    /** For the log and for captures. */
    runtime: string;
    /** The harness's system prompt holds the base instructions alone: the engine's addition is said with the context. */
    saysAddition?: boolean;
    onExchange?(exchange: WireExchange): void;
}
export interface ModelGateway {
    /** Starts the server where it does not run. Throws `gateway_failed`. */
    open(request: WireRouteRequest): Promise<WireRoute>;
}
