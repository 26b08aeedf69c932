/** OpenClaw's types, from what its package exports to plugins. */
import type { OpenClawPluginApi } from "openclaw/plugin-sdk/plugin-entry";

export type TheirApi = OpenClawPluginApi;
export type TheirFactory = Parameters<TheirApi["registerContextEngine"]>[1];
export type TheirEngine = Awaited<ReturnType<TheirFactory>>;
export type TheirMessage = Parameters<TheirEngine["ingest"]>[0]["message"];
type Assemble = Parameters<TheirEngine["assemble"]>[0];
export type TheirContext = NonNullable<Assemble["runtimeContext"]>;
export type TheirSettings = NonNullable<Assemble["runtimeSettings"]>;

declare const on: TheirApi["on"];
export type TheirHookName = Parameters<TheirApi["on"]>[0];
export type TheirHandler<K extends TheirHookName> = Parameters<typeof on<K>>[1];
