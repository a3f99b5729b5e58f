import type { MessageDef, Value } from './field.ts';
import { connectionMessages } from './messages.ts';
import { fileMethods } from './methods/file.ts';
import type { Method } from './methods/method.ts';
import { portMethods } from './methods/port.ts';
import { processMethods } from './methods/process.ts';
import { sysMethods } from './methods/sys.ts';
import { treeMethods } from './methods/tree.ts';

/** Every method. The high byte of a number is its family, so that a dump can be read by eye. */
export const methods = { ...processMethods, ...fileMethods, ...treeMethods, ...portMethods, ...sysMethods } as const;

export type MethodName = keyof typeof methods;
export type Params<M extends MethodName> = Value<(typeof methods)[M]['params']>;
export type Result<M extends MethodName> = Value<(typeof methods)[M]['result']>;
/** The record of a method whose output is records. */
export type MethodRecord<M extends MethodName> = (typeof methods)[M]['record'] extends infer D extends MessageDef
  ? Value<D>
  : never;

export const methodNames = (Object.keys(methods) as MethodName[]).sort((a, b) => methods[a].number - methods[b].number);

const byNumber = new Map<number, MethodName>(methodNames.map((name) => [methods[name].number, name]));

export function methodNameOf(number: number): MethodName | undefined {
  return byNumber.get(number);
}

/** Every message of the protocol once, by its name: those of the connection, then those the methods reach. */
export const allMessages: ReadonlyMap<string, MessageDef> = collect();

function collect(): Map<string, MessageDef> {
  const found = new Map<string, MessageDef>();
  const add = (def: MessageDef): void => {
    const known = found.get(def.name);
    if (known !== undefined && known !== def) throw new Error(`two messages are called ${def.name}`);
    for (const field of Object.values(def.fields)) if (field.message !== undefined) add(field.message);
    found.set(def.name, def);
  };
  for (const def of Object.values(connectionMessages)) add(def);
  for (const name of methodNames) {
    const method: Method = methods[name];
    add(method.params);
    if (method.record !== undefined) add(method.record);
    add(method.result);
  }
  return found;
}
