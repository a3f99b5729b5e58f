import { type Address, ipv4Of, readRange } from './address.ts';
import { AddressTable } from './address-table.ts';
import { embeddings } from './closed-ranges.ts';

const table = new AddressTable<(typeof embeddings)[number]['shifts']>();
for (const { range, shifts } of embeddings) {
  const read = readRange(range);
  if (read !== undefined) table.at(read, () => shifts);
}

/** The IPv4 addresses that may be reached through this one. `::` and `::1` carry none: they are themselves. */
export function embeddedAddresses(address: Address): readonly Address[] {
  if (address.family === 4 || address.bits <= 1n) return [];
  const shifts = table.find(address, (value) => value) ?? [];
  return shifts.map(({ shift, inverted }) => {
    const bits = address.bits >> shift;
    return ipv4Of(inverted ? ~bits : bits);
  });
}
