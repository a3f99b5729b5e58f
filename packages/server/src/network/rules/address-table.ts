import { type Address, type AddressRange, lastOf } from './address.ts';

/**
 * Ranges and what is said of each. Two ranges lie one in the other or apart, so the ranges around an address are found
 * by one binary search and a walk outwards, however many there are.
 */
export class AddressTable<Value> {
  #families = { 4: new Family<Value>(), 6: new Family<Value>() };

  /** The value of the range, made where there is none yet. */
  at(range: AddressRange, make: () => Value): Value {
    return this.#families[range.family].at(range, make);
  }

  /** What `read` makes of the narrowest range around the address for which it makes anything. */
  find<Found>(address: Address, read: (value: Value, prefix: number) => Found | undefined): Found | undefined {
    let around = this.#families[address.family].nearest(address.bits);
    for (; around !== undefined; around = around.outer) {
      const found = around.last >= address.bits ? read(around.value, around.prefix) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

interface Row<Value> {
  readonly first: bigint;
  readonly last: bigint;
  readonly prefix: number;
  readonly value: Value;
  /** The narrowest range around this one. */
  outer: Row<Value> | undefined;
}

class Family<Value> {
  #rows = new Map<string, Row<Value>>();
  /** By first address, the wider before the narrower; undefined while it is not sorted. */
  #sorted: Row<Value>[] | undefined;

  at(range: AddressRange, make: () => Value): Value {
    const key = `${range.bits}/${range.prefix}`;
    const known = this.#rows.get(key);
    if (known !== undefined) return known.value;
    const value = make();
    this.#rows.set(key, { first: range.bits, last: lastOf(range), prefix: range.prefix, value, outer: undefined });
    this.#sorted = undefined;
    return value;
  }

  /** The last range that begins at or before the address: every range around the address is this one or around it. */
  nearest(bits: bigint): Row<Value> | undefined {
    this.#sorted ??= nested([...this.#rows.values()]);
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const row = this.#sorted[middle];
      if (row !== undefined && row.first <= bits) low = middle + 1;
      else high = middle;
    }
    return this.#sorted[low - 1];
  }
}

function nested<Value>(rows: Row<Value>[]): Row<Value>[] {
  rows.sort((a, b) => (a.first === b.first ? a.prefix - b.prefix : a.first < b.first ? -1 : 1));
  let outer: Row<Value> | undefined;
  for (const row of rows) {
    while (outer !== undefined && outer.last < row.first) outer = outer.outer;
    row.outer = outer;
    outer = row;
  }
  return rows;
}
