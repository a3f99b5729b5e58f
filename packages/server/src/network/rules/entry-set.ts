import { presets } from '@caisson/contract';
import type { Address } from './address.ts';
import { AddressTable } from './address-table.ts';
import { type Entry, readEntry } from './entry.ts';

/**
 * A list of entries, compiled once: each question is a few lookups, however long the list is. The answer is the entry
 * as its author wrote it, so a match in a preset is the preset.
 */
export class EntrySet {
  #exact = new Map<string, Ports>();
  #below = new Map<string, Ports>();
  #ranges = new AddressTable<Ports>();
  /** Entries that are none, and presets that do not exist. */
  readonly unreadable: string[] = [];
  hasNames = false;

  constructor(entries: readonly string[]) {
    for (const text of entries) this.#add(text, text);
  }

  name(name: string, port: number): string | undefined {
    const exact = ruleFor(this.#exact.get(name), port);
    if (exact !== undefined || this.#below.size === 0) return exact;
    for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
      const rule = ruleFor(this.#below.get(name.slice(dot + 1)), port);
      if (rule !== undefined) return rule;
    }
    return undefined;
  }

  address(address: Address, port: number): string | undefined {
    return this.#ranges.find(address, (ports) => ruleFor(ports, port));
  }

  #add(text: string, author: string): void {
    const entry = readEntry(text);
    if (entry?.kind === 'preset') {
      const preset = presets.get(entry.name);
      if (preset === undefined) this.unreadable.push(author);
      else for (const part of preset.entries) this.#add(part, author);
    } else if (entry === undefined) this.unreadable.push(author);
    else this.#portsOf(entry).add(entry.port, author);
  }

  #portsOf(entry: Exclude<Entry, { kind: 'preset' }>): Ports {
    if (entry.kind === 'range') return this.#ranges.at(entry.range, () => new Ports());
    this.hasNames = true;
    const names = entry.kind === 'name' ? this.#exact : this.#below;
    const ports = names.get(entry.name) ?? new Ports();
    names.set(entry.name, ports);
    return ports;
  }
}

/** Which ports of one pattern, and by which entry. The first entry that says it is the one that is told. */
class Ports {
  every: string | undefined;
  single: Map<number, string> | undefined;

  add(port: number | undefined, author: string): void {
    if (port === undefined) this.every ??= author;
    else {
      this.single ??= new Map();
      if (!this.single.has(port)) this.single.set(port, author);
    }
  }
}

function ruleFor(ports: Ports | undefined, port: number): string | undefined {
  return ports?.single?.get(port) ?? ports?.every;
}
