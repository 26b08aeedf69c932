/** Sends spans to an OpenTelemetry collector by OTLP over HTTP, with the optional packages of OpenTelemetry. */
import type { OtlpSettings } from "@pagurus/core/config/config-types";
import { PagurusError } from "@pagurus/contract/errors";
import type { TurnEvent } from "@pagurus/contract/host/events";
import { withDeadline } from "@pagurus/core/platform/deadline";
import { resolveHeaders, type Env } from "@pagurus/core/model/credentials";
import { packageVersion } from "@pagurus/core/platform/package-version";
import type { Logger } from "@pagurus/core/platform/log";
import { CONVENTIONS, TurnSpans, type SpanSource } from "./turn-spans.ts";

/** Timeout of one export, ms, and of the last one when the host closes. */
const EXPORT_MS = 10_000;
const CLOSE_MS = 2_000;

/** Where a host reports its turns. */
export interface Telemetry {
  /** A listener to the events of one turn. */
  turn(agentId: string): (event: TurnEvent) => void;
  /** Sends what is left, at most for some seconds. Never throws. */
  close(): Promise<void>;
}

export interface TelemetryOptions {
  otlp: OtlpSettings;
  env: Env;
  logger: Logger;
}

async function packages() {
  const [api, sdk, resources, exporter] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/sdk-trace-base"),
    import("@opentelemetry/resources"),
    import("@opentelemetry/exporter-trace-otlp-http"),
  ]);
  return { ...api, ...sdk, ...resources, ...exporter };
}

async function load(): Promise<Awaited<ReturnType<typeof packages>>> {
  try {
    return await packages();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw new PagurusError(
      "config_invalid",
      'The setting "telemetry.otlp" needs OpenTelemetry\'s packages, and they are not installed; install @opentelemetry/api, @opentelemetry/sdk-trace-base and @opentelemetry/exporter-trace-otlp-http beside pagurus, or remove the setting.',
      { cause },
    );
  }
}

/** Throws `config_invalid` where the optional packages are missing, `credential_missing` for a variable that is not set. */
export async function openTelemetry({ otlp, env, logger }: TelemetryOptions): Promise<Telemetry> {
  const { BasicTracerProvider, BatchSpanProcessor, OTLPTraceExporter, ...rest } = await load();
  const { resourceFromAttributes, trace, ROOT_CONTEXT, SpanKind, SpanStatusCode, diag } = rest;
  const version = packageVersion();
  // The library reports failed exports here; without it they would be lost without a word.
  const warn = (): void => logger.warn("telemetry not sent", { endpoint: new URL(otlp.endpoint).origin });
  const quiet = (): void => undefined;
  diag.setLogger({ error: warn, warn: quiet, info: quiet, debug: quiet, verbose: quiet });
  const exporter = new OTLPTraceExporter({
    url: `${otlp.endpoint.replace(/\/+$/, "")}/v1/traces`,
    headers: resolveHeaders(otlp.headers, "telemetry.otlp.headers", env).reveal(),
    timeoutMillis: EXPORT_MS,
  });
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ "service.name": "pagurus", "service.version": version }),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  const tracer = provider.getTracer("pagurus", `${version} (${CONVENTIONS})`);
  const source: SpanSource = {
    begin: (name, kind, attributes, parent) =>
      tracer.startSpan(
        name,
        { kind: SpanKind[kind], attributes },
        parent ? trace.setSpan(ROOT_CONTEXT, parent) : ROOT_CONTEXT,
      ),
    fail: (span, type) => {
      span.setAttribute("error.type", type);
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
  return {
    turn: (agentId) => {
      const spans = new TurnSpans({ source, agentId, contents: otlp.contents === true });
      return (event) => spans.take(event);
    },
    close: async () => {
      const closing = withDeadline(() => provider.shutdown(), { ms: CLOSE_MS, label: "Sending telemetry" });
      await closing.catch(warn);
    },
  };
}
