import { type EventType, eventTypes } from '@caisson/contract';
import { InvalidArgumentError } from 'commander';

/** `ready` is short for `caisson.sandbox.ready`. */
export function fullType(text: string): EventType {
  const found = [text, `caisson.sandbox.${text}`].find((type) => Object.hasOwn(eventTypes, type));
  if (found === undefined) {
    const known = Object.keys(eventTypes).map((type) => type.replace(/^caisson\.sandbox\./, ''));
    throw new InvalidArgumentError(`There is no type ${text} of events; there are ${known.join(', ')}.`);
  }
  return found as EventType;
}
