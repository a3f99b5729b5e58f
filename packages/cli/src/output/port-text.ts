import type { ListedPort, OpenedPort, PortLink } from '@caisson/contract';
import { pairs, table } from './table.ts';

export function portTable(items: readonly ListedPort[]): string {
  return table(
    ['PORT', 'LISTENS', 'PID', 'OPEN TO', 'URL'],
    items.map(({ port, listening, share }) => [
      String(port),
      listening === null ? '?' : listening.map(({ address }) => address).join(', ') || '-',
      listening?.map(({ pid }) => pid ?? '?').join(', ') || '-',
      share === null ? '-' : share.visibility === 'public' ? 'everybody' : 'token, link',
      share?.url ?? share?.pathUrl ?? '-',
    ]),
  );
}

export function shareText(share: OpenedPort): string {
  const noAddress = share.url === null && share.pathUrl === null;
  return pairs([
    ['port', String(share.port)],
    ['open to', share.visibility === 'public' ? 'everybody' : 'who has the token, or a link'],
    ['url', share.url ?? '-'],
    ['path url', share.pathUrl ?? '-'],
    ...(share.token === undefined ? [] : [['token', `${share.token} (told once)`] as const]),
    ...(noAddress ? [['note', 'the server listens on no address: `caisson serve --listen 7300`'] as const] : []),
  ]);
}

export function linkText(link: PortLink): string {
  return pairs([
    ['url', link.url ?? '-'],
    ['path url', link.pathUrl ?? '-'],
    ['until', link.expiresAt],
  ]);
}
