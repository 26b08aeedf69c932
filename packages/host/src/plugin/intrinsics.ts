/**
 * Guards the globals that all code of the process shares while a plugin is imported and registers. A change there would affect
 * every other part of the host; it is undone and the plugin refused. Later changes are not detected: plugins are trusted code.
 * Plugins are loaded one after another, so that a change has one author.
 */
import { PagurusError } from "@pagurus/contract/errors";

/** Prototypes that plugins must not change; those that polyfills and loggers extend are left out. */
const WATCHED: readonly (readonly [name: string, object: object])[] = [
  ["Object.prototype", Object.prototype],
  ["Array.prototype", Array.prototype],
  ["Function.prototype", Function.prototype],
];

type Properties = ReadonlyMap<PropertyKey, PropertyDescriptor>;

/**
 * Runs `work` and undoes its changes of the watched objects. Throws `plugin_invalid` naming the plugin and the property when
 * there was a change, else the error of `work`.
 */
export async function withIntactIntrinsics<T>(plugin: string, work: () => Promise<T>): Promise<T> {
  const before = WATCHED.map(([, object]) => propertiesOf(object));
  let outcome: { value: T } | { error: unknown };
  try {
    outcome = { value: await work() };
  } catch (error) {
    outcome = { error };
  }
  // No method of the watched objects is called until they are restored: any may be the plugin's.
  const changes: Change[] = [];
  for (let index = 0; index < WATCHED.length; index += 1) {
    const watched = WATCHED[index];
    if (watched) restore(watched[0], watched[1], before[index] ?? new Map(), changes);
  }
  if (changes.length > 0) throw changed(plugin, changes);
  if ("error" in outcome) throw outcome.error;
  return outcome.value;
}

function propertiesOf(object: object): Properties {
  const properties = new Map<PropertyKey, PropertyDescriptor>();
  const keys = Reflect.ownKeys(object);
  for (let index = 0; index < keys.length; index += 1) {
    const key = keys[index] ?? "";
    const descriptor = Reflect.getOwnPropertyDescriptor(object, key);
    if (descriptor) properties.set(key, descriptor);
  }
  return properties;
}

interface Change {
  /** Name of the property in code. */
  property: string;
  undone: boolean;
}

function restore(name: string, object: object, before: Properties, changes: Change[]): void {
  const now = propertiesOf(object);
  const note = (change: Change): void =>
    void Reflect.defineProperty(
      changes,
      changes.length,
      bare({ value: change, writable: true, enumerable: true, configurable: true }),
    );
  const restoreKey = (key: PropertyKey): void => {
    const old = before.get(key);
    if (sameProperty(old, now.get(key))) return;
    const undone = old ? Reflect.defineProperty(object, key, bare(old)) : Reflect.deleteProperty(object, key);
    note({ property: `${name}${member(key)}`, undone });
  };
  before.forEach((_, key) => restoreKey(key));
  now.forEach((_, key) => {
    if (!before.has(key)) restoreKey(key);
  });
  if (!Reflect.isExtensible(object)) note({ property: name, undone: false });
}

/** Without a prototype, so that a property named `get` or `value` on Object.prototype is not mistaken for one of it. */
function bare(descriptor: PropertyDescriptor): PropertyDescriptor {
  return Object.assign(Object.create(null) as object, descriptor);
}

const DESCRIPTOR_PARTS = ["value", "get", "set", "writable", "enumerable", "configurable"] as const;

function sameProperty(a: PropertyDescriptor | undefined, b: PropertyDescriptor | undefined): boolean {
  if (!a || !b) return a === b;
  for (let index = 0; index < DESCRIPTOR_PARTS.length; index += 1) {
    const key = DESCRIPTOR_PARTS[index] ?? "value";
    if (!Object.is(ownValue(a, key), ownValue(b, key))) return false;
  }
  return true;
}

function ownValue(descriptor: PropertyDescriptor, key: keyof PropertyDescriptor): unknown {
  return Object.hasOwn(descriptor, key) ? descriptor[key] : undefined;
}

function member(key: PropertyKey): string {
  return typeof key === "string" && /^[A-Za-z_$][\w$]*$/.test(key)
    ? `.${key}`
    : `[${String(key).slice(0, 80)}]`;
}

function changed(plugin: string, changes: readonly Change[]): PagurusError {
  const stays = changes.filter(({ undone }) => !undone);
  const [first] = stays.length > 0 ? stays : changes;
  const more = changes.length === 1 ? "" : ` (and ${changes.length - 1} more)`;
  const end =
    stays.length === 0
      ? "it was undone and the plugin refused; disable or update it"
      : "it cannot be undone in this process; end it, and disable or update the plugin";
  return new PagurusError(
    "plugin_invalid",
    `The plugin ${plugin} changed ${first?.property ?? "a shared object"}${more}, which all code shares; ${end}.`,
    {
      details: {
        plugin,
        changed: changes.map(({ property }) => property),
        undone: stays.length === 0,
      },
    },
  );
}
