import type { CreditBalance, CreditTransfer } from '@caisson/contract';
import { pairs, table } from './table.ts';
import { relativeTime } from './time.ts';

/** Micro-units as credits: `12.5`, `0.000001`. Nothing is rounded. */
export function creditText(micros: number): string {
  const [whole, part] = [Math.trunc(Math.abs(micros) / 1_000_000), Math.abs(micros) % 1_000_000];
  const fraction = part === 0 ? '' : `.${String(part).padStart(6, '0').replace(/0+$/, '')}`;
  return `${micros < 0 ? '-' : ''}${whole}${fraction}`;
}

export function balanceText(balance: CreditBalance): string {
  if (!balance.limited && !balance.off) return `${balance.tenant} is without limit: nobody gave it credits`;
  return pairs([
    ['tenant', balance.tenant],
    ...(balance.off ? ([['credits', 'switched off: it pays nothing']] as const) : []),
    ['available', creditText(balance.availableMicros)],
    ['held', creditText(balance.heldMicros)],
    ['used', creditText(balance.usedMicros)],
    ...(balance.unpaidMicros > 0 ? ([['written off', creditText(balance.unpaidMicros)]] as const) : []),
  ]);
}

export function historyTable(items: readonly CreditTransfer[]): string {
  return table(
    ['WHEN', 'KIND', 'AMOUNT', 'FROM', 'TO', 'SANDBOX', 'NOTE'],
    items.map((one) => [
      relativeTime(one.time),
      one.kind,
      creditText(one.amountMicros),
      one.from,
      one.to,
      one.sandbox ?? '-',
      one.note ?? '',
    ]),
  );
}
