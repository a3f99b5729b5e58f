import { type Address, type AddressRange, prefixBits } from './address.ts';

/**
 * Ranges and what is said of each. One lookup for each length of prefix that occurs, however many ranges there are;
 * from the narrowest to the widest.
 */
export class AddressTable<Value> {
  #lengths = { 4: [] as Length<Value>[], 6: [] as Length<Value>[] };

  /** The value of the range, made where there is none yet. */
  at(range: AddressRange, make: () => Value): Value {
    const { values } = this.#length(range);
    const key = prefixBits(range, range.prefix);
    const known = values.get(key);
    if (known !== undefined) return known;
    const made = make();
    values.set(key, made);
    return made;
  }

  /** What `read` makes of the narrowest range around the address for which it makes anything. */
  find<Found>(address: Address, read: (value: Value, prefix: number) => Found | undefined): Found | undefined {
    for (const { prefix, values } of this.#lengths[address.family]) {
      const value = values.get(prefixBits(address, prefix));
      const found = value === undefined ? undefined : read(value, prefix);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #length(range: AddressRange): Length<Value> {
    const lengths = this.#lengths[range.family];
    const known = lengths.find((length) => length.prefix === range.prefix);
    if (known !== undefined) return known;
    const length = { prefix: range.prefix, values: new Map<bigint, Value>() };
    lengths.push(length);
    lengths.sort((a, b) => b.prefix - a.prefix);
    return length;
  }
}

interface Length<Value> {
  readonly prefix: number;
  readonly values: Map<bigint, Value>;
}
